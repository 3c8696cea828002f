"""Metrics made of plain functions: such a function, as `contain(source, statement)`, returns the score of a pair.

    def contain(source, statement):
        return float(statement in source)

A function whose parameters are called `sources` and `statements` gets lists of texts, and returns one score for each
pair. None stands for a missing score. The decorator `metaeval.metric` declares direction, range, identity ...
"""

from __future__ import annotations

import ast
import inspect
import logging
import os
import re
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import suppress
from functools import cache
from itertools import chain, islice
from pathlib import Path
from threading import Thread
from time import monotonic
from types import FunctionType, SimpleNamespace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, cast

from metaeval.core.errors import UserError, count
from metaeval.core.files import canonical_json, sha256_file, sha256_json
from metaeval.scoring.contract import Metric, MetricCard, PairScore, Status, TextPair, check_count, checked_answer
from metaeval.scoring.executors.contract import BlockTask, Context, ScoredBlock

if TYPE_CHECKING:
    import asyncio

_log = logging.getLogger("metaeval")
_CONCURRENCY = 16  # calls of an asynchronous function
_PATIENCE = 20  # calls that fail one after the other before the run ends
_PAUSE = 0.1  # seconds within which results are handed on, and stored
_GRACE = 5.0  # seconds that a run which ends waits for calls in flight: they may have been paid for
_SHOWN = 3  # causes
_FAULTS = {Status.FAILED, Status.NOT_FINITE, Status.NOT_A_NUMBER, Status.OUT_OF_RANGE}
_SECRET = re.compile("KEY|TOKEN|SECRET|PASSWORD")  # in names of environment variables
_ID = re.compile(r"\b(?:sk-|hf_|Bearer )[\w.-]++|[0-9a-f]{8}[0-9a-f-]*+")  # keys, and ids of requests
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

    Parameters
    ----------
    function : callable, optional
        A function of (source, statement), or of lists of both; or a class of metrics. Of a class, identity and packages
        are the only fields, since its card has the others.
    direction : 1 or -1, default 1
        1 where a higher score is more support, else -1.
    low, high : float, optional
        The range of the scores (default: unbounded).
    threshold : float, optional
        Scores of at least this, or with direction -1 of at most this, mean "supported" (default: none).
    batched : bool, optional
        Whether the function takes lists of sources and statements (default: if its first two parameters are called so).
    identity : str or mapping, optional
        Names everything that can change a score, such as the version of your code and the model that it asks: a text,
        or a mapping of plain values (`{"model": "gpt-4o-mini", "temperature": 0}`). Scores of code given from Python
        are stored under it, and only where it is declared.
    packages : sequence of str
        Names of the installed packages, as pip has them, that can change a score, and that the metric needs; their
        versions are in the key of the scores.
    concurrency : int, optional
        Most calls at a time (default: 16 of an `async def`, else 1); above 1 a plain function runs in threads.

    Returns
    -------
    callable
        The function or class itself, or the decorator.

    Raises
    ------
    UserError
        For a direction other than 1 and -1, unless low is below high, for a concurrency below 1, for an identity
        without text or with a value that JSON does not have, for packages that are not a list of names, and for another
        field of a class.

    Examples
    --------
    >>> import metaeval
    >>> @metaeval.metric(low=0, high=1)
    ... def contained(source, statement):
    ...     return float(statement in source)
    >>> metaeval.score(contained, ["The Oder is long."], ["The Oder"])[0].score
    1.0
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
        raise UserError(f"identity is {identity!r}: give a text, or a mapping such as {{'model': 'gpt-4o-mini'}}.")
    if concurrency is not None and (not isinstance(concurrency, int) or concurrency < 1):
        raise UserError(f"concurrency is {concurrency!r}; allowed: the most calls at a time, from 1.")
    if isinstance(packages, str) or not all(isinstance(name, str) and name.strip() for name in packages):
        raise UserError(f"packages is {packages!r}: give a list of names, such as ['deepeval'].")
    rest = {"batched": batched, "concurrency": concurrency}
    card = {"direction": direction, "low": low, "high": high, "threshold": threshold}

    def marked(function: Any) -> Any:
        if isinstance(function, type) and [*card.values(), *rest.values()] != [1, *[None] * 5]:
            raise UserError(f"{function.__name__} is a class: give only identity and packages; its card has the rest.")
        function.function_card = SimpleNamespace(card=card, identity=text, packages=packages, of=function, **rest)
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
        raise UserError(f"{function.__name__!r} is not a metric, which takes (source, statement): {error}.") from error
    declared = getattr(function, "function_card", SimpleNamespace(card={}, batched=None, concurrency=None, packages=()))
    by_name = tuple(inspect.signature(function).parameters)[:2] == _BATCHED
    lists = by_name if declared.batched is None else declared.batched
    in_loop = inspect.iscoroutinefunction(function)
    concurrency = declared.concurrency or (_CONCURRENCY if in_loop else 1)
    card = MetricCard(
        name=function.__name__,
        family="function",
        summary=(inspect.getdoc(function) or "a function of your own").splitlines()[0],
        paper="none",
        licence="its author's",
        threshold_from="" if declared.card.get("threshold") is None else "its author",
        modules=tuple(declared.packages),
        **declared.card,
    )
    where = "driver" if in_loop or concurrency > 1 else "worker"  # the bound of calls is one process's
    fields = {"card": card, "function": staticmethod(function), "lists": lists, "in_loop": in_loop, "where": where}
    fields |= {"concurrency": concurrency, "__module__": function.__module__}
    return type(function.__name__, (FunctionMetric,), fields)


class FunctionMetric(Metric):
    """Base of the metrics of `as_class`: a call of `function` gets a pair, or with `lists` all pairs of a block.

    in_loop: the function is asynchronous. concurrency: most calls at a time. What the function raises is the status
    FAILED of the call's pairs. A pair of which a text has no letter or digit has the status EMPTY, without a call.
    failing: pairs that an earlier run asked for and did not store. scored: whether a call in this process did not fail.
    """

    batched = False
    function: ClassVar[Callable[..., Any]]
    lists: ClassVar[bool]
    in_loop: ClassVar[bool]
    concurrency: ClassVar[int]

    def __init__(self, options: Any = None) -> None:
        super().__init__(options)
        self.scored, self.failing = False, cast(Set[TextPair], frozenset())
        self._failed_in_a_row = 0
        self._causes = Counter[str]()  # of pairs without a score

    def score(self, sources: Sequence[str], statements: Sequence[str]) -> list[PairScore]:
        """Return a `PairScore` per pair; equal pairs are asked once, and any number of calls may fail."""
        pairs = list(zip(sources, statements, strict=True))
        unique, self.failing = list(dict.fromkeys(pairs)), {*pairs}
        parts = self.run(Context((), ()), [BlockTask(0, [b""] * len(unique), unique, (0,))])
        answers = dict(chain.from_iterable(zip(part.task.pairs, part.answers[0], strict=True) for part in parts))
        return [answers[pair] for pair in pairs]

    def run(self, context: Context, tasks: Iterable[BlockTask]) -> Iterator[ScoredBlock]:
        """Score tasks as `Execute` does, several at a time; a block's results are yielded in parts, as they come.

        An interrupt, a `UserError`, an `ImportError` and `_PATIENCE` calls that fail one after the other, but for those
        of pairs in `failing`, end it: what is there, or arrives within `_GRACE`, is yielded before the error is raised.
        """
        flying: dict[Future[Any], tuple[BlockTask, Sequence[int]]] = {}
        arrived: dict[int, tuple[BlockTask, dict[int, PairScore]]] = {}

        def calls() -> Iterator[tuple[BlockTask, Sequence[int]]]:
            for task in tasks:
                places = [place for place, pair in enumerate(task.pairs) if all(map(_WORD.search, pair))]
                if empty := {*range(len(task.pairs))} - {*places}:
                    arrived[task.block] = task, dict.fromkeys(empty, PairScore(None, Status.EMPTY))
                yield from ((task, part) for part in ([places] if self.lists and places else zip(places)))

        def keep(future: Future[Any]) -> None:
            task, places = flying.pop(future)
            answers = self._answers(future.result(), [task.pairs[place] for place in places])
            arrived.setdefault(task.block, (task, {}))[1].update(zip(places, answers, strict=True))

        def drain() -> Iterator[ScoredBlock]:
            for task, answers in arrived.values():
                part = task._replace(keys=[task.keys[at] for at in answers], pairs=[task.pairs[at] for at in answers])
                yield ScoredBlock(part, [[*answers.values()]])
            arrived.clear()

        waiting, due = calls(), 0.0
        try:
            while True:
                for task, places in islice(waiting, self.concurrency - len(flying)):
                    texts = zip(*(task.pairs[place] for place in places), strict=True)
                    flying[self._begun(*(map(list, texts) if self.lists else task.pairs[places[0]]))] = task, places
                if not flying:
                    break
                for future in wait(flying, _PAUSE if arrived else None, FIRST_COMPLETED).done:
                    keep(future)
                if monotonic() >= due:
                    yield from drain()
                    due = monotonic() + _PAUSE
        except (Exception, KeyboardInterrupt):
            for future in wait(flying, _GRACE).done:  # what was asked may have been paid for
                with suppress(Exception):
                    keep(future)
            yield from drain()
            raise
        finally:
            for future in flying if self.in_loop else ():  # a thread cannot be cancelled
                future.cancel()
        yield from drain()

    def note(self) -> str:
        """Return one line on the pairs without a score: how many for which cause, the most frequent ones first."""
        causes = "; ".join(f"{number:,} {cause}" for cause, number in self._causes.most_common(_SHOWN))
        more = "; …" * (len(self._causes) > _SHOWN)
        return f"{count(self._causes.total(), 'pair')} without a score: {causes}{more}" if causes else ""

    def _begun(self, *texts: Any) -> Future[Any]:
        """Return the result of a call that has begun: what the function returns, or what it raises."""

        async def asked() -> Any:
            try:
                return await self.function(*texts)
            except BaseException as error:  # noqa: BLE001 (`_answers` tells what ends the run)
                return error

        def call() -> None:
            try:
                value = self.function(*texts)
                future.set_result(list(value) if isinstance(value, Iterator) else value)
            except BaseException as error:  # noqa: BLE001 (as above)
                future.set_result(error)

        if self.in_loop:
            import asyncio  # few functions are asynchronous

            return asyncio.run_coroutine_threadsafe(asked(), _event_loop())
        future = Future[Any]()
        thread = Thread(target=call, daemon=True)  # a call that hangs does not keep the process from ending
        thread.run() if self.concurrency == 1 else thread.start()
        return future

    def _answers(self, result: Any, pairs: Sequence[TextPair]) -> list[PairScore]:
        """Return the results of a call, and count the causes of those that are no score; raises what ends the run."""
        if isinstance(result, SystemExit):  # would end the command without a word, and even with code 0
            raise UserError(f"{self.card.name!r} stopped with {cause_of(result)}: correct it, run again.") from result
        if isinstance(result, UserError | ImportError | KeyboardInterrupt):  # every call would end so
            raise result
        values = result if self.lists and not isinstance(result, BaseException) else [result] * len(pairs)
        check_count(self, values, len(pairs))
        answers = []
        for value in values:
            if isinstance(value, BaseException):
                answer, cause = PairScore(None, Status.FAILED), cause_of(value)
            else:
                missing = Status.NOTHING_TO_SCORE if value is None else Status.OK
                answer = checked_answer(self, value if isinstance(value, PairScore) else PairScore(value, missing))
                cause = f"returned {_text(value, repr):.60} ({answer.status})"
            if answer.status in _FAULTS:
                if cause not in self._causes and len(self._causes) < _SHOWN:
                    _log.warning("%s: a pair has no score: %s", self.card.name, cause)
                self._causes[cause] += 1
            answers.append(answer)
        failed = all(answer.status is Status.FAILED for answer in answers)
        self.scored |= not failed
        self._failed_in_a_row = self._failed_in_a_row + (not {*pairs} <= self.failing) if failed else 0
        if self._failed_in_a_row >= _PATIENCE:
            raise UserError(f"{self.card.name!r} failed {_PATIENCE} times in a row: {cause}: correct it, run again.")
        return answers


@cache
def _event_loop() -> asyncio.AbstractEventLoop:
    """Return the event loop of all asynchronous functions, in a thread of its own.

    So it works in a notebook, whose main thread has a loop. It never ends: a client that a module keeps from one run to
    the next is bound to the loop that it was first used in.
    """
    import asyncio

    loop = asyncio.new_event_loop()
    Thread(target=loop.run_forever, daemon=True, name="metaeval-functions").start()
    return loop


def cause_of(error: BaseException) -> str:
    """Return type, message and place of an exception in one short line, without keys and ids."""
    if isinstance(error.__cause__, StopIteration):  # which a generator on its way turns into another error
        error = error.__cause__
    message = " ".join(_text(error, str)[:100_000].split())
    for name, value in os.environ.items():
        if len(value) >= 8 and _SECRET.search(name):
            message = message.replace(value, "***")
    message = _ID.sub("…", message)
    last = traceback.extract_tb(error.__traceback__, -1)
    at = "".join(f" ({Path(frame.filename).name}, line {frame.lineno})" for frame in last)
    return f"{type(error).__name__}: {message[:200]}{'…' * (len(message) > 200)}{at}"


def _text(value: Any, written: Callable[[Any], str]) -> str:
    """Return a value's text, or the name of its type where its own code fails to make one."""
    try:
        return written(value)
    except Exception:  # noqa: BLE001 (a user's class)
        return f"{type(value).__name__} without a text"


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
