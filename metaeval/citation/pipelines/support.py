"""The analysis `cite support`: TREC RAG's and FACT's measures of the same levels of support."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import product
from typing import Annotated

from pydantic import BeforeValidator, Field

from metaeval.analyses.analysis import Analysis, Done, Progress
from metaeval.citation.data_model import Answer, Verdict, group_of
from metaeval.citation.marks_and_sentences import find_sentence_splitter
from metaeval.citation.measures import Statistic, means
from metaeval.citation.pipelines import options as shared
from metaeval.citation.pipelines.cited import CitedTable, Definition, Measure, Missing
from metaeval.citation.pipelines.metric_verdicts import Backend, Judges
from metaeval.citation.support.citation_judging import (
    SupportStatement,
    judge_levels,
    keep_labelled_levels,
    support_lines,
    support_statements,
)
from metaeval.citation.support.level_readings import FIELD
from metaeval.citation.support.measure_definitions import fact_values, trec_values
from metaeval.citation.support.measures import Level
from metaeval.core.declared import Flag, one_of
from metaeval.core.errors import UserError, count, unknown
from metaeval.report.table import Note, plain
from metaeval.runs.metrics import read_thresholds

LABELS = "labels"  # the name of the judge whose levels are those of the file

DEFINITIONS = {
    "trec": Definition(
        "support-trec",
        "TREC RAG support (%)",
        (
            Measure(
                "trec_precision", "precision", "mean over answers of the mean level of first citations", ranks=True
            ),
            Measure("trec_recall", "recall", "as precision, with 0 for each sentence that cites nothing", ranks=True),
            Measure("trec_precision_all", "precision, all", "as precision, the mean over a sentence's citations"),
            Measure("trec_recall_all", "recall, all", "as recall, the mean over a sentence's citations"),
            Measure("trec_precision_hard", "hard precision", "as precision, with 1 for full support alone, else 0"),
            Measure("trec_recall_hard", "hard recall", "as recall, with 1 for full support alone, else 0"),
        ),
        "full support weighs 1, partial .5; a sentence whose citation has no level is left out, an answer of none is 0",
    ),
    "fact": Definition(
        "support-fact",
        "FACT citation accuracy (%)",
        (
            Measure("fact_released", "accuracy", "supported pairs of all judged pairs (released code)", ranks=True),
            Measure("fact_paper", "task mean", "mean over answers of their accuracy (paper), without answers of none"),
            Measure("fact_paper_all", "task mean, all", "as task mean, with 0 for answers without a judged pair"),
            Measure("fact_effective", "effective", "supported pairs per answer that cites", 1, 2),
            Measure("fact_citations", "pairs", "judged pairs per answer that cites", 1, 2),
        ),
        "a pair is a statement and a source, once; partial support is support; a pair without a level is left out",
    ),
}


class SupportOptions(shared.ReadsAnswers, shared.JudgedByMetrics):
    """Options of `cite support`."""

    untyped = frozenset({"denominator", "stray", "matched"})

    partial: shared.Threshold = None
    """Least score of partial support: X, or NAME=X,NAME=X (default: no partial level)."""
    measures: shared.NameList = Field(default=(), description="Definitions: trec, fact (default: both). Repeatable.")
    denominator: Annotated[str, Flag("N"), BeforeValidator(str)] = "answered"
    """Topics that TREC's means divide by: answered (by the system), topics (of all files), or a number."""
    stray: Annotated[str, one_of("stray", ("forgiven", "none")), Flag("NAME")] = "forgiven"
    """Marks that cite no passage: forgiven (no level, as released), or none (level 0)."""
    matched: Annotated[bool, Flag()] = False
    """Keep of metrics' levels only those of citations that have one in the file."""


def _run(options: SupportOptions, progress: Progress) -> Done:
    for name in options.measures:
        if name not in DEFINITIONS:
            raise unknown("definition of support", name, DEFINITIONS)
    names = [name for name in DEFINITIONS if not options.measures or name in options.measures]
    answers = shared.answers_in(options, "" if options.nli else FIELD)
    splitter = find_sentence_splitter(options.splitter)
    judges = Judges(options, progress, needed=False)
    partial_at = None if options.partial is None else str(options.partial)
    least_of = read_thresholds(partial_at, [*judges.cutoffs], "--partial")
    for name, least in least_of.items():
        full, sign = judges.cutoffs[name].value, judges.metric(name).card.direction
        if least is None or full is None or sign * least > sign * full:
            held = f"--partial of {name!r} is {least}, and its threshold of full support is {full}"
            side = "not above" if sign > 0 else "not below"
            raise UserError(f"{held}: give both as numbers, --partial {name}=X {side} --threshold.")
    stated = [support_statements(answer, splitter) for answer in answers]
    labelled = any(row.from_file for of_answer in stated for row in of_answer)
    if not judges.cutoffs and not labelled:
        raise UserError(f"{shared.name_of_data(options.files)} holds no levels of support: name a metric with --nli.")
    absent: list[Answer] = []  # where all topics count, an empty answer for each that a system has not answered
    if options.denominator != "answered":
        if options.denominator != "topics" and not (options.denominator.isdecimal() and int(options.denominator)):
            held = f"denominator is {options.denominator!r}"
            raise UserError(f"{held}; allowed: answered, topics, or a whole number from 1.")
        known = {(answer.system, group_of(answer)) for answer in answers}
        pairs = product(*(sorted(set(each)) for each in zip(*known, strict=True)))
        lost = [pair for pair in pairs if pair not in known]
        absent = [Answer(f"{run}: no answer to {topic}", "", (), group=topic, system=run) for run, topic in lost]
    settings = {name: getattr(options, name) for name in ("denominator", "stray", "matched")}
    cited = CitedTable(
        "support",
        "support",
        shared.name_of_data(options.files),
        answers,
        judges.config,
        {"pipeline": "support", "splitter": splitter.name, **settings},
        [DEFINITIONS[name] for name in names],
        words=("soft: levels are scores", "full support from {} on ({})"),
        unit="statement",
        absent=absent,
    )
    # A mean over answers is divided by their number; another number of topics is a factor of it.
    topics = int(options.denominator) if options.denominator.isdecimal() else cited.n_groups

    def add(judge: Backend | str, rows: Sequence[Sequence[SupportStatement]], least: float | None = None) -> None:
        soft = isinstance(judge, Backend) and judge.soft
        signed = {} if least is None else {"partial": f"{least:g}"}

        def measure(missing: Missing) -> dict[str, Statistic]:
            levels = [[row.levels if missing is None else row.filled(missing) for row in of] for of in rows]
            every = [*levels, *[None] * len(cited.absent)]
            statistics: dict[str, Statistic] = {}
            if "trec" in names:
                means_of = trec_values(every, soft).items()
                statistics |= {key: means(values).times(cited.n_groups / topics) for key, values in means_of}
            if "fact" in names:
                of_tasks, pooled = fact_values(every, soft)
                statistics |= {key: means(values) for key, values in of_tasks.items()} | pooled
            return statistics

        cited.add(judge, measure, support_lines(answers, rows), fields=signed)

    if labelled:
        add(LABELS, stated)
    for backend in judges:
        least = least_of.get(backend.name)
        weigh = partial(_level, least, judges.metric(backend.name).card.direction)
        rows = judge_levels(answers, stated, backend.entails, weigh, None if options.stray == "forgiven" else 0.0)
        if options.matched:
            rows = [list(map(keep_labelled_levels, *each)) for each in zip(rows, stated, strict=True)]
        add(backend, rows, least)
    levels = tuple((plain(name), f"from {least:g} on") for name, least in least_of.items() if least is not None)
    left = f"{count(len(absent), 'topic')} without an answer of a system: TREC counts 0" if absent else ""
    return cited.done(options.files, Note("partial support", "", levels), Note("left out", left))


def _level(least: float | None, direction: int, verdict: Verdict) -> Level:
    """Return a verdict's level: 1 from the threshold on, .5 from `least` on, else 0; soft: its score. None: missing."""
    if verdict.score is None or verdict.entailed is None:
        return verdict.score
    is_partial = least is not None and direction * verdict.score >= direction * least
    return 1.0 if verdict.entailed else 0.5 if is_partial else 0.0


SUPPORT = Analysis(
    name="cite support",
    summary="Measure support as TREC RAG and FACT do.",
    about="""Each citation is judged once, as full, partial or no support; the two definitions are computed from the
same levels. A file with people's levels (TREC's judgements), or with a judge's, needs no metric; a metric is then
compared with them. Sources: TREC RAG (arXiv 2504.15205), DeepResearch Bench (2506.11763).""",
    examples=[
        "cite support judgements.jsonl",
        "cite support answers.jsonl --nli support-mini --threshold 0.6 --partial 0.3",
        "cite support judgements.jsonl --sources texts.jsonl --nli overlap --measures trec",
    ],
    options=SupportOptions,
    run=_run,
    folder="cite/support",
    figures=shared.draw,
)
