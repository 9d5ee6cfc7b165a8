"""Run every benchmark; exit status 1 when a ratio is over its limit."""

import json
import sys

from benchmarks import accounting


def main() -> None:
    results = accounting.measure()
    if "--json" in sys.argv[1:]:
        print(json.dumps(results, indent=1))
    else:
        for row in results:
            print(f"{row['name']:45} {row['ratio']:8.3g}x  (limit {row['limit']:g}x)")
    if any(row["ratio"] > row["limit"] for row in results):  # type: ignore[operator]
        sys.exit("a ratio is over its limit")


if __name__ == "__main__":
    main()
