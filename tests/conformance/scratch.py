"""Contracts that are broken, one way each; what keeps them is in `own`, and `SharedWords`."""

import dataclasses
import itertools

import numpy as np
from own.gap import GAP, evaluate, replicates

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


def carded(**changed):
    """The metric with another card."""
    return type("Carded", (SharedWords,), {"card": dataclasses.replace(CARD, **changed)})


def answering(change, **changed):
    """The metric whose answers are changed afterwards: change(answer, source, statement), of lists of words."""

    class Answering(carded(**changed)):
        def one(self, source, statement):
            return change(super().one(source, statement), source, statement)

    return Answering


def scoring(change):
    """The metric whose list of answers is changed afterwards."""

    class Scoring(SharedWords):
        def score(self, sources, statements):
            return change(super().score(sources, statements))

    return Scoring


def explaining(span_of):
    """The metric that explains each score by one span: span_of(source)."""

    class Explaining(SharedWords):
        def explain(self, source, statement):
            return [span_of(source)] if source and statement.strip() else []

    return Explaining


def _times(answer, factor):
    return answer if answer.score is None else answer._replace(score=answer.score * factor)


CALLS = itertools.count()
LIMITED = {"input_limit": 512, "truncation": "source"}
NoLicence = carded(licence="")
Inverted = carded(direction=-1)
OpenRange = carded(low=1.0, high=1.0)
OneLimit = carded(input_limit=512)
CutUnseen = carded(**LIMITED)
Two = scoring(lambda answers: answers[:2])
Numbers = scoring(lambda answers: [0.5 for _ in answers])
NotFinite = answering(lambda answer, source, statement: answer if source else PairScore(float("nan")))
Percent = answering(lambda answer, source, statement: _times(answer, 100))
ZeroForEmpty = answering(lambda answer, source, statement: answer if statement else PairScore(0.0))
Uncounted = answering(lambda answer, source, statement: answer._replace(tokens=0), **LIMITED)
Cumulative = answering(lambda answer, source, statement: _times(answer, 1 / (1 + next(CALLS))))
Raising = answering(lambda answer, source, statement: {}["lost"])
SameForAll = answering(lambda answer, source, statement: answer._replace(score=0.5 if statement else None))
Doubtful = answering(lambda answer, source, _: answer._replace(status=Status.EMPTY) if len(source) > 100 else answer)
CutMore = answering(lambda answer, source, statement: answer._replace(cut=answer.tokens + 1))
Heavy = explaining(lambda source: Span("source", 0, 1, 1.5))
Beyond = explaining(lambda source: Span("source", 0, len(source) + 1, 1.0))


class Pathed(SharedWords):
    class Options(MetricOptions):
        words: int = 1

    def identity(self):
        return {**super().identity(), "made": id(self)}


def _changed(judgements, resampling, options):
    found = evaluate(judgements, resampling, options)
    if judgements.score.size:
        judgements.score[0] = 0.5
    return found


def _zero(judgements, resampling, options):
    found = evaluate(judgements, resampling, options)
    filled = {key: one if one.value is not None else Estimate(0.0) for key, one in found.estimates.items()}
    return dataclasses.replace(found, estimates=filled)


def _unseeded(judgements, resampling, options):
    level = resampling.level * 0.999 ** next(CALLS)
    return evaluate(judgements, dataclasses.replace(resampling, level=level), options)


def _unchecked(judgements, resampling, options):
    score = np.where(np.isinf(judgements.score), 9.0, judgements.score)
    return evaluate(dataclasses.replace(judgements, score=score), resampling, options)


def _other(rows, n_groups, draws, options, keys):
    return {key: found + 0.1 for key, found in replicates(rows, n_groups, draws, options, keys).items()}


CHANGING = dataclasses.replace(GAP, evaluate=_changed)
ZERO = dataclasses.replace(GAP, evaluate=_zero)
UNSEEDED = dataclasses.replace(GAP, evaluate=_unseeded)
UNCHECKED = dataclasses.replace(GAP, evaluate=_unchecked)
TWO_WAYS = dataclasses.replace(GAP, replicate=_other)
OLD_OPTIONS = dataclasses.replace(GAP, options={"form": ("plain", "halved")})
HEADLESS = dataclasses.replace(GAP, headline="gapp")
TWICE = dataclasses.replace(GAP, measures=GAP.measures * 2)
SHOWS_NONE = dataclasses.replace(GAP, shown=lambda judgements, options: ())
TABLED = dataclasses.replace(GAP, table_measures=("gapp",))


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
INFINITE = _estimating(value=np.inf)
WHOLE_NUMBER = _estimating(value=1)
SILENT = _estimating(value=None, low=None, high=None, note="")
UNCOUNTED = _ending(unscored_rows=())
EMPTY_REASON = _ending(excluded={"no reason": 0})
MORE_KEYS = _ending(estimates={"gap": Estimate(None, note="none"), "gulf": Estimate(None, note="none")})
FEWER_KEYS = _ending(estimates={})
EMPTY_TIES = dataclasses.replace(GAP, tie_orders=True)
LISTS = dataclasses.replace(GAP, evaluate=lambda judgements, resampling, options: [Outcome({}, 0, 0, ())])
