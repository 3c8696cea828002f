"""The pipeline `support`: TREC RAG's, FACT's, LongCite's and open-rag-eval's measures of the same levels of support."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Annotated

from pydantic import BeforeValidator, Field

from metaeval.citation import measures
from metaeval.citation.measures import AnswerShare, Statistic
from metaeval.citation.model import Answer, Verdict, answer_cells, group_of
from metaeval.citation.panel import Rankings, SystemPanel, panel_of, values_of
from metaeval.citation.pipelines import pipeline, provenance
from metaeval.citation.pipelines.claims_tables import marks_text
from metaeval.citation.pipelines.layout import Entry
from metaeval.citation.pipelines.metric_verdicts import Backend
from metaeval.citation.pipelines.pipeline import Pipeline, PipelineMeasure, Run, one_of
from metaeval.citation.pipelines.provenance import Provenance
from metaeval.citation.pipelines.rankings import flip_sheets, ranking_sheets
from metaeval.citation.pipelines.run import DEFAULT_BACKEND
from metaeval.citation.scifi.entailment import counter
from metaeval.citation.support.definitions import (
    AllStatements,
    SupportValues,
    Values,
    citation_length,
    fact_values,
    longcite_values,
    mean_of_sets,
    rag_eval_values,
    scaled,
    trec_values,
)
from metaeval.citation.support.judging import (
    JudgedStatement,
    SupportStatement,
    judge_levels,
    labels_of,
    matched,
    support_lines,
    support_statements,
)
from metaeval.citation.support.measures import Level, Statements
from metaeval.citation.table import CitationLine, counts, sentence_rows, unjudged
from metaeval.declared import Flag
from metaeval.errors import UserError, unknown
from metaeval.report.result import Column
from metaeval.report.table import Note, Table, count, format_value, plain
from metaeval.runs.cutoffs import judge_of, read_thresholds
from metaeval.runs.evaluation import resampling_of

LABELS = "labels"
"""The name of the backend whose levels are those of the file."""


@dataclass(frozen=True)
class Definition:
    """A published definition of support. measures: those printed. ranked: those that rankings compare."""

    title: str
    measures: tuple[PipelineMeasure, ...]
    ranked: tuple[str, ...]
    reading: str


def _measures(*rows: tuple[str, str, str], counted: Sequence[str] = ()) -> tuple[PipelineMeasure, ...]:
    return tuple(
        PipelineMeasure(key, label, meaning, *((1, 2) if key in counted else (100, 1))) for key, label, meaning in rows
    )


DEFINITIONS: Mapping[str, Definition] = {
    "trec": Definition(
        "TREC RAG support",
        _measures(
            ("trec_precision", "precision", "mean level of the first citations of sentences that cite"),
            ("trec_recall", "recall", "mean level of the first citations, over all sentences"),
            ("trec_precision_all", "precision, all", "as precision, with the mean over a sentence's citations"),
            ("trec_recall_all", "recall, all", "as recall, with the mean over a sentence's citations"),
            ("trec_precision_hard", "hard precision", "share of first citations that fully support their sentence"),
            ("trec_recall_hard", "hard recall", "share of sentences that their first citation fully supports"),
        ),
        ("trec_precision", "trec_recall"),
        "full support weighs 1, partial .5; a citation without a level is left out, a sentence without a citation is 0",
    ),
    "fact": Definition(
        "FACT citation accuracy",
        _measures(
            ("fact_released", "accuracy", "supported pairs out of all judged pairs (released code)"),
            ("fact_paper", "task mean", "mean over answers of their accuracy (paper); answers without pairs left out"),
            ("fact_paper_all", "task mean, all", "as task mean, with 0 for answers without a judged pair"),
            ("fact_effective", "effective", "supported pairs per answer that cites"),
            ("fact_citations", "pairs", "judged pairs per answer that cites"),
            counted=("fact_effective", "fact_citations"),
        ),
        ("fact_released",),
        "a pair is a statement and a source, once; partial support is support; a pair without a level is left out",
    ),
    "longcite": Definition(
        "LongCite",
        _measures(
            ("longcite_recall", "recall", "mean level of statements by all their citations together"),
            ("longcite_precision", "precision", "share of citations that support a part of their statement"),
            ("longcite_f1", "F1", "mean over answers of the harmonic mean of recall and precision"),
            ("longcite_f1_sets", "F1, sets", "mean over data sets of their F1"),
            ("longcite_length", "length", "mean length of a cited text"),
            counted=("longcite_length",),
        ),
        ("longcite_f1",),
        "a statement without a citation is 0, unless it was judged to need none",
    ),
    "rag-eval": Definition(
        "open-rag-eval",
        _measures(
            ("rag_eval_precision", "precision", "mean over cited passages of the mean level of their citations"),
            ("rag_eval_recall", "recall", "mean over parts of the answer of the mean level of their citations"),
            ("rag_eval_f1", "F1", "mean over answers of the harmonic mean of recall and precision"),
        ),
        ("rag_eval_f1",),
        "full support weighs 1, partial .5; a citation without a level is left out, a part without a citation is 0",
    ),
}


SETTINGS = ("units", "reading", "denominator", "stray", "most_statements", "length_unit", "matched")
"""Options of the pipeline that stand in its signature and are given by --set."""


class SupportCommand(pipeline.ReadsAnswers, pipeline.JudgedByMetrics):
    """Options of `cite support`."""

    untyped = frozenset({"calibration", *SETTINGS})

    partial: pipeline.Threshold = Field(
        default=None, description="Least score of partial support: X, or NAME=X,NAME=X (default: no partial level)."
    )
    measures: pipeline.NameList = Field(
        default=(), description="Definitions: trec, fact, longcite, rag-eval (default: all). Repeatable."
    )
    units: Annotated[str, one_of("units", ("sentences", "between marks")), Flag("NAME")] = Field(
        default="sentences",
        description="What a citation supports: its sentence, or the text since the last mark (open-rag-eval).",
    )
    reading: Annotated[str, one_of("reading", ("official", "words")), Flag("NAME")] = Field(
        default="official",
        description="How a judge's replies in the file are read: official (as released), or words (exact words alone).",
    )
    denominator: Annotated[str, Flag("N"), BeforeValidator(str)] = Field(
        default="answered",
        description="Topics that TREC's means divide by: answered (by the system), topics (of all files), or a number.",
    )
    stray: Annotated[str, one_of("stray", ("forgiven", "none")), Flag("NAME")] = Field(
        default="forgiven",
        description="Marks that cite no passage: forgiven (no level, as released), or none (level 0).",
    )
    most_statements: Annotated[int, Flag("N")] = Field(
        default=40, ge=0, description="Statements of an answer that LongCite reads (0: all)."
    )
    length_unit: Annotated[str, Flag("NAME")] = Field(
        default="words", description="Unit of LongCite's length: words, or a tokenizer (hub id or folder)."
    )
    matched: Annotated[bool, Flag()] = Field(
        default=False, description="Judge with metrics only the citations that have a level in the file."
    )


@dataclass(frozen=True, eq=False)
class SupportRead:
    """The statements of the answers. panel: of the answers, and of the topics that a system has not answered."""

    run: Run
    stated: Sequence[Sequence[SupportStatement]]
    panel: SystemPanel
    names: Sequence[str]
    partial: Mapping[str, float | None]

    @property
    def factor(self) -> float:
        """The number of topics over that by which TREC's sums are divided."""
        wanted = self.run.options.denominator
        return self.panel.n_groups / int(wanted) if wanted.isdecimal() else 1.0

    @property
    def labelled(self) -> bool:
        """Whether the file holds levels."""
        return any(row.labels is not None for of_answer in self.stated for row in of_answer)


@dataclass(frozen=True, eq=False)
class SupportJudgement:
    """The levels of one backend; backend: None for those of the file. levels: of each row of the panel."""

    name: str
    backend: Backend | None
    lines: Sequence[CitationLine]
    levels: AllStatements

    @property
    def soft(self) -> bool:
        """Whether levels are scores, without decisions."""
        return self.backend is not None and self.backend.soft

    @property
    def fields(self) -> Mapping[str, object]:
        """Fields of its signature."""
        return {"backend": self.name} if self.backend is None else self.backend.fields


def _read(run: Run) -> SupportRead:
    options = run.options
    for name in options.measures:
        if name not in DEFINITIONS:
            raise unknown("definition of support", name, DEFINITIONS)
    metrics = {name: judge_of(name, run.metrics) for name in run.cutoffs}
    partial = read_thresholds(options.partial, [*metrics], "--partial")
    for name, least in partial.items():
        full, sign = run.cutoffs[name].value, metrics[name].card.direction
        if least is None or full is None or sign * least > sign * full:
            raise UserError(
                f"--partial of {name!r} is {least}, and its threshold of full support is {full}: partial support needs "
                "a number that is passed before full support."
            )
    stated = [support_statements(answer, run.splitter, options.reading, options.units) for answer in run.answers]
    names = [name for name in DEFINITIONS if not options.measures or name in options.measures]
    read = SupportRead(run, stated, panel_of(_with_missing(run), resampling_of(run.config)), names, partial)
    if not metrics and not read.labelled:
        raise UserError(
            f"{run.name} holds no levels of support: name a metric that judges, as in --nli {DEFAULT_BACKEND}."
        )
    return read


def _with_missing(run: Run) -> list[Answer]:
    """Return the answers, and where all topics count an empty one for each topic that a system has not answered."""
    answers, wanted = list(run.answers), run.options.denominator
    if wanted == "answered":
        return answers
    if wanted != "topics" and not (wanted.isdecimal() and int(wanted)):
        raise UserError(f"denominator is {wanted!r}; allowed: answered, topics, or a whole number from 1.")
    known = {(answer.system, group_of(answer)) for answer in answers}
    systems, topics = (dict.fromkeys(names) for names in zip(*known, strict=True))
    missing = sorted((system, topic) for system in systems for topic in topics if (system, topic) not in known)
    return answers + [
        Answer(f"{system}: no answer to {topic}", "", (), group=topic, system=system) for system, topic in missing
    ]


def _judge(read: SupportRead, backends: pipeline.MakeBackends) -> tuple[SupportRead, list[SupportJudgement]]:
    answers, options = read.run.answers, read.run.options
    labels = labels_of(read.stated)
    judged = [_judgement(read, LABELS, None, labels)] if read.labelled else []
    stray = None if options.stray == "forgiven" else 0.0
    for backend in backends():
        direction = judge_of(backend.name, read.run.metrics).card.direction
        weigh = partial(_level, read.partial.get(backend.name), direction)
        rows = judge_levels(answers, read.stated, backend.entails, weigh, "longcite" in read.names, stray)
        if options.matched:
            rows = [list(map(matched, *each)) for each in zip(rows, labels, strict=True)]
        judged.append(_judgement(read, backend.name, backend, rows))
    return read, judged


def _level(least: float | None, direction: int, verdict: Verdict) -> Level:
    """Return the level of a verdict: 1 from the threshold on, .5 from `least` on, else 0; soft: its score."""
    if verdict.score is None or verdict.entailed is None:
        return verdict.score
    is_partial = least is not None and direction * verdict.score >= direction * least
    return 1.0 if verdict.entailed else 0.5 if is_partial else 0.0


def _judgement(
    read: SupportRead, name: str, backend: Backend | None, rows: Sequence[Sequence[JudgedStatement]]
) -> SupportJudgement:
    levels: list[Statements | None] = [[row.levels for row in of_answer] for of_answer in rows]
    missing = len(read.panel.answers) - len(levels)
    return SupportJudgement(name, backend, support_lines(read.run.answers, rows), [*levels, *[None] * missing])


def _values(read: SupportRead, judged: SupportJudgement, levels: AllStatements) -> SupportValues:
    """Return the values of each answer, and all statistics of the run's definitions."""
    values: Values = {}
    pooled: dict[str, Statistic] = {}
    if "trec" in read.names:
        values |= trec_values(levels, judged.soft)
    if "fact" in read.names:
        of_tasks, pooled = fact_values(levels, judged.soft)
        values |= of_tasks
    if "longcite" in read.names:
        values |= longcite_values(levels, judged.soft, read.run.options.most_statements)
        pooled["longcite_length"] = _length(read)
        if len(set(sets := [str(answer.reference.get("dataset", "")) for answer in read.panel.answers])) > 1:
            pooled["longcite_f1_sets"] = mean_of_sets(values["longcite_f1"], sets)
    if "rag-eval" in read.names:
        values |= rag_eval_values(levels)
    statistics = {key: measures.means(of_answers) for key, of_answers in values.items()}
    if read.factor != 1:
        statistics |= {
            key: scaled(statistic, read.factor) for key, statistic in statistics.items() if key.startswith("trec")
        }
    return values, {**statistics, **pooled}


def _length(read: SupportRead) -> Statistic:
    texts = [
        [
            text
            for row in of_answer
            for mark in row.cited
            if mark.place is not None and (text := answer.passages[mark.place].text)
        ]
        for answer, of_answer in zip(read.run.answers, read.stated, strict=True)
    ]
    missing = len(read.panel.answers) - len(texts)
    return citation_length([*texts, *[[]] * missing], counter(read.run.options.length_unit))


def _lay_out(judged_run: tuple[SupportRead, list[SupportJudgement]]) -> pipeline.Layout:
    read, judged = judged_run
    results = [_values(read, each, each.levels) for each in judged]
    around = _provenance(read, judged)
    entries = [
        Entry(system, each.name, read.panel.ends(statistics, number))
        for each, (_, statistics) in zip(judged, results, strict=True)
        for number, system in enumerate(read.panel.systems)
    ]
    tables = [_scores(name, around, entries) for name in read.names]
    compared = _rankings(read, judged, results)
    tables += [*ranking_sheets(compared, around, "rankings", "ranking-agreement"), *flip_sheets(compared, around)]
    rows = [_rows(read, each, values) for each, (values, _) in zip(judged, results, strict=True)]
    return pipeline.Layout(tables, [table for of_backend in rows for table in of_backend])


def _scores(name: str, around: Provenance, entries: Sequence[Entry]) -> Table:
    """Return the table of a definition: its measures of every system with every backend."""
    definition = DEFINITIONS[name]
    columns = [measure.column for measure in definition.measures]
    keys = {column.key for column in columns}
    kept = [
        replace(entry, values={key: ends for key, ends in entry.values.items() if key in keys}) for entry in entries
    ]
    return around.scores(
        f"support-{name}", f"{definition.title} (%)", columns, kept, [Note("reading", definition.reading)]
    )


def _headlines(read: SupportRead) -> dict[str, tuple[str, Column]]:
    """Return the label and the column of each measure by which systems are ranked."""
    return {
        measure.key: (f"{DEFINITIONS[name].title}: {measure.label}", measure.column)
        for name in read.names
        for measure in DEFINITIONS[name].measures
        if measure.key in DEFINITIONS[name].ranked
    }


def _rankings(read: SupportRead, judged: Sequence[SupportJudgement], results: Sequence[SupportValues]) -> Rankings:
    """Return the systems' headline measures under every backend."""

    def shares(key: str, values: Values) -> list[AnswerShare]:
        factor = read.factor if key.startswith("trec") else 1.0
        return [AnswerShare(0.0, 0) if value is None else AnswerShare(value * factor, 1) for value in values[key]]

    labels = {key: label for key, (label, _) in _headlines(read).items()}
    return Rankings(
        panel=read.panel,
        backends=[each.name for each in judged],
        values={key: values_of(read.panel, [statistics[key] for _, statistics in results]) for key in labels},
        labels=labels,
        shares={key: [shares(key, values) for values, _ in results] for key in labels if key in results[0][0]},
    )


def _rows(read: SupportRead, judged: SupportJudgement, values: Values) -> list[Table]:
    answers = [
        {**answer_cells(answer), **{key: of_answers[number] for key, of_answers in values.items()}}
        for number, answer in enumerate(read.panel.answers)
    ]
    return [
        Table(name=f"answers:{judged.name}", records=answers),
        Table(name=f"sentences:{judged.name}", records=sentence_rows(judged.lines)),
        Table(name=f"citations:{judged.name}", records=[asdict(line) for line in judged.lines]),
    ]


def _provenance(read: SupportRead, judged: Sequence[SupportJudgement]) -> Provenance:
    run, options, lines = read.run, read.run.options, judged[0].lines
    marks, backends = counts(lines), [each.backend for each in judged if each.backend is not None]
    data = provenance.data_of(run.name, "support", run.answers, marks["claims"], marks["marks"])
    settings = {name: getattr(options, name) for name in SETTINGS}
    fields = {"pipeline": "support", "splitter": run.splitter.name, **settings}
    least = {name: f"{cut:g}" for name, cut in read.partial.items() if cut is not None}
    absent = len(read.panel.answers) - len(run.answers)
    notes = (
        provenance.warning(read.panel, backends),
        provenance.judged(read.panel, data, (data.statements, "statement"), (data.citations, "citation mark")),
        Note("settings", provenance.listed(fields)),
        provenance.verdicts(backends, "soft: levels are scores", "full support from {} on ({})"),
        Note("partial support", "", tuple((plain(name), f"from {cut} on") for name, cut in least.items())),
        provenance.truncation(backends),
        Note("not judged", "", tuple((plain(each.name), text) for each in judged if (text := _missing(each)))),
        Note("could be", "", tuple((plain(each.name), text) for each in judged if (text := _bounds(read, each)))),
        Note("left out", f"{count(absent, 'topic')} without an answer of a system: TREC counts 0" if absent else ""),
        Note("marks", marks_text(lines)),
        provenance.uncertainty(run.config.interval, data.groups),
    )
    judges = [{**each.fields, **({"partial": least[each.name]} if each.name in least else {})} for each in judged]
    subtitle = f"{plain(data.name)}, levels of support"
    return Provenance(data, "support", subtitle, fields, run.config.interval, judges, after=notes)


def _missing(judged: SupportJudgement) -> str:
    if not (without := unjudged(judged.lines)):
        return ""
    first = [(line.answer, f"statement {line.claim_number}", line.claim) for line in without]
    return provenance.reasons(Counter(line.reason for line in without), f"{len(judged.lines):,} lines", first)


def _bounds(read: SupportRead, judged: SupportJudgement) -> str:
    """State what the headline measures of each system can be with every missing level as none, and as full."""
    ends = [
        _values(read, judged, [each and [row.filled(level) for row in each] for each in judged.levels])[1]
        for level in (0.0, 1.0)
    ]
    incomplete = {line.answer for line in unjudged(judged.lines)}

    def ranges(system: int) -> list[str]:
        rows = read.panel.rows(system)
        if not any(read.panel.answers[row].id in incomplete for row in rows.tolist()):
            return []
        return [
            f"{label} {' to '.join(format_value(measures.value_of(of[key], rows), column) for of in ends)}"
            for key, (label, column) in _headlines(read).items()
        ]

    return provenance.by_system(read.panel, ranges)


SUPPORT = Pipeline(
    name="support",
    title="Support",
    paper="TREC RAG (arXiv 2504.15205), DeepResearch Bench (2506.11763), LongCite (2409.02897), open-rag-eval",
    help="""Measure support as TREC RAG, FACT, LongCite, open-rag-eval do.

    Each citation is judged once, as full, partial or no support; the four
    definitions are computed from the same levels. A file with people's levels
    (TREC's judgements), or with a judge's, needs no metric; a metric is then
    compared with them.

    \b
    Examples:
      metaeval cite support judgements.jsonl
      metaeval cite support answers.jsonl --nli support-mini --threshold 0.6 --partial 0.3
      metaeval cite support judgements.jsonl --sources texts.jsonl --nli overlap --measures trec
    """,
    options=SupportCommand,
    measures=tuple(measure for definition in DEFINITIONS.values() for measure in definition.measures),
    backends="optional",
    read=_read,
    judge=_judge,
    lay_out=_lay_out,
)
