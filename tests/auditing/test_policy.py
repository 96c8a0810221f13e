"""Policies: TOML in and out, refused limits."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from glassine import Policy
from glassine.errors import InvalidPolicyError, UnreadableFileError


def test_round_trip(tmp_path: Path) -> None:
    policy = Policy(smallest_leaf=5, purest_leaf=None, largest_bits_per_record=7.5)
    path = tmp_path / "policy.toml"
    path.write_text(policy.to_toml())
    assert Policy.from_toml(path) == policy
    path.write_text("")
    assert Policy.from_toml(path) == Policy()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("smallest_leaf = -1", "It must be a whole number of at least 0"),
        ("smallest_leaf = 2.5", "It must be a whole number of at least 0"),
        ("smallest_leaf = true", "It must be a whole number of at least 0"),
        ("purest_leaf = 1.5", "purest_leaf is 1.5. It must be a share greater than 0 and at most 1.$"),
        ("purest_leaf = nan", "purest_leaf is nan. It must be a share"),
        ("purest_leaf = 90", "For 90%, use 0.9."),
        ("purest_leaf = '0.5'", "purest_leaf is '0.5'. It must be a share"),
        ("largest_bits_per_record = 0", "largest_bits_per_record is 0. It must be a number of bits greater than 0"),
        ("suppress_below = false", "suppress_below is False. It must be a whole number"),
        ("smalest_leaf = 5", "Unknown check 'smalest_leaf' in .*policy.toml. Did you mean 'smallest_leaf'"),
        ("smallest_leaf = ", "not valid TOML"),
    ],
)
def test_impossible_policies_are_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "policy.toml"
    path.write_text(text)
    with pytest.raises(InvalidPolicyError, match=message):
        Policy.from_toml(path)


def test_nan_limits_are_refused() -> None:
    with pytest.raises(InvalidPolicyError):
        Policy(largest_bits_per_record=math.nan)
    bad: Any = "10"
    with pytest.raises(InvalidPolicyError):
        Policy(smallest_leaf=bad)


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFileError, match="cannot read"):
        Policy.from_toml(tmp_path / "none.toml")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("max_epsilon = 0", "max_epsilon is 0. It must be a number greater than 0 and at most 1,000,000"),
        ("max_epsilon = nan", "max_epsilon is .*. It must be a number greater than 0"),
        ("max_epsilon = true", "max_epsilon is .*. It must be a number greater than 0"),
        ("max_delta = 1", "max_delta is 1. It must be a number of at least 0 and below 1"),
        ("max_delta = -0.1", "max_delta is .*. It must be a number of at least 0"),
        ("max_delta = nan", "max_delta is .*. It must be a number of at least 0"),
        ("max_delta = true", "max_delta is .*. It must be a number of at least 0"),
        ("accept_guarantee = 1", "accept_guarantee is .*. It must be true or false"),
        ("accept_guarantee = 'yes'", "accept_guarantee is .*. It must be true or false"),
    ],
)
def test_impossible_rules_on_guarantees_are_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "policy.toml"
    path.write_text(text)
    with pytest.raises(InvalidPolicyError, match=message):
        Policy.from_toml(path)


@pytest.mark.parametrize("accept", [True, False])
def test_rules_on_guarantees_go_through_toml(tmp_path: Path, accept: bool) -> None:
    policy = Policy(accept_guarantee=accept, max_epsilon=None, max_delta=None)
    path = tmp_path / "policy.toml"
    path.write_text(policy.to_toml())
    assert Policy.from_toml(path) == policy
    path.write_text("max_delta = 0\nmax_epsilon = 0.5\n")
    assert Policy.from_toml(path) == Policy(max_delta=0, max_epsilon=0.5)


def test_numbers_of_very_many_digits(tmp_path: Path) -> None:
    for key in ("smallest_leaf", "max_epsilon", "max_delta", "accept_guarantee"):
        path = tmp_path / "policy.toml"
        path.write_text(f"{key} = 0x{'f' * 5000}\n")
        with pytest.raises(InvalidPolicyError, match="a number beyond 1e300"):
            Policy.from_toml(path)
