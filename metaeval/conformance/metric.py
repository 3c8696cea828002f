"""Contract checks of a metric: of its card, its scores of fixed pairs, its identity and its explanations."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import product
from typing import Any

from metaeval.conformance.check_helpers import NotCheckedError, checks_of, need, need_name, refuse, runs
from metaeval.scoring.contract import Combination, Metric, MetricCard, MetricOptions, PairScore, Span, Status, ThreeWay
from metaeval.scoring.engine import score_pairs

SOURCES = (
    "The lighthouse was built in 1873 by the harbour board. It stands 41 metres tall.",
    "Kettles with a steel body get hot during use, so hold them by the handle.",
    "Überraschung! Ein Café in São Paulo — naïve façade, 東京 and Москва, 🙂 emoji.",
    "word " * 700,
    "x",
    "",
    "   \n\t ",
)
STATEMENTS = (
    "The lighthouse is 41 metres tall.",
    "In São Paulo there is a café.",
    "word",
    "It was not built in 1873; the board refused.",
    "",
    " \n ",
)
# The source beyond every input limit costs as much as all else: two statements show what is done with it.
PAIRS = [pair for pair in product(SOURCES, STATEMENTS) if pair[0] is not SOURCES[3] or pair[1] in ("word", "")]
HELD, UNRELATED = (SOURCES[0], STATEMENTS[0]), (SOURCES[1], STATEMENTS[0])
LONG = (SOURCES[3], "word")
SLACK = 1e-5
"""Largest allowed difference of one pair's scores in two batches, by the rounding of float32 models."""


@dataclass
class MetricSubject:
    """A metric under test.

    kind: the registered class. options: those that the metric is made with. name: the name that it is registered under;
    "": none. untrained: its weights are random, so that its scores are meaningless.
    """

    kind: Any
    options: Mapping[str, Any] = field(default_factory=dict)
    name: str = ""
    untrained: bool = False

    def made(self) -> Metric:
        """Return a new instance of the metric; `NotCheckedError` for a combination, or if packages are missing."""
        declares_itself(self)
        if missing := self.kind.card.missing:
            raise NotCheckedError(f"{self.kind.card.name} needs {', '.join(missing)} (extra {self.kind.card.extra!r})")
        if issubclass(self.kind, Combination):
            raise NotCheckedError(f"{self.kind.card.name} combines other metrics' scores and reads no text itself")
        metric: Metric = runs("Making the metric", lambda: self.kind(self.kind.Options(**self.options)))
        if not isinstance(getattr(metric, "options", None), MetricOptions):
            refuse("The metric has no options after it was made: call super().__init__(options) in its __init__.")
        return metric

    @cached_property
    def metric(self) -> Metric:
        """Return the instance that scores the pairs; always the same one."""
        return self.made()

    @cached_property
    def direct(self) -> Sequence[PairScore]:
        """The results for `PAIRS`, in order, from one call of `score`, after a check of their number and values."""
        metric = self.metric
        metric.prepare(SOURCES, STATEMENTS)
        columns = [source for source, _ in PAIRS], [statement for _, statement in PAIRS]
        answers = runs("score", lambda: metric.score(*columns))
        _check_answers(answers)
        return answers

    @property
    def answers(self) -> dict[tuple[str, str], PairScore]:
        """Return the metric's results by (source, statement)."""
        return dict(zip(PAIRS, self.direct, strict=True))


def declares_itself(subject: MetricSubject) -> None:
    """Check that the class is a subclass of Metric with a complete card."""
    kind = subject.kind
    if not (isinstance(kind, type) and issubclass(kind, Metric)):
        refuse(f"{kind!r} is not a metric: give a subclass of metaeval.scoring.contract.Metric, the class itself.")
    card = getattr(kind, "card", None)
    if not isinstance(card, MetricCard):
        refuse(f"{kind.__name__} has no card: set `card = MetricCard(name=..., family=..., ...)` in the class.")
    need_name("The card's", card.name, subject.name)
    for what in ("name", "family", "summary", "paper", "licence"):
        need(getattr(card, what), f"The card's {what} is empty: fill it; `metaeval metrics list` shows it.")
    both = (card.truncation == "none") == (card.input_limit is None)
    need(both, f"The card has truncation={card.truncation!r} and input_limit={card.input_limit}: set both, or neither.")
    if card.low is not None and card.high is not None and card.low >= card.high:
        refuse(f"The card's range is {card.low} to {card.high}: low has to be below high.")
    fields = getattr(kind.Options, "model_fields", {})
    need(issubclass(kind.Options, MetricOptions), f"{kind.__name__}.Options is not a subclass of MetricOptions.")
    for name in filter(None, (card.argument, *kind.Options.runtime)):
        need(name in fields, f"The card's argument or Options.runtime names {name!r}, which is not an option.")


def answers_every_pair(subject: MetricSubject) -> None:
    """Check that every pair gets one PairScore, with a finite score or a status that says why there is none."""
    _ = subject.direct


def scores_lie_in_the_declared_range(subject: MetricSubject) -> None:
    """Check that at least 8 pairs have a score, in the card's range, and that 3 or more of the scores differ."""
    card = subject.kind.card
    scored = [(pair, answer.score) for pair, answer in subject.answers.items() if answer.score is not None]
    need(len(scored) >= 8, f"Only {len(scored)} of {len(PAIRS)} pairs have a score: two texts with words need one.")
    for pair, score in scored:
        text = f"The score of {_shown(*pair)} is {score}, outside the card's range {card.low} to {card.high}."
        need(card.holds(score), text)
    values = len({score for _, score in scored})
    need(values >= 3, f"{len(scored)} pairs get only {values} different scores: return one that depends on the texts.")


def a_statement_without_words_has_no_score(subject: MetricSubject) -> None:
    """Check that a blank statement has no score and the status EMPTY."""
    for (_, statement), answer in subject.answers.items():
        empty = answer.score is None and answer.status is Status.EMPTY
        text = f"The statement {statement!r} has no words and got {answer.score}: return PairScore(None, Status.EMPTY)."
        need(statement.strip() or empty, text)


def no_pair_depends_on_the_others(subject: MetricSubject) -> None:
    """Check that a pair scored alone gets the same result as among others, status and tokens included."""
    metric = subject.metric
    together = subject.direct
    if not metric.corpus_dependent:
        metric = subject.made()
        metric.prepare(SOURCES, STATEMENTS)
    for pair, answer in zip(PAIRS, together, strict=True):
        alone = metric.score([pair[0]], [pair[1]])[0]
        same = answer.status is alone.status and _near(answer.score, alone.score, SLACK)
        text = f"{_shown(*pair)} gets {answer} among others and {alone} alone: mask the padding, keep no state."
        need(same and (answer.tokens, answer.cut) == (alone.tokens, alone.cut), text)


def order_and_repetition_change_nothing(subject: MetricSubject) -> None:
    """Check that order and duplicates of pairs do not change their scores in a run."""
    together = subject.direct
    order = [*reversed(range(len(PAIRS))), 3, 3, 0]
    again = runs("A run", lambda: score_pairs(subject.made(), [PAIRS[number] for number in order]))
    for number, answer in zip(order, again.answers, strict=True):
        before = together[number].score
        text = f"{_shown(*PAIRS[number])} gets {before}, and in another order {answer.score}: fix seeds, keep no state."
        need(_near(answer.score, before, 1e-6), text)


def support_scores_higher(subject: MetricSubject) -> None:
    """Check that a statement scores higher, as the card has it, with a source that says so than with another."""
    if subject.untrained:
        raise NotCheckedError("a random model knows nothing")
    direction = subject.kind.card.direction
    held, other = (subject.answers[pair].score for pair in (HELD, UNRELATED))
    order = "higher" if direction == 1 else "lower"
    text = f"{HELD[1]!r} gets {held} from a source that says so, {other} from another: the first has to be {order}."
    need(held is not None and other is not None and direction * (held - other) > 0, text)


def its_identity_names_what_it_is(subject: MetricSubject) -> None:
    """Check that the identity is JSON with name, version and score options, equal for two instances."""
    metric, identity = subject.metric, subject.metric.identity()
    try:
        read = json.loads(json.dumps(identity))
    except (TypeError, ValueError) as error:
        refuse(f"identity() is not JSON ({error}): use numbers, texts, lists and dicts alone.", error)
    for key, value in (("name", metric.card.name), ("version", metric.card.version)):
        need(read.get(key) == value, f"identity()[{key!r}] is {read.get(key)!r}: start from super().identity().")
    if not metric.options.runtime.isdisjoint(read.get("options", {})):
        refuse("identity() holds options that Options.runtime names: leave out those that cannot change a score.")
    other = subject.made()
    other.prepare(SOURCES, STATEMENTS)
    if other.identity() != identity:
        refuse("Two instances with the same options have different identities: leave out what changes from run to run.")
    for name, value in metric.provenance().items():
        need(isinstance(name, str) and isinstance(value, str), f"provenance() has {name!r}: {value!r}: give texts.")


def what_is_cut_is_counted(subject: MetricSubject) -> None:
    """Check, on a long pair, that `tokens` counts the whole pair and `cut` is above 0 only beyond the input limit."""
    limit, held, long = subject.kind.card.input_limit, subject.answers[HELD], subject.answers[LONG]
    text = f"A pair of 701 words gets tokens={long.tokens} with input_limit={limit}: give those before any cut."
    need(limit is None or long.tokens > 700, text)
    text = f"A pair of {long.tokens} tokens has cut={long.cut} with input_limit={limit}: give how many were never read."
    need((long.cut > 0) == (limit is not None and long.tokens > limit), text)
    need(not held.cut, f"A pair of two short sentences has cut={held.cut}; nothing is cut.")


def three_way_probabilities_are_a_distribution(subject: MetricSubject) -> None:
    """Check, if the card declares three_way, that one pair's log-probabilities are those of a distribution."""
    if not subject.kind.card.three_way:
        return
    metric = subject.made()
    metric.prepare(SOURCES, STATEMENTS)
    answers = runs("entail", lambda: metric.entail([HELD[0]], [HELD[1]]))
    whole = isinstance(answers, Sequence) and len(answers) == 1 and isinstance(answers[0], ThreeWay)
    need(whole, f"entail returned {answers!r}: return one ThreeWay for each pair with a score.")
    sums = sum(math.exp(logarithm) for levels in answers for logarithm in levels or ())
    need(abs(sums - 1) < 1e-3, f"The probabilities of entail sum to {sums:.4f}: return natural logarithms.")


def its_explanations_lie_in_the_texts(subject: MetricSubject) -> None:
    """Check, if the metric explains, that spans are not empty, lie in the texts, and have weights from -1 to 1.

    A pair without a score must have no spans; the supported example must have some.
    """
    if not subject.kind.explains():
        return
    metric, answers = subject.metric, subject.answers
    for source, statement in PAIRS:
        texts = {"source": source, "statement": statement}
        for span in runs("explain", partial(metric.explain, source, statement)):
            need(isinstance(span, Span), f"explain returned {span!r}: return a list of Span.")
            inside = span.side in texts and 0 <= span.start < span.end <= len(texts[span.side])
            need(inside, f"explain returned {span}: a span begins and ends within its text, and is not empty.")
            need(-1 <= span.weight <= 1, f"explain returned the weight {span.weight!r}: it lies from -1 to 1.")
            scored = answers[source, statement].score is not None
            need(scored, f"explain returned {span} for {_shown(source, statement)}, which has no score: return [].")
    need(metric.explain(*HELD), f"explain returned nothing for {HELD[1]!r} against a source that says so.")


CHECKS = checks_of(globals())


def _check_answers(answers: Any) -> None:
    if not isinstance(answers, Sequence) or len(answers) != len(PAIRS):
        count = len(answers) if isinstance(answers, Sequence) else type(answers).__name__
        refuse(f"score returned {count} results for {len(PAIRS)} pairs: return one PairScore for each, in order.")
    for answer in answers:
        need(isinstance(answer, PairScore), f"score returned {answer!r}, not a PairScore: return PairScore(score).")
        finite = isinstance(answer.score, int | float) and math.isfinite(answer.score)
        valid = (answer.score is None or finite) and isinstance(answer.status, Status)
        text = f"score returned {answer}: a number goes with Status.OK, None with another status."
        need(valid and (answer.status is Status.OK) == finite, text)
        counts = isinstance(answer.tokens, int) and 0 <= answer.cut <= answer.tokens
        need(counts, f"score returned {answer}: tokens and cut are whole numbers, cut at most tokens.")


def _shown(source: str, statement: str) -> str:
    return f"The pair {statement!r}, {source[:40]!r}"


def _near(score: float | None, other: float | None, slack: float) -> bool:
    if score is None or other is None:
        return score is other
    return abs(score - other) <= max(slack, 1e-6 * abs(other))
