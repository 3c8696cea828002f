"""The data of a run: what is read, the pairs to score, and the rows to judge, of which protocols see a frame."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from metaeval.core import registry
from metaeval.core.config import PairSettings, RunConfig
from metaeval.core.config_files import DatasetVariant, check_file, config_file, dataset_variant, variants
from metaeval.core.errors import UserError, count, unknown
from metaeval.core.headings import TEXTS, mapped
from metaeval.core.tables import UserTable, pairs_in, table_of
from metaeval.corpus.chunks import chunk_corpus, splitter_name
from metaeval.corpus.dataset import Dataset
from metaeval.corpus.loaders.ratings import DATASET as OWN_RATINGS
from metaeval.corpus.loaders.ratings import ratings_of
from metaeval.corpus.loading import check_options, load_dataset
from metaeval.corpus.model import Corpus
from metaeval.corpus.pair_table import Pair, PairTable, add_pool, build_pairs, pool_encoder
from metaeval.corpus.ratings import Ratings
from metaeval.corpus.sentences import language_note
from metaeval.corpus.units import UnitRow, evidence_pairs, page_pairs, statement_levels, statement_pairs, unit_rows
from metaeval.report import result as results
from metaeval.runs.dense_retrieval import dense_ranks, encoder_of
from metaeval.stats.arrays import codes_of, majority
from protocols.contract import Judgements, Protocol

Codes = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Frame:
    """The n rows with known gold, in the order of their ids, with facts about the data that results report.

    numbers: (n,) the row's index in every score column. gold: (n,) float64. group, pool: (n,) codes from 0; retrieval
    ranks the rows of each pool. system: (n,) codes from 0; None where any row names no system. excluded: number of
    rows without known gold, by reason. fields: those of the signature about the data. as_published: whether published
    values are about rows like these. judged: number of citations or ratings at each level, as loaded. held: (n,) share
    of an evidence set that each row holds, 0 where unknown; None where no row holds only a part of one. warnings: about
    the data, shown for every metric. levels: whether the gold is on the three-level scale. systems: the names of the
    systems' codes. crossed: whether intervals take systems as sampled too. votes: (n,) of a rated set, mappings of an
    annotator to the vote. unlabelled: group codes of the rows that nobody labelled, which rates of verdicts count.
    voted: the frame of all rows with votes, gold NaN where they have no majority, if such rows are left out. kind: (n,)
    kinds of edits, of a protocol of edits, whose pools are an original and its edits.
    """

    name: str
    split: str
    unit: results.Unit
    fields: Mapping[str, object]
    numbers: NDArray[np.intp]
    gold: NDArray[np.float64]
    group: Codes
    pool: Codes
    system: Codes | None
    summary: results.Data
    excluded: Mapping[str, int]
    as_published: bool
    judged: Mapping[str, int] = field(default_factory=dict)
    held: NDArray[np.float64] | None = None
    warnings: tuple[str, ...] = ()
    levels: bool = True
    systems: tuple[str, ...] = ()
    crossed: bool = False
    votes: NDArray[np.object_] = field(default_factory=lambda: np.empty(0, dtype=np.object_))
    unlabelled: Codes = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    voted: Frame | None = None
    kind: NDArray[np.object_] | None = None

    def __post_init__(self) -> None:
        if self.crossed and self.system is None:
            raise UserError("interval.cluster=group,system needs to know the system of each row: --map system=COLUMN.")

    def unknown_levels(self) -> str:
        """Return a sentence on chunks without a known level, with another unit to try; "" for other units or none."""
        unknown = sum(self.excluded.values()) if self.unit == "chunk" else 0
        return f" Without a known level: {count(unknown, 'chunk')}; try --unit citation." if unknown else ""

    def judgements(self, score: NDArray[np.float64]) -> Judgements:
        """Return a protocol's input: the scores (n,), NaN where missing, with the gold and groups of the same rows."""
        other = self.system if self.crossed else None
        columns = self.gold, score, self.group, self.pool, self.system, self.levels, self.systems
        return Judgements(*columns, crossed=other, kind=self.kind)

    def with_unlabelled(
        self, score: NDArray[np.float64], unrated: NDArray[np.float64], cost: NDArray[np.float64] | None
    ) -> Judgements:
        """Return the input of a judge's card: the rows, and those that nobody labelled, if `unrated` scores them.

        score, cost: of all rows of the data, as columns have them. Rows without a majority of votes lack both there.
        """
        if self.voted:
            return self.voted.with_unlabelled(score, unrated, cost)
        group, unknown = np.append(self.group, self.unlabelled[: unrated.size]), np.full(unrated.size, np.nan)
        votes = np.append(self.votes, [{} for _ in unknown]) if self.votes.size else None
        costs = None if cost is None else np.append(cost[self.numbers], unknown)
        scores = np.append(np.where(np.isnan(self.gold), np.nan, score[self.numbers]), unrated)
        gold = np.append(self.gold, unknown)
        return Judgements(gold, scores, group, group, levels=self.levels, votes=votes, cost=costs)


@dataclass(frozen=True)
class Job:
    """The data of a run on a corpus: the pairs to score (`table`), and the rows of the unit of analysis to judge.

    name, split: those of the data set, as reports name them. whole_pages: whether pairs hold pages and no chunks.
    """

    config: RunConfig
    name: str
    split: str
    corpus: Corpus
    table: PairTable
    rows: list[UnitRow]
    whole_pages: bool

    @cached_property
    def in_chunks(self) -> Job:
        """Return the job of the same rows, of whole pages, whose pairs are the chunks of the pages."""
        update = {"cited": "each"} if self.config.unit == "statement" else {"unit": "citation"}
        config = self.config.model_copy(update=update)
        return _job(config, self.name, self.split, self.corpus)

    def shard(self, index: int, count: int) -> Job:
        """Return the job of every `count`-th row, from row `index` on, and of the pairs of these rows."""
        rows = self.rows[index::count]
        members = [number for row in rows for number in row.members]
        places = {number: place for place, number in enumerate(members)}
        pairs = tuple(self.pairs[number] for number in members)
        kept = [row._replace(members=tuple(places[number] for number in row.members)) for row in rows]
        part = replace(self, table=replace(self.table, pairs=pairs), rows=kept)
        if self.whole_pages:
            vars(part)["in_chunks"] = self.in_chunks.shard(index, count)
        return part

    @property
    def pairs(self) -> tuple[Pair, ...]:
        """Return the pairs that a metric scores: statement with chunk, page, pages or evidence, as the unit says."""
        return self.table.pairs

    @cached_property
    def texts(self) -> list[tuple[str, str]]:
        """Return the (source, statement) texts of every pair, in order."""
        return [(pair.source, pair.statement) for pair in self.pairs]

    def frame(self, protocol: Protocol) -> Frame:
        """Return the rows with a known level that a protocol sees: cited ones, and those of pools if it uses them.

        Raises `UserError` if no level is known.
        """
        if protocol.uses_pool not in self._frames:
            self._frames[protocol.uses_pool] = _frame(self, protocol.uses_pool)
        return self._frames[protocol.uses_pool]

    @cached_property
    def _frames(self) -> dict[bool, Frame]:
        return {}

    @cached_property
    def fields(self) -> Mapping[str, object]:
        """Return the signature fields about the data."""
        config = self.config
        fields: dict[str, object] = {
            "data": f"{self.name}/{self.split}@{self.corpus.fingerprint[:12]}",
            "unit": config.unit,
            "chunks": self.table.chunking,
            "sentences": splitter_name(list(self.corpus.documents.values())),
            "evidence": f"{config.evidence.rule},jaccard-{config.evidence.threshold}",
            "pool": self.table.pool,
        }
        if config.unit in ("citation", "page", "statement"):
            fields["over-chunks"] = config.aggregate
        if config.unit == "statement":
            fields["cited"] = config.cited
        if self.whole_pages:
            fields["over-limit"] = config.over_limit
        if config.unit == "evidence":
            fields["window"] = config.evidence.window
        if config.evidence.place == "chunk":
            fields["evidence-place"] = "chunk"
        return {**fields, "levels": "full=2,partial=1,none=0"}


def variant_path(kind: Literal["metric", "dataset"], name: str) -> Path | None:
    """Return the YAML file of a variant; None for a registered name and for 'module:attribute'.

    Raises `UserError` for an unknown name, and for a variant with the name of a registered metric or data set.
    """
    folder, registered = f"{kind}s", registry.names(kind)
    path = config_file(folder, name)
    if path and name in registered:
        raise UserError(f"{path} has the name of a registered {kind}: rename the file, and give its new name.")
    if path is None and name not in registered and ":" not in name:
        raise unknown(kind, name, [*registered, *variants(folder)], registry.next_for(kind, name))
    return path


def find_dataset(name: str, config: RunConfig | None = None) -> tuple[Dataset, str | None, Mapping[str, str]]:
    """Load a data set by its name or a variant's; return it with the variant's split (or None) and options.

    config: the run; None if the name was read from data, so that only registered data sets are loaded.
    """
    path = variant_path("dataset", name)
    variant = dataset_variant(path) if path else DatasetVariant(dataset=name)
    trusted = bool(config and (path is None or config.trust_config))
    if path and not trusted:
        check_file(path, {"dataset": variant.dataset})
    dataset = registry.find("dataset", variant.dataset, path, code=trusted)
    if not isinstance(dataset, Dataset):
        raise UserError(f"{name!r} is not a data set: give the name of an instance of metaeval.corpus.dataset.Dataset.")
    return dataset, variant.split, variant.options


def kind_of_data(config: RunConfig) -> Literal["corpus", "ratings"]:
    """Return the kind of the run's data: statements that cite documents ("corpus"), or rated texts ("ratings")."""
    dataset, _, options = find_dataset(config.dataset, config)
    return dataset.kind_with({**options, **config.dataset_options})


def load_corpus(config: RunConfig) -> tuple[Corpus, str, str]:
    """Return the run's corpus, its name in reports, and its split; raises `UserError` for a rated set.

    The name is the data set's; for a user's file, it is the name in the file.
    """
    loaded, name, chosen = _load(config, "corpus")
    if not isinstance(loaded, Corpus):
        dataset = config.dataset
        option = find_dataset(dataset, config)[0].corpus_option
        documents = f", or give the documents: --set dataset_options.{option}=FILE" if option else ""
        raise UserError(f"{dataset} has ratings and no documents: type 'metaeval evaluate -d {dataset}'{documents}.")
    return loaded, name, chosen


def load_ratings(config: RunConfig) -> tuple[Ratings, str, str]:
    """Return the run's rated set, its name in reports, and its split; raises `UserError` for a corpus."""
    loaded, name, chosen = _load(config, "ratings")
    if not isinstance(loaded, Ratings):
        raise UserError(f"{config.dataset} is not a rated set: choose one (see 'metaeval data list').")
    return loaded, name, chosen


def _load(config: RunConfig, kind: str) -> tuple[Corpus | Ratings | None, str, str]:
    """Return the run's data, name and split; (None, "", "") for another kind. kind: "corpus" or "ratings"."""
    dataset, split, options = find_dataset(config.dataset, config)
    if dataset.kind_with({**options, **config.dataset_options}) != kind:
        return None, "", ""
    chosen = config.split or split or dataset.default_split
    published = bool(dataset.files_of(chosen))
    mapped = {} if published else {role: heading for role, heading in config.columns.items() if role in dataset.options}
    loaded = load_dataset(dataset, chosen, config.data, {**options, **mapped, **config.dataset_options})
    return loaded, config.dataset if published else loaded.name, chosen


def ratings_in(ratings: Any, config: RunConfig) -> Ratings:
    """Read a rated set from a table, a data frame or mappings, with the run's columns and options."""
    mapped = {role: heading for role, heading in config.columns.items() if role in OWN_RATINGS.options}
    table = ratings if isinstance(ratings, UserTable) else table_of("ratings", ratings)
    return ratings_of(table, check_options(OWN_RATINGS, {**mapped, **config.dataset_options}))


def prepare(config: RunConfig, corpus: Corpus | None = None) -> Job:
    """Return the job of a run: load its corpus (or take `corpus`), cut chunks, place evidence, make pairs and rows."""
    corpus, name, split = (corpus, corpus.name, "given") if corpus else load_corpus(config)
    return _job(config, name, split, corpus)


def _job(config: RunConfig, name: str, split: str, corpus: Corpus) -> Job:
    chunking, evidence = config.chunk.chunking(), config.evidence
    whole_pages = config.whole_pages
    if evidence.place == "chunk" and (whole_pages or config.unit == "evidence"):
        raise UserError(
            f"evidence.place=chunk is for chunks, and with unit={config.unit} there are none: set unit=chunk."
        )
    if whole_pages:
        whole = statement_pairs if config.unit == "statement" else page_pairs
        table = replace(whole(corpus, chunking, evidence.threshold), pool=config.pool)
    elif config.unit == "evidence":
        table = replace(evidence_pairs(corpus, chunking, evidence.threshold, evidence.window), pool=config.pool)
    else:
        chunked = chunk_corpus(corpus, chunking)
        table = build_pairs(chunked, evidence.threshold, evidence.rule, evidence.place)
        if named := pool_encoder(config.pool):
            encoder = encoder_of(named, config)
            table = add_pool(table, chunked, config.pool, partial(dense_ranks, encoder))
            weights = encoder.provenance().get("checkpoint", "")
            table = replace(table, pool=f"{config.pool}({weights})")
        else:
            table = add_pool(table, chunked, config.pool)
    levels = statement_levels(corpus) if config.unit == "statement" else None
    return Job(config, name, split, corpus, table, unit_rows(table, config.unit, levels), whole_pages)


@dataclass(frozen=True)
class RatedSet:
    """A rated set as the data of a run: texts with human ratings. name, split: those of the data set."""

    config: RunConfig
    name: str
    split: str
    ratings: Ratings
    whole_pages: bool = False

    @property
    def fields(self) -> dict[str, object]:
        """Return the signature fields about the data."""
        named = {"data": f"{self.name}/{self.split}@{self.ratings.fingerprint[:12]}", "unit": "rating"}
        return {**named, **self.config.dataset_options}

    @cached_property
    def text_headings(self) -> Mapping[str, str]:
        """Return the names of the ratings' fields that hold the source and the statement, by role, where some do."""
        fields = self.ratings.columns.fields
        chosen = {role: name for role, name in self._mapped.items() if name in fields}
        return table_of(self.name, [dict.fromkeys(fields)]).find(TEXTS, chosen) if fields else {}

    @property
    def _mapped(self) -> dict[str, str]:
        chosen = mapped(TEXTS, {**self.config.dataset_options, **self.config.columns})
        return {role: heading.removeprefix("fields:") for role, heading in chosen.items()}

    @cached_property
    def texts(self) -> list[tuple[str, str]]:
        """Return the (source, statement) texts of every rating, in order; raises `UserError` where one is missing."""
        import pandas

        rows = self.ratings.columns
        if not self.ratings.headings and {*TEXTS} <= rows.fields.keys():  # published: a blank text has no score
            return list(zip(rows.fields["source"], rows.fields["statement"], strict=True))
        frame = pandas.DataFrame({**dict.fromkeys(self.ratings.headings), **rows.fields}, index=rows.id.tolist())
        return pairs_in(UserTable(self.name, frame, "rating"), self._mapped)[0]

    @cached_property
    def rows(self) -> list[UnitRow]:
        """Return a row for each rating, in order, whose one pair of texts a metric scores."""
        named = zip(self.ratings.columns.id.tolist(), self.ratings.columns.group, self.texts, strict=True)
        return [
            UnitRow(name, name, group, None, True, (number,), statement, len(source.split()), 0)
            for number, (name, group, (source, statement)) in enumerate(named)
        ]

    def frame(self, protocol: Protocol | None = None) -> Frame:
        """Return the frame of all rated texts, which every protocol uses.

        Where the gold is the mean vote, that of a protocol of levels is the majority's vote; texts without one are
        excluded.
        """
        frame, edits = self._frame, self.ratings.columns.edits
        if protocol is not None and protocol.of_edits and edits:
            if frame.crossed:
                raise UserError("Edits are compared by groups alone: leave interval.cluster=group,system out.")
            kind, original = (column[frame.numbers] for column in edits)
            return replace(frame, kind=kind, pool=codes_of(original.tolist()))
        known = {vote for votes in frame.votes for vote in votes.values()}
        if protocol is None or not protocol.takes_levels or not known or known.issuperset(frame.gold.tolist()):
            return frame
        gold = np.array([majority(votes.values()) for votes in frame.votes])
        clear = ~np.isnan(gold)
        names = ("numbers", "group", "pool", "votes", *(() if frame.system is None else ("system",)))
        columns: dict[str, Any] = {name: getattr(frame, name)[clear] for name in names}
        levels = {f"{value:g}": number for value, number in sorted(Counter(gold[clear].tolist()).items(), reverse=True)}
        columns |= {"summary": frame.summary.model_copy(update={"levels": levels}), "judged": levels}
        tied = {"annotators without a majority": int(np.count_nonzero(~clear))}
        every = replace(frame, gold=gold)
        return replace(frame, gold=gold[clear], excluded={} if clear.all() else tied, voted=every, **columns)

    @cached_property
    def _frame(self) -> Frame:
        """Every rated text as a row; the candidates of a pool are the texts of a pair, else of a group."""
        ratings, rows, order = self.ratings, self.ratings.columns, self.ratings.columns.order
        groups = rows.group.codes[order].astype(np.int64)
        codes = {name: code for code, name in enumerate(rows.group.categories)}  # and further ones for other groups
        pools = groups
        if rows.pair.categories.any():
            pairs = rows.pair.codes[order]
            pools = np.unique(groups * len(rows.pair.categories) + pairs, return_inverse=True)[1]
        return Frame(
            name=self.name,
            split=self.split,
            unit="rating",
            fields=self.fields,
            numbers=order,
            gold=rows.gold[order],
            group=groups,
            pool=pools,
            system=rows.system.codes[order].astype(np.int64) if rows.system.categories.all() else None,
            crossed=self.config.interval.cluster != "group",
            summary=results.Data(
                name=self.name,
                split=self.split,
                fingerprint=ratings.fingerprint,
                statements=len(rows),
                documents=0,
                citations=0,
                groups=len(rows.group.categories),
                levels=ratings.level_counts(),
                dropped=dict(ratings.dropped),
            ),
            excluded={},
            as_published=not self.config.dataset_options,
            judged=ratings.level_counts(),
            warnings=tuple(filter(None, [language_note(rows.text)])),
            levels=ratings.levels,
            systems=tuple(rows.system.categories),
            votes=rows.votes[order],
            unlabelled=np.array([codes.setdefault(name, len(codes)) for name in ratings.unrated.values()], np.int64),
        )


def prepare_ratings(config: RunConfig, ratings: Ratings | None = None) -> RatedSet:
    """Load the run's rated set (or take `ratings`); raises `UserError` for a corpus, and as `check_rated` does."""
    check_rated(config)
    ratings, name, split = (ratings, ratings.name, "given") if ratings else load_ratings(config)
    return RatedSet(config, name, split, ratings)


def check_rated(config: RunConfig) -> None:
    """Raise `UserError` if a setting of units, pools or chunks is set: they cut cited documents, which are not here."""
    for name, usual in PairSettings():
        if (value := getattr(config, name)) != usual:
            if not isinstance(value, str):  # a group of settings
                name, value = next((f"{name}.{key}", new) for key, new in value if new != getattr(usual, key))
            raise UserError(f"{name}={value} is for data with cited documents: leave it out for a rated set.")


_NO_EVIDENCE = "no evidence tells the chunk's level"


_NO_LEVEL: Mapping[str, str] = {
    "citation": "none of its citations has a label",
    "statement": "several citations of partial support, and nobody judged them together. Try unit=citation",
}
"""Why no row has a known level, by unit; of other units the evidence is not marked."""


def _frame(job: Job, uses_pool: bool) -> Frame:
    seen = [number for number, row in enumerate(job.rows) if row.cited or uses_pool]
    known = [number for number in seen if job.rows[number].level is not None]
    # In the order of ids, so that sums of floats do not depend on the order of the file.
    numbers = np.array(sorted(known, key=lambda number: job.rows[number].id), dtype=np.intp)
    rows = [job.rows[number] for number in numbers]
    if not rows:
        why = _NO_LEVEL.get(job.config.unit, "its citations have no marked evidence. Try unit=citation")
        raise UserError(f"Data set {job.config.dataset!r} has no known level for unit={job.config.unit}: {why}.")
    levels = Counter(row.level for row in rows)
    judged = [job.pairs[number] for row in rows for number in row.members]
    if job.config.unit == "statement":  # joined pages name the first of their citations alone
        levels_known = {row.statement_id for row in rows}
        judged = [pair for pair in job.in_chunks.pairs if pair.statement_id in levels_known]
    systems = [job.corpus.statements[row.statement_id].system for row in rows]
    left_out = Counter(
        "the chunk holds an incomplete evidence set" if row.held else _NO_LEVEL.get(job.config.unit, _NO_EVIDENCE)
        for row in (job.rows[number] for number in seen)
        if row.level is None
    )
    return Frame(
        name=job.name,
        split=job.split,
        unit=job.config.unit,
        fields=job.fields,
        numbers=numbers,
        gold=np.array([float(row.level or 0) for row in rows]),
        group=codes_of([row.group for row in rows]),
        pool=codes_of([row.statement_id for row in rows]),
        system=codes_of(systems) if all(systems) else None,
        crossed=job.config.interval.cluster != "group",
        summary=results.Data(
            name=job.name,
            split=job.split,
            fingerprint=job.corpus.fingerprint,
            statements=len({row.statement_id for row in rows}),
            documents=len({pair.document_id for pair in judged}),
            citations=len({pair.citation_id for pair in judged if pair.cited}),
            groups=len({row.group for row in rows}),
            levels={name: levels[number] for name, number in (("full", 2), ("partial", 1), ("none", 0))},
            dropped={**job.corpus.dropped, **job.table.dropped},
            evidence=dict(job.table.evidence),
            demo=job.corpus.demo,
        ),
        excluded=dict(left_out),
        # Published values are about chunks that take the citation's level wherever they touch evidence.
        as_published=not job.config.dataset_options
        and (job.config.unit == "citation" or job.config.evidence.rule == "touched"),
        judged=job.corpus.level_counts(),
        held=np.array([row.held or 0.0 for row in rows]) if any(0 < (row.held or 0) < 1 for row in job.rows) else None,
        warnings=tuple(filter(None, [language_note(each.text for each in job.corpus.statements.values())])),
        systems=tuple(sorted(set(systems))),
    )
