"""The most confident errors of each metric of a job, with their texts: the material of a case study."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import groupby
from operator import attrgetter, itemgetter
from pathlib import Path
from string import Template
from typing import Annotated

from pydantic import Field

from metaeval.analyses.analysis import Analysis, DeclaredOptions, Done, FileOrName, Progress
from metaeval.core.config import ResultsSettings
from metaeval.core.declared import Flag, MetricNames, one_of
from metaeval.core.errors import Shown, UserError, count, unknown
from metaeval.core.files import write_text
from metaeval.corpus.model import SupportLevel

FORMATS = ("terminal", "markdown", "latex", "jsonl")


class CasesOptions(ResultsSettings, DeclaredOptions):
    """Options of `results cases`."""

    job: Annotated[FileOrName, Flag("JOB", argument=True)] = "latest"
    """Job: latest, a name of 'results list', its beginning, or its hash."""
    metrics: Annotated[MetricNames, Flag("NAMES", "-m")] = ()
    """Metrics of the job (default: all but controls)."""
    cases: Annotated[int, Flag("N"), Field(ge=1)] = 3
    """Most cases of a metric in each direction."""
    data: Annotated[Path | None, Flag("PATH", hidden=True)] = None
    """Folder that holds the published files (jsonl: your file)."""
    format: Annotated[str, one_of("format", FORMATS), Flag("FORMAT", "-f")] = "terminal"
    """Format: terminal, markdown, latex or jsonl."""
    output: Annotated[Path | None, Flag("FILE", "-o", output=True)] = None
    """File to write (default: the cases are printed)."""


_GAP = " […] "
# Lines of a LaTeX table that fit a page, and characters of a line of its examples, in a narrow article.
_LINES, _CHARACTERS = 46, 66
_BEFORE = 10  # words shown before evidence that begins beyond the first `WORDS`
WORDS = 60  # words of a text that are shown; JSONL holds all of them
HIGH, LOW = "score too high", "score too low"


@dataclass(frozen=True)
class Case:
    """A judged row that a metric gets wrong. score: higher is more support.

    error: `HIGH` or `LOW`. threshold: the score from which the metric says supported; None where none is known, so that
    the cases are the highest scores of rows at level none and the lowest of the others. citation: text of the cited
    chunks. evidence: offsets in `citation` of what people marked as evidence, start and end of each piece.
    """

    metric: str
    error: str
    label: str
    score: float
    threshold: float | None
    statement: str
    citation: str
    id: str
    evidence: tuple[tuple[int, int], ...] = ()


# The statement of a row, the text of its citation, and (start, end) of each piece of evidence in that text.
RowTexts = tuple[str, str, tuple[tuple[int, int], ...]]


def find_cases(
    metric: str,
    scores: Mapping[str, float],
    levels: Mapping[str, int],
    texts: Callable[[str], RowTexts],
    most: int,
    threshold: float | None = None,
) -> list[Case]:
    """Return a metric's most confident errors: the highest scores of rows without support, then the lowest of others.

    scores, levels: by row id, of rows that have both; a level is 0, 1 or 2, and 1 and 2 count as supported. texts:
    returns the texts of a row. most: largest number of cases of each kind. threshold: a score of a row without support
    is an error from this on, and of another row below it (None: any score). Rows with equal scores are in order of id.
    """
    none = sorted((-score, row) for row, score in scores.items() if not levels[row])
    some = sorted((score, row) for row, score in scores.items() if levels[row])
    high = [(HIGH, row) for score, row in none if threshold is None or -score >= threshold][:most]
    low = [(LOW, row) for score, row in some if threshold is None or score < threshold][:most]
    labelled = [(error, row, SupportLevel(levels[row]).label) for error, row in (*high, *low)]
    cases = []
    for error, row, level in labelled:
        statement, citation, evidence = texts(row)
        cases.append(Case(metric, error, level, scores[row], threshold, statement, citation, row, evidence))
    return cases


def _run(options: CasesOptions, progress: Progress) -> Done:
    from metaeval.explorer.job_folders import folder_of
    from metaeval.explorer.page_data import View, evidence_reader, judged_job, kept_pairs, spans_of, threshold_of
    from metaeval.report.notebook import NotebookText
    from metaeval.report.table import DEMO, Table

    folder = folder_of(options.job, options.results)
    head, kept = kept_pairs(folder)
    if head["job"].get("unit") == "rating":
        raise UserError(f"{folder} holds ratings of texts without citations: give a job on cited documents.")
    names = [name for name in head["columns"] if name not in head["controls"]]
    if wrong := [name for name in options.metrics if name not in names]:
        raise unknown("metric of the job", wrong[0], names)
    job = judged_job(folder, View(options.data), head)
    rows = {row.id: row for row in job.rows if row.id in kept and row.cited and kept[row.id]["level"] is not None}

    evidence_of = evidence_reader(job)

    def texts(row: str) -> RowTexts:
        sources: list[str] = []
        marked: list[tuple[int, int]] = []
        start = 0
        for pair in (job.pairs[number] for number in rows[row].members):
            offsets = [start + offset for offset in spans_of(evidence_of(pair), pair)]
            marked += zip(offsets[::2], offsets[1::2], strict=True)
            sources.append(pair.source)
            start += len(pair.source) + len(_GAP)
        return rows[row].statement, _GAP.join(sources), tuple(marked)

    cases, notes = [], []
    for name in options.metrics or names:
        place = head["columns"].index(name)
        scores = {row: kept[row]["scores"][place] for row in rows}
        known = {row: float(score) for row, score in scores.items() if score is not None}
        levels = {row: int(kept[row]["level"]) for row in known}
        threshold = threshold_of(name, job.config)
        errors = find_cases(name, known, levels, texts, options.cases, threshold)
        cases += errors
        kind = "errors at its threshold" if threshold is not None else "no threshold is known: its extreme scores"
        notes.append(f"{name}: {len(errors)} cases; {kind}; {count(len(rows) - len(known), 'row')} without a score")
    place = ", ".join(filter(None, (job.name, job.split)))
    text = _latex(cases, place) if options.format == "latex" else RENDERERS[options.format](cases)
    notes += [DEMO] if job.corpus.demo else []
    value = Table(records=[asdict(case) for case in cases])
    if options.output is None:
        return Done(shown=NotebookText(text), warnings=notes, value=value)
    written = f"Written: {options.output}. The texts are in it: share it where you may share them."
    write = {options.output: partial(write_text, text=text)}
    return Done(outputs=write, shown=(), written=[written], warnings=notes, value=value)


def _excerpt(text: str) -> Shown:
    parts = text.split()
    return Shown(" ".join(parts[:WORDS]) + (" …" if len(parts) > WORDS else ""))


def _passage(case: Case, mark: Callable[[str], str], escape: Callable[[Shown], str] = str) -> str:
    """Return `WORDS` words of the citation with evidence marked: the first ones, or those where evidence begins later.

    mark: returns a piece of evidence as it is printed. escape: returns any text as the format needs it.
    """
    words = [
        (match.group(), any(start < match.end() and match.start() < end for start, end in case.evidence))
        for match in re.finditer(r"\S+", case.citation)
    ]
    first = next((number for number, (_, marked) in enumerate(words) if marked), 0)
    begin = first - _BEFORE if first >= WORDS else 0
    pieces = [
        (escape(Shown(" ".join(word for word, _ in group))), marked)
        for marked, group in groupby(words[begin : begin + WORDS], key=itemgetter(1))
    ]
    text = " ".join(mark(piece) if marked else piece for piece, marked in pieces)
    return ("… " if begin else "") + text + (" …" if len(words) > begin + WORDS else "")


def _said(case: Case) -> str:
    known = "" if case.threshold is None else f", supported from {case.threshold:.3g}"
    return f"Label: {case.label.replace('none', 'no')} support. Score: {case.score:.3g}{known}."


def _terminal(cases: Sequence[Case]) -> str:
    return "\n\n".join(
        f"{Shown(f'{case.metric}, {case.error} ({case.id})')}\n  Statement: {_excerpt(case.statement)}\n"
        f"  Citation: {_passage(case, '[[{}]]'.format)}\n  {_said(case)}"
        for case in cases
    )


def _markdown(cases: Sequence[Case]) -> str:
    from metaeval.report.markdown import escape

    lines = ["| metric | error | example |", "| :-- | :-- | :-- |"]
    for case in cases:
        citation = _passage(case, "**{}**".format, escape)
        example = f"**Statement:** {escape(_excerpt(case.statement))}<br>**Citation:** {citation}<br>{_said(case)}"
        lines.append(f"| {escape(Shown(case.metric))} | {case.error} | {example} |")
    return "\n".join(lines) + "\n"


def _latex(cases: Sequence[Case], place: str = "") -> str:
    """Return, as LaTeX, a table for each metric, or several if one does not fit a page. place: the data's name."""
    from metaeval.report.latex import escape
    from metaeval.report.terminal import GAP, packed

    tables = []
    for metric, group in groupby(cases, key=attrgetter("metric")):
        rows = list(group)
        # About how many lines a case takes, with the space below it.
        texts = [(_excerpt(case.statement), _passage(case, str)) for case in rows]
        lines = [2 + sum(1 + len(text) // _CHARACTERS for text in pair) for pair in texts]
        parts = packed([number - GAP for number in lines], (), _LINES)
        name = f"{metric} on {place}" if place else metric
        for number, part in enumerate(parts, start=1):
            caption = f"{name}, part {number} of {len(parts)}" if len(parts) > 1 else name
            label = re.sub("[^a-z0-9]+", "-", f"{metric}-{number}".lower()).strip("-")
            examples = "\n    \\addlinespace\n".join(_example(rows[n]) for n in part)
            tables.append(_TABLE.substitute(caption=escape(Shown(caption)), label=label, rows=examples))
    return "\n".join(tables)


def _example(case: Case) -> str:
    """Return a row of a LaTeX table: the error, and the texts with the score, a paragraph each."""
    from metaeval.report.latex import escape

    # Each word is underlined by itself, for LaTeX does not break a line within an underlined text.
    words = partial(re.sub, "[^ ]+", r"\\underline{\g<0>}")
    statement = rf"\textbf{{Statement:}} {escape(_excerpt(case.statement))}"
    citation = rf"\textbf{{Citation:}} {_passage(case, words, escape)}"
    example = r" \par ".join((statement, citation, escape(Shown(_said(case)))))
    return rf"    \raggedright {case.error} & \raggedright {example} \tabularnewline"


_TABLE = Template(
    r"""% Needs \usepackage{booktabs}.
\begin{table*}[tp]
  \centering\small
  \setlength{\belowcaptionskip}{4pt}
  \caption{Most confident errors of $caption: examples without support that score highest, and supported ones that """
    r"""score lowest. Underlined: what people marked as evidence.}
  \label{tab:cases-$label}
  \begin{tabular}{@{}p{0.12\linewidth}p{0.82\linewidth}@{}}
    \toprule
    Error & Example \\
    \midrule
$rows
    \bottomrule
  \end{tabular}
\end{table*}
"""
)

RENDERERS: Mapping[str, Callable[[Sequence[Case]], str]] = {
    "terminal": _terminal,
    "markdown": _markdown,
    "latex": _latex,
    "jsonl": lambda cases: "".join(f"{json.dumps(asdict(case), ensure_ascii=False)}\n" for case in cases),
}

CASES = Analysis(
    name="results cases",
    summary="Show the most confident errors of each metric of a run.",
    about="""They go both ways: rows that people judged as no support with the highest scores, and fully or partially
supported ones with the lowest. For a metric with a threshold only its wrong decisions count. The texts are read again
from the data, and what people marked as evidence is marked in them; the reasons of errors are for people to name.""",
    returns="Table: A row for each error.",
    examples=["results cases", "results cases latest -m overlap --cases 5 --format latex -o cases.tex"],
    options=CasesOptions,
    run=_run,
)
