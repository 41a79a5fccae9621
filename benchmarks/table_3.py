"""Table 3 of the paper, every row built from the bundled base model; writes docs/table-3.md."""

from __future__ import annotations

import sys

from frame import ROOT, finish, print_table


def main() -> None:
    sys.path.insert(0, str(ROOT))
    from tests.test_table_3 import FAMILY, PAGE, ROWS, VOCABULARIES, built, load, page

    counts = {
        name: [built(load(row.overrides, size)) for size in VOCABULARIES]
        for name, row in ROWS.items()
    }
    header = ["row", *(f"V = {size:,}" for size in VOCABULARIES), "printed"]
    print_table(header, [[name, *counts[name], ROWS[name].printed or ""] for name in ROWS])
    PAGE.write_text(page(), encoding="utf-8")
    as_printed = sum(round(counts[name][1] / 1e6) == ROWS[name].printed for name in FAMILY)
    finish({"rows": len(ROWS), "as_printed": as_printed, "parameters": counts})


if __name__ == "__main__":
    main()
