"""The Metric contract: what a plug-in declares, and what it returns for each (source, statement) pair."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence, Sized
from dataclasses import dataclass
from enum import StrEnum
from math import isfinite
from typing import Any, ClassVar, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict

from metaeval.errors import UserError

TextPair = tuple[str, str]
"""(source, statement)."""


class Status(StrEnum):
    """The status of a pair: scored, or why it has no score. A missing score is never a number."""

    OK = "ok"
    EMPTY = "empty"  # a text without words
    NOTHING_TO_SCORE = "nothing to score"  # text, but no unit that the metric can judge
    TOO_LONG = "too long"  # refused, not cut
    UNPARSED = "unparsed"  # a judge answered, and its answer holds no score
    NOT_FINITE = "not finite"  # the metric returned NaN or an infinity
    FAILED = "failed"  # an error that another try may resolve: never stored
    ABSENT = "absent"  # an imported score file has no line for the pair


class PairScore(NamedTuple):
    """A metric's answer for one pair.

    score: higher or lower is more support, as the metric's card says; None unless the status is OK.
    tokens: input tokens of the pair, before any cut. cut: how many of them the metric never saw.
    """

    score: float | None
    status: Status = Status.OK
    tokens: int = 0
    cut: int = 0

    def oriented(self, direction: int) -> PairScore:
        """Return the answer with a score of which higher is more support. direction: of the metric's card."""
        return self if self.score is None else self._replace(score=direction * self.score)


class ThreeWay(NamedTuple):
    """Natural logarithms of a pair's three class probabilities; together they are a distribution."""

    entailment: float
    neutral: float
    contradiction: float


Side = Literal["source", "statement"]


class Span(NamedTuple):
    """A span of one of a pair's two texts, and how much the metric counts it as support of the statement.

    start, end: characters (code points) from 0, `end` excluded. weight: from 1 (full support) over 0 (none) to -1
    (contradicts). link: spans with the same number belong together, as a word and its match do; None: a single span.
    """

    side: Side
    start: int
    end: int
    weight: float
    link: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricCard:
    """The card of a metric: name, range, direction, limits and requirements.

    title: how papers write the name (empty: as it is). version: raise it with any change of code that can change a
    score; it is part of the metric's identity.
    low, high: the score's range (None: unbounded). direction: +1 when more is more support, else -1. neutral: the
    score in favour of neither, where there is one. input_limit: tokens (None: no limit); truncation: the side that is
    cut beyond it. dtype: the number type that the model computes in; template: how source and statement become one
    input (empty: two inputs). corpus_dependent: the score also depends on the other sources of the job. three_way:
    gives three-way log-probabilities. modules: what it imports beyond the core install; extra: the pip extra for those.
    argument: the option that the text after the colon sets, in a name such as `nli:MODEL_ID` (empty: none).
    threshold: scores of at least this mean "supported", by the authors' code, later code or a calibration (None: no
    threshold); threshold_from: which of these. A threshold that is not `neutral` holds for the default options alone.
    fitted_on: data sets, as DATASET/SPLIT, whose labels the metric was fitted on: a run on one of them warns.
    level_options: the options under which the score is P(some support), then those under which it is P(full support);
    None where the metric has no probabilities of the levels.
    """

    name: str
    family: str
    summary: str
    paper: str
    licence: str
    version: int = 1
    low: float | None = None
    high: float | None = None
    direction: Literal[1, -1] = 1
    neutral: float | None = None
    input_limit: int | None = None
    truncation: Literal["none", "source", "statement", "both", "longest"] = "none"
    splitter: str = "none"
    checkpoint: str = ""
    revision: str = ""
    dtype: str = ""
    template: str = ""
    download: str = "none"
    parameters: str = "none"
    corpus_dependent: bool = False
    three_way: bool = False
    modules: tuple[str, ...] = ()
    extra: str = ""
    argument: str = ""
    threshold: float | None = None
    threshold_from: str = ""
    fitted_on: tuple[str, ...] = ()
    level_options: tuple[Mapping[str, Any], Mapping[str, Any]] | None = None
    title: str = ""


class MetricOptions(BaseModel):
    """Base of a metric's options: typed, checked, unknown names refused.

    `runtime` names the options that cannot change a score by themselves, and so are not in the metric's identity:
    speed, and the paths of files whose content is in the identity.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    runtime: ClassVar[frozenset[str]] = frozenset()


class Metric(ABC):
    """A faithfulness metric. Subclass it, set `card` (and `Options`), write `score`.

    `origin` is set on a metric that no package registers: the place of its code, and the code's hash. `batched`: the
    pairs that are scored beside a pair may change the last bits of its score, as they do in a batch of a model; such a
    metric always gets the same pairs together. Set it to False where a pair costs money, or each is scored alone.
    `where`: "driver" for a metric that only one process may run, since it has a budget, a store or a program.
    `only_loads`: the `prepare` of this very class does not read the job's texts, so a task may give it fewer.
    """

    card: ClassVar[MetricCard]
    batched: ClassVar[bool] = True
    where: ClassVar[Literal["worker", "driver"]] = "worker"
    only_loads: ClassVar[bool] = True
    Options: ClassVar[type[MetricOptions]] = MetricOptions
    origin: str = ""

    def __init__(self, options: MetricOptions | None = None) -> None:
        self.options: Any = options if options is not None else self.Options()

    @property
    def corpus_dependent(self) -> bool:
        """Return whether, with these options, a score also depends on the other sources of the job."""
        return self.card.corpus_dependent

    @property
    def block_tokens(self) -> int:
        """Return the amount of text (in tokens; a source counts once) that the engine passes and stores at a time."""
        return 16_384

    def identity(self) -> dict[str, Any]:
        """Return everything that can change a score, as JSON. Scores are stored and found under this identity alone."""
        options = self.options.model_dump(mode="json", exclude=set(self.options.runtime))
        card = self.card
        identity = {
            "name": card.name,
            "version": card.version,
            "checkpoint": card.checkpoint,
            "revision": card.revision,
            "dtype": card.dtype,
            "template": card.template,
            "options": options,
        }
        return {**identity, "origin": self.origin} if self.origin else identity

    def provenance(self) -> dict[str, str]:
        """Return the signature's fields on the computation, without the metric's name, version and options."""
        card = self.card
        fields = {"checkpoint": f"{card.checkpoint}@{card.revision}"} if card.checkpoint else {}
        for key in ("dtype", "template", "truncation", "splitter"):
            # What a metric does not have is not in its signature.
            if (value := getattr(card, key)) not in ("", "none"):
                fields[key] = value
        return {**fields, "code": self.origin} if self.origin else fields

    def prepare(self, sources: Sequence[str], statements: Sequence[str]) -> None:  # noqa: B027 (optional step)
        """Prepare for a job: called before its first `score`, with the job's unique texts in a fixed order.

        Load models here. Anything computed from these texts is the same when an interrupted run is resumed.
        """

    def settled(self, pairs: Collection[TextPair]) -> Mapping[str, Any]:
        """Return the options that a job's texts determine, by name: a run scores with these (`engine.settled`).

        Optional: for options with a value such as `auto`.
        """
        return {}

    @abstractmethod
    def score(self, sources: Sequence[str], statements: Sequence[str]) -> list[PairScore]:
        """Return one answer per (source, statement), in order; an answer does not depend on other pairs."""

    def estimate(self, sources: Sequence[str], statements: Sequence[str]) -> object:
        """Return the estimated cost of scoring these pairs, as a printable object; None if it costs only time."""
        return None

    def requests(self, sources: Sequence[str], statements: Sequence[str]) -> Mapping[str, bytes]:
        """Return the JSON bodies of the requests that are not answered yet, by id.

        Optional: a metric that asks a remote model overrides it, if its requests can be answered as a batch.
        """
        return {}

    def note(self) -> str:
        """Return one line on the resources used for scoring (requests, retries, money ...); empty if there is none."""
        return ""

    def entail(self, sources: Sequence[str], statements: Sequence[str]) -> list[ThreeWay | None]:
        """Return three-way log-probabilities of pairs; None without a score. Only where the card has `three_way`."""
        raise NotImplementedError(f"{self.card.name} gives no three-way probabilities")

    def explain(self, source: str, statement: str) -> list[Span]:
        """Return the spans of both texts that a pair's score comes from; none where the pair has no score.

        Optional: a metric that explains overrides it. It is called after `prepare`.
        """
        raise NotImplementedError(f"{self.card.name} does not explain its scores")

    def explain_all(self, pairs: Sequence[tuple[str, str]]) -> list[list[Span]]:
        """Return the explanation of each (source, statement), as `explain` does, one after the other.

        A metric whose model takes several pairs at once overrides it.
        """
        return [self.explain(*pair) for pair in pairs]

    def replies(self, source: str, statement: str) -> list[str]:
        """Return the stored replies of a remote model about a pair; sends no request."""
        return []

    @classmethod
    def reads_job(cls) -> bool:
        """Return whether `prepare` may read the job's texts: its class does not declare `only_loads`."""
        owner = next(kind for kind in cls.__mro__ if "prepare" in vars(kind))
        return not vars(owner).get("only_loads", False)

    @classmethod
    def explains(cls) -> bool:
        """Return whether the metric implements `explain`."""
        return cls.explain is not Metric.explain

    def describe_options(self) -> Mapping[str, Any]:
        """Return the names and values of all options."""
        values: dict[str, Any] = self.options.model_dump(mode="json")
        return values


class TwoStepMetric(Metric):
    """A metric in two steps: `observe` runs the model, `judge` turns its output (an observation) into scores.

    Metrics of one job whose `observed()` is equal share one observation of each pair: SummaC-ZS and SummaC-Conv read
    the same sentence-pair probabilities. `judge` works on a metric that was never prepared.
    """

    @abstractmethod
    def observed(self) -> Mapping[str, Any]:
        """Return everything that an observation depends on, as JSON."""

    @abstractmethod
    def observe(self, sources: Sequence[str], statements: Sequence[str]) -> list[Any]:
        """Return one observation per pair, in order."""

    @abstractmethod
    def judge(self, observations: Sequence[Any]) -> list[PairScore]:
        """Return one answer per observation, in order."""

    def score(self, sources: Sequence[str], statements: Sequence[str]) -> list[PairScore]:
        """Return one answer per pair: `observe`, then `judge`."""
        return self.judge(self.observe(sources, statements))


class Combination(Metric):
    """A metric that combines other metrics' answers to the same pairs, and reads no text itself.

    The run scores the members first, each stored and shown under its own identity. A combined score depends on the
    whole job, and is not stored.
    """

    @property
    @abstractmethod
    def members(self) -> tuple[str, ...]:
        """Return the names of the metrics that are combined, as a run names them."""

    @abstractmethod
    def combine(self, answers: Sequence[Sequence[PairScore]]) -> list[PairScore]:
        """Return one answer per pair. answers: of each member, for all pairs in order, higher is more support."""

    def score(self, sources: Sequence[str], statements: Sequence[str]) -> list[PairScore]:
        """Raise TypeError: a combination cannot score texts without the members' answers."""
        raise TypeError(f"{self.card.name} combines other metrics' answers; it has no score of a text of its own")


def checked_answer(metric: Metric, answer: Any) -> PairScore:
    """Return the answer as the store returns it, with a score that is not finite as a status.

    Raises `UserError` for anything but a `PairScore` whose score and status agree.
    """
    name = metric.card.name
    if not isinstance(answer, PairScore):
        raise UserError(
            f"Metric {name!r} returned {answer!r}, not a PairScore: a fault of the plug-in (PairScore(0.5) is a score)."
        )
    score, status, tokens, cut = answer
    if (status is Status.OK) != (score is not None):
        raise UserError(
            f"Metric {name!r} returned score {score} with status {str(status)!r}: a fault of the plug-in (a number "
            "goes with 'ok', None with every other status)."
        )
    if score is None:
        return PairScore(None, status, int(tokens), int(cut))
    if not isfinite(score):
        return PairScore(None, Status.NOT_FINITE, int(tokens), int(cut))
    return PairScore(float(score) + 0.0, status, int(tokens), int(cut))  # SQLite knows no -0.0


def check_count(metric: Metric, answers: Sequence[Any], count: int) -> None:
    """Raise `UserError` unless there is one answer for each of `count` pairs."""
    if not isinstance(answers, Sized):
        raise UserError(
            f"Metric {metric.card.name!r} returned {answers!r}, not a list of answers: a fault of the plug-in."
        )
    if len(answers) != count:
        raise UserError(
            f"Metric {metric.card.name!r} returned {len(answers)} answers for {count} pairs: a fault of the plug-in."
        )
