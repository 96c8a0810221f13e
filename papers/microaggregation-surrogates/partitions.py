"""The partition of each group size: what it loses, and whose representative is the closest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from local_trees import lost
from settings import SHARES, records
from study import Row, options, resume

from glassine.microaggregation import microaggregate


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what is not measured yet."""
    given = options(__doc__, arguments)
    split = records(n=given.n_records)

    def measure(key: Mapping[str, str]) -> Mapping[str, object]:
        k = split.k(float(key["share"]))
        found = microaggregate(split.X, k)
        return {
            "k": k,
            "records": len(split.y),
            "groups": found.n_groups,
            "smallest group": int(found.sizes.min()),
            "largest group": int(found.sizes.max()),
            "lost as printed": lost(len(split.y), k),
            "own representative closest": float((found.nearest(split.X, 1)[0][:, 0] == found.labels).mean()),
            "information loss": found.information_loss,
        }

    keys: list[Row] = [{"share": f"{share:g}"} for share in SHARES]
    resume(given.results / "partitions.csv", keys, measure)


if __name__ == "__main__":
    main()
