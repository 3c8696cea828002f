"""Reference results in `results/reference`: what metrics score on data with human labels, and the page made of it.

    python -m benchmarks.reference --data ../shared/data               # make all anew (half an hour on one core)
    python -m benchmarks.reference cells qasem --data ../shared/data   # one step, one set
    python -m benchmarks.reference page                                # the page alone, from the kept tables

`results` runs the offline metrics on the sets of `results.SETS`; `cells` makes `cells.csv` and `tests.csv` from the
scores in `packs` and the data; `page` makes `index.html` from these two. Packs, costs, and the scores of a metric that
there is no more are kept as they are. No text of any data set is kept, and no number depends on the machine.
"""

from pathlib import Path

KEPT = Path(__file__).parents[2] / "results" / "reference"
DIGITS = 6
"""Significant digits of a number that is kept."""
