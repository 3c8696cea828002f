"""The steps of the pipelines `alce` and `aliice`: read and judge answers, and make tables, notes and rows of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass

from metaeval.citation.citation_table import CitationLine, counts, sentence_rows, unjudged
from metaeval.citation.claim_judging import (
    CLAIM_RECALL,
    WITHIN,
    PipelineJudgement,
    PipelineReading,
    answer_rows,
    read_claims,
)
from metaeval.citation.pipelines import pipeline, provenance
from metaeval.citation.pipelines.alce_and_aliice import MEASURES, TEXT_MEASURES, TITLES, AliiceCommand
from metaeval.citation.pipelines.layout import Entry, IntervalEnds
from metaeval.citation.pipelines.metric_verdicts import Backend
from metaeval.citation.pipelines.pipeline import Run
from metaeval.citation.pipelines.provenance import Provenance
from metaeval.citation.pipelines.ranking_tables import flip_sheets, ranking_sheets
from metaeval.citation.system_comparison import Rankings, SystemPanel, panel_of, values_of
from metaeval.config import RunConfig
from metaeval.display_text import count
from metaeval.report.result import Column
from metaeval.report.table import Note, Record, Table, format_value, plain
from metaeval.runs.evaluation import resampling_of

HEADLINES = RECALL, PRECISION, F1 = tuple(measure.column for measure in MEASURES)
_SOFT = "soft: recall is the mean score of claims, precision that of single citations"

_READ = (
    Column(key="statements", label="sentences", digits=1),
    Column(key="cvcp", label="CVCP"),
    Column(key=WITHIN, label="within %", scale=100, digits=1),
    Column(key="claims_per_sentence", label="claims/sentence", digits=2),
    Column(key="fallbacks", label="fallback %", scale=100, digits=1),
    Column(key="sentences", label="sentences", digits=1),
)
_SCORED = (*HEADLINES, *(measure.column for measure in TEXT_MEASURES if measure.key == CLAIM_RECALL))


@dataclass(frozen=True, eq=False)
class CitedAnswers:
    """Answers of systems with their judgements by each backend. judged: in the order of `backends`."""

    reading: PipelineReading
    config: RunConfig
    panel: SystemPanel
    backends: Sequence[Backend]
    judged: Sequence[PipelineJudgement]

    @property
    def both(self) -> list[tuple[Backend, PipelineJudgement]]:
        """Each backend with its judgements."""
        return list(zip(self.backends, self.judged, strict=True))


def judge(reading: PipelineReading, backends: Iterable[Backend], config: RunConfig) -> CitedAnswers:
    """Return the answers with the judgements of each backend; one backend after the other is made and judges."""
    judgements = [(backend, reading.judge(backend.entails, backend.soft)) for backend in backends]
    panel = panel_of(reading.answers, resampling_of(config))
    return CitedAnswers(
        reading, config, panel, [backend for backend, _ in judgements], [judged for _, judged in judgements]
    )


def citation_sheets(cited: CitedAnswers, name: str) -> list[Table]:
    """Return every table of a run, in reading order. name: of the data.

    Rankings need two backends and two systems, flips also two systems that change order.
    """
    around, compared = provenance_of(cited, name), rankings(cited)
    entries = [
        Entry(system, backend.name, cited.panel.ends(judged.statistics, number))
        for backend, judged in cited.both
        for number, system in enumerate(cited.panel.systems)
    ]
    scores = around.scores("citation-scores", "Citation recall and precision (%)", _SCORED, entries)
    ranked = ranking_sheets(compared, around, "rankings", "ranking-agreement")
    return [scores, _texts(cited, around), *ranked, *flip_sheets(compared, around)]


def rankings(cited: CitedAnswers) -> Rankings:
    """Return recall, precision and F1 of the systems with every backend."""
    return Rankings(
        panel=cited.panel,
        backends=[backend.name for backend in cited.backends],
        values={
            column.key: values_of(cited.panel, [judged.statistics[column.key] for judged in cited.judged])
            for column in HEADLINES
        },
        labels={column.key: column.label for column in HEADLINES},
        shares={key: [getattr(judged, key) for judged in cited.judged] for key in ("recall", "precision")},
    )


def provenance_of(cited: CitedAnswers, name: str) -> Provenance:
    """Return the provenance that all tables share: settings, notes on verdicts and marks. name: of the data."""
    reading, panel, lines = cited.reading, cited.panel, cited.judged[0].lines
    marks, kind, unit = counts(lines), TITLES[reading.name], "sentence" if reading.name == "alce" else "claim"
    data = provenance.data_of(name, reading.name, reading.answers, marks["claims"], marks["marks"])
    both = [(backend.name, judged) for backend, judged in cited.both]
    # ALiiCE cuts no sentence where no citation is within a sentence.
    within, whole_sentences = reading.values.get(WITHIN), []
    if within is not None and not any(within):
        whole_sentences = [
            "no citation is within a sentence: every claim is a whole sentence, and ALiiCE is sentence-level here"
        ]
    notes = (
        provenance.warning(panel, cited.backends, whole_sentences),
        provenance.data_note(panel, data, (data.statements, "claim"), (data.citations, "citation mark")),
        Note("settings", provenance.settings_text(reading.fields)),
        provenance.verdicts(cited.backends, _SOFT, "supported from {} on ({})"),
        Note(
            "recall",
            f"share of {unit}s that their citations support; precision: share of citations that support their {unit} "
            "and are needed",
        ),
        provenance.UNCHECKED,
        provenance.truncation(cited.backends),
        provenance.by_backend("not judged", ((name, missing_text(each.lines, "sentence")) for name, each in both)),
        provenance.by_backend("could be", ((name, _bounds(cited, each)) for name, each in both)),
        Note("marks", marks_text(lines)),
        provenance.uncertainty(cited.config.interval, data.groups),
    )
    return Provenance(
        data=data,
        kind=kind,
        subtitle=f"{plain(data.name)}, {kind}, profile {plain(reading.fields['profile'])}",
        fields=reading.fields,
        interval=cited.config.interval,
        judges=[backend.fields for backend in cited.backends],
        after=notes,
    )


def missing_text(lines: Sequence[CitationLine], unit: str) -> str:
    """Return, as text, how many lines have no verdict by reason, with the first ones; empty where none lacks one.

    unit: "sentence" or "statement": the unit whose number says where in its answer a line stands.
    """
    without = unjudged(lines)
    numbers = [line.sentence if unit == "sentence" else line.claim_number for line in without]
    first = [(line.answer, f"{unit} {number}", line.claim) for line, number in zip(without, numbers, strict=True)]
    reasons = Counter(line.reason for line in without)
    return provenance.reasons_text(reasons, count(len(lines), "line"), first) if without else ""


def row_tables(name: str, answers: Sequence[Record], lines: Sequence[CitationLine]) -> list[Table]:
    """Return the rows of a backend, called `name`: answers, sentences, and citations."""
    return [
        Table(name=f"answers:{name}", records=answers),
        Table(name=f"sentences:{name}", records=sentence_rows(lines)),
        Table(name=f"citations:{name}", records=[asdict(line) for line in lines]),
    ]


def _texts(cited: CitedAnswers, around: Provenance) -> Table:
    panel, reading, entries = cited.panel, cited.reading, []
    for number, system in enumerate(panel.systems):
        answers = [reading.answers[row] for row in panel.rows(number)]
        wholes: dict[str, IntervalEnds] = {key: (of(answers), None, None) for key, of in reading.wholes.items()}
        entries.append(Entry(system, "", {**panel.ends(reading.statistics, number), **wholes}))
    statements, *others = _READ
    if reading.fields.get("units") == "list items":
        statements = statements.model_copy(update={"label": "items"})
    columns = [statements, *others, *(measure.column for measure in TEXT_MEASURES)]
    return around.scores("answers", "The answers", columns, entries)


def _bounds(cited: CitedAnswers, judged: PipelineJudgement) -> str:
    """Return, as text, recall and precision of each system with all missing verdicts negative, and all positive."""

    def ranges(system: int) -> list[str]:
        ends = cited.reading.bounds(judged, cited.panel, system).items()
        return [f"{key} {format_value(worst, RECALL)} to {format_value(best, RECALL)}" for key, (worst, best) in ends]

    return provenance.texts_by_system(cited.panel, ranges)


def marks_text(lines: Sequence[CitationLine]) -> str:
    """Return, as text, the number of uncited claims, and of marks not judged as written, by state and problem."""
    totals = counts(lines)
    states, problems = (
        {key.removeprefix(kind): value for key, value in totals.items() if key.startswith(kind)}
        for kind in ("marks: ", "problem: ")
    )
    wrong, first = provenance.counts_text(problems), next((line for line in lines if line.problem), None)
    if first is not None:
        wrong += f" (first: {first.answer}, offset {first.start})"
    uncited = totals["claims uncited"]
    parts = (
        f"uncited {uncited:,} of {count(totals['claims'], 'claim')}" if uncited else "",
        provenance.counts_text({key: value for key, value in states.items() if key not in ("judged", "unjudged")}),
        f"problems: {wrong}" if wrong else "",
    )
    return "; ".join(part for part in parts if part)


def read(run: Run) -> tuple[Run, PipelineReading]:
    """Return the run, and its answers as its pipeline (ALCE or ALiiCE) reads them."""
    name = "aliice" if isinstance(run.options, AliiceCommand) else "alce"
    others = {"files", "format", "sources", "premise", *pipeline.JudgedByMetrics.model_fields}
    changes = run.set_options.get("options", {})
    return run, read_claims(name, run.answers, **run.options.model_dump(exclude=others), changes=changes)


def lay_out(read: tuple[Run, PipelineReading], backends: pipeline.MakeBackends) -> pipeline.Layout:
    """Return tables and rows of the answers, judged by the backends."""
    run, reading = read
    cited = judge(reading, backends(), run.config)
    rows = [row_tables(each.name, answer_rows(reading, judged), judged.lines) for each, judged in cited.both]
    return pipeline.Layout(citation_sheets(cited, run.name), [table for tables in rows for table in tables])
