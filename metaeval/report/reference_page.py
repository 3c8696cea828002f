"""The page of the reference results: one HTML file without a server, drawn from the cells and tests alone."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from html import escape
from pathlib import Path
from string import Template

from metaeval.display_text import Shown
from metaeval.report.reference_answers import BUDGETS, LANGUAGES, MEANINGS, TASKS, PrintedCell, answers, usual_answer

PAGE = "index.html"
SHOWN = (
    *("set", "measure", "kind", "control", "metric", "pack", "file", "version", "value", "low", "high", "n", "groups"),
    *("effective", "common_rows", "common_value", "rank_low", "rank_high", "best", "above_controls", "alone"),
    *("stale", "shipped", "commercial", "licence", "fitted_on", "needs", "seconds_per_1000", "usd_per_1000"),
    *("date", "data", "metaeval"),
)
"""The fields of a cell that the page shows."""
OF_SET = ("set", "title", "dataset", "split", "unit", "language", "data_licence")
PERCENT = ("fs_ns", "fs_ps", "ps_ns")
HERE = Path(__file__).parent
STYLES = ("observatory.css", "scrolling.css")
SCRIPTS = ("observatory_drawings.js", "observatory.js")


def observatory(cells: Sequence[PrintedCell], tests: Sequence[PrintedCell]) -> str:
    """Return the page of the reference results as HTML. cells, tests: the rows of `cells.csv` and `tests.csv`.

    Texts of the data reach the page as JSON, whose "<" are escaped, and are drawn as text nodes.
    """
    every = list(answers(cells, tests))
    payload = {
        "fields": SHOWN,
        "cells": [[row[name] for name in SHOWN] for row in cells],
        "sets": {row["set"]: {name: row[name] for name in OF_SET} for row in cells},
        "answers": [asdict(answer) for answer in every],
        "tasks": {
            key: {"task": task, "measure": name, "meaning": MEANINGS[key]} for key, (task, name) in TASKS.items()
        },
        "budgets": BUDGETS,
        "languages": {code: LANGUAGES.get(code, code) for code in dict.fromkeys(row["language"] for row in cells)},
        "percent": PERCENT,
    }
    script = "".join((HERE / name).read_text(encoding="utf-8") for name in SCRIPTS)
    allowed = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    first = usual_answer(every)
    return Template((HERE / "observatory.html").read_text(encoding="utf-8")).substitute(
        policy=f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{allowed}'",
        style="".join((HERE / name).read_text(encoding="utf-8") for name in STYLES),
        script=script,
        answer=escape(Shown(first.headline)) if first else "No metric was compared yet.",
        why=escape(Shown(first.why[0])) if first else "",
        data=_in_page(payload),
    )


def _in_page(payload: Mapping[str, object]) -> str:
    """Return the payload as ASCII JSON in which "<" is escaped, so that it cannot end an HTML element."""
    return json.dumps(payload, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
