"""Score packs: a metric's scores on reference data, by pair id and without texts, with a card that says how they arose.

A pack is a folder with `card.yaml` and one file for each data set, CSV (which may be gzipped) or Parquet, with the
columns `pair, score, status`. `results/reference/sets.yaml` declares the data sets.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from metaeval import registry
from metaeval.config import RunConfig, Strict, load_run
from metaeval.corpus.dataset import Dataset
from metaeval.declared import validated
from metaeval.errors import UserError, unknown
from metaeval.parsing import csv_records, parquet_rows, read_yaml
from metaeval.report.result import Unit
from metaeval.runs.evaluation import evaluate, find_protocols
from metaeval.runs.prepared_run import Job, RatedSet, find_dataset, prepare, prepare_ratings
from metaeval.runs.score_columns import AlignedColumn, column_of
from metaeval.scoring.score_files import ScoreFile, align, scores_of
from metaeval.setting_types import OptionText
from metaeval.user_tables import table_of

CARD, SETS, PACKS = "card.yaml", "sets.yaml", "packs"
HEADINGS = {"pair_id": "pair", "score": "score", "status": "status"}
LEAST_COVERAGE = 0.5
"""Least share of a set's rows that a pack has to score, since metrics are compared on the rows that all have scored."""
LONGEST_ID = 200
"""Most characters of a pair id: a longer one may be a text."""

SHIPPED: Mapping[str, bool] = {
    **dict.fromkeys(("Apache-2.0", "BSD-3-Clause", "CC0-1.0", "CC-BY-4.0", "CC-BY-SA-4.0", "MIT", "ODC-BY-1.0"), True),
    **dict.fromkeys(("CC-BY-NC-4.0", "CC-BY-NC-SA-4.0"), False),
}
"""Licences under which scores are shipped, and whether they allow commercial use."""
UNCOUNTED = frozenset({"gensearch"})
"""Data sets without packs: in the public copy of gensearch each response was chosen for its contradictions."""

Name = Annotated[str, Field(pattern=r"^\w[\w.+-]*$", max_length=100)]
Short = Annotated[str, Field(min_length=1, max_length=300)]
Known = Annotated[float, Field(ge=0)] | Literal["unknown"]
Needs = Literal["cpu", "model", "gpu", "api"]


class PackScores(Strict):
    """A score file of a pack. file: its name. data: SHA-256 of the data that were scored, as result files have it."""

    file: Name
    data: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


class PackCard(Strict):
    """The card of a pack.

    version: of the metric's code, compared with that of a registered metric of the same name. signature: the metric
    with its options. run: how it was run. by: who ran it. commercial: whether the licence allows commercial use. needs:
    cpu (nothing but the package), model (a small model on a CPU), gpu, or api (a chat model that costs money).
    direction: 1 if a higher score is more support, else -1. fitted_on: data that the metric was fitted on. source:
    where the scores were published. scores: the score file on each reference set, by the set's name.
    """

    format: Literal["metaeval-pack/1"]
    metric: Annotated[str, Field(min_length=1, max_length=60)]
    version: Short
    signature: Short
    run: Short
    by: Short
    licence: Short
    commercial: bool
    date: datetime.date
    needs: Needs
    seconds_per_1000: Known = "unknown"
    usd_per_1000: Known = "unknown"
    direction: Literal[1, -1] = 1
    fitted_on: tuple[str, ...] = ()
    source: str = ""
    scores: dict[Name, PackScores] = Field(min_length=1)


class ReferenceSet(Strict):
    """Data on which packs are evaluated, as a run names them. commercial: whether the licence allows commercial use."""

    title: Short
    dataset: str
    split: str | None = None
    unit: Unit
    language: Annotated[str, Field(pattern="^[a-z]{2,3}$")] = "en"
    commercial: bool = True
    options: dict[str, OptionText] = Field(default_factory=dict)

    @property
    def card(self) -> Dataset:
        """Return the data set's card; raises `UserError` for a demo, and for one of `UNCOUNTED`."""
        card, _, _ = find_dataset(self.dataset)
        if card.demo or card.name in UNCOUNTED:
            why = "its labels are made up" if card.demo else "the public copy is a biased sample"
            raise UserError(f"Packs on {card.name} are not accepted: {why}. Give a pack for another data set.")
        return card

    def config(self, data: Path | None) -> RunConfig:
        """Return the settings of a run on the set. data: folder with the published files; None: they are fetched."""
        unit = {} if self.unit == "rating" else {"unit": self.unit}
        settings = {"dataset": self.dataset, "split": self.split, "dataset_options": self.options, **unit}
        return load_run(None, {**settings, "data": data, "metrics": (), "protocols": ("correlation",)})

    def load(self, data: Path | None) -> Job | RatedSet:
        """Return the pairs of the corpus, or the rated set; raises `UserError` where they cannot be read or fetched."""
        kind, config = self.card.kind, self.config(data)
        return prepare(config) if kind == "corpus" else prepare_ratings(config)


def reference_sets(folder: Path) -> dict[str, ReferenceSet]:
    """Return the data sets that the folder's sets.yaml declares, by name; raises `UserError` without that file."""
    path = folder / SETS
    if not path.is_file():
        raise UserError(
            f"{folder} has no {SETS}, so it is not the folder of the reference results: name that with --folder."
        )
    return {name: validated(ReferenceSet, values, f"{path}, {name}") for name, values in read_yaml(path).items()}


@dataclass(frozen=True)
class ScorePack:
    """A pack as it was read: its folder and its card."""

    folder: Path
    card: PackCard

    @property
    def name(self) -> str:
        """Return the pack's name, which is its folder's."""
        return self.folder.name

    @property
    def is_shipped(self) -> bool:
        """Return whether the licence allows the scores to be passed on; of other packs only aggregates are written."""
        return self.card.licence in SHIPPED

    @cached_property
    def outdated(self) -> str:
        """Return that the metric of this name now has another version; "" if it has not, or is not registered."""
        if self.card.metric not in registry.names("metric"):
            return ""
        version = str(registry.find("metric", self.card.metric).card.version)
        return "" if version == self.card.version else f"version {self.card.version} of the metric; now {version}"

    def stale(self, name: str, data: str) -> str:
        """Return why the scores on a set are out of date; "" if they are not. data: hash of the set's data now."""
        return self.outdated or ("other data" if self.card.scores[name].data != data else "")

    def scores(self, name: str) -> ScoreFile:
        """Read the scores on the set `name`; raises `UserError` unless the columns are `pair, score, status`."""
        path = self.folder / self.card.scores[name].file
        rows = _rows(path)
        if extra := sorted(rows[0][1].keys() ^ set(HEADINGS.values())):
            raise UserError(
                f"{path}: its columns should be exactly pair, score and status, without texts; {extra[0]!r} is missing "
                "or not one of them."
            )
        table = table_of(str(path), [fields for _, fields in rows], [where for where, _ in rows])
        manifest = {"metric": self.card.metric, "direction": self.card.direction}
        (scores,) = scores_of(path, table, HEADINGS, manifest)
        return scores

    def column(self, name: str, source: Job | RatedSet) -> AlignedColumn:
        """Return the scores on the set `name` as a column of its data; raises `UserError` for pairs not in the data.

        If the scores are of other data (by their hash), such pairs are left out instead.
        """
        file, ids = self.scores(name), row_ids(source)
        if self.card.scores[name].data != fingerprint_of(source):
            file = replace(file, answers={pair: file.answers[pair] for pair in file.answers.keys() & set(ids)})
        answers = [answer.oriented(file.direction) for answer in align(file, ids)]
        # The signature tells a metric that is also a control.
        fields = {**file.signed(self.card.scores[name].data[:12]), "metric": self.card.signature}
        return column_of(self.card.metric, answers, fields)


def row_ids(source: Job | RatedSet) -> list[str]:
    """Return the ids of the rows that packs score (pairs, citations or ratings), in the order of the data."""
    return source.ratings.columns.id.tolist() if isinstance(source, RatedSet) else [row.id for row in source.rows]


def fingerprint_of(source: Job | RatedSet) -> str:
    """Return the SHA-256 of the data's content."""
    return source.ratings.fingerprint if isinstance(source, RatedSet) else source.corpus.fingerprint


def _rows(path: Path) -> list[tuple[str, dict[str, Any]]]:
    rows: list[tuple[str, dict[str, Any]]]
    if path.suffix == ".parquet":
        rows = [(f"{path} row {number}", row) for number, row in enumerate(parquet_rows(path), start=1)]
    else:
        rows = [*csv_records(path, "write the columns pair, score and status")]
    if not rows:
        raise UserError(f"{path} has no rows: give a score, or a status, for each pair.")
    return rows


def read_pack(folder: Path) -> ScorePack:
    """Read the card of a pack, but no scores yet; raises `UserError` for a folder without a card, and a wrong card."""
    path = folder / CARD
    if not path.is_file():
        raise UserError(f"{folder} is not a pack, as it has no {CARD}: give the folder of a pack.")
    return ScorePack(folder, validated(PackCard, read_yaml(path), str(path)))


def read_packs(folder: Path | None) -> list[ScorePack]:
    """Read the packs among the subfolders of a folder, in the order of their names; an empty list for None."""
    return [read_pack(path.parent) for path in sorted(folder.glob(f"*/{CARD}"))] if folder else []


def faults(
    pack: ScorePack,
    sets: Mapping[str, ReferenceSet],
    sources: Mapping[str, Job | RatedSet],
    others: Sequence[ScorePack],
) -> Iterator[str]:
    """Yield a sentence for each fault of a pack. sources: data loaded, by set; of other sets no scores are read."""
    card = pack.card
    if card.commercial != SHIPPED.get(card.licence, card.commercial):
        noted = str(card.commercial).lower()
        yield f"commercial is {noted} in {CARD}, which is not what the licence {card.licence} says."
    if pack.outdated:
        yield f"{card.metric}: these are scores of {pack.outdated}: score again."
    listed = {CARD, *(scores.file for scores in card.scores.values())}
    for path in sorted(path.name for path in pack.folder.iterdir() if path.name not in listed):
        yield f"{path} is in the folder, and {CARD} does not name this file: delete it, or name it there under scores."
    for name in card.scores:
        for other in others:
            if other.card.metric == card.metric and name in other.card.scores and other.name != pack.name:
                yield f"{name}: the pack {other.name} has scores of {card.metric} already."
        if name not in sets:
            yield str(unknown("data set of a pack", name, sets))
            continue
        try:
            sets[name].card  # noqa: B018 (it refuses data that count for nothing)
            if name in sources:
                yield from _faults_of_scores(pack, name, sources[name])
        except UserError as error:
            yield f"{name}: {error}"
    if sources.keys() >= card.scores.keys() and not pack.is_shipped and not card.source:
        yield f"The licence is {card.licence!r}, so the scores cannot be shipped: say in 'source' where they are from."


def _faults_of_scores(pack: ScorePack, name: str, source: Job | RatedSet) -> Iterator[str]:
    file, data, ids = pack.scores(name), fingerprint_of(source), row_ids(source)
    if pack.card.scores[name].data != data:
        yield f"{name}: the data have the hash {data}, and the card says {pack.card.scores[name].data}: score again."
    if long := next((pair for pair in file.answers if len(pair) > LONGEST_ID), ""):
        yield f"{name}: a pair id has {len(long)} characters, at most {LONGEST_ID} are allowed: packs hold no texts."
    if strangers := file.answers.keys() - set(ids):
        example = f"for example {min(strangers)!r} (a pair of the data: {ids[0]!r})"
        yield f"{name}: {len(strangers):,} of the {len(file.answers):,} pairs are not of the data, {example}."
        return
    column = pack.column(name, source)
    scored = float(np.mean(~np.isnan(column.score)))
    if scored < LEAST_COVERAGE:
        yield f"{name}: {100 * scored:.0f} % of the {column.score.size:,} rows have a score; at least 50 % are needed."
    elif (high := _kendall_end(source, column)) is not None and high < 0:
        yield (
            f"{name}: higher scores go with less support (Kendall's tau-b is at most {high:.2f}): direction should be "
            f"{-pack.card.direction}."
        )


def _kendall_end(source: Job | RatedSet, column: AlignedColumn) -> float | None:
    """Return the upper end of the interval of the scores' Kendall's tau-b with the gold; None where it is undefined."""
    ((protocol, options),) = find_protocols(source.config)
    result = evaluate(source.frame(protocol), [column], protocol, options, source.config)
    return result.rows[0].values["kendall"].high
