"""Declarations of analyses, from which the command line, the Python functions and the pages of options are derived.

Here is the first page of help: a sentence for each command, which is known without importing any analysis.
"""

from __future__ import annotations

from collections.abc import Mapping

from metaeval.core import registry

GROUPS: Mapping[str, str] = {
    "cite": "Judge citations as ALCE, ALiiCE, SCiFi, CiteEval; improve them.",
    "gate": "Fit a pass/fail gate on labels; check releases of a system.",
    "data": "List, show, fetch, convert and check data sets.",
    "metrics": "List, show and verify metrics.",
    "results": "List, show, export, plot, rerun or delete runs.",
}
"""Help texts of the groups of commands; data.show, data.fetch ... are the group data."""

FIRST_PAGE: Mapping[str, Mapping[str, str]] = {
    "Measure metrics": {
        "run": "Score data with metrics and compare them with human labels.",
        "score": "Score the data and write one score file per metric.",
        "pairs": "Write statement-source pairs to be scored by another program.",
        "evaluate": "Evaluate files of scores against human labels.",
        "compare": "Compare metrics: significance and agreement.",
        "plan": "Plan sample sizes.",
        "thresholds": "Evaluate decisions between support levels; learn thresholds.",
        "multiverse": "Rank the metrics under every combination of analysis choices.",
    },
    "Judge answers": {
        "cite": GROUPS["cite"],
        "label": "Sample citations and write a file for people to label.",
        "estimate": "Estimate citation quality from a metric and a few labels.",
        "gate": GROUPS["gate"],
    },
    "Results and data": {
        "view": "Write a web page that shows the scored pairs of a run.",
        **{group: GROUPS[group] for group in ("results", "data", "metrics")},
    },
}
"""The commands of the first page of help, by what they are for; an analysis has its sentence as its summary too."""

USUAL: Mapping[str, str] = {"cite": "alce"}
"""The default command of a group: it runs where files or options are typed without a command."""


def names_in(group: str) -> list[str]:
    """Return the names of the commands and groups that are registered in a group ("": at the top level), sorted."""
    prefix = f"{group}." if group else ""
    inside = (name.removeprefix(prefix) for name in registry.names("analysis") if name.startswith(prefix))
    return sorted({name.partition(".")[0] for name in inside})
