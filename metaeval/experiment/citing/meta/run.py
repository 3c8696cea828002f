"""Meta-evaluation of citation pipelines: do their values agree with people's ratings of the same statements?"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace

from metaeval.citation.chat.opening import Chat, open_chat
from metaeval.citation.citeeval.evaluate import ResponseValues, evaluate
from metaeval.citation.citeeval.splitting import Split, split_response
from metaeval.errors import UserError
from metaeval.experiment.citing.meta.judges import citeeval_measures, read_facts, scifi_measure
from metaeval.experiment.citing.meta.ratings import (
    Alignment,
    Level,
    alignment,
    response_level,
    statement_level,
)
from metaeval.experiment.citing.meta.settings import PIPELINES, MetaPrepared
from metaeval.experiment.citing.meta.values import Measured, autoais_measures, citation_measures
from metaeval.experiment.rated import RatedSet
from metaeval.experiment.run import evaluate_rated
from metaeval.experiment.scoring import MetricProgress
from metaeval.experiment.verdicts import Backend, entailment
from metaeval.report.result import Result
from metaeval.scoring.store import ScoreStore

_log = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class Meta:
    """Every measure held against people's ratings.

    levels: statements, then responses; one that cannot be judged stands in `left_out` with the reason. results: of
    each level, by protocol. backends: with the one pipeline that uses it, or nothing where several do. rated: what
    CiteEval's judge said; empty where it was not asked.
    """

    prepared: MetaPrepared
    measured: Sequence[Measured]
    aligned: Alignment
    levels: Sequence[Level]
    left_out: Sequence[tuple[str, str]]
    results: Sequence[Sequence[Result]]
    backends: Sequence[tuple[str, Backend]] = ()
    rated: Sequence[ResponseValues] = field(default_factory=tuple)


def run_meta(prepared: MetaPrepared, progress: MetricProgress | None = None) -> Meta:
    """Judge the rated answers with every pipeline, and hold what it says against the ratings.

    Nothing is written but the reply store, the score store and the file of `choice.record`. Raises `UserError` where
    no level of ratings can be judged, before anything is sent or scored, and when a chat model cannot go on.
    """
    _levels(prepared, prepared.given, alignment(prepared.human, prepared.given))
    splits = splits_of(prepared)
    measured = list(prepared.given)
    rated: Sequence[ResponseValues] = ()
    with ExitStack() as stack:
        chat = _opened(prepared, stack, progress)
        if "citeeval" in prepared.names and chat is not None and prepared.asking is not None:
            rated = evaluate(prepared.answers, splits, chat.ask, prepared.asking, prepared.citeeval).results
            measured += citeeval_measures(prepared, prepared.asking, rated, chat.models)
        facts, fields = read_facts(prepared, chat) if "scifi" in prepared.names else ([], {})
        if chat is not None and prepared.chat is not None:
            _log.info("%s: %s", prepared.chat.model, chat.note())
    backends: list[tuple[str, Backend]] = []
    asking = [""]
    told = _naming(progress, asking)
    premise = "max over chunks" if prepared.options.premise == "chunks" else "joint"
    with ScoreStore(prepared.config.store_path) as store:
        for name, cutoff in prepared.cutoffs.items():
            backend = entailment(name, prepared.config, cutoff, store, premise, told)  # type: ignore[arg-type]
            backends.append(("", backend))
            for pipeline in prepared.pipelines:
                asking[0] = pipeline.name
                measured += citation_measures(pipeline, backend, prepared.config)
            if "autoais" in prepared.names:
                asking[0] = "autoais"
                how = {"splitter": "as published" if prepared.human.splits else prepared.splitter.name}
                measured += autoais_measures(prepared.answers, splits, how, backend)
        for name, cutoff in prepared.graded.items():
            backend = entailment(name, prepared.config, cutoff, store, "joint", told)
            backends.append(("scifi", backend))
            asking[0] = "scifi"
            measured.append(scifi_measure(prepared, facts, fields, backend))
    measured.sort(key=_place)
    aligned = alignment(prepared.human, measured)
    levels, left_out = _levels(prepared, measured, aligned)
    results = [_results(prepared, level, tested_of(prepared, measured)) for level in levels]
    return Meta(prepared, measured, aligned, levels, left_out, results, backends, rated)


def _naming(progress: MetricProgress | None, asking: Sequence[str]) -> MetricProgress | None:
    """Progress that names the pipeline with the metric. asking: holds the one that asks now; it changes meanwhile."""
    if progress is None:
        return None

    def told(metric: str, done: int, total: int) -> None:
        progress(f"{asking[0]}, {metric}", done, total)

    return told


def _opened(prepared: MetaPrepared, stack: ExitStack, progress: MetricProgress | None) -> Chat | None:
    if prepared.chat is None:
        return None
    choice = prepared.choice
    return stack.enter_context(open_chat(prepared.chat, choice.record, choice.replay, progress))


def splits_of(prepared: MetaPrepared) -> list[Split]:
    """The statements that CiteEval and AutoAIS judge: those that people judged, where they are published."""
    published = prepared.human.splits
    if published:
        return [published[answer.id] for answer in prepared.answers]
    if not {"citeeval", "autoais"} & set(prepared.names):
        return []
    return [split_response(answer, prepared.citeeval, prepared.splitter) for answer in prepared.answers]


def _place(one: Measured) -> int:
    """Pipelines in the order of their list, and scores that were given behind them; the sort keeps all else."""
    pipeline = one.name.partition(":")[0]
    return PIPELINES.index(pipeline) if pipeline in PIPELINES else len(PIPELINES)


def _levels(
    prepared: MetaPrepared, measured: Sequence[Measured], aligned: Alignment
) -> tuple[list[Level], list[tuple[str, str]]]:
    """The levels that can be judged, and why another cannot; `UserError` where none can."""
    levels: list[Level] = []
    left_out: list[tuple[str, str]] = []
    for unit, of in (("statements", statement_level), ("responses", response_level)):
        try:
            level = of(prepared.asked.name, prepared.human, measured, aligned, prepared.options)
        except UserError as error:
            left_out.append((unit, str(error)))
            continue
        if level.columns or not measured:
            levels.append(level)
        else:
            left_out.append((unit, "no measure has values of single sentences."))
    if not levels:
        raise UserError(left_out[0][1])
    return levels, left_out


def tested_of(prepared: MetaPrepared, measured: Sequence[Measured]) -> frozenset[str]:
    """The names of the measures that are tested against each other."""
    every = prepared.options.tested == "all"
    return frozenset(one.name for one in measured if every or one.headline)


def _results(prepared: MetaPrepared, level: Level, tested: frozenset[str]) -> list[Result]:
    """All measures under each protocol; the tests are those of the measures to be tested alone."""
    rated = RatedSet(prepared.config, prepared.asked.name, level.unit, level.ratings)
    few = [column for column in level.columns if column.name in tested]
    if len(few) in (len(level.columns), 0):
        return [_titled(one) for one in evaluate_rated(rated, level.columns)]
    untested = prepared.config.comparison.model_copy(update={"permutations": 0})
    every = replace(rated, config=prepared.config.model_copy(update={"comparison": untested}))
    alone = replace(rated, config=prepared.config.model_copy(update={"controls": False}))
    both = zip(evaluate_rated(every, level.columns), evaluate_rated(alone, few), strict=True)
    return [_titled(_with_tests(one, other)) for one, other in both]


def _titled(result: Result) -> Result:
    """The result under the name of what people gave here: ratings, in no levels."""
    return result.model_copy(update={"title": result.title.replace("human levels", "human ratings")})


def _with_tests(result: Result, tested: Result) -> Result:
    """The result with the tests of some of its rows, and the clusters that they make."""
    clusters = {row.metric: row.clusters for row in tested.rows}
    rows = [row.model_copy(update={"clusters": clusters.get(row.metric, {})}) for row in result.rows]
    return result.model_copy(update={"rows": rows, "significance": tested.significance})
