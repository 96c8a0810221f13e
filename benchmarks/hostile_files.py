"""Small files that ask for much: the memory and the time of an answer to each, ``python benchmarks/hostile_files.py``.

``--only PART`` names some of the files; ``-o hostile_files.csv`` stores the rows. Each model is read and audited by
``glassine audit``, and a domain is drafted of each file of records, in a process of its own with four gigabytes of
address space, or sixteen for records, whose limit is four by default, and a minute of processor time.
To measure an earlier state of the code, name its sources in ``PYTHONPATH``.
"""

from __future__ import annotations

import argparse
import csv
import io
import os
import struct
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Sequence
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
sys.argv = ["glassine", *sys.argv[5:], sys.argv[3]]
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


def parquet(**columns: object) -> bytes:
    """Return columns as a Parquet file, which takes few bytes for equal values."""
    import polars as pl

    out = io.BytesIO()
    pl.DataFrame(columns).write_parquet(out, compression="zstd", statistics=False)
    return out.getvalue()


def parquet_rows(n: int = 300_000_000) -> bytes:
    """Return a Parquet file of equal numbers."""
    import numpy as np

    return parquet(a=np.zeros(n, np.int8))


def parquet_lists(n: int = 300_000_000) -> bytes:
    """Return a Parquet file of few records, one of which is a list of many numbers."""
    import numpy as np
    import polars as pl

    return parquet(a=pl.Series([np.zeros(n, np.int8), np.zeros(1, np.int8)], dtype=pl.List(pl.Int8)), b=[1, 2])


def parquet_deep(levels: int = 300) -> bytes:
    """Return a Parquet file of structures in one another."""
    import polars as pl

    nested = pl.Series("a", [1, 2])
    for _ in range(levels):
        nested = pl.DataFrame({"a": nested}).to_struct("a")
    return parquet(a=nested, b=[1, 2])


def parquet_texts(texts: int, size: int, rows: int, groups: int = 1) -> bytes:
    """Return a Parquet file whose rows refer to a dictionary of long texts, one in each group of rows."""
    import numpy as np
    import pyarrow as pa
    from pyarrow import parquet as writer

    out = io.BytesIO()
    words = pa.array([f"{i}{'x' * size}" for i in range(texts)])
    places = pa.array(np.arange(rows, dtype=np.int32) % texts)
    table = pa.table({"a": pa.DictionaryArray.from_arrays(places, words), "b": pa.array(np.arange(rows) % 7)})
    options = {"compression": "zstd", "dictionary_pagesize_limit": 2**31 - 1, "write_statistics": False}
    with writer.ParquetWriter(out, table.schema, store_schema=False, **options) as file:
        for _ in range(groups):
            file.write_table(table)
    return out.getvalue()


def csv_columns(n: int) -> bytes:
    """Return a CSV file of one record with many columns."""
    return (",".join(f"c{i}" for i in range(n)) + "\n" + ",".join("1" * n) + "\n").encode()


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

RECORDS = {
    "parquet-rows": Hostile("Parquet, 300 million records", parquet_rows),
    "parquet-lists": Hostile("Parquet, a list of 300 million numbers", parquet_lists),
    "parquet-deep": Hostile("Parquet, 300 structures in one another", parquet_deep),
    "parquet-text": Hostile("Parquet, five texts of a gigabyte", lambda: parquet_texts(1, 10**9, 1, 5)),
    "parquet-dictionary": Hostile(
        "Parquet, 20,000 records with one of 20 texts of a megabyte", lambda: parquet_texts(20, 10**6, 20_000)
    ),
    "parquet-columns": Hostile("Parquet, 60,000 columns", lambda: parquet(**{f"c{i}": [1] for i in range(60_000)})),
    "csv-columns": Hostile("CSV, 60,000 columns", lambda: csv_columns(60_000)),
    "csv-more-columns": Hostile("CSV, 300,000 columns", lambda: csv_columns(300_000)),
    "csv-line": Hostile("CSV, a line of 200 MB", lambda: b"a" * 200_000_000),
    "csv-quote": Hostile("CSV, a quote that never closes", lambda: b'a,b\n"' + b"1,2\n" * 20_000_000),
    "csv-records": Hostile("CSV, 60 million records of one column", lambda: b"a\n" + b"1\n" * 60_000_000),
    "csv-field": Hostile("CSV, a number of 150 million digits", lambda: b"a,b\n1," + b"7" * 150_000_000 + b"\n"),
}
"""Files of records, of which a domain is drafted."""


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


def cost(
    path: Path, *, words: Sequence[str] = ("audit",), memory: int = MOST_MEMORY, seconds: int = MOST_SECONDS
) -> Cost:
    """Return what a command takes to answer to a file."""
    # One thread, as the stacks and arenas of several count as address space.
    alone = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "POLARS_MAX_THREADS"), "1")
    with tempfile.TemporaryFile() as errors, tempfile.NamedTemporaryFile() as peak:
        child = subprocess.Popen(  # noqa: S603 - our own interpreter and files
            [sys.executable, "-c", CHILD, str(memory), str(seconds), str(path), peak.name, *words],
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
    parser.add_argument("-o", "--output", type=Path, help="a CSV file for the rows")
    asked = parser.parse_args(arguments)
    much, rows = False, []
    with tempfile.TemporaryDirectory() as folder:
        for name, hostile in (FILES | RECORDS).items():
            if asked.only not in name:
                continue
            path = Path(folder) / "file"
            path.write_bytes(hostile.make())
            of_records = name in RECORDS
            words = ("domain", "infer", "-o", f"{folder}/domain.json", "--overwrite") if of_records else ("audit",)
            found = cost(path, words=words, memory=MOST_MEMORY * (4 if of_records else 1))
            much |= found.memory > (4 if of_records else 1) * 2**30 or found.seconds > 20 or found.status < 0
            row = (hostile.title, path.stat().st_size, found.memory // 10**6, f"{found.seconds:.1f}", found.status)
            rows.append(row)
            print("|", *row, found.message.replace(folder, "")[-90:], sep=" | ", flush=True)  # noqa: T201
    if asked.output is not None:
        with asked.output.open("w", newline="") as stream:
            writer = csv.writer(stream, lineterminator="\n")
            writer.writerow(("file", "bytes", "MB", "seconds", "status"))
            writer.writerows(rows)
    return int(much)


if __name__ == "__main__":
    raise SystemExit(main())
