"""Contracts that are broken, one way each, and some that are kept at the very limit; `own` and `SharedWords` keep them.

Classes are metrics, and names in capitals protocols. Those that differ by values alone are in broken.json.
"""

import copy
import itertools
import json
from dataclasses import replace
from math import log
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from own.gap import GAP, evaluate, replicates

from metaeval.core.errors import UserError
from metaeval.scoring.contract import Combination, Metric, MetricOptions, PairScore, Span, Status, ThreeWay
from metaeval.stats.resampling import bootstrap
from metrics_zoo.overlap import Overlap
from protocols.contract import Estimate, Option, Outcome

CARD = replace(
    Overlap.card, name="shared-words", summary="shared words", neutral=None, threshold=None, threshold_from=""
)
BY_VALUES = json.loads(Path(__file__).with_name("broken.json").read_text(encoding="utf-8"))


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


def made(**own):
    """The metric with other attributes."""
    return type("Made", (SharedWords,), own)


def carded(**changed):
    """The metric with another card."""
    return made(card=replace(CARD, **changed))


def answering(change, **changed):
    """The metric whose answers are changed afterwards: change(answer, source, statement), of lists of words."""

    class Answering(carded(**changed)):
        def one(self, source, statement):
            return change(super().one(source, statement), source, statement)

    return Answering


def scoring(change):
    """The metric whose list of answers is changed afterwards."""
    return made(score=lambda self, sources, statements: change(SharedWords.score(self, sources, statements)))


def explaining(span):
    """The metric that explains each score by this span."""
    return made(explain=lambda self, source, statement: [span] if source and statement.strip() else [])


def entailing(*levels):
    """The metric whose three-way answers are these, for the first of the texts that it was prepared with."""
    more = {"prepare": lambda self, *texts: vars(self).update(first=tuple([column[0]] for column in texts))}
    return made(card=replace(CARD, three_way=True), entail=lambda self, *pair: [*levels] * (pair == self.first), **more)


def identified(change):
    """The metric whose identity is changed afterwards."""
    return made(identity=lambda self: change(self, SharedWords.identity(self)))


def _times(answer, factor):
    return answer if answer.score is None else answer._replace(score=answer.score * factor)


def _unscored(answer):
    return answer if answer.score is None else answer._replace(score=None, status=Status.NOTHING_TO_SCORE)


def _bare(source, words):
    return len(source) == FIRST and (source[0], *words) != ("The", "word")


def _limited(limit):
    return {"input_limit": limit, "truncation": "source"}


CALLS = itertools.count()
FIRST, NUMBERS = 15, (-1, 0, 20, 200, 1000)  # words of each of the first two sources; numbers of resamples
globals().update({name: carded(**changed) for name, changed in BY_VALUES["cards"].items()})
globals().update({name: explaining(Span(*span)) for name, span in BY_VALUES["spans"].items()})
globals().update({name: entailing(ThreeWay(*map(log, own))) for name, own in BY_VALUES["entailed"].items()})
Undecided, Unanswered, Doubled = entailing(None), entailing(), entailing(*[ThreeWay(0.0, -99.0, -99.0)] * 2)
Tuples = explaining(("source", 0, 1, 0.5))
Mute = made(explain=lambda self, source, statement: [])
Talking = made(explain=lambda self, source, statement: [Span("source", 0, 1, 0.5)] * bool(source))
Two = scoring(lambda answers: answers[:2])
Numbers = scoring(lambda answers: [0.5 for _ in answers])
Generator = scoring(iter)
Near = scoring(lambda answers: [_times(one, 1 - 9e-6 * (len(answers) > 1)) for one in answers])
Apart = scoring(lambda answers: [_times(one, 1 - 2e-5 * (len(answers) > 1)) for one in answers])
CutAlone = scoring(lambda answers: [one._replace(cut=int(len(answers) == 1 < one.tokens)) for one in answers])
RefusedAlone = scoring(lambda answers: [_unscored(one) if len(answers) == 1 else one for one in answers])
NotFinite = answering(lambda answer, source, statement: answer if source else PairScore(float("nan")))
Percent = scoring(lambda answers: [_times(one, 100 - 1.5e-4 * (len(answers) > 1)) for one in answers])
ZeroForEmpty = answering(lambda answer, source, statement: answer if statement else PairScore(0.0))
Uncounted = answering(lambda answer, source, statement: answer._replace(tokens=0), **_limited(512))
Cumulative = answering(lambda answer, source, statement: _times(answer, 1 / (1 + next(CALLS))))
Raising = answering(lambda answer, source, statement: {}["lost"])
Deep = answering(lambda answer, source, statement: copy.deepcopy([[[[[[[[(word for word in source)]]]]]]]]))
SameForAll = answering(lambda answer, source, statement: answer._replace(score=0.5 if statement else None))
Doubtful = answering(lambda answer, source, _: answer._replace(status=Status.EMPTY) if len(source) > 100 else answer)
CutMore = answering(lambda answer, source, statement: answer._replace(cut=answer.tokens + 1))
CutBelow = answering(lambda answer, source, statement: answer._replace(cut=-1))
CutAll = answering(lambda answer, source, statement: answer._replace(cut=answer.tokens))
Fractional = answering(lambda answer, source, statement: answer._replace(tokens=float(answer.tokens)))
Worded = answering(lambda answer, source, statement: answer._replace(status="OK"))
Scored = answering(lambda answer, source, statement: answer._replace(score=answer.score or 0.0))
Fine = answering(lambda answer, source, statement: PairScore(answer.score, Status.OK, answer.tokens))
Failed = answering(lambda answer, source, words: answer if words else answer._replace(status=Status.FAILED))
Eight = answering(lambda answer, source, words: answer if len(source) == FIRST else _unscored(answer))
Seven = answering(lambda answer, *texts: answer if _bare(*texts) else _unscored(answer))
Three = answering(lambda answer, source, words: answer._replace(score=answer.score and round(2 * answer.score) / 2))
Yes = answering(lambda answer, source, words: answer._replace(score=answer.score and round(answer.score)))
Backwards = answering(lambda answer, *_: answer._replace(score=answer.score and -answer.score), low=-1, direction=-1)
Flat = answering(lambda answer, source, words: answer._replace(score=len(words) / 99 if words else None))
Unheld = answering(lambda answer, source, words: _unscored(answer) if len(source) == FIRST > len(words) > 5 else answer)
Read = answering(lambda answer, *_: answer._replace(cut=max(answer.tokens - 512, 0)), **_limited(512))
CutEarly = answering(lambda answer, *_: answer._replace(cut=int(answer.tokens > 700)), **_limited(701))
Counted700 = answering(lambda answer, *_: answer._replace(tokens=min(answer.tokens, 700)), **_limited(700))
Unwritable = identified(lambda metric, identity: identity | {"words": {1}})
Renamed = identified(lambda metric, identity: identity | {"name": "other"})
Unversioned = identified(lambda metric, identity: identity | {"version": 7})
Numbered = made(provenance=lambda self: {"made": 3})
Keyed = made(provenance=lambda self: {3: "made"})
Prepared = identified(lambda metric, identity: identity | {"made": vars(metric).get("_ready", False)})
Prepared.prepare = lambda self, sources, statements: vars(self).update(_ready=True)
Fitted = carded(corpus_dependent=True)
Fitted.score = lambda self, *texts: SharedWords.score(self, *texts) if vars(self).get("_ready") else None
Fitted.prepare = Prepared.prepare
Unmade = made(__init__=lambda self, options: None)
NoOptions = made(Options=dict)
Combined = type("Combined", (Combination,), {"card": CARD, "members": (), "combine": None})


class Pathed(SharedWords):
    class Options(MetricOptions):
        runtime = frozenset({"words"})
        words: int = 1

    def identity(self):
        return {**super().identity(), "made": id(self)}


Speeding = identified(lambda metric, identity: {**identity, "options": {"words": 1}})
Speeding.Options = Pathed.Options


def evaluating(change, **fields):
    """The protocol, whose outcomes are changed afterwards: change(outcome, rows, resampling, options)."""
    return replace(GAP, evaluate=lambda *given: change(evaluate(*given), *given), **fields)


def estimating(change):
    """The protocol, whose estimates with a value are changed afterwards: change(estimate, rows)."""

    def changed(outcome, rows, resampling, options):
        found = {key: one if one.value is None else change(one, rows) for key, one in outcome.estimates.items()}
        return replace(outcome, estimates=found)

    return evaluating(changed)


def given(change, **fields):
    """The protocol, whose rows and resampling are changed before."""
    return replace(GAP, evaluate=lambda rows, resampling, *how: evaluate(*change(rows, resampling), *how), **fields)


def _changed(outcome, rows, resampling, options):
    if rows.score.size:
        rows.score[0] = 0.5
    return outcome


def _zero(outcome, *_):
    filled = {key: one if one.value is not None else Estimate(0.0) for key, one in outcome.estimates.items()}
    return replace(outcome, estimates=filled)


def _other(rows, n_groups, draws, options, keys):
    return {key: found + 0.1 for key, found in replicates(rows, n_groups, draws, options, keys).items()}


def _influencing(value, columns):
    """The protocol with parts of the groups, of a value that is more by so much, in so many more columns."""

    def influence(rows, n_groups, options, keys):
        whole = replicates(rows, n_groups, bootstrap(n_groups, 1, 0), options, keys)["gap"][0]
        return {"gap": SimpleNamespace(parts=np.zeros((1, n_groups + columns)), value=whole + value), "gulf": None}

    return replace(GAP, influence=influence)


def _more(value):
    return estimating(lambda one, rows: replace(one, value=one.value + float(value(rows))))


def _failing(wrong, error):
    """The protocol that ends with an error where something is `wrong` of its rows, its resampling and its options."""

    def fail(*given):
        if wrong(*given):
            raise error
        return evaluate(*given)

    return replace(GAP, evaluate=fail)


def _replacing(own):
    return lambda one, *_: replace(one, **own)


globals().update({name: estimating(_replacing(own)) for name, own in BY_VALUES["estimates"].items()})
globals().update({name: evaluating(_replacing(own)) for name, own in BY_VALUES["outcomes"].items()})
globals().update({name: replace(GAP, **own) for name, own in BY_VALUES["protocols"].items()})
NO_PROTOCOL = "gap"
CHANGING = evaluating(_changed)
ZERO = evaluating(_zero)
UNSEEDED = given(lambda rows, given: (rows, replace(given, level=given.level * 0.999 ** next(CALLS), n=given.n or 20)))
UNCHECKED = given(lambda rows, given: (rows.with_score(np.where(np.isinf(rows.score), 9.0, rows.score)), given))
SEEDLESS = given(lambda rows, given: (rows, replace(given, seed=min(given.seed, 0))), resampled=lambda *arguments: {})
PERCENTS = given(lambda rows, given: (rows, replace(given, level=given.level / (100 if 1 < given.level < 100 else 1))))
TWO_WAYS = replace(GAP, replicate=_other)
UNREPLICATED = replace(GAP, replicate=lambda *arguments: {})
TWICE = replace(GAP, measures=GAP.measures * 2)
SHOWS_NONE = replace(GAP, shown=lambda judgements, options: ())
NO_VALUES = replace(GAP, options={"form": Option("scale", {})})
BLIND = replace(GAP, measures=(replace(GAP.measures[0], blind=lambda rows: "no scores"),))
CHANCY = replace(GAP, chance=lambda rows, options: {"gulf": 0.5})
GUESSED = replace(GAP, chance=lambda rows, options: {"gap": 0.5})
UNKNOWN = Estimate(None, note="none", ties=(-1.0, 0.5))
MORE_KEYS = evaluating(_replacing({"estimates": {"gap": UNKNOWN, "gulf": UNKNOWN}}))
TIED = evaluating(_replacing({"estimates": {"gap": UNKNOWN}}), tie_orders=True)
LISTS = evaluating(lambda one, *_: [Outcome({}, 0, 0, ())])
PARTS, PARTS_NEAR = _influencing(0.0, 0), _influencing(7e-10, 0)
PARTS_APART, PARTS_MORE = _influencing(1.5e-9, 0), _influencing(0.0, 1)
ORDERED = _more(lambda rows: rows.gold @ np.arange(rows.gold.size))
CODED = estimating(lambda one, rows: replace(one, low=None, high=None) if rows.group.max() > 99 else one)
NEAR, APART = _more(lambda rows: 7e-10), _more(lambda rows: 1.5e-9)
KEY_ERRORS = _failing(lambda rows, *_: np.isinf(rows.score).any(), KeyError("score"))
GOLDLESS = _failing(lambda rows, *_: np.isnan(rows.gold).any(), TypeError("gold"))
SEEDS = _failing(lambda rows, resampling, _: resampling.seed < 0, KeyError("seed"))
HALVES = _failing(lambda _, given, own: own["form"] == "halved" or given.n not in NUMBERS, KeyError("half"))
HALF_REFUSED = _failing(lambda rows, resampling, options: options["form"] == "halved", UserError("half"))
