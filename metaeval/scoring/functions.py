"""Metrics made of plain functions: such a function, as `contain(source, statement)`, returns the score of a pair.

    def contain(source, statement):
        return float(statement in source)

A function whose parameters are called `sources` and `statements` gets lists of texts, and returns one score for each
pair. None stands for a missing score. The decorator `metaeval.metric` declares direction, range and threshold.
"""

from __future__ import annotations

import hashlib
import inspect
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from types import CodeType, FunctionType
from typing import Any, ClassVar, Literal, TypeVar, overload

from metaeval.errors import UserError, shown
from metaeval.scoring.contract import Metric, MetricCard, PairScore, Status, TextPair

_WORD = re.compile(r"\w")
_BATCHED = ("sources", "statements")
_SIMPLE = (str, bytes, int, float, tuple, frozenset, type(None))

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class FunctionCard:
    """What the decorator `metaeval.metric` declares of a function; its parameters are described there."""

    direction: Literal[1, -1] = 1
    low: float | None = None
    high: float | None = None
    threshold: float | None = None
    batched: bool | None = None


@overload
def metric(function: F) -> F: ...
@overload
def metric(
    *,
    direction: Literal[1, -1] = ...,
    low: float | None = ...,
    high: float | None = ...,
    threshold: float | None = ...,
    batched: bool | None = ...,
) -> Callable[[F], F]: ...
def metric(function: F | None = None, **fields: Any) -> F | Callable[[F], F]:
    """Mark a function as a metric, and return the function itself; without a function, return a decorator.

    direction: 1 where a higher score is more support (default), else -1. low, high: the range of the scores (default:
    unbounded). threshold: scores of at least this, or with direction -1 of at most this, mean "supported" (default:
    none). batched: whether the function takes lists of sources and statements (default: if its first two parameters
    are called so). Raises `UserError` for a direction other than 1 and -1, and unless low is below high.
    """
    card = FunctionCard(**fields)
    if card.direction not in (1, -1):
        raise UserError(f"direction is {card.direction!r}; allowed: 1 (higher is more support) and -1 (lower is).")
    if card.low is not None and card.high is not None and not card.low < card.high:
        raise UserError(f"low is {card.low} and high is {card.high}: give a value of low that is below high.")

    def marked(function: F) -> F:
        setattr(function, "function_card", card)  # noqa: B010 (mypy knows no such attribute)
        return function

    return marked if function is None else marked(function)


def as_class(value: Any) -> Any:
    """Return the metric class of a function (see `metric_of_function`); anything else is returned unchanged."""
    return metric_of_function(value) if isinstance(value, FunctionType) else value


@cache
def metric_of_function(function: FunctionType) -> type[Metric]:
    """Return the metric class of a function of (source, statement), or of lists of both; always the same class.

    Raises `UserError` for a function that cannot be called with two positional arguments.
    """
    try:
        inspect.signature(function).bind("source", "statement")
    except TypeError as error:
        raise UserError(
            f"The function {function.__name__!r} is not a metric: it should take two texts, (source, statement), and "
            f"return a score ({error})."
        ) from error
    declared: FunctionCard = getattr(function, "function_card", FunctionCard())
    in_lists = declared.batched
    if in_lists is None:
        in_lists = tuple(inspect.signature(function).parameters)[:2] == _BATCHED
    card = MetricCard(
        name=function.__name__,
        family="function",
        summary=(inspect.getdoc(function) or "a function of your own").splitlines()[0],
        paper="none",
        licence="its author's",
        low=declared.low,
        high=declared.high,
        direction=declared.direction,
        threshold=declared.threshold,
        threshold_from="" if declared.threshold is None else "its author",
    )
    fields = {"card": card, "function": staticmethod(function), "in_lists": in_lists, "batched": in_lists}
    return type(function.__name__, (FunctionMetric,), {**fields, "__module__": function.__module__})


class FunctionMetric(Metric):
    """Base of the metrics of `metric_of_function`: `score` calls `function`, with lists of texts if `in_lists`."""

    function: ClassVar[Callable[..., Any]]
    in_lists: ClassVar[bool]

    def score(self, sources: Sequence[str], statements: Sequence[str]) -> list[PairScore]:
        """Return a `PairScore` per pair: the number that the function returns, or NOTHING_TO_SCORE for None.

        A `PairScore` that the function returns is kept. A pair of which a text has no letter or digit has the status
        EMPTY, and is not passed to the function. Raises `UserError` where the function returns anything else, or
        another number of scores than pairs.
        """
        pairs = list(zip(sources, statements, strict=True))
        scored = [number for number, pair in enumerate(pairs) if all(map(_WORD.search, pair))]
        answers = [PairScore(None, Status.EMPTY)] * len(pairs)
        for number, value in zip(scored, self._values([pairs[number] for number in scored]), strict=True):
            answers[number] = self._read(value)
        return answers

    def _values(self, pairs: Sequence[TextPair]) -> list[Any]:
        if not self.in_lists or not pairs:
            return [self.function(source, statement) for source, statement in pairs]
        values = list(self.function(*map(list, zip(*pairs, strict=True))))
        if len(values) != len(pairs):
            raise UserError(
                f"The function {self.card.name!r} returned {len(values)} scores for {len(pairs)} pairs: return one for "
                "each pair, in order."
            )
        return values

    def _read(self, value: Any) -> PairScore:
        if value is None:
            return PairScore(None, Status.NOTHING_TO_SCORE)
        if isinstance(value, PairScore):
            return value
        try:
            if isinstance(value, str | bytes):
                raise TypeError
            return PairScore(float(value))
        except (TypeError, ValueError):
            raise UserError(
                f"The function {self.card.name!r} returned {shown(value)}: return a number, or None for a pair without "
                "a score."
            ) from None


def source_hash(kind: type[Metric]) -> str:
    """Return 12 hex digits of a hash over a metric's card and code: of its function, or of the methods of its class,
    with the functions of the same module and the constants that they use.
    """
    methods = [value for value in vars(kind).values() if isinstance(value, FunctionType)]
    functions = [kind.function] if issubclass(kind, FunctionMetric) else methods
    digest, seen = hashlib.sha256(repr(kind.card).encode("utf-8", "replace")), set[int]()
    for function in functions:
        for text in _texts(function, seen):
            digest.update(text.encode("utf-8", "replace") + b"\0")
    return digest.hexdigest()[:12]


def _texts(function: Any, seen: set[int]) -> Iterator[str]:
    if id(function) in seen:
        return
    seen.add(id(function))
    try:
        yield inspect.getsource(function)
    except (OSError, TypeError):  # typed at a prompt
        yield from _code_texts(function.__code__)
    used = inspect.getclosurevars(function)
    for name, value in sorted({**used.globals, **used.nonlocals}.items()):
        if isinstance(value, FunctionType) and value.__module__ == function.__module__:
            yield from _texts(value, seen)
        elif isinstance(value, _SIMPLE):
            yield f"{name}={value!r}"
    yield repr((function.__defaults__, function.__kwdefaults__))


def _code_texts(code: CodeType) -> Iterator[str]:
    """Yield the bytecode, names and constants of compiled code and of code inside it, as texts without addresses."""
    yield repr((code.co_code, code.co_names, [each for each in code.co_consts if not isinstance(each, CodeType)]))
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _code_texts(inner)
