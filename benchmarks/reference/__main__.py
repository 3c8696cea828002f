"""Make the reference results anew."""

import argparse
from pathlib import Path

from benchmarks.reference import KEPT, __doc__, cells, page, results
from metaeval.core.errors import UserError
from metaeval.core.files import write_text


def main() -> None:
    """Do the step that is asked for, or all."""
    steps = {"results": results.SETS, "cells": cells.declared_sets(), "page": {}}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", nargs="?", choices=steps, help="by default all")
    parser.add_argument("sets", nargs="*", metavar="SET", help="by default all of the step")
    parser.add_argument("--data", type=Path, help="folder with the published data sets; without it they are downloaded")
    asked = parser.parse_args()
    if unknown := [name for name in asked.sets if name not in steps[asked.step]]:
        parser.error(f"{asked.step} has no set {unknown[0]!r}; it has {', '.join(steps[asked.step]) or 'none'}")
    try:
        for step in [asked.step] if asked.step else steps:
            if step == "page":
                write_text(KEPT / "index.html", page.page(cells.read_cells()))
            else:
                {"results": results, "cells": cells}[step].make(asked.sets or [*steps[step]], asked.data)
    except UserError as error:
        raise SystemExit(str(error)) from error


if __name__ == "__main__":
    main()
