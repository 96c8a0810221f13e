"""Additive-noise mechanisms over arrays: Laplace, Gaussian, Cauchy, and their discrete forms."""

from __future__ import annotations

import math
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from glassine.errors import InvalidMechanismError, parameter
from glassine.privacy.exact import Number, float_above, positive, rational
from glassine.privacy.randomness import Randomness
from glassine.privacy.samplers import draw_discrete_cauchy, draw_discrete_gaussian, draw_discrete_laplace
from glassine.records.arrays import AnyArray, Array, Ints

FINENESS = 31
"""The grid of Cauchy noise is at most 2**-31 of its scale."""

SMALLEST_SIGMA = 1e-290
"""Gaussian noise below it would show the grid of the smallest float."""

CAUCHY_SLACK = 2.0**-30
"""Bound on the epsilon that rounding one value to the grid of Cauchy noise adds."""

SEEDED_BITS = 40
"""Under a seed, continuous noise lies on a grid of about 2**-40 of its scale."""


INT64 = np.iinfo(np.int64)


def discrete_laplace(values: npt.ArrayLike, scale: Number, randomness: Randomness) -> Ints:
    """Add noise k with probability proportional to ``exp(-abs(k) / scale)`` to integers.

    Guarantee
    ---------
    (l1 sensitivity / scale)-differentially private when ``randomness`` is not seeded; see
    ``mechanisms.md``. Results beyond 64 bits saturate, which is post-processing.

    Assumptions
    -----------
    ``scale`` is public, or a smooth upper bound that the caller's proof accounts for.

    Parameters
    ----------
    values : array_like of int
        Exact values, of any shape, within 64 bits.
    scale : int, float or Fraction
        Positive; rounded up to a float.
    randomness : Randomness
        Unseeded: OpenDP's sampler draws from the operating system. Seeded: this package's own sampler, repeatable.

    Returns
    -------
    numpy.ndarray of int64
        Of the shape of ``values``.

    Raises
    ------
    InvalidMechanismError
        If the values are not integers or ``scale`` is not positive and finite.

    Examples
    --------
    >>> discrete_laplace([3, 5], 1, Randomness.of(0)).shape
    (2,)
    """
    array = _integers(values)
    width = float_above(positive(scale, "scale"))
    return _noisy(array, "laplace", width, randomness)


def geometric(values: npt.ArrayLike, scale: Number, randomness: Randomness, *, lower: int, upper: int) -> Ints:
    """Add discrete Laplace noise to integers and clamp the sum to public bounds.

    Guarantee
    ---------
    That of :func:`discrete_laplace`; clamping is post-processing. Its event is ``DiscreteLaplaceNoise``.

    Parameters
    ----------
    values, scale, randomness
        As in :func:`discrete_laplace`.
    lower, upper : int
        Public bounds of the result, both included.

    Raises
    ------
    InvalidMechanismError
        As :func:`discrete_laplace`, and if ``lower > upper``.

    References
    ----------
    Ghosh, Roughgarden and Sundararajan (2012), Universally utility-maximizing privacy mechanisms.

    Examples
    --------
    >>> geometric([3, 5], 1, Randomness.of(0), lower=3, upper=3).tolist()
    [3, 3]
    """
    if not lower <= upper:
        raise InvalidMechanismError(
            f"{parameter('lower')} must not exceed upper, got {lower} and {upper}.", remedy="Swap the bounds."
        )
    return np.clip(discrete_laplace(values, scale, randomness), lower, upper)


def discrete_gaussian(values: npt.ArrayLike, sigma: Number, randomness: Randomness) -> Ints:
    """Add noise k with probability proportional to ``exp(-k**2 / (2 * sigma**2))`` to integers.

    Guarantee
    ---------
    (l2 sensitivity**2 / (2 sigma**2))-zCDP when ``randomness`` is not seeded; see ``mechanisms.md``.

    Parameters, returns and errors are those of :func:`discrete_laplace`, with ``sigma`` for ``scale``.

    Examples
    --------
    >>> discrete_gaussian([[3], [5]], 1, Randomness.of(0)).shape
    (2, 1)
    """
    array = _integers(values)
    width = float_above(positive(sigma, "sigma"))
    return _noisy(array, "gaussian", width, randomness)


def laplace(values: npt.ArrayLike, scale: Number, randomness: Randomness) -> Array:
    """Add Laplace noise to numbers.

    Guarantee
    ---------
    (l1 sensitivity / scale)-differentially private when ``randomness`` is not seeded. The sensitivity is
    that of the floats themselves, rounding of their computation included.

    Parameters
    ----------
    values : array_like of float
        Finite, of any shape.
    scale : int, float or Fraction
        Positive; rounded up to a float.
    randomness : Randomness
        Unseeded: OpenDP's sampler, noise on the grid of the smallest float. Seeded: this package's own sampler,
        repeatable, on a grid of about ``2**-40 * scale``.

    Returns
    -------
    numpy.ndarray of float64
        Of the shape of ``values``.

    Raises
    ------
    InvalidMechanismError
        If a value is not finite, or ``scale`` is not positive and finite.

    Examples
    --------
    >>> laplace(0.5, 1, Randomness.of(0)).shape
    ()
    """
    array = _floats(values)
    width = float_above(positive(scale, "scale"))
    return _noisy(array, "laplace", width, randomness)


def gaussian(values: npt.ArrayLike, sigma: Number, randomness: Randomness) -> Array:
    """Add Gaussian noise to numbers.

    Guarantee
    ---------
    (l2 sensitivity / sigma)-Gaussian differential privacy when ``randomness`` is not seeded; the
    sensitivity is that of the floats themselves, rounding of their computation included.

    Parameters, returns and errors are those of :func:`laplace`, with ``sigma``, at least 1e-290, for ``scale``.

    Examples
    --------
    >>> gaussian([0.5, 1.0], 1, Randomness.of(0)).shape
    (2,)
    """
    array = _floats(values)
    width = float_above(positive(sigma, "sigma"))
    if not width >= SMALLEST_SIGMA:
        raise InvalidMechanismError(
            f"{parameter('sigma')} must be at least {SMALLEST_SIGMA}, got {width}.", remedy="Rescale the values."
        )
    return _noisy(array, "gaussian", width, randomness)


def cauchy(values: npt.ArrayLike, scale: Number, randomness: Randomness, *, granularity: Number) -> Array:
    """Add Cauchy noise on a public grid to numbers.

    Guarantee
    ---------
    Per value, ``2 asinh(sensitivity / (2 scale)) + CAUCHY_SLACK`` when ``scale`` is public; with ``scale``
    c times a beta-smooth upper bound of the local sensitivity, ``2 asinh(1 / (2 c)) + beta + CAUCHY_SLACK``.
    For unseeded ``randomness``; see ``mechanisms.md``.

    Parameters
    ----------
    values : array_like of float
        Finite, of any shape; rounded to multiples of ``granularity``.
    scale : int, float or Fraction
        Positive; raised to ``2**31 * granularity`` where it is smaller.
    randomness : Randomness
        The stream to draw from; the sampler is this package's own, exact on the grid.
    granularity : int, float or Fraction
        Positive and public: it must not depend on the data even where ``scale`` does. A float is its binary value.

    Returns
    -------
    numpy.ndarray of float64
        Of the shape of ``values``.

    Raises
    ------
    InvalidMechanismError
        If a value is not finite, or ``scale`` or ``granularity`` is not positive and finite.

    Examples
    --------
    >>> cauchy([0.5, 1.0], 1, Randomness.of(0), granularity=2**-40).shape
    (2,)
    """
    array = _floats(values)
    # The binary value, so that a power of two is one.
    step = rational(granularity, "granularity")
    if not step > 0:
        raise InvalidMechanismError(
            f"{parameter('granularity')} must be positive, got {granularity}.", remedy="Give a public grid."
        )
    scaled = max(Fraction(float_above(positive(scale, "scale"))) / step, Fraction(2**FINENESS))
    return _added_on_grid(array, step, lambda: draw_discrete_cauchy(scaled, randomness))


def _integers(values: npt.ArrayLike) -> Ints:
    array = np.asarray(values)
    if array.dtype.kind not in "iu" and array.size:
        raise InvalidMechanismError(
            f"{parameter('values')} must be integers within 64 bits, got {array.dtype}.",
            remedy="Round them, or use the continuous mechanism.",
        )
    if array.size and not int(array.max()) <= INT64.max:
        raise InvalidMechanismError(
            f"{parameter('values')} must lie within 64 bits, got {array.max()}.", remedy="Clip them first."
        )
    return array.astype(np.int64)


def _floats(values: npt.ArrayLike) -> Array:
    array = np.asarray(values)
    if array.dtype.kind not in "iuf" and array.size:
        raise InvalidMechanismError(
            f"{parameter('values')} must be real numbers, got {array.dtype}.", remedy="Convert them first."
        )
    out = array.astype(np.float64)
    if not np.isfinite(out).all():
        raise InvalidMechanismError(
            f"{parameter('values')} must be finite, got one that is not.", remedy="Clip them first."
        )
    return out


def _noisy(array: AnyArray, kind: Literal["laplace", "gaussian"], width: float, randomness: Randomness) -> AnyArray:
    """Add noise of a width to integers or floats; that of integers is discrete."""
    # OpenDP draws from the operating system alone; under a seed the same law comes from our own samplers.
    if not randomness.seeded:
        return _released(array, kind, width)
    whole = array.dtype.kind == "i"
    step = Fraction(1) if whole else Fraction(2) ** (math.frexp(width)[1] - SEEDED_BITS)
    scale = Fraction(width) / step
    if kind == "laplace":
        noise = partial(draw_discrete_laplace, scale, randomness)
    else:
        noise = partial(draw_discrete_gaussian, scale**2, randomness)
    return _added(array, noise) if whole else _added_on_grid(array, step, noise)


def _added(array: Ints, noise: Callable[[], int]) -> Ints:
    """Add draws to integers, saturating at 64 bits."""
    noisy = [min(max(value + noise(), int(INT64.min)), int(INT64.max)) for value in array.ravel().tolist()]
    return np.array(noisy, dtype=np.int64).reshape(array.shape)


def _added_on_grid(array: Array, step: Fraction, noise: Callable[[], int]) -> Array:
    """Round numbers to multiples of a step, add that many steps of noise, and round once to floats."""
    noisy = [_nearest_float((round(Fraction(value) / step) + noise()) * step) for value in array.ravel().tolist()]
    return np.array(noisy, dtype=np.float64).reshape(array.shape)


def _nearest_float(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        return sys.float_info.max if value > 0 else -sys.float_info.max


def _released(array: AnyArray, kind: Literal["laplace", "gaussian"], width: float) -> AnyArray:
    """Pass an array of integers or floats through OpenDP's measurement."""
    noisy = _measurement(kind, "i64" if array.dtype.kind == "i" else "f64", width)(array.ravel().tolist())
    return np.array(noisy, dtype=array.dtype).reshape(array.shape)


@lru_cache(maxsize=64)
def _measurement(kind: str, carrier: str, width: float) -> Callable[[list[Any]], list[Any]]:
    # OpenDP takes a third of a second to import.
    from opendp import domains, measurements, metrics

    atoms = domains.atom_domain(T="i64") if carrier == "i64" else domains.atom_domain(T="f64", nan=False)
    with _contrib():
        if kind == "laplace":
            metric = metrics.l1_distance(T=carrier)
            made = measurements.make_laplace(domains.vector_domain(atoms), metric, scale=width)
        else:
            metric = metrics.l2_distance(T="f64")
            made = measurements.make_gaussian(domains.vector_domain(atoms), metric, scale=width)
    return made


_SWITCH = threading.Lock()


@contextmanager
def _contrib() -> Iterator[None]:
    """Allow OpenDP's constructors that are behind its feature ``contrib``, for the time of one construction."""
    from opendp import mod

    # The features of OpenDP are those of the process: two threads must not switch them at once.
    with _SWITCH:
        was_on = "contrib" in mod.GLOBAL_FEATURES
        mod.enable_features("contrib")
        try:
            yield
        finally:
            if not was_on:
                mod.disable_features("contrib")
