"""The job: the pairs to score and the rows to judge, made from a run's settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from metaeval import registry
from metaeval.config import RunConfig, dataset_variant, variants
from metaeval.corpus.chunks import chunk_corpus, splitter_name
from metaeval.corpus.dataset import Dataset
from metaeval.corpus.datasets import load_dataset
from metaeval.corpus.model import Corpus
from metaeval.corpus.pairs import Pair, PairTable, build_pairs
from metaeval.corpus.pools import add_pool
from metaeval.corpus.units import UnitRow, unit_rows
from metaeval.errors import unknown


@dataclass(frozen=True)
class Job:
    """What is judged in one run."""

    config: RunConfig
    split: str
    corpus: Corpus
    table: PairTable
    rows: list[UnitRow]

    @property
    def pairs(self) -> tuple[Pair, ...]:
        """The (statement, chunk) pairs that a metric scores."""
        return self.table.pairs

    @cached_property
    def texts(self) -> list[tuple[str, str]]:
        """(source, statement) of every pair."""
        return [(pair.source, pair.statement) for pair in self.pairs]

    @cached_property
    def fields(self) -> Mapping[str, object]:
        """The signature fields that say which rows were judged."""
        config = self.config
        documents = list(self.corpus.documents.values())
        fields: dict[str, object] = {
            "data": f"{config.dataset}/{self.split}@{self.corpus.fingerprint[:12]}",
            "unit": config.unit,
            "chunks": self.table.chunking,
            "sentences": splitter_name(documents),
            "evidence": f"jaccard-{config.evidence_threshold:g}",
            "pool": config.pool,
        }
        if config.unit == "citation":
            fields["over-chunks"] = config.aggregate
        return {**fields, "levels": "full=2,partial=1,none=0"}


def find_dataset(name: str) -> tuple[Dataset, str | None, Mapping[str, str]]:
    """A data set by its registered name or a variant's, with the variant's split and options."""
    known = variants("datasets")
    if name in known and name not in registry.names("dataset"):
        variant = dataset_variant(known[name])
        return registry.find("dataset", variant.dataset), variant.split, variant.options
    if name not in registry.names("dataset") and ":" not in name:
        raise unknown("dataset", name, [*registry.names("dataset"), *known], "Type 'metaeval data list'.")
    return registry.find("dataset", name), None, {}


def load_corpus(config: RunConfig) -> tuple[Corpus, str]:
    """The run's corpus and the split that it came from."""
    dataset, split, options = find_dataset(config.dataset)
    chosen = config.split or split or dataset.default_split
    return load_dataset(dataset, chosen, config.data, {**options, **config.dataset_options}), chosen


def prepare(config: RunConfig) -> Job:
    """Load the data, cut the chunks, place the evidence, pair, add the pool, and name the rows."""
    corpus, split = load_corpus(config)
    chunked = chunk_corpus(corpus, config.chunk.chunking())
    table = add_pool(build_pairs(chunked, config.evidence_threshold), chunked, config.pool)
    return Job(config, split, corpus, table, unit_rows(table, config.unit))
