"""The page of the reference results: one HTML file without a server, made of the cells and tests alone."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Sequence
from decimal import ROUND_HALF_UP, Decimal
from html import escape
from pathlib import Path
from string import Template
from urllib.parse import quote

from benchmarks.reference.answers import BUDGETS, LANGUAGES, answer
from benchmarks.reference.cells import CellTables, PrintedCell
from metaeval import report
from metaeval.core.errors import Shown

TASKS = {
    "ps_ns": "Find citations without any support",
    "fs_ps": "Tell full from partial support",
    "fs_ns": "Tell supported from unsupported",
    "ndcg@5": "Rank passages by their support",
    "kendall": "Follow human levels or ratings",
}
"""What a metric is wanted for, by measure."""
OFTEN = "ROC-AUC: how often, in per cent, {} statement scores above {}; 50 is chance."
MEANINGS = {
    "ps_ns": f"Partial / none {OFTEN.format('a partly supported', 'one without support')}",
    "fs_ps": f"Full / partial {OFTEN.format('a fully supported', 'a partly supported one')}",
    "fs_ns": f"Full / none {OFTEN.format('a supported', 'an unsupported one')}",
    "ndcg@5": "NDCG@5: how well the five passages with the highest scores are ordered by support; 1 is the best order.",
    "kendall": "Kendall's tau-b: how far scores and human levels have the same order; 1 is full agreement, 0 none.",
}
IN_WORDS = ("nothing but the package", "a small model on a CPU", "a GPU", "a paid chat model")
NEEDS = dict(zip(BUDGETS, IN_WORDS, strict=True))
OF_SET = ("dataset", "split", "unit", "language", "data_licence", "data")
HERE, SHARED = Path(__file__).parent, Path(report.__file__).parent
"""The folders of this page's files, and of the script and the style that pages of results have too."""


def page(tables: CellTables) -> str:
    """The page as HTML. Each text of the data is escaped where it becomes HTML."""
    sections: dict[str, str] = {}
    for language in sorted({row["language"] for row in tables.cells}, key=lambda code: (code != "en", code)):
        for task, wanted in TASKS.items():
            rows = [row for row in tables.cells if (row["measure"], row["language"]) == (task, language)]
            if any(row["kind"] == "metric" for row in rows):
                title = f"{wanted}, in {_text(LANGUAGES.get(language, language))}"
                sections[title] = "".join(_section(tables, task, language, rows))
    sets = {row["set"]: [_text(row[field]) for field in ("title", *OF_SET)] for row in tables.cells}
    script = (SHARED / "sorting.js").read_text(encoding="utf-8") + (HERE / "page.js").read_text(encoding="utf-8")
    allowed = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return Template((HERE / "page.html").read_text(encoding="utf-8")).substitute(
        policy=f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{allowed}'",
        style=(SHARED / "scrolling.css").read_text(encoding="utf-8"),
        script=script,
        questions="".join(f"<option>{title}</option>" for title in sections),
        budgets="".join(f'<option value="{key}">{text}</option>' for key, text in BUDGETS.items()),
        sections="\n".join(f"<section><h2>{title}</h2>\n{text}</section>" for title, text in sections.items()),
        packs=_packs(tables.cells),
        sets=_table(["data set", *OF_SET], [*sets.values()]),
    )


def _section(tables: CellTables, task: str, language: str, rows: Sequence[PrintedCell]) -> Iterator[str]:
    """The answers and tables of a measure in a language. rows: its cells."""
    for budget, text in BUDGETS.items():
        headline, why, limits = answer(tables, task, language, budget)
        yield f'<div class="answer" data-budget="{budget}"><p class="soft">With {text}:</p>'
        yield f'<p class="headline">{_text(headline)}</p><p>{_text(why)}</p>'
        items = "".join(f"<li>{_text(limit)}</li>" for limit in limits)
        summary = f"<summary>What the data cannot tell ({len(limits)})</summary>"
        yield f"<details>{summary}<ul>{items}</ul></details></div>\n" if limits else "</div>\n"
    yield f'<p class="soft">{MEANINGS[task]}</p>\n{_values(rows)}'
    heads = ["metric", "data set", "value", "95 % interval", "rows", "groups", "effective groups"]
    heads += ["rows that all metrics scored", "value there", "rank there", "significantly better than every control"]
    lines = [[_text(row["metric"]), _text(row["title"]), *map(_text, _numbers(row))] for row in rows]
    yield f"<details><summary>Rows, groups and ranks, and all controls</summary>{_table(heads, lines)}</details>"


def _values(rows: Sequence[PrintedCell]) -> str:
    """The table of metrics, the best of the first set first, and of sets, those with one metric alone last."""
    metrics = [row for row in rows if row["kind"] == "metric"]
    sets = {row["set"]: row for row in sorted(metrics, key=lambda row: row["alone"] == "yes")}
    of: dict[str, dict[str, PrintedCell]] = {}
    for row in sorted(metrics, key=lambda row: ([*sets].index(row["set"]), -float(row["value"]))):
        of.setdefault(row["metric"], {})[row["set"]] = row
    best: dict[str, PrintedCell] = {}
    for row in rows:
        if row["control"] or row["kind"] == "control":
            best[row["set"]] = max(best.get(row["set"], row), row, key=lambda one: float(one["value"]))
    heads = ["metric", *(f"{_text(row['title'])}{_mark(row)}" for row in sets.values())]
    lines = [[_text(metric), *(_value(found.get(name)) for name in sets)] for metric, found in of.items()]
    needs = [next(iter(found.values()))["needs"] for found in of.values()]
    foot = [
        f"{_value(best[name])}<small>{_text(best[name]['metric'])}</small>" if name in best else "" for name in sets
    ]
    return _table(heads, lines, ["best control", *foot], needs)


def _value(cell: PrintedCell | None) -> str:
    """A value as it stands in a table, with its marks and its interval."""
    if cell is None:
        return ""
    tag = "s" if cell["stale"] else "em" if cell["alone"] == "yes" else "strong" if cell["best"] == "yes" else "span"
    less = cell["alone"] != "yes" and cell["common_rows"] not in ("", cell["n"])
    number = f"<{tag}>{_number(cell, 'value')}</{tag}>"
    return f"{number}{_mark(cell)}{'<sup>†</sup>' * less}<small>{_interval(cell)}</small>"


def _mark(cell: PrintedCell) -> str:
    return "<sup>NC</sup>" if cell["commercial"] == "no" else ""


def _numbers(row: PrintedCell) -> Iterator[str]:
    """All numbers of a cell, as texts."""
    n, groups, effective, common = (
        row[field] and f"{float(row[field]):,.0f}" for field in ("n", "groups", "effective", "common_rows")
    )
    yield from (_number(row, "value"), _interval(row), n, groups, effective, common, _number(row, "common_value"))
    yield from (" to ".join(dict.fromkeys((row["rank_low"], row["rank_high"]))), row["above_controls"])


def _number(row: PrintedCell, field: str) -> str:
    factor, step = (100, "0.1") if "s_" in row["measure"] else (1, "0.001")
    return row[field] and str(Decimal(factor * float(row[field])).quantize(Decimal(step), ROUND_HALF_UP))


def _interval(row: PrintedCell) -> str:
    return row["low"] and f"{_number(row, 'low')} to {_number(row, 'high')}"


def _text(text: str) -> str:
    return escape(Shown(text))


def _packs(cells: Sequence[PrintedCell]) -> str:
    """The table of packs: what a metric costs, and whose scores these are."""
    lines = {}
    for row in cells:
        if pack := row["pack"]:
            link = f'<a href="packs/{quote(pack, safe="")}/card.yaml">{_text(pack)}</a>'
            fields = ("seconds_per_1000", "usd_per_1000", "version", "date", "licence", "fitted_on")
            name = link if row["shipped"] == "yes" else f"{_text(pack)} (not published)"
            lines[pack] = [_text(row["metric"]), NEEDS[row["needs"]], *(_text(row[field]) for field in fields), name]
    heads = ["metric", "needs", "seconds for 1,000 pairs", "USD for 1,000 pairs", "version", "date", "licence"]
    return _table([*heads, "fitted on", "pack"], [*lines.values()])


def _table(
    heads: Sequence[str], lines: Sequence[Sequence[str]], foot: Sequence[str] = (), needs: Sequence[str] = ()
) -> str:
    """A table of cells that are HTML already. needs: the budget that each line takes."""
    attributes = [f' data-needs="{_text(need)}"' for need in needs] or [""] * len(lines)
    rows = [
        f'<tr{more}><th scope="row">{first}</th>{"".join(f"<td>{cell}</td>" for cell in rest)}</tr>\n'
        for (first, *rest), more in zip([*lines, *([foot] if foot else ())], [*attributes, ""], strict=False)
    ]
    head = "".join(f'<th scope="col">{text}</th>' for text in heads)
    body = f"<tbody>\n{''.join(rows[: len(lines)])}</tbody><tfoot>{''.join(rows[len(lines) :])}</tfoot>"
    return f'<div class="frame"><table><thead><tr>{head}</tr></thead>{body}</table></div>\n'
