"""Metrics made of plain functions: such a function, as `contain(source, statement)`, returns the score of a pair.

    def contain(source, statement):
        return float(statement in source)

A function whose parameters are called `sources` and `statements` gets lists of texts, and returns one score for each
pair. None stands for a missing score. The decorator `metaeval.metric` declares direction, range and threshold.
"""

from __future__ import annotations

import ast
import inspect
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import resolve_name
from itertools import accumulate
from pathlib import Path
from types import FunctionType
from typing import Any, ClassVar, Literal, TypeVar, overload

from metaeval.errors import UserError
from metaeval.files import sha256_file, sha256_json
from metaeval.scoring.contract import Metric, MetricCard, PairScore, Status, TextPair

_WORD = re.compile(r"\w")
_BATCHED = ("sources", "statements")
_LIBRARY = Path(os.__file__).parent
_OURS = ("metaeval", "metrics_zoo", "protocols")

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class FunctionCard:
    """What the decorator `metaeval.metric` declares of a function; its parameters are described there."""

    direction: Literal[1, -1] = 1
    low: float | None = None
    high: float | None = None
    threshold: float | None = None
    batched: bool | None = None
    identity: str = ""
    of: Any = None
    """The very function or class that was marked."""


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
    identity: str = ...,
) -> Callable[[F], F]: ...
def metric(function: F | None = None, **fields: Any) -> F | Callable[[F], F]:
    """Mark a function or metric class, and return it itself; without a function, return a decorator.

    direction: 1 where a higher score is more support (default), else -1. low, high: the range of the scores (default:
    unbounded). threshold: scores of at least this, or with direction -1 of at most this, mean "supported" (default:
    none). batched: whether the function takes lists of sources and statements (default: if its first two parameters
    are called so). identity: a text that names everything that can change a score, such as the version of your code and
    the model that it asks. Scores of code given from Python are stored under it, and only where it is declared; of a
    class it is the only field, since its card has the others.

    Raises `UserError` for a direction other than 1 and -1, unless low is below high, and for an identity without text.
    """
    card = FunctionCard(**fields)
    if card.direction not in (1, -1):
        raise UserError(f"direction is {card.direction!r}; allowed: 1 (higher is more support) and -1 (lower is).")
    if card.low is not None and card.high is not None and not card.low < card.high:
        raise UserError(f"low is {card.low} and high is {card.high}: give a value of low that is below high.")
    if "identity" in fields and not (isinstance(card.identity, str) and card.identity.strip()):
        raise UserError(f"identity is {card.identity!r}: give a text, such as 'my judge 2, gpt-4o-mini'.")

    def marked(function: F) -> F:
        if isinstance(function, type) and fields.keys() - {"identity"}:
            raise UserError(f"{function.__name__} is a class: give only identity here, and the rest in its card.")
        setattr(function, "function_card", replace(card, of=function))  # noqa: B010 (mypy knows no such attribute)
        return function

    return marked if function is None else marked(function)


def as_class(value: Any) -> Any:
    """Return the metric class of a function (see `metric_of_function`); anything else is returned unchanged."""
    return metric_of_function(value) if isinstance(value, FunctionType) else value


def metric_of_function(function: FunctionType) -> type[Metric]:
    """Return the metric class of a function of (source, statement), or of lists of both.

    Raises `UserError` for a function that cannot be called with two positional arguments.
    """
    try:
        inspect.signature(function).bind("source", "statement")
    except TypeError as error:
        raise UserError(
            f"The function {function.__name__!r} is not a metric: it should take two texts, (source, statement), and "
            f"return a score ({error})."
        ) from error
    declared = declared_by(function)
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
    batches = {"in_lists": in_lists, "batched": in_lists, "one_by_one": not in_lists}
    fields = {"card": card, "function": staticmethod(function), "__module__": function.__module__}
    return type(function.__name__, (FunctionMetric,), fields | batches)


class FunctionMetric(Metric):
    """Base of the metrics of `metric_of_function`: `score` calls `function`, with lists of texts if `in_lists`."""

    function: ClassVar[Callable[..., Any]]
    in_lists: ClassVar[bool]

    def score(self, sources: Sequence[str], statements: Sequence[str]) -> list[PairScore]:
        """Return a `PairScore` per pair: what the function returns, or NOTHING_TO_SCORE for None.

        A `PairScore` that the function returns is kept. A pair of which a text has no letter or digit has the status
        EMPTY, and is not passed to the function. Raises `UserError` for another number of scores than pairs.
        """
        pairs = list(zip(sources, statements, strict=True))
        scored = [number for number, pair in enumerate(pairs) if all(map(_WORD.search, pair))]
        answers = [PairScore(None, Status.EMPTY)] * len(pairs)
        for number, value in zip(scored, self._values([pairs[number] for number in scored]), strict=True):
            missing = PairScore(None, Status.NOTHING_TO_SCORE) if value is None else PairScore(value)
            answers[number] = value if isinstance(value, PairScore) else missing
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


def declared_by(value: Any) -> FunctionCard:
    """Return what `metaeval.metric` declares of a function or class; the defaults where it declares nothing.

    What wraps a marked function, as a decorator does, and a subclass of a marked class have other code, and so keep
    direction, range and threshold, but no identity.
    """
    card: FunctionCard = getattr(value, "function_card", FunctionCard())
    return card if card.of is value else replace(card, identity="")


def files_hash(module: str) -> str:
    """Return 12 hex digits of a hash over the file of a module and the user's own files that it imports, transitively.

    Those are all but the standard library's and installed packages'. An import counts wherever it is written, also
    inside a function. Returns "" for a module without a file.
    """
    hashes: dict[str, str] = {}
    wanted = [(name, Path()) for name in _with_packages(module)]
    while wanted:
        name, beside = wanted.pop()
        spec = None if name in hashes else _spec(name, beside)
        if spec is None or not spec.has_location or spec.origin is None:
            continue
        path = Path(spec.origin)
        foreign = {"site-packages", "dist-packages"} & {*path.parts} or path.is_relative_to(_LIBRARY)
        if (foreign or name.partition(".")[0] in _OURS) and name not in _with_packages(module):
            continue
        hashes[name] = sha256_file(path)
        wanted += [(each, path.parent) for each in _imported(path, spec.parent or "")]
    if len(hashes) < 2:
        return "".join(hashes.values())[:12]
    return sha256_json(sorted(hashes.items()))[:12]


def _with_packages(module: str) -> Iterator[str]:
    yield from accumulate(module.split("."), "{}.{}".format)


def _spec(module: str, beside: Path) -> ModuleSpec | None:
    """Return where a module is, without importing it; None for one that is nowhere. beside: folder to look in last."""
    if loaded := getattr(sys.modules.get(module), "__spec__", None):
        return loaded if isinstance(loaded, ModuleSpec) else None
    package = module.rpartition(".")[0]
    if not package:
        return PathFinder.find_spec(module, [*sys.path, str(beside)])
    above = _spec(package, beside)
    places = above.submodule_search_locations if above else None
    return PathFinder.find_spec(module, places) if places is not None else None


def _imported(path: Path, package: str) -> Iterator[str]:
    """Yield the names of all modules that a file of a package may import, and of the packages around them."""
    try:
        nodes = list(ast.walk(ast.parse(path.read_bytes())))
    except (SyntaxError, ValueError, RecursionError):  # compiled, or of another version of Python
        return
    for node in nodes:
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = []
            with suppress(ImportError):  # above the package
                module = resolve_name("." * node.level + (node.module or ""), package)
                names = [f"{module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            yield from _with_packages(name)
