"""Contract checks of a metric: of its card, its scores of fixed pairs, its identity and its explanations."""

from __future__ import annotations

import importlib.util
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
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
PAIRS = [
    (source, statement)
    for source in SOURCES
    for statement in STATEMENTS
    if source is not SOURCES[3] or statement in ("word", "")
]
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
        missing = [module for module in self.kind.card.modules if importlib.util.find_spec(module) is None]
        if missing:
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
    need(
        (card.truncation == "none") == (card.input_limit is None),
        f"The card says truncation={card.truncation!r} and input_limit={card.input_limit}: set both where long inputs "
        "are cut, or neither.",
    )
    if card.low is not None and card.high is not None and card.low >= card.high:
        refuse(f"The card's range is {card.low} to {card.high}: low has to be below high.")
    need(
        issubclass(kind.Options, MetricOptions),
        f"{kind.__name__}.Options is not a MetricOptions: make it a subclass, so that unknown options are refused.",
    )
    need(
        not card.argument or card.argument in kind.Options.model_fields,
        f"The card's argument is {card.argument!r}, which is not an option: known are "
        f"{', '.join(kind.Options.model_fields)}.",
    )
    unknown = kind.Options.runtime - kind.Options.model_fields.keys()
    need(not unknown, f"Options.runtime names {', '.join(sorted(unknown))}, which are not options: take them out.")


def answers_every_pair(subject: MetricSubject) -> None:
    """Check that every pair gets one PairScore, with a finite score or a status that says why there is none."""
    _ = subject.direct


def scores_lie_in_the_declared_range(subject: MetricSubject) -> None:
    """Check that at least 8 pairs have a score, in the card's range, and that 3 or more of the scores differ."""
    card = subject.kind.card
    scored = [(pair, answer.score) for pair, answer in subject.answers.items() if answer.score is not None]
    need(
        len(scored) >= 8,
        f"Only {len(scored)} of {len(PAIRS)} pairs have a score: a pair of two texts with words should have one.",
    )
    for (source, statement), score in scored:
        need(
            card.holds(score),
            f"The score of {statement!r} against {source[:40]!r} is {score}, outside the card's range {card.low} to "
            f"{card.high}: correct low and high, or the score.",
        )
    values = len({score for _, score in scored})
    need(values >= 3, f"{len(scored)} pairs get only {values} different scores: return one that depends on the texts.")


def a_statement_without_words_has_no_score(subject: MetricSubject) -> None:
    """Check that a blank statement has no score and the status EMPTY."""
    for (_, statement), answer in subject.answers.items():
        need(
            statement.strip() or (answer.score is None and answer.status is Status.EMPTY),
            f"The statement {statement!r} has no words and got {answer.score} with status {str(answer.status)!r}: "
            "return PairScore(None, Status.EMPTY) for it.",
        )


def no_pair_depends_on_the_others(subject: MetricSubject) -> None:
    """Check that a pair scored alone gets the same result as among others, status and tokens included."""
    metric = subject.metric
    together = subject.direct
    if not metric.corpus_dependent:
        metric = subject.made()
        metric.prepare(SOURCES, STATEMENTS)
    for (source, statement), answer in zip(PAIRS, together, strict=True):
        other = metric.score([source], [statement])[0]
        need(
            answer.status is other.status and _near(answer.score, other.score, SLACK),
            f"The pair {statement!r}, {source[:40]!r} gets {answer.score} among others and {other.score} alone: a "
            "pair's score must not depend on the other pairs of the call (mask the padding, keep no state).",
        )
        need(
            (answer.tokens, answer.cut) == (other.tokens, other.cut),
            f"The pair {statement!r}, {source[:40]!r} counts {answer.tokens} tokens ({answer.cut} cut) among others "
            f"and {other.tokens} ({other.cut}) alone: count the pair's own, without padding.",
        )


def order_and_repetition_change_nothing(subject: MetricSubject) -> None:
    """Check that order and duplicates of pairs do not change their scores in a run."""
    together = subject.direct
    order = [*reversed(range(len(PAIRS))), 3, 3, 0]
    again = runs("A run", lambda: score_pairs(subject.made(), [PAIRS[number] for number in order]))
    for number, answer in zip(order, again.answers, strict=True):
        before = together[number].score
        need(
            _near(answer.score, before, 1e-6),
            f"The pair {PAIRS[number][1]!r}, {PAIRS[number][0][:40]!r} gets {before}, and {answer.score} from a second "
            "instance that is asked in another order: scores must repeat (fix every seed, keep no state).",
        )


def support_scores_higher(subject: MetricSubject) -> None:
    """Check that a statement scores higher, as the card has it, with a source that says so than with another."""
    if subject.untrained:
        raise NotCheckedError("a random model knows nothing")
    direction = subject.kind.card.direction
    held, other = (subject.answers[pair].score for pair in (HELD, UNRELATED))
    need(
        held is not None and other is not None and direction * (held - other) > 0,
        f"{HELD[1]!r} gets {held} against a source that says so and {other} against one about something else: the "
        f"first has to be {'higher' if direction > 0 else 'lower'}, as the card's direction is {direction:+d}.",
    )


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


def its_signature_fields_are_texts(subject: MetricSubject) -> None:
    """Check that the names and values of the signature's fields (`provenance`) are texts."""
    for name, value in subject.metric.provenance().items():
        if not (isinstance(name, str) and isinstance(value, str)):
            refuse(f"provenance() has {name!r}: {value!r}: names and values have to be texts.")


def what_is_cut_is_counted(subject: MetricSubject) -> None:
    """Check, on a long pair, that `tokens` counts the whole pair and `cut` is above 0 only beyond the input limit."""
    limit, held, long = subject.kind.card.input_limit, subject.answers[HELD], subject.answers[LONG]
    need(
        limit is None or long.tokens > 700,
        f"A pair of 701 words gets tokens={long.tokens} from a metric with input_limit={limit}: give the "
        "number of input tokens before any cut as PairScore.tokens.",
    )
    expected = limit is not None and long.tokens > limit
    need(
        (long.cut > 0) == expected,
        f"A pair of {long.tokens} tokens has cut={long.cut} with input_limit={limit}: cut is how many tokens the "
        "metric never saw, 0 if it saw all.",
    )
    need(not held.cut, f"A pair of two short sentences has cut={held.cut}; nothing is cut.")


def three_way_probabilities_are_a_distribution(subject: MetricSubject) -> None:
    """Check, if the card declares three_way, that one pair's log-probabilities are those of a distribution."""
    if not subject.kind.card.three_way:
        return
    metric = subject.made()
    metric.prepare(SOURCES, STATEMENTS)
    (probabilities,) = runs("entail", lambda: metric.entail([HELD[0]], [HELD[1]]))
    need(
        isinstance(probabilities, ThreeWay),
        f"entail returned {probabilities!r}: return one ThreeWay for each pair that has a score.",
    )
    sums = sum(math.exp(logarithm) for logarithm in probabilities or ())
    need(
        abs(sums - 1) < 1e-3, f"The probabilities of entail sum to {sums:.4f}: return natural logarithms that sum to 1."
    )


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
            need(
                span.side in texts and 0 <= span.start < span.end <= len(texts[span.side]),
                f"explain returned {span} for a source of {len(source)} and a statement of {len(statement)} "
                "characters: a span begins and ends within its text, and is not empty.",
            )
            need(-1 <= span.weight <= 1, f"explain returned the weight {span.weight!r}: it lies from -1 to 1.")
            need(
                answers[source, statement].score is not None,
                f"explain returned {span} for the pair {statement!r}, {source[:40]!r}, which has no score: return [].",
            )
    need(metric.explain(*HELD), f"explain returned nothing for {HELD[1]!r} against a source that says so.")


CHECKS = checks_of(globals())


def _check_answers(answers: Any) -> None:
    if not isinstance(answers, Sequence):
        refuse(f"score returned {type(answers).__name__}: return a list with one PairScore for each pair.")
    need(
        len(answers) == len(PAIRS),
        f"score returned {len(answers)} results for {len(PAIRS)} pairs: return one PairScore for each pair, in the "
        "order given.",
    )
    for answer in answers:
        need(isinstance(answer, PairScore), f"score returned {answer!r}, not a PairScore: return PairScore(score).")
        need(
            isinstance(answer.status, Status),
            f"The status {answer.status!r} is not a Status: return Status.OK or another.",
        )
        finite = isinstance(answer.score, int | float) and math.isfinite(answer.score)
        need(
            answer.score is None or finite,
            f"score returned PairScore({answer.score!r}): a score is a finite number; where there is none, return "
            "PairScore(None, Status...) with the reason.",
        )
        need(
            (answer.status is Status.OK) == finite,
            f"score returned {answer.score} with status {str(answer.status)!r}: a number goes with Status.OK, None "
            "with every other status.",
        )
        need(
            isinstance(answer.tokens, int) and 0 <= answer.cut <= answer.tokens,
            f"score returned tokens={answer.tokens!r} and cut={answer.cut!r}: both are whole numbers, cut at most "
            "tokens.",
        )


def _near(score: float | None, other: float | None, slack: float) -> bool:
    if score is None or other is None:
        return score is other
    return abs(score - other) <= max(slack, 1e-6 * abs(other))
