"""ALCE and ALiiCE as pipelines: their options, tables, notes and rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Annotated, get_args

import numpy as np
from pydantic import Field

from metaeval.citation.alce.mauve import MODEL as MAUVE_MODEL
from metaeval.citation.alce.questions import MODEL as READER
from metaeval.citation.measures import f1
from metaeval.citation.table import COLUMNS, Line, claims_of, counts, unjudged
from metaeval.config import Flag
from metaeval.experiment.citing.claims import (
    HEADLINES,
    MEASURES,
    RECALL,
    UNITS,
    Cited,
    Judged,
    Reading,
    bounds_of,
    by_key,
    judge,
    read_claims,
)
from metaeval.experiment.citing.pipeline import (
    JudgedByMetrics,
    Layout,
    MakeBackends,
    Names,
    ParserName,
    Pipeline,
    ReadsAnswers,
    Run,
    one_of,
)
from metaeval.experiment.citing.provenance import (
    Provenance,
    by_backend,
    by_system,
    counted,
    data_of,
    listed,
    shortened,
    truncation,
    uncertainty,
)
from metaeval.experiment.citing.quantities import Quantity
from metaeval.experiment.citing.rankings import Rankings, flip_sheets, ranking_sheets
from metaeval.experiment.citing.result import RowTable
from metaeval.experiment.citing.text_measures import MAUVE, TEXT_MEASURES
from metaeval.experiment.sheet import Record, Sheet
from metaeval.experiment.verdicts import Backend, Premise
from metaeval.report.citation.layout import Ends, Entry, entry_records, scores_grid
from metaeval.report.grid import Note, count, numeral, plain

_TITLES: Mapping[str, str] = {"alce": "ALCE", "aliice": "ALiiCE"}
_WHOLES = {MAUVE.key: MAUVE.column}
_EXAMPLES = 3


class ClaimOptions(ReadsAnswers, JudgedByMetrics):
    """Options of ALCE and ALiiCE."""

    premise: Annotated[str, one_of("premise", get_args(Premise), chunks="max over chunks"), Flag("HOW")] = Field(
        default="joint", description="joint: the passages as one text; chunks: their best chunk (--set chunk.size)."
    )
    profile: Annotated[str, Flag("NAME")] = Field(
        default="paper", description="paper; released (as the published code computes); ALiiCE also expanded."
    )
    measures: Annotated[Names, Flag("NAMES", multiple=True)] = Field(
        default=(), description="Measures of the text, with commas: str_em, rougeLsum, length ..., qa_em, qa_f1, mauve."
    )
    reader: Annotated[str, Flag("MODEL")] = Field(
        default=READER, description="Model that answers for qa_em, qa_f1, qa_hit: hub id or folder."
    )
    mauve_model: Annotated[str, Flag("MODEL")] = Field(
        default=MAUVE_MODEL, description="Model for mauve: id or folder."
    )


class AlceCommand(ClaimOptions):
    """Options of ALCE."""

    units: Annotated[str, one_of("units", UNITS, list="list items"), Flag("UNITS")] = Field(
        default="sentences", description="sentences, or list (items between commas, as of QAMPARI)."
    )


class AliiceCommand(ClaimOptions):
    """Options of ALiiCE."""

    parser: ParserName = "small"


def citation_sheets(cited: Cited, name: str) -> list[Sheet]:
    """Every sheet of a run, in the order in which they are read. Rankings and flips need two backends and systems."""
    around, found = provenance_of(cited, name), rankings(cited)
    both = ranking_sheets(found, around, "rankings", "ranking-agreement"), flip_sheets(found, around)
    return [_scores(cited, around), _texts(cited, around), *both[0], *both[1]]


def rankings(cited: Cited) -> Rankings:
    """The systems' values of recall, precision and F1 under every backend."""
    values = {
        column.key: np.stack(
            [
                np.stack(
                    [
                        cited.panel.values(by_key(one.quantities)[column.key], system)
                        for system in range(len(cited.panel.systems))
                    ]
                )
                for one in cited.judged
            ]
        )
        for column in HEADLINES
    }
    return Rankings(
        panel=cited.panel,
        backends=[one.backend.name for one in cited.judged],
        values=values,
        labels={column.key: column.label for column in HEADLINES},
        shares={
            "recall": [one.recall for one in cited.judged],
            "precision": [one.precision for one in cited.judged],
        },
    )


def provenance_of(cited: Cited, name: str) -> Provenance:
    """What stands around the tables: data, settings, backends, what they did not read or could not judge, problems."""
    reading, panel, lines = cited.reading, cited.panel, cited.judged[0].lines
    marks, kind = counts(lines), _TITLES[reading.name]
    data = data_of(name, reading.name, reading.answers, marks["claims"], marks["marks"])
    said = f"{count(len(reading.answers), 'answer')} of {count(len(panel.systems), 'system')}, "
    said += f"{count(data.groups, 'group')}; {count(data.statements, 'claim')}, "
    unread = [one for one in cited.judged if unjudged(one.lines)]
    notes = (
        Note("data", said + count(data.citations, "citation mark")),
        Note("settings", listed(reading.fields)),
        by_backend("verdicts", ((one.backend, _verdicts(one.backend)) for one in cited.judged)),
        truncation(one.backend for one in cited.judged),
        by_backend("not judged", ((one.backend, _unjudged(one)) for one in unread)),
        by_backend("could be", ((one.backend, _bounds(cited, one)) for one in unread)),
        Note("marks", _marks(lines)),
        uncertainty(cited.config.interval, data.groups),
    )
    return Provenance(
        data=data,
        kind=kind,
        subtitle=f"{plain(data.name)}, {kind}, profile {plain(str(reading.fields['profile']))}",
        fields=reading.fields,
        interval=cited.config.interval,
        judges=[one.backend.fields for one in cited.judged],
        after=notes,
    )


def row_tables(cited: Cited) -> list[RowTable]:
    """The rows of every backend: of answers, of sentences, and the citation table."""
    return [
        table
        for one in cited.judged
        for table in (
            RowTable(f"answers:{one.backend.name}", answer_rows(cited, one)),
            RowTable(f"sentences:{one.backend.name}", sentence_rows(one.lines)),
            RowTable(f"citations:{one.backend.name}", [asdict(line) for line in one.lines], columns=COLUMNS),
        )
    ]


def answer_rows(cited: Cited, one: Judged) -> list[Record]:
    """One row per answer: its recall, precision and F1, its verdicts that are missing, and what needs no verdict."""
    rows: list[Record] = []
    for number, answer in enumerate(cited.reading.answers):
        recall, precision = one.recall[number], one.precision[number]
        rows.append(
            {
                "answer": answer.id,
                "system": answer.system,
                "group": answer.group or answer.id,
                "recall": recall.value,
                "precision": precision.value,
                "f1": f1(precision.value, recall.value),
                "claims": recall.total,
                "claims_unjudged": recall.open,
                "citations_unjudged": precision.open,
                **{key: values[number] for key, values in cited.reading.values.items()},
            }
        )
    return rows


def sentence_rows(lines: Sequence[Line]) -> list[Record]:
    """One row per sentence with a claim: how many claims and citations it holds, and how many of them hold.

    A claim or citation without a verdict is in the number, not in the supported or precise.
    """
    claims: dict[tuple[str, int | None], list[Line]] = {}
    citations: dict[tuple[str, int | None], list[Line]] = {}
    for line in claims_of(lines):
        claims.setdefault((line.answer, line.sentence), []).append(line)
    for line in lines:
        if line.start is not None:
            citations.setdefault((line.answer, line.sentence), []).append(line)
    return [
        {
            "answer": answer,
            "system": own[0].system,
            "sentence": sentence,
            "start": own[0].sentence_start,
            "end": own[0].sentence_end,
            "claims": len(own),
            "claims_supported": sum(line.recall == 1 for line in own),
            "claims_unjudged": sum(line.recall is None and bool(line.reason) for line in own),
            "citations": len(marks := citations.get((answer, sentence), [])),
            "citations_precise": sum(line.precision == 1 for line in marks),
            "citations_unjudged": sum(line.state == "unjudged" for line in marks),
        }
        for (answer, sentence), own in claims.items()
    ]


def _scores(cited: Cited, around: Provenance) -> Sheet:
    entries, columns = [], {}
    for one in cited.judged:
        columns.update({quantity.column.key: quantity.column for quantity in one.quantities})
        entries += [
            Entry(system, one.backend.name, _values(cited, one.quantities, number))
            for number, system in enumerate(cited.panel.systems)
        ]
    return around.sheet(
        "citation-scores",
        "Citation recall and precision (%)",
        entry_records(entries),
        lambda frame: scores_grid(frame, list(columns.values()), entries),
    )


def _texts(cited: Cited, around: Provenance) -> Sheet:
    quantities = cited.reading.quantities
    entries = [
        Entry(system, "", {**_values(cited, quantities, number), **_wholes(cited, number)})
        for number, system in enumerate(cited.panel.systems)
    ]
    columns = [*(quantity.column for quantity in quantities), *(_WHOLES[key] for key in cited.reading.wholes)]
    return around.sheet(
        "answers", "The answers", entry_records(entries), lambda frame: scores_grid(frame, columns, entries)
    )


def _values(cited: Cited, quantities: Sequence[Quantity], system: int) -> dict[str, Ends]:
    return {quantity.column.key: cited.panel.interval(quantity, system).ends for quantity in quantities}


def _wholes(cited: Cited, system: int) -> dict[str, Ends]:
    own = [cited.reading.answers[row] for row in cited.panel.rows(system)]
    return {key: (of(own), None, None) for key, of in cited.reading.wholes.items()}


def _verdicts(backend: Backend) -> str:
    cutoff, asked = backend.cutoff, count(backend.ledger.pairs, "pair")
    if cutoff.value is None:
        return f"soft: recall is the mean score of claims, precision that of single citations; {asked}"
    return f"supported from {cutoff.value:g} on ({cutoff.source}); {asked}"


def _unjudged(one: Judged) -> str:
    """The lines without a verdict by reason, and the first of them."""
    lines = unjudged(one.lines)
    reasons = counted(Counter(line.reason for line in lines))
    examples = [f"{line.answer}, sentence {line.sentence}: {shortened(line.claim)}" for line in lines[:_EXAMPLES]]
    return f"{reasons} (of {len(one.lines):,} lines); first: {'; '.join(examples)}"


def _bounds(cited: Cited, one: Judged) -> str:
    """What recall and precision of each system could be, were all missing verdicts against it, or for it."""

    def said(system: int) -> list[str]:
        ends = bounds_of(cited, one, system).items()
        return [f"{key} {numeral(worst, RECALL)} to {numeral(best, RECALL)}" for key, (worst, best) in ends]

    return by_system(cited.panel, said)


def _marks(lines: Sequence[Line]) -> str:
    """Marks that take no part as they stand, by what became of them and by what is wrong with them."""
    found = counts(lines)
    states, problems = (
        {key.removeprefix(kind): value for key, value in found.items() if key.startswith(kind)}
        for kind in ("marks: ", "problem: ")
    )
    wrong, first = counted(problems), next((line for line in lines if line.problem), None)
    if first is not None:
        wrong += f" (first: {first.answer}, offset {first.start})"
    uncited = found["claims uncited"]
    parts = (
        f"uncited {uncited:,} of {count(found['claims'], 'claim')}" if uncited else "",
        counted({key: value for key, value in states.items() if key not in ("judged", "unjudged")}),
        f"problems: {wrong}" if wrong else "",
    )
    return "; ".join(part for part in parts if part)


def _read(run: Run) -> tuple[Run, Reading]:
    name = "aliice" if isinstance(run.options, AliiceCommand) else "alce"
    others = {"files", "format", "premise", *JudgedByMetrics.model_fields}
    return run, read_claims(name, run.answers, **run.options.model_dump(exclude=others))


def _judge(read: tuple[Run, Reading], backends: MakeBackends) -> tuple[Run, Cited]:
    run, reading = read
    return run, judge(reading, backends(), run.config)


def _lay_out(judged: tuple[Run, Cited]) -> Layout:
    run, cited = judged
    return Layout(citation_sheets(cited, run.name), row_tables(cited))


def _pipeline(name: str, paper: str, options: type[ClaimOptions], help: str) -> Pipeline:
    return Pipeline(
        name=name,
        title=_TITLES[name],
        paper=paper,
        help=help,
        options=options,
        measures=(*MEASURES, *TEXT_MEASURES.values(), MAUVE),
        backends="many",
        read=_read,
        judge=_judge,
        lay_out=_lay_out,
    )


ALCE = _pipeline(
    name="alce",
    paper="Gao et al. 2023, Enabling Large Language Models to Generate Text with Citations",
    options=AlceCommand,
    help="""Citation recall and precision of whole sentences (ALCE).

    \b
    Examples:
      metaeval cite alce answers.json
      metaeval cite alce answers.json --nli autoais --profile released
      metaeval cite alce one.json two.json --nli minilm-bertscore --nli overlap
      metaeval cite alce answers.jsonl --nli nli --threshold 0.5
    """,
)

ALIICE = _pipeline(
    name="aliice",
    paper="Xu et al. 2025, ALiiCE: Evaluating Positional Fine-grained Citation Generation",
    options=AliiceCommand,
    help="""Citation recall and precision within sentences (ALiiCE).

    A sentence is cut into one claim for each of its citation groups, by the
    place of the citations in its dependency tree.

    \b
    Examples:
      metaeval cite aliice answers.json
      metaeval cite aliice answers.json --parser spacy:en_core_web_sm
      metaeval cite aliice answers.json --nli rouge,overlap --profile released
    """,
)
