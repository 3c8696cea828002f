"""A run: from settings to results and their files; what a dry run says; pairs and scores as files."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from metaeval.config import RunConfig
from metaeval.corpus.model import Corpus, Ratings
from metaeval.errors import UserError
from metaeval.experiment.answers import answer_rows, expected_texts, reading
from metaeval.experiment.columns import (
    FILE_PREFIX,
    Column,
    check_names,
    control_columns,
    rated_columns,
    rating_controls,
    scored_columns,
)
from metaeval.experiment.counted_ratings import counted_file, evaluate_counted
from metaeval.experiment.doctor import Readiness, State, readiness
from metaeval.experiment.evaluation import Asked, evaluate, find_protocols, named_protocols, readable_protocols
from metaeval.experiment.executing import devices_of, worker_pool
from metaeval.experiment.job_folder import PAIRS, close_job, job_folder, write_pairs
from metaeval.experiment.metrics import NOT_ASKING, MetricProgress, check_asking, load_metric, plug_in, score_in
from metaeval.experiment.pace import known_pace, tokens_of, told
from metaeval.experiment.pair_file import PairFile, check_windows, pair_file
from metaeval.experiment.prepared_run import (
    Frame,
    Job,
    RatedSet,
    find_dataset,
    from_job,
    from_ratings,
    prepare,
    prepare_ratings,
)
from metaeval.experiment.report_page import write_report
from metaeval.experiment.significance import as_one_family
from metaeval.files import atomic_write, safe_name, write_text
from metaeval.llm.batch import write_batch
from metaeval.reading import parquet_library
from metaeval.report.formats import write_tables
from metaeval.report.result import Result, save_result
from metaeval.scoring.contract import Combination, Metric
from metaeval.scoring.engine import job_identity
from metaeval.scoring.plan import Texts, make_plan
from metaeval.scoring.scorefile import score_writer, write_manifest, write_scores
from metaeval.scoring.store import ScoreStore, pair_key


@dataclass(frozen=True, eq=False)
class Evaluated:
    """One result a protocol, of columns over the rows of a job or of a rated set; no source: they were counted on disk.

    left_out: of each protocol that tells no metrics apart there, why.
    """

    source: Job | RatedSet | None
    columns: Sequence[Column]
    results: list[Result]
    left_out: Mapping[str, str]


def run(config: RunConfig, progress: MetricProgress | None = None, corpus: Corpus | None = None) -> Evaluated:
    """Score the data with every metric and evaluate it under every protocol; nothing is written but the score store.

    corpus: judged data to take in place of the run's data set.

    Raises `UserError` for anything wrong in the settings or the data, before any scoring where that can be told.
    """
    _check(config)
    check_names(config)
    _check_batch(config)
    job = prepare(config, corpus)
    readable_protocols(config, partial(from_job, job))
    return evaluate_columns(job, scored_columns(job, progress))


def run_scores(config: RunConfig, progress: MetricProgress | None = None, ratings: Ratings | None = None) -> Evaluated:
    """Evaluate the run's score files; on a rated set, beside the scores that were published with it.

    ratings: in place of the run's data set. Raises `UserError` as `run` does.
    """
    if ratings is None and find_dataset(config.dataset, config)[0].kind == "corpus":
        return run(config, progress)
    _check(config)
    if ratings is None and (path := counted_file(config)):
        return Evaluated(None, (), *evaluate_counted(config, path))
    rated = prepare_ratings(config, ratings)
    return evaluate_rated(rated, rated_columns(rated, [*rated.ratings.scores, *dict.fromkeys(config.metrics)]))


def _check(config: RunConfig) -> None:
    """Refuse what can be refused before hours of scoring: a wrong protocol, and a certificate that cannot be made."""
    find_protocols(config)
    if config.interval.certify:
        from metaeval.experiment.certifying import check_certificate

        check_certificate(config)


def evaluate_columns(job: Job, columns: Sequence[Column]) -> Evaluated:
    """Evaluate columns, and the controls if the run wants them, under every protocol of the run that tells them apart.

    Raises `UserError` where none does.
    """
    whole = [*columns, *control_columns(job, columns)] if job.config.controls else columns
    readable, left_out = readable_protocols(job.config, partial(from_job, job))
    n = len(readable)
    results = [evaluate(frame, whole, *asked, job.config, tables=n) for asked, frame in readable]
    return Evaluated(job, whole, _closed(job.config, results, readable, whole), left_out)


def evaluate_rated(rated: RatedSet, columns: Sequence[Column], tested: Collection[str] | None = None) -> Evaluated:
    """Evaluate columns of a rated set, and its controls, under every protocol of the run that tells them apart.

    tested: the metrics that are tested against each other; None for all.

    Raises `UserError` for no column, and where no protocol does.
    """
    if not columns:
        raise UserError(f"{rated.name} comes without published scores: give a score file, with its ratings' ids.")
    frame = from_ratings(rated)
    whole = [*columns, *rating_controls(rated)] if rated.config.controls else columns
    readable, left_out = readable_protocols(rated.config, lambda _: frame)
    results = [evaluate(frame, whole, *asked, rated.config, tested, len(readable)) for asked, _ in readable]
    return Evaluated(rated, whole, _closed(rated.config, results, readable, whole), left_out)


def _closed(
    config: RunConfig, results: list[Result], readable: Sequence[tuple[Asked, Frame]], columns: Sequence[Column]
) -> list[Result]:
    """The results with what is only known of them together, and with certificates where the run asks for them."""
    found = in_family(config, results)
    if not config.interval.certify:
        return found
    from metaeval.experiment.certifying import certified, check_certificate

    check_certificate(config)
    return [
        certified(result, asked, frame, columns, config) for result, (asked, frame) in zip(found, readable, strict=True)
    ]


def are_decided(found: Evaluated) -> bool:
    """Whether the scores of every metric are levels, 0, 1 and 2."""
    scores = [column.score[~np.isnan(column.score)] for column in found.columns if column.kind == "metric"]
    return all(score.size and np.isin(score, (0.0, 1.0, 2.0)).all() for score in scores)


def in_family(config: RunConfig, results: list[Result]) -> list[Result]:
    """The results of one data set, adjusted together where the run asks for it."""
    return as_one_family(results) if config.comparison.family == "suite" else results


def write_run(config: RunConfig, run: Evaluated, command: str = "run") -> list[Path]:
    """Write each result as JSON and in every table format, their page, the judged rows, and a manifest; the paths.

    They stand in RESULTS/DATASET-SPLIT-UNIT-HASH, with the pool before the hash where it is not `own`; the hash is of
    all signatures. The files hold no time and no machine: the same run gives the same bytes. The manifest holds both.
    """
    folder = run_folder(config, run.results)
    written = []
    if run.source is not None:
        written.append(folder / PAIRS)
        write_pairs(run.source, run.columns, folder / PAIRS)
    for result in run.results:
        save_result(result, folder / f"{result.protocol}.json")
        written += [folder / f"{result.protocol}.json", *write_tables(result, folder / result.protocol)]
    pairs = isinstance(run.source, Job)
    written.append(write_report(run.results, named_protocols(config), folder, pairs=pairs))
    close_job(config, command, folder, [result.data for result in run.results], written)
    return written


def run_folder(config: RunConfig, results: Sequence[Result]) -> Path:
    """The folder of a run's results."""
    first = results[0]
    parts = [first.data.name, first.data.split, first.unit, *([config.pool] if config.pool != "own" else [])]
    return job_folder(config.results, parts, [row.signature for result in results for row in result.rows])


@dataclass(frozen=True)
class Planned:
    """One metric's part of a run: its state, the job's unique pairs, how many are stored, and what the rest costs.

    stored is None where it cannot be told (the checkpoint is not here); estimate is empty where it is only time.
    blocks: those of the plan that lack a score. tokens: of the texts of what is left; four characters count as one.
    time: what that takes, if it was measured here, and what the estimate rests on; empty for what costs more than time.
    """

    name: str
    state: Readiness
    pairs: int
    stored: int | None
    estimate: str
    blocks: int
    tokens: int
    time: str


def plan(config: RunConfig, corpus: Corpus | None = None, tables: bool = False) -> Iterator[Planned]:
    """What each metric of a run would still have to do; nothing is scored, fetched or asked.

    tables: whether the data may be a table of pairs, as they may where pairs are scored and not evaluated. Raises
    `UserError` for everything that the run itself would refuse before it scores.
    """
    devices = len(devices_of(config.executor.devices))
    found: dict[str, Planned] = {}  # of a table, its windows so far
    for left in _left(config, corpus, tables):
        with plug_in(left.name):
            cost = left.metric.estimate(*left.texts)
            pace = None if left.stored is None or cost is not None else known_pace(left.metric)
        before = found.get(left.name) or Planned(left.name, left.state, 0, 0, "", 0, 0, "")
        stored = None if left.stored is None else left.stored + (before.stored or 0)
        blocks, tokens = before.blocks + left.blocks, before.tokens + tokens_of(*left.texts)
        said, time = "" if cost is None else str(cost), ""
        if pace and blocks:
            time = told(pace, tokens, blocks, config.executor, devices)
        elif blocks and cost is None and not config.executor.alone:
            time = _TIME_UNKNOWN.format(left.name)
        pairs = before.pairs + left.pairs
        found[left.name] = Planned(left.name, left.state, pairs, stored, said, blocks, tokens, time)
    yield from found.values()


_TIME_UNKNOWN = "not known here: score some pairs first, as 'metaeval score -m {}' does with the shipped corpus"


def requests_of(config: RunConfig, path: Path, tables: bool = False) -> str:
    """Write the requests that the metrics of a run would send to a batch file; a sentence about it. Nothing is asked.

    tables: as of `plan`. Raises `UserError` as `plan` does, and where no metric asks for anything.
    """
    bodies: dict[str, bytes] = {}
    asking = []
    for left in _left(config, None, tables):
        if type(left.metric).requests is not Metric.requests:
            asking.append(left.name)
            with plug_in(left.name):
                bodies.update(left.metric.requests(*left.texts))
    if not asking:
        raise UserError(NOT_ASKING.format(", ".join(config.metrics), "--requests"))
    return write_batch(path, bodies)


def _check_batch(config: RunConfig) -> None:
    """Refuse a batch's output that no metric of the run takes."""
    if config.batch is not None:
        check_asking([name for name in config.metrics if not name.startswith(FILE_PREFIX)], config, "--replies")


@dataclass(frozen=True, eq=False)
class _Left:
    """What one metric of a run has still to score. texts: the sources and the statements of its pairs.

    blocks: of its plan that lack a score.
    """

    name: str
    metric: Metric
    state: Readiness
    pairs: int
    stored: int | None
    texts: tuple[list[str], list[str]]
    blocks: int


def _left(config: RunConfig, corpus: Corpus | None, tables: bool) -> Iterator[_Left]:
    """What is left of each metric; of a table, for each window."""
    check_names(config)
    names = [name for name in dict.fromkeys(config.metrics) if not name.startswith(FILE_PREFIX)]
    if tables and (table := pair_file(config)):
        check_windows(table, names, config)
        with ScoreStore(config.store_path) as store:
            for window in table.windows():
                yield from _left_in(names, config, store, partial(_as_it_is, window.texts))
        return
    find_protocols(config)
    job = prepare(config, corpus)
    readable_protocols(config, partial(from_job, job))
    with ScoreStore(config.store_path) as store:
        yield from _left_in(
            names, config, store, lambda metric: (expected_texts(job, metric), reading(job, metric).texts)
        )


def _as_it_is(texts: Sequence[Texts], _: Metric) -> tuple[Sequence[Texts], Sequence[Texts]]:
    return texts, texts


def _left_in(
    names: Sequence[str],
    config: RunConfig,
    store: ScoreStore,
    texts_of: Callable[[Metric], tuple[Sequence[Texts], Sequence[Texts]]],
) -> Iterator[_Left]:
    """What is left of each metric in one job. texts_of: the texts that a metric would read, and those of the job."""
    members = [
        member for name in names if isinstance(one := load_metric(name, config), Combination) for member in one.members
    ]
    for name in dict.fromkeys([*names, *members]):
        metric = load_metric(name, config)
        if isinstance(metric, Combination):
            continue
        state = readiness(name, metric)
        expected, whole = texts_of(metric)
        unique = {pair_key(*pair): pair for pair in expected}
        with plug_in(name):
            known = state.state is not State.DOWNLOAD
            # The identity holds the hash of the model's files: it is not known before they are here.
            answers = store.find(job_identity(metric, whole), list(unique)) if known else {}
        left = [pair for key, pair in unique.items() if key not in answers]
        texts = [source for source, _ in left], [statement for _, statement in left]
        cut = make_plan(unique, metric.block_tokens).blocks
        blocks = sum(any(key not in answers for key in block.keys) for block in cut)
        yield _Left(name, metric, state, len(unique), len(answers) if known else None, texts, blocks)


def export_pairs(config: RunConfig, path: Path) -> int:
    """Write the job's pairs as .jsonl or .parquet, one row each; the number of pairs."""
    if path.suffix not in (".jsonl", ".parquet"):
        raise UserError(f"Pairs are written as .jsonl or .parquet; {path.name!r} is neither.")
    pyarrow = parquet_library() if path.suffix == ".parquet" else None
    job = prepare(config)
    rows = []
    for pair in job.pairs:
        levels = {"level": pair.level, "citation_level": pair.citation_level}
        named = {key: None if level is None else level.label for key, level in levels.items()}
        rows.append({**pair._asdict(), **named})
    if pyarrow:
        with atomic_write(path) as file:
            pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), file)
    else:
        write_text(path, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    return len(rows)


def export_scores(
    config: RunConfig, folder: Path, suffix: str, progress: MetricProgress | None = None
) -> Iterator[str]:
    """Score the job with each metric of the run and write FOLDER/METRIC.suffix; yields a line about each."""
    files = [name for name in config.metrics if name.startswith(FILE_PREFIX)]
    if files:
        raise UserError(f"{files[0]!r} is scored already: evaluate it with 'metaeval evaluate FILE'.")
    check_names(config)
    _check_batch(config)
    if suffix == "parquet":
        parquet_library()  # refused here, before hours of scoring
    if table := pair_file(config):
        yield from _export_table(table, config, folder, suffix, progress)
        return
    job = prepare(config)
    with ScoreStore(config.store_path) as store:
        for name, metric, found in answer_rows(job, config.metrics, store, progress):
            path = _score_path(folder, name, suffix)
            # Rows, where they hold what the scores of the job's pairs do not: joined chunks, or chunks of a page.
            by_row = found.joined is not None or reading(job, metric) is not job
            ids = [row.id for row in job.rows] if by_row else [pair.pair_id for pair in job.pairs]
            answers = found.rows if by_row else found.pairs
            manifest = {
                "metric": name,
                "direction": 1 if by_row else metric.card.direction,
                "identity": found.identity,
                "pairs": len(ids),
                "job": {key: str(value) for key, value in job.fields.items()},
            }
            write_scores(path, ids, answers, manifest)
            missing = sum(answer.score is None for answer in answers)
            yield f"{path}: {len(answers):,} pairs, {missing:,} without a score"


def _score_path(folder: Path, name: str, suffix: str) -> Path:
    return folder / (safe_name(name.replace(":", ".")) + f".{suffix}")


def _export_table(
    table: PairFile, config: RunConfig, folder: Path, suffix: str, progress: MetricProgress | None
) -> Iterator[str]:
    """Score a table window by window into score files, which appear when all of it is scored."""
    names = list(dict.fromkeys(config.metrics))
    check_windows(table, names, config)
    paths = {name: _score_path(folder, name, suffix) for name in names}
    missing, manifests = Counter[str](), dict[str, dict[str, Any]]()
    fields = {"data": f"{table.path.stem}/all@{table.fingerprint[:12]}", "unit": "rating"}
    fields |= {"windows": str(len(table.starts))} if len(table.starts) > 1 else {}
    with ScoreStore(config.store_path) as store, worker_pool(config) as pool, ExitStack() as stack:
        add = {name: stack.enter_context(score_writer(path)) for name, path in paths.items()}
        for window in table.windows():
            report = table.shifted(progress, window.number)
            for name, metric, scored in score_in(pool, window.texts, names, config, store, report):
                add[name](window.ids, scored.answers)
                missing[name] += sum(answer.score is None for answer in scored.answers)
                manifests[name] = {"direction": metric.card.direction, "identity": scored.identity}
            del window, metric, scored  # before the next window is read
            if pool:
                pool.forget()
    for name, path in paths.items():
        write_manifest(path, {"metric": name, **manifests[name], "pairs": table.rows, "job": fields})
        yield f"{path}: {table.rows:,} pairs, {missing[name]:,} without a score"
