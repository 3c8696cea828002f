"""Handwritten functions of the Python interface (`score`, `evaluate_scores` ...) with the settings of `RunConfig`."""

from __future__ import annotations

import inspect
import logging
import reprlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from math import isfinite
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, ParamSpec, TypeVar, Union, get_args, get_origin, get_type_hints

from metaeval.core import registry
from metaeval.core.config import load_run
from metaeval.core.errors import UserError, count
from metaeval.core.files import inputs_protected, sha256_json
from metaeval.core.registry import name_of
from metaeval.core.tables import table_of
from metaeval.corpus.model import Corpus
from metaeval.corpus.ratings import Ratings
from metaeval.report.data_frame import frame
from metaeval.report.notebook import Results
from metaeval.runs import data as run_data
from metaeval.runs.data import prepare_ratings
from metaeval.runs.evaluate import EvaluatedRun, declarations_of, evaluate_columns
from metaeval.runs.score import published_columns, score_column, score_metrics, with_unique_name
from metaeval.scoring.contract import PairScore, Status
from metaeval.scoring.score_files import ScoreFile, scores_of

Params = ParamSpec("Params")
Returned = TypeVar("Returned")
_log = logging.getLogger("metaeval")

_WHOLE = 5
"""Largest number of scores that `repr` shows in full."""

# Every function raises `metaeval.core.errors.UserError` (one sentence) for anything wrong in settings, data or scores.


def _typed(function: Callable[Params, Returned]) -> Callable[Params, Returned]:
    """Decorate a function: a call is one job, and a wrong type of an argument is a `UserError`."""

    @wraps(function)
    def checked(*args: Params.args, **kwargs: Params.kwargs) -> Returned:
        kinds = get_type_hints(function)
        for name, value in inspect.signature(function).bind(*args, **kwargs).arguments.items():
            if not _fits(value, kinds[name]):
                raise UserError(f"{name} is {reprlib.repr(value)}; allowed: {_in_words(kinds[name])}.")
        with inputs_protected(from_python=True):
            return function(*args, **kwargs)

    return checked


def _fits(value: object, kind: Any) -> bool:
    if get_origin(kind) in (UnionType, Union):
        return any(_fits(value, part) for part in get_args(kind))
    if get_origin(kind) is Sequence:  # of texts; an array or a series is one too
        texts = all(isinstance(item, str) for item in value) if isinstance(value, list | tuple) else True
        return texts and isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping)
    return kind is Any or isinstance(value, get_origin(kind) or kind)


def _in_words(kind: Any) -> str:
    if get_origin(kind) in (UnionType, Union):
        return " or ".join(map(_in_words, get_args(kind)))
    words = {str: "a text", NoneType: "None", Sequence: "a list of texts"}
    return words.get(get_origin(kind) or kind) or f"a {kind.__name__}"


@_typed
def load_corpus(dataset: str = "mini", **settings: Any) -> Corpus:
    """Return the documents, statements and judged citations of a data set.

    Parameters
    ----------
    dataset : str, default "mini"
        Data set, by name; `metaeval.data.list()` has them.
    **settings
        split, data, dataset_options; see `RunConfig`.

    Returns
    -------
    Corpus

    Raises
    ------
    UserError
        For an unknown data set, split or option, and for files that cannot be found, downloaded or read.

    Examples
    --------
    >>> import metaeval
    >>> corpus = metaeval.load_corpus("mini")
    >>> statement = corpus.statements[corpus.citations[0].statement_id]
    """
    corpus, _, _ = run_data.load_corpus(load_run(None, {"dataset": dataset, **settings}))
    return corpus


class Answers(list[PairScore]):
    """A metric's scores, one `PairScore` per pair: a list with a short `repr` and a method that makes a data frame."""

    def to_frame(self) -> Any:
        """Return a data frame with a row for each pair: score, status, tokens, cut.

        Returns
        -------
        pandas.DataFrame
        """
        return frame(answer._asdict() for answer in self)

    def __repr__(self) -> str:
        return super().__repr__() if len(self) <= _WHOLE else f"<{count(len(self), 'score')}; the first is {self[0]!r}>"


@_typed
def score(
    metric: str | Callable[..., Any], sources: Sequence[str], statements: Sequence[str], **options: Any
) -> Answers:
    """Score texts of your own with a metric: one score per (source, statement), in order. Nothing is stored.

    Parameters
    ----------
    metric : str or callable
        Its name, or a function or class.
    sources, statements : sequence of str
        (n,) texts each.
    **options
        The metric's own options.

    Returns
    -------
    Answers
        n `PairScore`, a list with `to_frame()`.

    Raises
    ------
    UserError
        For unequal numbers of texts, an unknown metric or option, and a model that is not available.

    Examples
    --------
    >>> import metaeval
    >>> metaeval.score("overlap", ["The Oder is a long river."], ["The Oder is long."])[0].score
    1.0
    """
    name: str = name_of("metric", metric)
    if len(sources) != len(statements):
        raise UserError(
            f"{len(sources)} sources and {len(statements)} statements are given: give equal numbers of both."
        )
    config = load_run(None, {"metrics": (name,), "metric_options": {name: options} if options else {}})
    ((_, _, scored),) = score_metrics(list(zip(sources, statements, strict=True)), config.metrics, config)
    return Answers(scored.answers)


@_typed
def load_ratings(dataset: str = "ratings", data: Any = None, **settings: Any) -> Ratings:
    """Return the rated texts of a data set, with the scores published with them.

    Parameters
    ----------
    dataset : str, default "ratings"
        Data set, by name; "ratings" is a table of your own.
    data : str, Path, data frame or sequence of mappings, optional
        A folder or a file; for dataset="ratings" also a data frame, or a list of mappings, one for each row.
    **settings
        As in `load_corpus`, and columns={"gold": HEADING} for headings that do not say what they are for.

    Returns
    -------
    Ratings

    Raises
    ------
    UserError
        For a table beside another data set, and for data that cannot be found or read.

    Examples
    --------
    >>> import metaeval
    >>> rows = [{"id": "a", "gold": 1, "mine": 0.3}, {"id": "b", "gold": 4, "mine": 0.8}]
    >>> metaeval.load_ratings(data=rows)
    <Ratings 'ratings': 2 ratings, scores of 1 metrics>
    """
    if data is None or isinstance(data, str | Path):
        ratings, _, _ = run_data.load_ratings(load_run(None, {"dataset": dataset, "data": data, **settings}))
        return ratings
    if dataset != "ratings":
        raise UserError(f"The table in data is the data set itself: leave dataset={dataset!r} out, or the table.")
    return run_data.ratings_in(data, load_run(None, settings))


@_typed
def evaluate_scores(
    scores: Mapping[str, Mapping[str, float | None]] | Any,
    corpus: Corpus | None = None,
    ratings: Ratings | None = None,
    **settings: Any,
) -> Results:
    """Evaluate scores that you made: {metric: {pair_id: score}}, higher is more support; one result per protocol.

    Parameters
    ----------
    scores : mapping, data frame or sequence of mappings
        Scores by metric and pair id. A data frame of pandas or polars, or a list of mappings, has a column of pair ids
        and one of scores for each metric; columns={"pair_id": HEADING, "score": HEADING} says which they are. Pair ids
        are those of `pairs` with the same settings. None, or an id left out, is a missing score: it is counted, and
        never replaced by a number.
    corpus : Corpus, optional
        Judged data of your own, in place of a data set by name.
    ratings : Ratings, optional
        A rated set, which can also be named (dataset=NAME): ids are rating ids, and the scores that were published with
        it are evaluated too.
    **settings
        Settings of a run; see `RunConfig`.

    Returns
    -------
    Results
        A list that prints its table and findings.

    Raises
    ------
    UserError
        For both corpus and ratings, a score that is not finite, and an id that the data do not have.

    Examples
    --------
    >>> import metaeval
    >>> pairs = metaeval.pairs(dataset="mini")
    >>> words = {pair.pair_id: float(len(pair.source.split())) for pair in pairs}
    >>> results = metaeval.evaluate_scores({"words": words}, protocols=["correlation"])
    >>> results[0].rows[0].scored == len(pairs)
    True
    """
    if corpus is not None and ratings is not None:
        raise UserError("corpus and ratings are both given: give only the one that the scores belong to.")
    if not isinstance(scores, Mapping):
        read = list(scores_of(Path("scores"), table_of("The table of scores", scores), settings.get("columns")))
        scores = {file.metric: {name: answer.score for name, answer in file.answers.items()} for file in read}
    config = load_run(None, {**settings, "metrics": tuple(scores)})
    files = []
    for name, values in scores.items():
        answers = {}
        for pair_id, value in values.items():
            if value is not None and not isfinite(value):
                what = f"pair {pair_id!r} has the score {value}; give None for a missing score"
                raise UserError(f"Metric {name!r}: {what}.")
            answers[pair_id] = PairScore(None, Status.ABSENT) if value is None else PairScore(float(value))
        content = sha256_json({pair_id: answer.score for pair_id, answer in answers.items()})[:12]
        files.append((ScoreFile(Path(name), answers, {"metric": name}), f"sha256:{content}"))
    if ratings is not None or (corpus is None and run_data.kind_of_data(config) == "ratings"):
        rated = prepare_ratings(config, ratings)
        columns = published_columns(rated)
        for file, content in files:
            columns.append(with_unique_name(score_column(rated, file, content), columns, file.metric))
        return results_of(evaluate_columns(rated, columns))
    job = run_data.prepare(config, corpus)
    return results_of(evaluate_columns(job, [score_column(job, file, content) for file, content in files]))


def results_of(evaluated: EvaluatedRun) -> Results:
    """Return the results of a run, and log a warning for each protocol that was left out, with the reason."""
    left_out = [f"Left out: {protocol}: {reason}" for protocol, reason in evaluated.left_out.items()]
    for sentence in left_out:
        _log.warning("%s", sentence)
    known = registry.names("protocol")
    names = dict.fromkeys(result.protocol for result in evaluated.results)
    declarations = declarations_of(registry.find("protocol", name) for name in names if name in known)
    return Results(evaluated.results, declarations, left_out)
