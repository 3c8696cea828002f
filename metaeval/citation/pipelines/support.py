"""The pipeline `support`: TREC RAG's and FACT's measures of the same levels of support."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from metaeval.citation import measures
from metaeval.citation.citation_table import CitationLine, counts, unjudged
from metaeval.citation.data_model import Answer, Verdict, answer_cells, group_of
from metaeval.citation.measures import AnswerShare, Statistic
from metaeval.citation.pipelines import pipeline, provenance
from metaeval.citation.pipelines.alce_and_aliice_steps import marks_text, missing_text, row_tables
from metaeval.citation.pipelines.layout import Entry
from metaeval.citation.pipelines.metric_verdicts import Backend
from metaeval.citation.pipelines.pipeline import Pipeline, Run
from metaeval.citation.pipelines.provenance import Provenance
from metaeval.citation.pipelines.ranking_tables import flip_sheets, ranking_sheets
from metaeval.citation.pipelines.run_pipeline import DEFAULT_BACKEND
from metaeval.citation.pipelines.support_options import DEFINITIONS, SETTINGS, SupportCommand
from metaeval.citation.support.citation_judging import (
    JudgedStatement,
    SupportStatement,
    judge_levels,
    keep_labelled_levels,
    labels_of,
    support_lines,
    support_statements,
)
from metaeval.citation.support.measure_definitions import (
    AllStatements,
    SupportValues,
    Values,
    fact_values,
    scaled,
    trec_values,
)
from metaeval.citation.support.measures import Level, Statements
from metaeval.citation.system_comparison import Rankings, SystemPanel, panel_of, values_of
from metaeval.display_text import count
from metaeval.errors import UserError, unknown
from metaeval.report.result import Column
from metaeval.report.table import Note, Table, format_value, plain
from metaeval.runs.evaluation import resampling_of
from metaeval.runs.verdict_cutoffs import judge_of, read_thresholds

LABELS = "labels"
"""The name of the backend whose levels are those of the file."""


@dataclass(frozen=True, eq=False)
class SupportRead:
    """The statements of each answer (`stated`). panel: of the answers, then of topics that a system has not answered.

    names: keys of the definitions. partial: least score of partial support, by metric.
    """

    run: Run
    stated: Sequence[Sequence[SupportStatement]]
    panel: SystemPanel
    names: Sequence[str]
    partial: Mapping[str, float | None]

    @property
    def factor(self) -> float:
        """The factor of TREC's means: the number of topics divided by the option `denominator`; 1 if that is a word."""
        wanted = self.run.options.denominator
        return self.panel.n_groups / int(wanted) if wanted.isdecimal() else 1.0

    @property
    def labelled(self) -> bool:
        """Whether the file holds levels."""
        return any(row.labels is not None for of_answer in self.stated for row in of_answer)


@dataclass(frozen=True, eq=False)
class SupportJudgement:
    """The levels by one judge, called `name`. backend: None where the judge is the file of answers.

    lines: the citation table. levels: of each answer of the panel; None for a topic without an answer.
    """

    name: str
    backend: Backend | None
    lines: Sequence[CitationLine]
    levels: AllStatements

    @property
    def soft(self) -> bool:
        """Whether levels are a metric's scores, without decisions."""
        return self.backend is not None and self.backend.soft

    @property
    def fields(self) -> Mapping[str, object]:
        """The signature fields of the judge."""
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
                f"--partial of {name!r} is {least}, and its threshold of full support is {full}: give both "
                f"as numbers, --partial {name}=X {'not above' if sign > 0 else 'not below'} --threshold."
            )
    stated = [support_statements(answer, run.splitter) for answer in run.answers]
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
        rows = judge_levels(answers, read.stated, backend.entails, weigh, stray)
        if options.matched:
            rows = [list(map(keep_labelled_levels, *each)) for each in zip(rows, labels, strict=True)]
        judged.append(_judgement(read, backend.name, backend, rows))
    return read, judged


def _level(least: float | None, direction: int, verdict: Verdict) -> Level:
    """Return a verdict's level: 1 from the threshold on, .5 from `least` on, else 0; soft: its score. None: missing."""
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
    """Return the values of each answer, and the statistics of all answers, of the run's definitions, by measure."""
    values: Values = {}
    pooled: dict[str, Statistic] = {}
    if "trec" in read.names:
        values |= trec_values(levels, judged.soft)
    if "fact" in read.names:
        of_tasks, pooled = fact_values(levels, judged.soft)
        values |= of_tasks
    statistics = {key: measures.means(of_answers) for key, of_answers in values.items()}
    if read.factor != 1:
        statistics |= {
            key: scaled(statistic, read.factor) for key, statistic in statistics.items() if key.startswith("trec")
        }
    return values, {**statistics, **pooled}


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
    """Return (label, column) of each measure by which systems are ranked, by key."""
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
    return row_tables(judged.name, answers, judged.lines)


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
        provenance.data_note(read.panel, data, (data.statements, "statement"), (data.citations, "citation mark")),
        Note("settings", provenance.settings_text(fields)),
        provenance.verdicts(backends, "soft: levels are scores", "full support from {} on ({})"),
        *([provenance.UNCHECKED] if backends else []),
        Note("partial support", "", tuple((plain(name), f"from {cut} on") for name, cut in least.items())),
        provenance.truncation(backends),
        provenance.by_backend("not judged", ((each.name, missing_text(each.lines, "statement")) for each in judged)),
        provenance.by_backend("could be", ((each.name, _bounds(read, each)) for each in judged)),
        Note("left out", f"{count(absent, 'topic')} without an answer of a system: TREC counts 0" if absent else ""),
        Note("marks", marks_text(lines)),
        provenance.uncertainty(run.config.interval, data.groups),
    )
    judges = [{**each.fields, **({"partial": least[each.name]} if each.name in least else {})} for each in judged]
    subtitle = f"{plain(data.name)}, levels of support"
    return Provenance(data, "support", subtitle, fields, run.config.interval, judges, after=notes)


def _bounds(read: SupportRead, judged: SupportJudgement) -> str:
    """Return, as text, the headline measures of systems that lack levels, with these as no, and as full support."""
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

    return provenance.texts_by_system(read.panel, ranges)


SUPPORT = Pipeline(
    name="support",
    title="Support",
    paper="TREC RAG (arXiv 2504.15205), DeepResearch Bench (2506.11763)",
    help="""Measure support as TREC RAG and FACT do.

    Each citation is judged once, as full, partial or no support; the two
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
