"""The Metric contract: what a plug-in declares, and what it returns for each (source, statement) pair."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence, Set, Sized
from dataclasses import dataclass, replace
from enum import StrEnum
from importlib.metadata import distributions
from importlib.util import find_spec
from math import inf, isfinite
from typing import Any, ClassVar, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict

from metaeval.core.errors import UserError

TextPair = tuple[str, str]
"""The texts (source, statement)."""


class Status(StrEnum):
    """The status of a pair: scored, or why it has no score. A missing score is never a number.

    Attributes
    ----------
    OK
        Scored.
    EMPTY
        A text without words.
    NOTHING_TO_SCORE
        Text, but no unit that the metric can judge.
    TOO_LONG
        Refused, not cut.
    UNPARSED
        A judge replied, and its reply holds no score.
    NOT_FINITE
        The metric returned NaN or an infinity.
    NOT_A_NUMBER
        The metric returned a text, a list ...
    OUT_OF_RANGE
        The metric returned a number beyond the range that it declares.
    FAILED
        An error that another try may resolve: never stored.
    ABSENT
        An imported score file has no line for the pair.
    """

    OK = "ok"
    EMPTY = "empty"
    NOTHING_TO_SCORE = "nothing to score"
    TOO_LONG = "too long"
    UNPARSED = "unparsed"
    NOT_FINITE = "not finite"
    NOT_A_NUMBER = "not a number"
    OUT_OF_RANGE = "out of range"
    FAILED = "failed"
    ABSENT = "absent"


class PairScore(NamedTuple):
    """A metric's result for one pair: a score, or the status that says why there is none.

    Parameters
    ----------
    score : float or None
        Higher or lower is more support, as the metric's card says; None unless the status is OK.
    status : Status, default Status.OK
        Whether the pair is scored, or why not.
    tokens : int, default 0
        Input tokens of the pair, before any cut.
    cut : int, default 0
        How many of them the metric never saw.
    """

    score: float | None
    status: Status = Status.OK
    tokens: int = 0
    cut: int = 0

    def oriented(self, direction: int) -> PairScore:
        """Return the result with its score, if any, times the card's `direction`, so that higher is more support."""
        return self if self.score is None or direction == 1 else self._replace(score=direction * self.score)


class ThreeWay(NamedTuple):
    """Natural logarithms of a pair's three class probabilities, which sum to 1."""

    entailment: float
    neutral: float
    contradiction: float


Side = Literal["source", "statement"]


class Span(NamedTuple):
    """A span of one of a pair's two texts, and how much the metric counts it as support of the statement.

    Parameters
    ----------
    side : one of "source", "statement"
        The text that it is in.
    start, end : int
        Characters (code points) from 0, `end` excluded.
    weight : float
        From 1 (full support) over 0 (none) to -1 (contradicts).
    link : int, optional
        Spans with the same number belong together, as a word and its match do; None: a single span.
    """

    side: Side
    start: int
    end: int
    weight: float
    link: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricCard:
    """The card of a metric: name, range, direction, limits and requirements.

    Parameters
    ----------
    name : str
        Name, as it is typed.
    family : str
        The kind of method, such as lexical, embedding or classifier; tables of papers group metrics by it.
    summary, paper, licence : str
        One line for lists; citation, or "none"; licence of the code or model.
    version : int, default 1
        Raise it with any change of code that can change a score; it is in the identity.
    low, high : float, optional
        The score's range (None: unbounded).
    direction : 1 or -1, default 1
        1 when a higher score is more support, else -1.
    neutral : float, optional
        The score in favour of neither, where there is one.
    input_limit : int, optional
        Tokens of a pair (None: no limit).
    truncation : one of "none", "source", "statement", "both", "longest", default "none"
        The side that is cut beyond the limit.
    splitter : str, default "none"
        How the metric splits texts into sentences or chunks, in words.
    checkpoint, revision : str
        The model's id and revision on the Hugging Face hub.
    dtype : str
        The number type that the model computes in.
    template : str
        How source and statement become one input (empty: two inputs).
    download, parameters : str, default "none"
        Size and licence of the files to download; number of the model's parameters, in words ("110 M").
    corpus_dependent : bool, default False
        The score also depends on the other sources of the job.
    three_way : bool, default False
        Gives three-way log-probabilities.
    modules : tuple of str
        What it imports beyond the core install.
    extra, install : str
        The pip extra for those; what pip installs for those of no extra.
    argument : str
        The option that the text after the colon sets, in a name such as `nli:MODEL_ID` (empty: none).
    threshold : float, optional
        Raw scores of at least this, or with direction -1 of at most this, mean "supported" (None: no threshold). A
        threshold that is not `neutral` holds for the default options alone.
    threshold_from : str
        Where it is from, in words (the authors' code, later code, a calibration).
    fitted_on : tuple of str
        Data sets, as DATASET/SPLIT, whose labels the metric was fitted on: a run on one of them warns.
    title : str
        How papers write the name (empty: as `name`).
    caution : str
        What a reader of the scores should know, in sentences.
    whole_pages : bool, default False
        Made for whole contexts: a run that shows it parts of pages warns.
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
    install: str = ""
    argument: str = ""
    threshold: float | None = None
    threshold_from: str = ""
    fitted_on: tuple[str, ...] = ()
    title: str = ""
    caution: str = ""
    whole_pages: bool = False

    @property
    def missing(self) -> list[str]:
        """Return which of `modules`, names of modules or of packages, are not installed here."""
        return [name for name in self.modules if version_of(name) == "none" and not find_spec(name.partition(".")[0])]

    def holds(self, score: float) -> bool:
        """Return whether a score is in the declared range, up to the rounding of numbers of 32 bits."""
        low, high = -inf if self.low is None else self.low, inf if self.high is None else self.high
        return low - 1e-6 * max(abs(low), 1) <= score <= high + 1e-6 * max(abs(high), 1)


def version_of(package: str) -> str:
    """Return the version of an installed package; "none" if it is not installed."""
    return next((installed.version for installed in distributions(name=package)), "none")


class MetricOptions(BaseModel):
    """Base class of a metric's options: values are typed and checked, unknown names are refused.

    Attributes
    ----------
    runtime : frozenset of str
        Names of the options that cannot change a score by themselves, and so are not in the metric's identity: speed,
        and the paths of files whose content is in the identity.

    Raises
    ------
    pydantic.ValidationError
        For an unknown name and a value of another type. A run raises `UserError` instead.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    runtime: ClassVar[frozenset[str]] = frozenset()


class Metric(ABC):
    """A faithfulness metric. Subclass it, set `card` (and `Options`), write `score`.

    In `score` and its like, sources and statements are (n,) texts each, those of a pair in one place.

    Parameters
    ----------
    options : MetricOptions, optional
        Checked options (default: the defaults of `Options`).

    Attributes
    ----------
    card : MetricCard
        What the metric is.
    Options : subclass of MetricOptions
        Its options (default: none).
    batched : bool, default True
        The pairs that are scored beside a pair may change the last bits of its score, as they do in a batch of a model;
        such a metric always gets the same pairs together. Set it to False where a pair costs money, or each is scored
        alone.
    where : one of "worker", "driver", default "worker"
        "driver" for a metric that only one process may run, since it has a budget, a store, a program, or a bound of
        calls.
    origin : str
        Set on a metric that no package registers: what is known of its code.
    kept : bool, default True
        Whether its scores are stored beyond the job.
    """

    card: ClassVar[MetricCard]
    batched: ClassVar[bool] = True
    where: ClassVar[Literal["worker", "driver"]] = "worker"
    Options: ClassVar[type[MetricOptions]] = MetricOptions
    origin: str = ""
    kept: bool = True

    def __init__(self, options: MetricOptions | None = None) -> None:
        self.options: Any = options if options is not None else self.Options()
        if changed := self.range_by_options():
            vars(self)["card"] = replace(self.card, **changed)  # this metric's; the class keeps its own

    def range_by_options(self) -> Mapping[str, Any]:
        """Return the card's range, threshold and packages where these options change them; none unless overridden."""
        return {}

    @property
    def corpus_dependent(self) -> bool:
        """Return whether, with these options, a score also depends on the other sources of the job."""
        return self.card.corpus_dependent

    @property
    def block_tokens(self) -> int:
        """Return the size of the blocks that the engine scores and stores, in tokens (see `block_plan.make_plan`)."""
        return 16_384

    def identity(self) -> dict[str, Any]:
        """Return everything that can change a score, as JSON values: name, version, checkpoint, options but `runtime`.

        Scores are stored and found under this identity alone.
        """
        options = self.options.model_dump(mode="json", exclude=set(self.options.runtime))
        fields = ("name", "version", "checkpoint", "revision", "dtype", "template")
        identity = {**{field: getattr(self.card, field) for field in fields}, "options": options}
        return {**identity, "origin": self.origin} if self.origin else identity

    def provenance(self) -> dict[str, str]:
        """Return the signature's fields on the computation (checkpoint, dtype ...), not name, version and options."""
        card = self.card
        fields = {"checkpoint": f"{card.checkpoint}@{card.revision}"} if card.checkpoint else {}
        # What a metric does not have is not in its signature.
        more = {field: getattr(card, field) for field in ("dtype", "template", "truncation", "splitter")}
        fields |= {field: value for field, value in more.items() if value not in ("", "none")}
        return {**fields, "code": self.origin} if self.origin else fields

    def prepare(self, sources: Sequence[str], statements: Sequence[str]) -> None:  # noqa: B027 (optional step)
        """Prepare for a job: called before the job's first `score`, with its unique texts in a fixed order.

        Load models here. Anything computed from these texts is the same when an interrupted run is resumed.
        """

    def settled(self, pairs: Collection[TextPair]) -> Mapping[str, Any]:
        """Return the values of the options that a job's texts determine, by name; a run scores with these values.

        Optional, for options that may be "auto"; by default {}. See `engine.settled_metric`.
        """
        return {}

    @abstractmethod
    def score(self, sources: Sequence[str], statements: Sequence[str]) -> list[PairScore]:
        """Return one result per (source, statement), in order; none may depend on the other pairs of the call.

        Parameters
        ----------
        sources, statements : sequence of str
            (n,) texts each.

        Returns
        -------
        list of PairScore
            (n,) results, scores as the card's range and direction say.
        """

    def estimate(self, sources: Sequence[str], statements: Sequence[str]) -> object:
        """Return the estimated cost of scoring these pairs, as a printable object; None if it costs only time."""
        return None

    def requests(self, sources: Sequence[str], statements: Sequence[str]) -> Mapping[str, bytes]:
        """Return the JSON bodies of the requests for these pairs to which there is no stored reply, by request id.

        Optional: a metric that asks a remote model overrides it, if its requests can be sent as a batch.
        """
        return {}

    def note(self) -> str:
        """Return one line on the resources used for scoring (requests, retries, money ...); empty if there is none."""
        return ""

    def entail(self, sources: Sequence[str], statements: Sequence[str]) -> list[ThreeWay | None]:
        """Return the three-way log-probabilities of each pair, in order; None for a pair without a score.

        Raises
        ------
        NotImplementedError
            Unless the card has `three_way`.
        """
        raise NotImplementedError(f"{self.card.name} gives no three-way probabilities")

    def explain(self, source: str, statement: str) -> list[Span]:
        """Return the spans of both texts that a pair's score comes from; [] where the pair has no score.

        Optional, called after `prepare`.

        Raises
        ------
        NotImplementedError
            For a metric that does not override it.
        """
        raise NotImplementedError(f"{self.card.name} does not explain its scores")

    def explain_all(self, pairs: Sequence[tuple[str, str]]) -> list[list[Span]]:
        """Return the spans of each (source, statement), by one call of `explain` after the other.

        A metric whose model takes several pairs at once overrides it.
        """
        return [self.explain(*pair) for pair in pairs]

    def replies(self, source: str, statement: str) -> list[str]:
        """Return the stored replies of a remote model about a pair ([] by default); no request is sent."""
        return []

    def cost(self, source: str, statement: str) -> float | None:
        """Return what the stored replies about a pair cost in USD; None where it is not known, or nothing is paid."""
        return None

    @classmethod
    def explains(cls) -> bool:
        """Return whether the metric implements `explain`."""
        return cls.explain is not Metric.explain

    def describe_options(self) -> Mapping[str, Any]:
        """Return the values of all options by name, as JSON values; those in `runtime` too."""
        values: dict[str, Any] = self.options.model_dump(mode="json")
        return values


class TwoStepMetric(Metric):
    """A metric in two steps: `observe` runs the model, `judge` turns its output (an observation) into scores.

    Metrics of one job whose `observed()` is equal share one observation of each pair: SummaC-ZS and SummaC-Conv read
    the same sentence-pair probabilities. `judge` works on a metric that was never prepared.
    """

    @abstractmethod
    def observed(self) -> Mapping[str, Any]:
        """Return everything that an observation depends on, as JSON values."""

    @abstractmethod
    def observe(self, sources: Sequence[str], statements: Sequence[str]) -> list[Any]:
        """Return one observation per pair, in order."""

    @abstractmethod
    def judge(self, observations: Sequence[Any]) -> list[PairScore]:
        """Return one `PairScore` per observation, in order."""

    def score(self, sources: Sequence[str], statements: Sequence[str]) -> list[PairScore]:
        """Return one `PairScore` per pair, in order: `observe`, then `judge`."""
        return self.judge(self.observe(sources, statements))


class Combination(Metric):
    """A metric that combines other metrics' scores of the same pairs, and reads no text itself.

    The run scores the members first, each stored and shown under its own identity. A combined score depends on the
    whole job, and is not stored.
    """

    @property
    @abstractmethod
    def members(self) -> tuple[str, ...]:
        """Return the names of the metrics that are combined, as a run names them."""

    @abstractmethod
    def combine(self, answers: Sequence[Sequence[PairScore]]) -> list[PairScore]:
        """Combine the members' scores.

        Parameters
        ----------
        answers : sequence of sequence of PairScore
            For each of `members` its results for all n pairs, oriented so that higher is more support.

        Returns
        -------
        list of PairScore
            (n,), in order.
        """

    def score(self, sources: Sequence[str], statements: Sequence[str]) -> list[PairScore]:
        """Raise TypeError: a combination cannot score texts without the members' scores."""
        raise TypeError(f"{self.card.name} combines other metrics' scores: call combine, not score")


def checked_answer(metric: Metric, answer: Any) -> PairScore:
    """Return a metric's result for a pair as the store returns it.

    A score that is not a number, not finite or outside the range of the metric's card becomes the status that says so.
    Raises `UserError` unless it is a `PairScore` with a number and status OK, or None and another status.
    """
    name = metric.card.name
    if not isinstance(answer, PairScore):
        raise UserError(f"Metric {name!r} returned {answer!r}, not a PairScore: correct its code (PairScore(0.5)).")
    score, status, tokens, cut = answer
    if status not in [*Status] or (status == Status.OK) != (score is not None):
        raise UserError(f"Metric {name!r} returned score {score} with status {str(status)!r}: a number goes with 'ok'.")
    if score is None:
        return PairScore(None, Status(status), int(tokens), int(cut))
    try:
        if isinstance(score, str | bytes) or getattr(getattr(score, "dtype", None), "kind", "") == "c":  # are converted
            raise TypeError
        number = float(score) or 0.0  # SQLite knows no -0.0
        outside = Status.OUT_OF_RANGE if isfinite(number) else Status.NOT_FINITE
        status = Status.OK if isfinite(number) and metric.card.holds(number) else outside
    except OverflowError:  # an integer beyond all floats
        status = Status.NOT_FINITE
    except Exception:  # noqa: BLE001 (of tensors, and of a user's class)
        status = Status.NOT_A_NUMBER
    return PairScore(number if status is Status.OK else None, status, int(tokens), int(cut))


def check_count(metric: Metric, answers: Sequence[Any], count: int) -> None:
    """Raise `UserError` unless a metric returned one result (score or observation) for each of `count` pairs."""
    is_list = isinstance(answers, Sized) and not isinstance(answers, Mapping | Set)  # which have no order, or only keys
    if not is_list or len(answers) != count:
        result = f"{len(answers)} results for {count} pairs" if is_list else repr(answers)
        raise UserError(f"Metric {metric.card.name!r} returned {result}: return a list of one for each pair, in order.")
