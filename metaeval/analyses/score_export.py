"""Score files: the scores of a data set or of a table of pairs, one file for each metric."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from metaeval.core.config import RunConfig
from metaeval.core.errors import UserError, count, shown
from metaeval.core.files import declare, safe_name, sha256_file
from metaeval.core.headings import PAIRS, mapped
from metaeval.core.parsing import parquet_library
from metaeval.core.tables import TABLES, pairs_in, read_table, unzipped_ending
from metaeval.corpus.loading import check_options
from metaeval.corpus.units import read_aggregation
from metaeval.runs.data import check_rated, find_dataset, prepare
from metaeval.runs.metrics import FILE_PREFIX, check_batch, named_metrics
from metaeval.runs.score import MetricProgress, job_as_read, joins, score_in, score_rows, worker_pool
from metaeval.scoring.contract import Combination, PairScore, TextPair
from metaeval.scoring.score_files import write_scores
from metaeval.scoring.score_store import ScoreStore


@dataclass(frozen=True)
class ScoreFileWritten:
    """A written score file of one metric, with the numbers of its pairs and of unscored ones."""

    metric: str
    path: Path
    pairs: int
    unscored: int

    def __str__(self) -> str:
        return f"{self.path}: {count(self.pairs, 'pair')}, {self.unscored:,} without a score"


def export_scores(
    config: RunConfig,
    folder: Path,
    suffix: str,
    progress: MetricProgress | None = None,
    shard: tuple[int, int] | None = None,
) -> Iterator[ScoreFileWritten]:
    """Score the run's data with each metric, and write FOLDER/METRIC.SUFFIX (jsonl or parquet); yield a record each.

    shard: (I, N) for every N-th row of the data alone, from row I on, in FOLDER/METRIC.I-of-N.SUFFIX. In such a file
    higher scores are more support, whatever the metric's direction, so that files can be joined without a manifest.
    """
    if files := [name for name in config.metrics if name.startswith(FILE_PREFIX)]:
        raise UserError(f"{files[0]!r} is a file of scores: evaluate it with 'metaeval evaluate FILE'.")
    metrics = named_metrics(config)
    check_batch(metrics)
    if suffix == "parquet":
        parquet_library()  # refused here, before hours of scoring
    for name in metrics.names if shard else ():  # whose scores or cost depend on the whole job
        if isinstance(metric := metrics[name], Combination):
            why = "combines the scores of all pairs"
        elif metric.corpus_dependent:
            why = "depends on all sources of a job"
        elif "budget" in metric.Options.model_fields:
            why = "would spend its budget in each shard"
        else:
            continue
        raise UserError(f"{name!r} {why}: leave --shard out for it, and score its pairs in one command.")
    table = pair_table(config) or {}
    job = None if table else prepare(config)
    metrics = metrics.settled(job.texts if job else [*table.values()])  # alike in all shards
    fields = {key: str(value) for key, value in job.fields.items()} if job else {"unit": "rating"}
    if table and config.data:
        fields["data"] = f"{config.data.stem}/all@{sha256_file(config.data)[:12]}"
    ending = f"{shard[0]}-of-{shard[1]}.{suffix}" if shard else suffix
    paths = {name: folder / f"{safe_name(name.replace(':', '.'))}.{ending}" for name in metrics.names}
    declare("output", *paths.values())
    # Rows are written where the job's pairs lack their scores: for joined chunks, and chunks of a page.
    how = read_aggregation(config.aggregate)
    read = {name: job_as_read(job, name, metrics) for name in metrics.names} if job else {}
    by_row = {name for name, over in read.items() if over is not job or joins(over, how)}
    if shard:
        fields["shard"] = f"{shard[0]}/{shard[1]}"
        job, table = job and job.shard(*shard), dict(islice(table.items(), shard[0], None, shard[1]))
        if not (table or (job and job.rows)):
            raise UserError(f"--shard is {fields['shard']}, and the data have fewer rows: ask for fewer shards.")

    def written(
        name: str, direction: int, identity: Mapping[str, Any], ids: Sequence[str], scores: Sequence[PairScore]
    ) -> ScoreFileWritten:
        if shard:
            scores, direction = [pair.oriented(direction) for pair in scores], 1
        manifest = {"metric": name, "direction": direction, "identity": identity, "pairs": len(ids), "job": fields}
        write_scores(paths[name], ids, scores, manifest)
        return ScoreFileWritten(name, paths[name], len(scores), sum(pair.score is None for pair in scores))

    with ScoreStore(config.store_path) as store:
        if job is None:
            with worker_pool(metrics.config) as pool:
                for name, metric, answered in score_in(pool, [*table.values()], metrics, store, progress):
                    yield written(name, metric.card.direction, answered.identity, [*table], answered.answers)
            return
        for name, metric, scored in score_rows(job, metrics, store, progress):
            if name in by_row:
                yield written(name, 1, scored.identity, [row.id for row in job.rows], scored.rows)
            else:
                ids = [pair.pair_id for pair in job.pairs]
                yield written(name, metric.card.direction, scored.identity, ids, scored.pairs)


def pair_table(config: RunConfig) -> dict[str, TextPair] | None:
    """Return the (source, statement) texts in the run's table of pairs, by id; None where the data are no such table.

    Raises `UserError` for a file that is missing or not a table, a missing column, a row without a source or a
    statement, and an id that two rows have.
    """
    path = config.data
    if config.dataset != "ratings":
        return None
    check_rated(config)
    if path is None or not path.is_file():
        lacking = "none is given" if path is None else f"{path} does not exist"
        raise UserError(f"Ratings are scored from a table of source and statement, and {lacking}: add --data TABLE.")
    if unzipped_ending(path) not in (*TABLES, ".parquet", ".jsonl", ".json"):
        raise UserError(f"{path}: pairs to score need a table (.jsonl, .parquet, .csv, .tsv, .xlsx).")
    dataset, _, _ = find_dataset(config.dataset, config)
    dataset.files_of(config.split or dataset.default_split)
    headings = {**check_options(dataset, config.dataset_options), **config.columns}
    table = read_table(path)
    texts, columns = pairs_in(table, mapped(PAIRS, {role: name for role, name in headings.items() if name}))
    pairs: dict[str, TextPair] = {}
    places: dict[str, str] = {}
    for number, row in enumerate(table.rows):
        pair_id = (row.text(columns["id"]) if "id" in columns else "") or f"row {number + 1}"
        if pair_id in pairs:
            raise UserError(f"{row.where}: id {shown(pair_id)} is also that of {places[pair_id]}; keep one of them.")
        pairs[pair_id], places[pair_id] = texts[number], row.where
    return pairs
