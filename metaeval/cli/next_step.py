"""What the findings of a run make worth doing next: a command, with the data that the run was typed with."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from metaeval.cli.options import Given
    from metaeval.config import RunConfig
    from metaeval.report.measures import Readings
    from metaeval.report.result import Result

_KEPT = ("dataset", "split", "data", "columns", "unit", "pool", "results", "store")
"""Settings of the run that the next command repeats."""


def next_step(
    given: Given, config: RunConfig, results: Sequence[Result], readings: Readings, decided: bool = False
) -> str:
    """A command and what it tells; "" where the results suggest none. results: of one data set.

    decided: all scores are levels, so that they are verdicts, which have measures of their own.

    A single metric needs another to be compared with. Of metrics that are not told apart one may ask how many citations
    it would take; and of one that leads alone, from which score on it says "supported".
    """
    from metaeval.experiment.columns import FILE_PREFIX
    from metaeval.report.findings import top
    from metaeval.report.measures import headlines

    shown = headlines(results, readings)
    rated = any(result.unit == "rating" for result in results)
    if not shown or not shown[0].metrics:
        return ""
    first = shown[0]
    rows = [row.metric for row in first.result.rows if row.kind == "metric"]
    known = [name.removeprefix(FILE_PREFIX) for name in config.metrics]
    typed = dict(zip(rows, known, strict=True)) if len(rows) == len(known) else {}
    leading = [typed.get(name, name) for name in top(first)]
    if decided and all(result.protocol != "verdicts" for result in results):
        command, tells = ["evaluate", *known, "-p", "verdicts"], "how often these verdicts are right, as they stand"
    elif len(rows) == 1:
        other = "bm25" if rows == ["overlap"] else "overlap"
        command, tells = ["compare", leading[0], other], "whether it differs from another metric"
        if rated:
            return ""
    elif len(leading) > 1 and first.result.protocol == "systems":
        # More rows do not tell them apart: `power` plans for groups, and refuses correlations of a few systems.
        command, tells = ["compare", *leading[:2]], "by how much they may differ"
    elif len(leading) > 1 and first.result.data.groups < 2:
        return ""  # a plan is drawn from groups
    elif len(leading) > 1:
        command, tells = ["power", *leading[:2]], "how many rows it takes to tell the two apart"
    elif rated:
        others = [name for name in rows if typed.get(name, name) != leading[0]]
        command, tells = ["compare", leading[0], typed.get(others[0], others[0])], "by how much they differ"
    else:
        command, tells = ["calibrate", leading[0]], "the score from which on it says supported"
    one = given.settings.get("protocols") is not None and len({result.protocol for result in results}) == 1
    if one and command[0] in ("compare", "power"):
        command += ["-p", first.result.protocol]  # else they would speak of another measure than the table
    return f"metaeval {shlex.join([*command, *_options(given)])}   ({tells})"


def _options(given: Given) -> list[str]:
    """What was typed about the data, as it is typed."""
    words = ["-c", str(given.config)] if given.config else []
    words += [word for name in _KEPT for word in given.typed(name, short=True)]
    # How the data are read.
    return [*words, *(word for one in given.overrides if one.startswith("dataset_options.") for word in ("--set", one))]
