"""The pipelines `alce` and `aliice`: options, tables, notes and rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Annotated, get_args

from pydantic import Field

from metaeval.citation.alce.citations import AlceOptions
from metaeval.citation.alce.correctness import MAUVE_MODEL, READER
from metaeval.citation.aliice.claim_options import Profile
from metaeval.citation.aliice.gold_claims import EXACT, TOKEN_F1
from metaeval.citation.judging import (
    CLAIM_RECALL,
    MAUVE,
    UNITS,
    WITHIN,
    PipelineJudgement,
    PipelineReading,
    answer_rows,
    read_claims,
)
from metaeval.citation.panel import Rankings, SystemPanel, panel_of, values_of
from metaeval.citation.pipelines import pipeline, provenance
from metaeval.citation.pipelines.figures import sentence_tree
from metaeval.citation.pipelines.layout import Entry, IntervalEnds
from metaeval.citation.pipelines.metric_verdicts import Backend, Premise
from metaeval.citation.pipelines.pipeline import Pipeline, PipelineMeasure, Run
from metaeval.citation.pipelines.provenance import Provenance
from metaeval.citation.pipelines.rankings import flip_sheets, ranking_sheets
from metaeval.citation.sentences import MarkStyles
from metaeval.citation.table import CitationLine, counts, sentence_rows, unjudged
from metaeval.config import RunConfig
from metaeval.declared import Flag
from metaeval.report.result import Column
from metaeval.report.table import Note, Table, format_value, plain
from metaeval.runs.evaluation import resampling_of
from metaeval.setting_types import one_of
from metaeval.shown import count

_TITLES: Mapping[str, str] = {"alce": "ALCE", "aliice": "ALiiCE"}
_SOFT = "soft: recall is the mean score of claims, precision that of single citations"

MEASURES = (
    PipelineMeasure("recall", "recall", "share of claims that their citations together support", 100, 1),
    PipelineMeasure("precision", "precision", "share of citations that support their claim and are needed", 100, 1),
    PipelineMeasure("f1", "F1", "harmonic mean of recall and precision", 100, 1),
)
HEADLINES = RECALL, PRECISION, F1 = tuple(measure.column for measure in MEASURES)

_TEXT_MEASURES = (
    PipelineMeasure("str_em", "EM recall", "share of the reference's short answers that occur in the text", 100, 1),
    PipelineMeasure("str_hit", "hit", "share of answers in which every short answer occurs", 100, 1),
    PipelineMeasure("rougeLsum", "ROUGE-Lsum", "longest common subsequence with the reference", 100, 1),
    PipelineMeasure("rougeL", "ROUGE-L", "longest common subsequence with the reference, in the whole text", 100, 1),
    PipelineMeasure(CLAIM_RECALL, "claim recall", "share of the reference's claims that the text entails", 100, 1),
    PipelineMeasure("num_preds", "items", "number of items of the list", 1, 1),
    PipelineMeasure("qampari_prec", "list precision", "share of the list's items that are correct", 100, 1),
    PipelineMeasure("qampari_rec", "list recall", "share of the correct items that are in the list", 100, 1),
    PipelineMeasure(
        "qampari_rec_top5", "list recall-5", "share of the correct items that are in the list; five are enough", 100, 1
    ),
    PipelineMeasure("qampari_f1", "list F1", "harmonic mean of list precision and list recall", 100, 1),
    PipelineMeasure("qampari_f1_top5", "list F1-5", "harmonic mean of list precision and list recall-5", 100, 1),
    PipelineMeasure("length", "words", "number of words of the answer", 1, 1),
    PipelineMeasure("qa_em", "QA-EM", "share of short answers that a reader model extracts exactly", 100, 1),
    PipelineMeasure(
        "qa_f1", "QA-F1", "word overlap (F1) of short answers with those that a reader model extracts", 100, 1
    ),
    PipelineMeasure(
        "qa_hit", "QA-hit", "share of answers from which a reader model extracts every short answer", 100, 1
    ),
    PipelineMeasure(MAUVE, "MAUVE", "similarity of the distributions of answers and references", 100, 1),
)
_READ = (
    Column(key="statements", label="sentences", digits=1),
    Column(key="cvcp", label="CVCP"),
    Column(key=WITHIN, label="within %", scale=100, digits=1),
    Column(key="claims_per_sentence", label="claims/sentence", digits=2),
    Column(key="fallbacks", label="fallback %", scale=100, digits=1),
    Column(key=EXACT, label="claims as gold %", scale=100, digits=1),
    Column(key=TOKEN_F1, label="claims' word F1 %", scale=100, digits=1),
    Column(key="sentences", label="sentences", digits=1),
)
_SCORED = (*HEADLINES, *(measure.column for measure in _TEXT_MEASURES if measure.key == CLAIM_RECALL))


PremiseName = Annotated[
    str,
    one_of("premise", get_args(Premise), chunks="max over chunks"),
    Flag("HOW"),
    Field(description="How passages are read: joint (as one text) or chunks (the best chunk; --set chunk.size)."),
]


class ClaimOptions(pipeline.ReadsAnswers, pipeline.JudgedByMetrics):
    """Options of ALCE and ALiiCE."""

    untyped = frozenset({"premise", "reader", "mauve_model"})

    premise: PremiseName = "joint"
    profile: Annotated[str, Flag("NAME")] = Field(
        default="paper",
        description="Definition: paper (as published), released (as the authors' code computes); ALCE: aliice (as the "
        "ALCE columns of ALiiCE's tables); ALiiCE: printed, expanded.",
    )
    measures: Annotated[pipeline.NameList, Flag("NAMES", multiple=True)] = Field(
        default=(),
        description="Measures of the text: str_em, str_hit, rougeLsum, rougeL, length, qa_em, mauve ... Repeatable.",
    )
    reader: Annotated[str, Flag("MODEL")] = Field(
        default=READER, description="Reader model of qa_em, qa_f1 and qa_hit: hub id or folder."
    )
    mauve_model: Annotated[str, Flag("MODEL")] = Field(
        default=MAUVE_MODEL, description="Model of mauve: hub id or folder."
    )


class AlceCommand(ClaimOptions):
    """Options of ALCE."""

    untyped = frozenset({"units"})

    units: Annotated[str, one_of("units", UNITS, list="list items"), Flag("UNITS")] = Field(
        default="sentences",
        description="Units that need citations: sentences, or list (items between commas, as in QAMPARI).",
    )


class AliiceCommand(ClaimOptions):
    """Options of ALiiCE."""

    parser: pipeline.ParserName = "small"


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
    """Return the answers with the judgements of each backend, which judge in turn."""
    judgements = [(backend, reading.judge(backend.entails, backend.soft)) for backend in backends]
    panel = panel_of(reading.answers, resampling_of(config))
    return CitedAnswers(
        reading, config, panel, [backend for backend, _ in judgements], [judged for _, judged in judgements]
    )


def citation_sheets(cited: CitedAnswers, name: str) -> list[Table]:
    """Return every table of a run of the pipeline `name`, in reading order.

    Rankings and flips need two backends and two systems.
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
    """Return what the tables share: data, settings, verdicts, truncation, missing verdicts, and wrong marks."""
    reading, panel, lines = cited.reading, cited.panel, cited.judged[0].lines
    marks, kind = counts(lines), _TITLES[reading.name]
    data = provenance.data_of(name, reading.name, reading.answers, marks["claims"], marks["marks"])
    unread, missing = [(backend, judged) for backend, judged in cited.both if unjudged(judged.lines)], []
    for backend, judged in unread:
        without, of = unjudged(judged.lines), f"{count(len(judged.lines), 'line')}"
        first = [(line.answer, f"sentence {line.sentence}", line.claim) for line in without]
        missing.append((backend, provenance.reasons(Counter(line.reason for line in without), of, first)))
    # ALiiCE cuts no sentence where no citation is within a sentence.
    within, whole_sentences = reading.values.get(WITHIN), []
    if within is not None and not any(within):
        whole_sentences = [
            "no citation is within a sentence: every claim is a whole sentence, and ALiiCE is sentence-level here"
        ]
    notes = (
        provenance.warning(panel, cited.backends, whole_sentences),
        provenance.judged(panel, data, (data.statements, "claim"), (data.citations, "citation mark")),
        Note("settings", provenance.listed(reading.fields)),
        provenance.verdicts(cited.backends, _SOFT, "supported from {} on ({})"),
        provenance.truncation(cited.backends),
        provenance.by_backend("not judged", missing),
        provenance.by_backend("could be", ((backend, _bounds(cited, judged)) for backend, judged in unread)),
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


def row_tables(cited: CitedAnswers) -> list[Table]:
    """Return the rows of every backend: answers, sentences, and citations."""
    return [
        table
        for backend, judged in cited.both
        for table in (
            Table(name=f"answers:{backend.name}", records=answer_rows(cited.reading, judged)),
            Table(name=f"sentences:{backend.name}", records=sentence_rows(judged.lines)),
            Table(name=f"citations:{backend.name}", records=[asdict(line) for line in judged.lines]),
        )
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
    columns = [statements, *others, *(measure.column for measure in _TEXT_MEASURES)]
    return around.scores("answers", "The answers", columns, entries)


def _bounds(cited: CitedAnswers, judged: PipelineJudgement) -> str:
    """Return, as text, recall and precision of each system with all missing verdicts negative, and positive."""

    def ranges(system: int) -> list[str]:
        ends = cited.reading.bounds(judged, cited.panel, system).items()
        return [f"{key} {format_value(worst, RECALL)} to {format_value(best, RECALL)}" for key, (worst, best) in ends]

    return provenance.by_system(cited.panel, ranges)


def marks_text(lines: Sequence[CitationLine]) -> str:
    """Return, as text, the number of uncited claims, and of marks not judged as written, by state and problem."""
    totals = counts(lines)
    states, problems = (
        {key.removeprefix(kind): value for key, value in totals.items() if key.startswith(kind)}
        for kind in ("marks: ", "problem: ")
    )
    wrong, first = provenance.counted(problems), next((line for line in lines if line.problem), None)
    if first is not None:
        wrong += f" (first: {first.answer}, offset {first.start})"
    uncited = totals["claims uncited"]
    parts = (
        f"uncited {uncited:,} of {count(totals['claims'], 'claim')}" if uncited else "",
        provenance.counted({key: value for key, value in states.items() if key not in ("judged", "unjudged")}),
        f"problems: {wrong}" if wrong else "",
    )
    return "; ".join(part for part in parts if part)


def _read(run: Run) -> tuple[Run, PipelineReading]:
    name = "aliice" if isinstance(run.options, AliiceCommand) else "alce"
    others = {"files", "format", "sources", "premise", *pipeline.JudgedByMetrics.model_fields}
    changes = run.set_options.get("options", {})
    return run, read_claims(name, run.answers, **run.options.model_dump(exclude=others), changes=changes)


def _judge(read: tuple[Run, PipelineReading], backends: pipeline.MakeBackends) -> pipeline.Layout:
    run, reading = read
    cited = judge(reading, backends(), run.config)
    return pipeline.Layout(citation_sheets(cited, run.name), row_tables(cited))


ALCE = Pipeline(
    name="alce",
    title=_TITLES["alce"],
    paper="Gao et al. 2023, Enabling Large Language Models to Generate Text with Citations",
    options=AlceCommand,
    help="""Measure citation recall and precision of sentences (ALCE).

    Recall is the share of sentences that their citations support; precision
    is the share of citations that support their sentence and are needed.

    \b
    Examples:
      metaeval cite alce answers.json
      metaeval cite alce answers.json --nli autoais --profile released
      metaeval cite alce one.json two.json --nli minilm-bertscore --nli overlap
      metaeval cite alce answers.jsonl --nli nli --threshold 0.5
    """,
    measures=(*MEASURES, *_TEXT_MEASURES),
    owners={"options": AlceOptions},
    signed=(MarkStyles,),
    backends="many",
    read=_read,
    judge=_judge,
)

ALIICE = replace(
    ALCE,
    name="aliice",
    title=_TITLES["aliice"],
    paper="Xu et al. 2025, ALiiCE: Evaluating Positional Fine-grained Citation Generation",
    options=AliiceCommand,
    owners={"options": Profile},
    signed=(),
    tree=sentence_tree,
    help="""Measure citation recall and precision of claims (ALiiCE).

    Each sentence is cut into one claim per group of citations, by the
    positions of the citations in its dependency tree.

    \b
    Examples:
      metaeval cite aliice answers.json
      metaeval cite aliice answers.json --parser spacy:en_core_web_sm
      metaeval cite aliice answers.json --nli rouge,overlap --profile released
    """,
)
