"""Contracts that are broken, one way each; what keeps them is in `own`, and `SharedWords`."""

import dataclasses
import itertools
import sys
from pathlib import Path
from typing import Annotated

import numpy as np
from own.gap import GAP, evaluate, replicates
from own.levels import LEVELS, LevelOptions, run
from own.marked import PIPELINE, lay_out
from own.rivers import RIVERS, load
from pydantic import BeforeValidator, ConfigDict

from metaeval.citation.pipelines.pipeline import Layout, ReadsAnswers
from metaeval.corpus.dataset import Option, SourceFile
from metaeval.declared import Flag
from metaeval.report.table import Table
from metaeval.scoring.contract import Metric, MetricOptions, PairScore, Span, Status
from metrics_zoo.overlap import Overlap
from protocols.contract import Estimate, Outcome

CARD = dataclasses.replace(
    Overlap.card, name="shared-words", summary="shared words", neutral=None, threshold=None, threshold_from=""
)


class SharedWords(Metric):
    card = CARD

    def score(self, sources, statements):
        return [
            self.one(source.split(), statement.split()) for source, statement in zip(sources, statements, strict=True)
        ]

    def one(self, source, statement):
        tokens = len(source) + len(statement)
        if not statement:
            return PairScore(None, Status.EMPTY, tokens)
        return PairScore(len(set(statement) & set(source)) / len(set(statement)), tokens=tokens)


class NoMetric:
    pass


class NoCard(Metric):
    score = SharedWords.score


class NoLicence(SharedWords):
    card = dataclasses.replace(CARD, licence="")


class Two(SharedWords):
    def score(self, sources, statements):
        return super().score(sources, statements)[:2]


class Numbers(SharedWords):
    def score(self, sources, statements):
        return [0.5 for _ in sources]


class NotFinite(SharedWords):
    def one(self, source, statement):
        return super().one(source, statement) if source else PairScore(float("nan"))


class Percent(SharedWords):
    def one(self, source, statement):
        found = super().one(source, statement)
        return found if found.score is None else found._replace(score=100 * found.score)


class ZeroForEmpty(SharedWords):
    def one(self, source, statement):
        return super().one(source, statement) if statement else PairScore(0.0)


class Uncounted(SharedWords):
    card = dataclasses.replace(CARD, input_limit=512, truncation="source")

    def one(self, source, statement):
        return super().one(source, statement)._replace(tokens=0)


class Cumulative(SharedWords):
    calls = itertools.count()

    def one(self, source, statement):
        found = super().one(source, statement)
        return found if found.score is None else found._replace(score=found.score / (1 + next(self.calls)))


class Inverted(SharedWords):
    card = dataclasses.replace(CARD, direction=-1)


class Raising(SharedWords):
    def one(self, source, statement):
        return {}["lost"]


class Pathed(SharedWords):
    class Options(MetricOptions):
        words: int = 1

    def identity(self):
        return {**super().identity(), "made": id(self)}


class OpenRange(SharedWords):
    card = dataclasses.replace(CARD, low=1.0, high=1.0)


class OneLimit(SharedWords):
    card = dataclasses.replace(CARD, input_limit=512)


class SameForAll(SharedWords):
    def one(self, source, statement):
        return super().one(source, statement)._replace(score=0.5 if statement else None)


class Doubtful(SharedWords):
    def one(self, source, statement):
        answer = super().one(source, statement)
        return answer._replace(status=Status.EMPTY) if len(source) > 100 else answer


class CutMore(SharedWords):
    def one(self, source, statement):
        answer = super().one(source, statement)
        return answer._replace(cut=answer.tokens + 1)


class CutUnseen(SharedWords):
    card = dataclasses.replace(CARD, input_limit=512, truncation="source")


class Heavy(SharedWords):
    def explain(self, source, statement):
        return [Span("source", 0, 1, 1.5)] if source and statement.strip() else []


class Beyond(SharedWords):
    def explain(self, source, statement):
        return [Span("source", 0, len(source) + 1, 1.0)] if source and statement.strip() else []


def _one_group(split, paths, options):
    found = load(split, paths, options)
    same = {key: dataclasses.replace(statement, group="g") for key, statement in found.statements.items()}
    return dataclasses.replace(found, statements=same)


NO_SPLIT = dataclasses.replace(RIVERS, default_split="test")
NO_TITLE = dataclasses.replace(RIVERS, title="")
ODD_DEFAULT = dataclasses.replace(RIVERS, options={"kind": Option("c", "Kind of river.", ("a", "b"))})
ONE_GROUP = dataclasses.replace(RIVERS, load=_one_group)


def _loading(change):
    """The data set, whose corpus is changed after it was read."""
    return dataclasses.replace(RIVERS, load=lambda split, paths, options: change(load(split, paths, options)))


def _one_level(corpus):
    citations = tuple(dataclasses.replace(citation, level=corpus.citations[0].level) for citation in corpus.citations)
    return dataclasses.replace(corpus, citations=citations)


def _textless(corpus):
    first = dataclasses.replace(corpus.statements["s0"], text=" ")
    return dataclasses.replace(corpus, statements={**corpus.statements, "s0": first})


NO_HELP = dataclasses.replace(RIVERS, options={"kind": Option("a", "", ("a", "b"))})
NO_URL = dataclasses.replace(RIVERS, files={"all": (SourceFile("rivers.csv", ""),)})
SHORT_SUM = dataclasses.replace(RIVERS, files={"all": (SourceFile("rivers.csv", "https://x", "ab12", 9),)})
SIZELESS = dataclasses.replace(RIVERS, files={"all": (SourceFile("rivers.csv", "https://x", "0" * 64),)})
OTHER_KIND = dataclasses.replace(RIVERS, kind="rivers")
UNJUDGED = _loading(lambda corpus: dataclasses.replace(corpus, citations=()))
TEXTLESS = _loading(_textless)
ONE_LEVEL = _loading(_one_level)
COUNTLESS = _loading(lambda corpus: dataclasses.replace(corpus, dropped={"no text": 0}))
SHUFFLED = _loading(lambda corpus: dataclasses.replace(corpus, name=f"rivers {next(Cumulative.calls)}"))
LISTED = dataclasses.replace(RIVERS, load=lambda split, paths, options: [])
LOST = dataclasses.replace(RIVERS, load=lambda split, paths, options: paths["rivers.jsonl"])


def _changed(judgements, resampling, options):
    found = evaluate(judgements, resampling, options)
    if judgements.score.size:
        judgements.score[0] = 0.5
    return found


def _zero(judgements, resampling, options):
    found = evaluate(judgements, resampling, options)
    filled = {key: one if one.value is not None else Estimate(0.0) for key, one in found.estimates.items()}
    return dataclasses.replace(found, estimates=filled)


def _uncounted(judgements, resampling, options):
    return dataclasses.replace(evaluate(judgements, resampling, options), unscored_rows=())


def _unseeded(judgements, resampling, options):
    return evaluate(judgements, dataclasses.replace(resampling, seed=next(Cumulative.calls)), options)


def _unchecked(judgements, resampling, options):
    return evaluate(
        dataclasses.replace(judgements, score=np.where(np.isinf(judgements.score), 9.0, judgements.score)),
        resampling,
        options,
    )


def _other(rows, n_groups, draws, options, keys):
    return {key: found + 0.1 for key, found in replicates(rows, n_groups, draws, options, keys).items()}


CHANGING = dataclasses.replace(GAP, evaluate=_changed)
ZERO = dataclasses.replace(GAP, evaluate=_zero)
UNCOUNTED = dataclasses.replace(GAP, evaluate=_uncounted)
UNSEEDED = dataclasses.replace(GAP, evaluate=_unseeded)
UNCHECKED = dataclasses.replace(GAP, evaluate=_unchecked)
TWO_WAYS = dataclasses.replace(GAP, replicate=_other)
MUTE = dataclasses.replace(GAP, about="")
OLD_OPTIONS = dataclasses.replace(GAP, options={"form": ("plain", "halved")})
HEADLESS = dataclasses.replace(GAP, headline="gapp")
NO_MEASURES = dataclasses.replace(GAP, measures=())
TWICE = dataclasses.replace(GAP, measures=GAP.measures * 2)
WORDLESS = dataclasses.replace(GAP, measures=(dataclasses.replace(GAP.measures[0], about=""),))
FLAT = dataclasses.replace(GAP, measures=(dataclasses.replace(GAP.measures[0], scale=0.0),))
SPANLESS = dataclasses.replace(GAP, measures=(dataclasses.replace(GAP.measures[0], span=0.0),))
SHOWS_NONE = dataclasses.replace(GAP, shown=lambda judgements: ())
TABLED = dataclasses.replace(GAP, table_measures=("gapp",))
SIGNED = dataclasses.replace(GAP, options={**GAP.options, "seed": GAP.options["form"]})


def _estimating(**changed):
    """The protocol, whose estimates with a value are changed afterwards."""

    def evaluate_changed(judgements, resampling, options):
        outcome = evaluate(judgements, resampling, options)
        estimates = {
            key: estimate if estimate.value is None else dataclasses.replace(estimate, **changed)
            for key, estimate in outcome.estimates.items()
        }
        return dataclasses.replace(outcome, estimates=estimates)

    return dataclasses.replace(GAP, evaluate=evaluate_changed)


def _ending(**changed):
    """The protocol, whose outcomes are changed afterwards."""
    return dataclasses.replace(GAP, evaluate=lambda *arguments: dataclasses.replace(evaluate(*arguments), **changed))


HALF_OPEN = _estimating(low=0.0, high=None)
TURNED = _estimating(low=1.0, high=0.0)
TURNED_TIES = _estimating(ties=(0.4, 0.3))
INFINITE = _estimating(value=np.inf)
WHOLE_NUMBER = _estimating(value=1)
SILENT = _estimating(value=None, low=None, high=None, note="")
EMPTY_REASON = _ending(excluded={"no reason": 0})
MORE_KEYS = _ending(estimates={"gap": Estimate(None, note="none"), "gulf": Estimate(None, note="none")})
FEWER_KEYS = _ending(estimates={})
MUMBLED = _ending(warnings=("few rows",))
UNENDED = _ending(warnings=("Few rows",))
EMPTY_TIES = dataclasses.replace(GAP, tie_orders=True)
LISTS = dataclasses.replace(GAP, evaluate=lambda judgements, resampling, options: [Outcome({}, 0, 0, ())])


class Undescribed(ReadsAnswers):
    opening: str = "["


def _raise(run):
    raise KeyError("passages")


HELPLESS = dataclasses.replace(PIPELINE, help="Marks")
UNDESCRIBED = dataclasses.replace(PIPELINE, options=Undescribed)
JUDGELESS = dataclasses.replace(PIPELINE, backends="many")
TABLELESS = dataclasses.replace(PIPELINE, lay_out=lambda judged: Layout([]))
BROKEN_READ = dataclasses.replace(PIPELINE, read=_raise)
TIMED = dataclasses.replace(
    PIPELINE,
    lay_out=lambda judged: dataclasses.replace(
        lay_out(judged), rows=[Table(name="calls", records=[{"call": next(Cumulative.calls)}])]
    ),
)


class Unsaid(LevelOptions):
    lowest: Annotated[int, Flag("NUMBER")] = 0


class SameName(LevelOptions):
    lowest: Annotated[int, Flag("NUMBER", name="fewest")] = 0
    """Lowest level."""


class SameLetter(LevelOptions):
    lowest: Annotated[int, Flag("NUMBER", "-d")] = 0
    """Lowest level."""


class Quieter(LevelOptions):
    quiet: Annotated[bool, Flag()] = False
    """Whether to be quiet."""


class Retyped(LevelOptions):
    dataset: Annotated[tuple[str, ...], Flag("NAME", "-d")] = ("mini",)
    """Data sets."""


class NeededLast(LevelOptions):
    first: Annotated[int, Flag("NUMBER")] = 0
    """First level."""
    last: Annotated[int, Flag("NUMBER")]
    """Last level."""


class NotThere(LevelOptions):
    untyped = frozenset({"budgte"})


class Open(LevelOptions):
    model_config = ConfigDict(extra="allow")


class Crashing(LevelOptions):
    kind: Annotated[str, BeforeValidator(lambda value: {"all": "all"}[value]), Flag("KIND")] = "all"
    """Kind of level."""


def _printing(options, progress):
    sys.stdout.write("done")
    return run(options, progress)


def _writing(options, progress):
    Path("levels.txt").write_text("done")
    return run(options, progress)


def _storing(options, progress):
    for name in ("scores.sqlite", "replies.sqlite-wal"):
        Path(name).write_text("stored")
    return run(options, progress)


def _changing(options, progress):
    return dataclasses.replace(run(options, progress), verdict=[str(next(Cumulative.calls))])


NO_ANALYSIS = LEVELS.run
UPPER = dataclasses.replace(LEVELS, name="Levels")
WORDY = dataclasses.replace(LEVELS, summary="Count the rows of each level that anybody gave to anything, one by one.")
OPEN_END = dataclasses.replace(LEVELS, summary="Count the rows")
NO_MODEL = dataclasses.replace(LEVELS, options=dict)
UNSAID = dataclasses.replace(LEVELS, options=Unsaid)
SAME_NAME = dataclasses.replace(LEVELS, options=SameName)
SAME_LETTER = dataclasses.replace(LEVELS, options=SameLetter)
QUIETER = dataclasses.replace(LEVELS, options=Quieter)
RETYPED = dataclasses.replace(LEVELS, options=Retyped)
NEEDED_LAST = dataclasses.replace(LEVELS, options=NeededLast)
NOT_THERE = dataclasses.replace(LEVELS, options=NotThere)
EXAMPLE = dataclasses.replace(LEVELS, examples=["levels --lowest 2"])
HELP = dataclasses.replace(LEVELS, examples=["levels --help"])
OPEN = dataclasses.replace(LEVELS, options=Open)
CRASHING = dataclasses.replace(LEVELS, options=Crashing)
ELSEWHERE = dataclasses.replace(LEVELS, examples=["levels -d wice --data nowhere"])
NONE = dataclasses.replace(LEVELS, run=lambda options, progress: None)
PRINTING = dataclasses.replace(LEVELS, run=_printing)
WRITING = dataclasses.replace(LEVELS, run=_writing)
STORING = dataclasses.replace(LEVELS, run=_storing)
CHANGING_RUN = dataclasses.replace(LEVELS, run=_changing)
