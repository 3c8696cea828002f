"""Metrics made of plain functions: such a function, as `contain(source, statement)`, returns the score of a pair.

    def contain(source, statement):
        return float(statement in source)

A function whose parameters are called `sources` and `statements` gets lists of texts, and returns one score for each
pair. None stands for a missing score. The decorator `metaeval.metric` declares direction, range, identity ...
"""

from __future__ import annotations

import ast
import inspect
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import FunctionType, SimpleNamespace
from typing import Any, ClassVar, Literal

from metaeval.errors import UserError
from metaeval.files import canonical_json, sha256_file, sha256_json
from metaeval.scoring.contract import Metric, MetricCard, PairScore, Status, check_count

_WORD = re.compile(r"\w")
_MODULE = re.compile(r"[A-Za-z_][\w.]{,99}")
_BATCHED = ("sources", "statements")
_LIBRARY = Path(os.__file__).parent.resolve()
_INSTALLED = {"site-packages", "dist-packages"}
_OURS = ("metaeval", "metrics_zoo", "protocols")


def metric(
    function: Any = None,
    *,
    direction: Literal[1, -1] = 1,
    low: float | None = None,
    high: float | None = None,
    threshold: float | None = None,
    batched: bool | None = None,
    identity: str | Mapping[str, Any] | None = None,
    packages: Sequence[str] = (),
    concurrency: int | None = None,
) -> Any:
    """Mark a function or metric class, and return it itself; without a function, return a decorator.

    direction: 1 where a higher score is more support (default), else -1. low, high: the range of the scores (default:
    unbounded). threshold: scores of at least this, or with direction -1 of at most this, mean "supported" (default:
    none). batched: whether the function takes lists of sources and statements (default: if its first two parameters
    are called so). identity: names everything that can change a score, such as the version of your code and the model
    that it asks: a text, or a mapping of plain values (`{"model": "gpt-4o-mini", "temperature": 0}`). Scores of code
    given from Python are stored under it, and only where it is declared. packages: names of the installed packages,
    as pip has them, that can change a score, and that the metric needs; their versions are in the key of the scores.
    concurrency: most calls at a time (default: 16 of an `async def`, else 1); above 1 a plain function runs in threads.
    Of a class, identity and packages are the only fields, since its card has the others.

    Raises `UserError` for a direction other than 1 and -1, unless low is below high, for a concurrency below 1, and for
    an identity without text or with a value that JSON does not have.
    """
    if direction not in (1, -1):
        raise UserError(f"direction is {direction!r}; allowed: 1 (higher is more support) and -1 (lower is).")
    if low is not None and high is not None and not low < high:
        raise UserError(f"low is {low} and high is {high}: give a value of low that is below high.")
    try:
        text = canonical_json(dict(identity)) if isinstance(identity, Mapping) and identity else identity
    except (TypeError, ValueError):
        text = ""
    if text is not None and not (isinstance(text, str) and text.strip()):
        raise UserError(
            f"identity is {identity!r}: give a text, such as 'my judge 2, gpt-4o-mini', or a mapping of plain values, "
            "such as {'model': 'gpt-4o-mini'}."
        )
    if concurrency is not None and (not isinstance(concurrency, int) or concurrency < 1):
        raise UserError(f"concurrency is {concurrency!r}; allowed: the most calls at a time, from 1.")
    if isinstance(packages, str) or not all(isinstance(name, str) and name.strip() for name in packages):
        raise UserError(f"packages is {packages!r}: give a list of names, such as ['deepeval'].")
    rest = {"batched": batched, "concurrency": concurrency}
    card = {"direction": direction, "low": low, "high": high, "threshold": threshold}

    def marked(function: Any) -> Any:
        if isinstance(function, type) and [*card.values(), *rest.values()] != [1, *[None] * 5]:
            raise UserError(
                f"{function.__name__} is a class: give only identity and packages here, and the rest in its card."
            )
        declared = {"card": card, "identity": text, "packages": tuple(packages), "of": function}
        function.function_card = SimpleNamespace(**rest, **declared)
        return function

    return marked if function is None else marked(function)


def as_class(function: Any) -> Any:
    """Return the metric class of a function of (source, statement), or of lists of both; anything else unchanged.

    Raises `UserError` for a function that cannot be called with two positional arguments.
    """
    if not isinstance(function, FunctionType):
        return function
    try:
        inspect.signature(function).bind("source", "statement")
    except TypeError as error:
        raise UserError(
            f"The function {function.__name__!r} is not a metric: it should take two texts, (source, statement), and "
            f"return a score ({error})."
        ) from error
    declared = getattr(function, "function_card", SimpleNamespace(card={}, batched=None))
    batched = declared.batched
    if batched is None:
        batched = tuple(inspect.signature(function).parameters)[:2] == _BATCHED
    card = MetricCard(
        name=function.__name__,
        family="function",
        summary=(inspect.getdoc(function) or "a function of your own").splitlines()[0],
        paper="none",
        licence="its author's",
        threshold_from="" if declared.card.get("threshold") is None else "its author",
        **declared.card,
    )
    fields = {"card": card, "function": staticmethod(function), "batched": batched, "one_by_one": not batched}
    return type(function.__name__, (FunctionMetric,), {**fields, "__module__": function.__module__})


class FunctionMetric(Metric):
    """Base of the metrics of `as_class`: `score` calls `function`, with lists of texts if `batched`."""

    function: ClassVar[Callable[..., Any]]

    def score(self, sources: Sequence[str], statements: Sequence[str]) -> list[PairScore]:
        """Return a `PairScore` per pair: what the function returns, or NOTHING_TO_SCORE for None.

        A `PairScore` that the function returns is kept. A pair of which a text has no letter or digit has the status
        EMPTY, and is not passed to the function. Raises `UserError` for another number of scores than pairs.
        """
        pairs = list(zip(sources, statements, strict=True))
        scored = [number for number, pair in enumerate(pairs) if all(map(_WORD.search, pair))]
        if self.batched and scored:
            values = self.function(*map(list, zip(*(pairs[number] for number in scored), strict=True)))
            values = list(values) if isinstance(values, Iterator) else values
            check_count(self, values, len(scored))
        else:
            values = [self.function(*pairs[number]) for number in scored]
        answers = [PairScore(None, Status.EMPTY)] * len(pairs)
        for number, value in zip(scored, values, strict=True):
            missing = Status.NOTHING_TO_SCORE if value is None else Status.OK
            answers[number] = value if isinstance(value, PairScore) else PairScore(value, missing)
        return answers


def identity_of(value: Any) -> str:
    """Return the identity that `metaeval.metric` declares of a function or class; "" where it declares none.

    What wraps a marked function, as a decorator does, and a subclass of a marked class have other code, and none.
    """
    declared = getattr(value, "function_card", None)
    return declared.identity or "" if isinstance(declared, SimpleNamespace) and declared.of is value else ""


def files_hash(module: str) -> str:
    """Return 12 hex digits of a hash over the file of an imported module and the user's own files that it imports.

    Those are the files outside the standard library and installed packages, imported directly or by each other, also
    inside a function. Returns "" for a module without a file.
    """
    file = Path(str(getattr(sys.modules[module], "__file__", None) or ""))
    folders = [place.resolve() for place in [*map(Path, sys.path), file.parent]]
    roots = [place for place in folders if not (place.is_relative_to(_LIBRARY) or _INSTALLED & {*place.parts})]
    wanted, hashes = [(roots, module), ([file.parent.resolve()], file.stem)], dict[Path, str]()
    while wanted:
        places, name = wanted.pop()
        parts = [] if places is roots and name.partition(".")[0] in _OURS else name.split(".")
        stems = [place.joinpath(*parts[:end]) for place in places for end in range(len(parts) + 1)]
        for path in dict.fromkeys(Path(f"{stem}{end}.py") for stem in stems for end in ("", "/__init__")):
            if path not in hashes and path.is_file():
                hashes[path] = sha256_file(path)
                wanted += _imports(path, roots)
    listed = sorted((path.name, content) for path, content in hashes.items())
    return (sha256_json(listed) if len(listed) > 1 else "".join(hashes.values()))[:12]


def _imports(path: Path, roots: list[Path]) -> Iterator[tuple[list[Path], str]]:
    """Yield (folders, name) of what a file may import: a module's dotted name, below one of the folders.

    A text of the code may name a module or its file, as for `importlib.import_module` or `runpy.run_path`.
    """
    with suppress(SyntaxError, ValueError, RecursionError):  # of another version of Python
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and _MODULE.fullmatch(node.value):
                yield roots, node.value.removesuffix(".py")
            if isinstance(node, ast.Import | ast.ImportFrom):
                level, module = getattr(node, "level", 0), getattr(node, "module", None)
                places = list(path.parents[level - 1 : level]) if level else roots
                yield from ((places, f"{module}.{alias.name}" if module else alias.name) for alias in node.names)
