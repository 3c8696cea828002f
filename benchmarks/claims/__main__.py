"""Draw sentences with citations, and print how many of their claims readers found clean.

    python -m benchmarks.claims                  # shares of clean claims and of fallbacks, and the readers' agreement
    python -m benchmarks.claims draw             # the 200 sentences by their seed, as draw.csv holds them
    python -m benchmarks.claims development      # sentences for work on the rules, with their texts
    python -m benchmarks.claims sheet            # the rules and the claims of the 200 sentences, for readers
    python -m benchmarks.claims add NAME FILE    # readings.csv with those of one more reader: claim, verdict, reason

The rules by which readers judge are in rules.md. `--data` names the folder with crag25 and scholarqabench.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchmarks.claims.drawing import (
    DATA,
    FILES,
    PLAN,
    READING,
    Pointer,
    answers_of,
    cited,
    committed,
    development,
    draw,
)
from benchmarks.claims.readings import Reading, read_readings, reading_of, report
from benchmarks.claims.sheet import claims_of, sheet
from metaeval.files import csv_text


def main(arguments: list[str] | None = None) -> int:
    """Print what the command names; return 2 where the data are missing."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", nargs="?", default="shares")
    parser.add_argument("reading", nargs="*", help="of add: name of the reader, and a CSV file")
    parser.add_argument("--data", type=Path, default=DATA, help="folder with crag25 and scholarqabench")
    options = parser.parse_args(arguments)
    missing = [file for file in FILES if not (options.data / file).is_file()]
    if missing:
        print(f"{options.data} lacks {' and '.join(missing)}: name the folder that has them with --data.")
        return 2
    answers = answers_of(options.data)
    texts = dict(cited(answers))
    if options.command == "draw":
        print(csv_text([Pointer._fields, *draw(list(texts), READING, PLAN)]), end="")
        return 0
    if options.command == "development":
        print("\n".join(texts[pointer] for pointer in development(list(texts))))
        return 0
    claims = claims_of(committed(), texts, answers)
    if options.command == "add":
        name, file = options.reading
        readings = [*read_readings(), *reading_of(name, Path(file), claims)]
        print(csv_text([Reading._fields, *readings]), end="")
    else:
        print(
            "\n".join(sheet(claims, texts, answers) if options.command == "sheet" else report(claims, read_readings()))
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
