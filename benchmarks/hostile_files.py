"""Small files that ask for much: the memory and the time of an answer to each, ``python benchmarks/hostile_files.py``.

``--only PART`` names some of the files. Each is read and audited by ``glassine audit`` in a process of its own
with four gigabytes of address space and a minute of processor time. To measure an earlier state of the code,
name its sources in ``PYTHONPATH``.
"""

from __future__ import annotations

import argparse
import io
import os
import struct
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

__all__ = ["FILES", "Cost", "cost"]

MOST_MEMORY, MOST_SECONDS = 4 * 2**30, 60
"""Where a process is ended: four times the memory and three times the time that an answer may take."""
CHILD = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[1]),) * 2)
resource.setrlimit(resource.RLIMIT_CPU, (int(sys.argv[2]), int(sys.argv[2]) + 1))
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
peak = sys.argv[4]
sys.argv = ["glassine", "audit", sys.argv[3]]
from glassine.cli.entry import main
try:
    main()
finally:
    most = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
    open(peak, "w").write(most.split()[1])
"""


def skops_objects(n: int = 15_000_000) -> bytes:
    """Return a skops file whose schema lists empty objects; it is packed a thousandfold."""
    return zipped({"schema.json": b"[" + b"{}," * n + b"{}]"})


def skops_lying(n: int = 400_000_000) -> bytes:
    """Return a skops file whose headers claim a hundred bytes for a member that has many."""
    data = bytearray(zipped({"schema.json": b"{" + b" " * n + b"}"}))
    # The size before packing stands 22 bytes into a local header, and 24 bytes into one of the directory.
    for mark, offset in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        at = data.index(mark)
        data[at + offset : at + offset + 4] = struct.pack("<I", 100)
    return bytes(data)


def zipped(members: dict[str, bytes]) -> bytes:
    """Return a packed archive."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return out.getvalue()


def rules(n: int = 32_000) -> bytes:
    """Return a rule list of one condition each."""
    lines = [f"if [a{i}] then [true]" for i in range(n)]
    return ("\nelse ".join(lines) + "\nelse [false]\n").encode()


def rules_of_thresholds(n: int = 5_000) -> bytes:
    """Return a rule list over one number."""
    lines = [f"if [a <= {i}] then [true]" for i in range(n)]
    return ("\nelse ".join(lines) + "\nelse [false]\n").encode()


def long_rule(n: int = 200_000) -> bytes:
    """Return a rule of many conditions."""
    return b"if " + b" and ".join(b"[a]" for _ in range(n)) + b" then [true]\nelse [false]\n"


def quotes(n: int = 200_000) -> bytes:
    """Return a rule whose quoted name never ends."""
    return b"if [" + b'\\"' * n + b"] then [true]\nelse [false]\n"


def lightgbm(words: int = 200_000) -> bytes:
    """Return a LightGBM model with a list of categories in which every bit is set."""
    lines = ["tree", "version=v4", "num_class=1", "num_tree_per_iteration=1", "label_index=0", "max_feature_idx=0"]
    lines += ["objective=regression", "feature_names=a", "feature_infos=-1"]
    tree = ["Tree=0", "num_leaves=2", "num_cat=1", "split_feature=0", "split_gain=1", "threshold=0", "decision_type=1"]
    tree += ["left_child=-1", "right_child=-2"]
    tree += ["leaf_value=1 2", "leaf_count=5 5", "internal_value=0", "internal_count=10"]
    tree += [f"cat_boundaries=0 {words}", "cat_threshold=" + " ".join(["4294967295"] * words), "is_linear=0"]
    return ("\n".join(lines) + "\n\n" + "\n".join(tree) + "\n\nend of trees\n\n").encode()


def json_of(part: bytes, size: int = 180_000_000) -> bytes:
    """Return a JSON list of the same value many times."""
    return b"[" + part * ((size - 3) // len(part)) + b"0]"


def pmml(n: int = 3_000_000, *, fields: bool = False) -> bytes:
    """Return a PMML document with many attributes."""
    named = " ".join(f'a{i}="{i % 10}"' for i in range(n)).encode()
    return b'<PMML version="4.4"><Header ' + named + b'/><TreeModel functionName="regression"/></PMML>'


def pmml_elements(n: int = 5_000_000) -> bytes:
    """Return a PMML document with many elements."""
    return b'<PMML version="4.4">' + b"<a/>" * n + b"</PMML>"


def wide_text() -> bytes:
    """Return a text in which one character makes all of them wide."""
    return b"if [a" + b"a" * 190_000_000 + "\N{GRINNING FACE}".encode() + b"] then [true]\nelse [false]"


@dataclass(frozen=True, slots=True)
class Hostile:
    """A file that asks for much.

    Attributes
    ----------
    title : str
        What it holds.
    make : callable
        Returns its bytes.
    """

    title: str
    make: Callable[[], bytes]


FILES = {
    "skops-objects": Hostile("skops, a schema of 15 million empty objects", skops_objects),
    "skops-lying": Hostile("skops, a member of 400 MB that claims 100 bytes", skops_lying),
    "rules": Hostile("rule list of 32,000 rules of one condition", rules),
    "rules-thresholds": Hostile("rule list of 5,000 thresholds", rules_of_thresholds),
    "long-rule": Hostile("rule list, a rule of 200,000 conditions", long_rule),
    "quotes": Hostile("rule list, 200,000 quotes that never close", quotes),
    "lightgbm": Hostile("LightGBM, `cat_threshold` of 200,000 words of ones", lightgbm),
    "lightgbm-large": Hostile("LightGBM, `cat_threshold` of 2.6 million words of ones", lambda: lightgbm(2_600_000)),
    "json-objects": Hostile("JSON `[{}, {}, ...]`", lambda: json_of(b"{},")),
    "json-lists": Hostile("JSON `[[], [], ...]`", lambda: json_of(b"[],")),
    "json-numbers": Hostile("JSON `[1.5, 1.5, ...]`", lambda: json_of(b"1.5,")),
    "json-texts": Hostile('JSON `["a", "b", ...]`', lambda: json_of(b'"ab",')),
    "json-wide": Hostile(
        "JSON text, one wide character", lambda: b'"' + b"a" * 190_000_000 + "\N{GRINNING FACE}".encode() + b'"'
    ),
    "pmml-attributes": Hostile("PMML, 3 million attributes", pmml),
    "pmml-elements": Hostile("PMML, 5 million elements", pmml_elements),
    "wide-text": Hostile("rule list, a name of 190 MB with one wide character", wide_text),
    "ubjson-objects": Hostile("UBJSON, 60 million empty lists", lambda: b"{i\x01a[" + b"[]" * 60_000_000 + b"]}"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What an answer took.

    Attributes
    ----------
    memory : int
        Largest resident size of the process, in bytes.
    seconds : float
        Time of the processor.
    status : int
        Exit status of the command; negative where a signal ended it.
    message : str
        The last line of its errors.
    """

    memory: int
    seconds: float
    status: int
    message: str


def cost(path: Path, *, memory: int = MOST_MEMORY, seconds: int = MOST_SECONDS) -> Cost:
    """Return what the command ``audit`` takes to answer to a file."""
    # One thread, as the stacks and arenas of several count as address space.
    alone = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "POLARS_MAX_THREADS"), "1")
    with tempfile.TemporaryFile() as errors, tempfile.NamedTemporaryFile() as peak:
        child = subprocess.Popen(  # noqa: S603 - our own interpreter and files
            [sys.executable, "-c", CHILD, str(memory), str(seconds), str(path), peak.name],
            stdout=subprocess.DEVNULL,
            stderr=errors,
            env=os.environ | alone,
        )
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        errors.seek(0)
        lines = errors.read().decode("utf-8", "replace").strip().splitlines()
        # The largest size that the system tells of a child counts that of its parent before the start, too.
        own = int(Path(peak.name).read_text() or used.ru_maxrss)
    return Cost(
        memory=own * 1024,
        seconds=used.ru_utime + used.ru_stime,
        status=child.returncode,
        message=lines[-1] if lines else "",
    )


def main(arguments: list[str] | None = None) -> int:
    """Print a row for each file; return the exit status: 1 where one took more than is promised."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", default="", help="part of the name of the files")
    asked = parser.parse_args(arguments)
    much = False
    with tempfile.TemporaryDirectory() as folder:
        for name, hostile in FILES.items():
            if asked.only not in name:
                continue
            path = Path(folder) / "model"
            path.write_bytes(hostile.make())
            found = cost(path)
            size = path.stat().st_size
            much |= found.memory > 2**30 or found.seconds > 20
            print(  # noqa: T201
                f"| {hostile.title} | {size / 1e6:,.2f} MB | {found.memory / 1e6:,.0f} MB | {found.seconds:.1f} s |"
                f" {found.status} | {found.message[-90:]}",
                flush=True,
            )
    return int(much)


if __name__ == "__main__":
    raise SystemExit(main())
