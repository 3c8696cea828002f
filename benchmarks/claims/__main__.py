"""Draw sentences with citations, and print how many of their claims readers found clean.

    python -m benchmarks.claims draw             # the 200 sentences by their seed, as draw.csv holds them
    python -m benchmarks.claims development      # sentences for work on the rules, with their texts

The rules by which readers judge are in rules.md. `--data` names the folder with crag25 and scholarqabench.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchmarks.claims.drawing import DATA, FILES, PLAN, READING, Pointer, answers_of, cited, development, draw
from metaeval.files import csv_text


def main() -> int:
    """Print what the command names; return 2 where the data are missing."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=("draw", "development"))
    parser.add_argument("--data", type=Path, default=DATA, help="folder with crag25 and scholarqabench")
    options = parser.parse_args()
    missing = [file for file in FILES if not (options.data / file).is_file()]
    if missing:
        print(f"{options.data} lacks {' and '.join(missing)}: name the folder that has them with --data.")
        return 2
    texts = dict(cited(answers_of(options.data)))
    if options.command == "draw":
        print(csv_text([Pointer._fields, *draw(list(texts), READING, PLAN)]), end="")
    else:
        print("\n".join(texts[pointer] for pointer in development(list(texts))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
