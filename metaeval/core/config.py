"""Configuration: one checked model of a run, read from YAML, from the command line, or written in Python."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, ValidationInfo, field_validator, model_validator

from metaeval.core.config_files import Form, merged_settings, override_key
from metaeval.core.declared import (
    Flag,
    MetricNames,
    Model,
    Names,
    OptionText,
    Strict,
    metric_names,
    parameter_docs,
    validated,
)
from metaeval.core.errors import as_value_error
from metaeval.core.headings import RATINGS, SCORES, read_columns
from metaeval.core.registry import with_places
from metaeval.corpus.chunks import Chunking
from metaeval.corpus.pair_table import EvidencePlace, Rule, check_pool
from metaeval.corpus.units import Unit, read_aggregation

OFFLINE_METRICS = ("overlap", "rouge", "bm25", "support-mini", "minilm-cosine", "minilm-bertscore")


class ChunkConfig(Strict):
    """Settings for cutting documents into chunks; see `metaeval.corpus.chunks.Chunking` for the modes."""

    size: int = Field(default=150, ge=1)
    """Most words in a chunk."""
    mode: Literal["sentences", "whole-sentences", "words"] = "sentences"
    """How chunks are packed: sentences (a longer one is cut), whole-sentences (a longer one is a chunk of its own),
    or words (fixed windows)."""

    def chunking(self) -> Chunking:
        """Return the chunking that the settings describe."""
        return Chunking(self.size, self.mode)


class EvidenceConfig(Strict):
    """Settings for how marked evidence gives chunks their levels; see `metaeval.corpus.pair_table.build_pairs`."""

    rule: Rule = Field(default="complete", examples=["touched"])
    """Level of a chunk that holds only a part of the evidence: complete (partial, where the citation is full), drop
    (left out there), whole (left out at both levels), or touched (the citation's level: the base paper's rule)."""
    threshold: float = Field(default=0.5, gt=0, le=1, examples=[0.3])
    """Lowest Jaccard similarity of word sets at which evidence that is given as text goes to a sentence of the
    document."""
    window: int = Field(default=0, ge=0, examples=[1])
    """With unit evidence, sentences before and after each marked one that are read with it."""
    place: EvidencePlace = Field(default="sentence", examples=["chunk"])
    """Where evidence that is given as text goes: to a sentence of the document, or to a chunk, as in the base paper; a
    chunk shares few of its words with a sentence, so that a threshold has to be set with it."""

    @model_validator(mode="after")
    def _low_enough(self) -> Self:
        if self.place == "chunk" and "threshold" not in self.model_fields_set:
            raise ValueError("evidence.place=chunk needs evidence.threshold: set one, such as 0.05")
        return self

    @property
    def by_sentence(self) -> float:
        """Return the similarity at which evidence is shown in a sentence: `threshold`, or 0.5 if `place` is chunk."""
        return self.threshold if self.place == "sentence" else 0.5


class IntervalConfig(Strict):
    """Settings of cluster intervals, in which whole groups of rows are the sampling units."""

    resamples: int = Field(default=1000, ge=0, le=1_000_000)
    """Resamples of whole groups, for intervals of the ranks of systems (0: no intervals of any kind)."""
    seed: int = Field(default=0, ge=0)
    """Seed from which resamples are drawn."""
    level: float = Field(default=0.95, gt=0, lt=1)
    """Level of the intervals."""
    fewest: float = Field(default=6, ge=2)
    """Effective groups that an interval needs."""
    cluster: Literal["group", "group,system"] = "group"
    """What is sampled: groups, for these very systems; or group,system: systems too, which cross the groups."""

    def drawn(self) -> dict[str, int | float]:
        """Return the settings of the resampling as a mapping: resamples, seed, level."""
        return self.model_dump(include={"resamples", "seed", "level"})


class ComparisonConfig(Strict):
    """Settings of paired tests between metrics, and of metrics against controls."""

    permutations: int = Field(default=1000, ge=0, le=1_000_000)
    """Permutations of the tests of ranks of systems (0: no tests of any kind)."""
    alpha: float = Field(default=0.05, gt=0, lt=1)
    """Level of the tests. Two metrics differ where the adjusted p is at most this."""
    family: Literal["column", "table", "suite"] = "column"
    """Tests that are adjusted together: those of a column (one measure), of a table (one protocol), or of a suite (all
    tables of a data set)."""


_WORKERS = re.compile(r"(\d{1,4})(?::([1-9]\d{0,3}))?")


class ExecutorConfig(Strict):
    """Settings of the processes and devices that score; no score depends on them."""

    name: Literal["local", "ray"] = Field(default="local", examples=["local"])
    """Executor: local, processes of this machine; or ray, actors of a Ray cluster."""
    workers: int = Field(default=0, ge=0, le=1024, examples=[2, "8:64"])
    """Processes that score side by side, each with its own copy of the model and its share of the CPU's cores (0: one,
    or one for each device; of ray, one for each GPU, or where there is none for each node). Of ray, 8:64 begins with 8
    and goes up to 64 while nodes join."""
    most: int = Field(default=0, ge=0, le=1024)
    """Most workers of a Ray cluster that grows: the second number of workers=8:64 (0: no more than workers)."""
    devices: Names = Field(default=(), examples=["0,1", "auto"])
    """CUDA devices by number, one process each; auto takes all (default: as the metric's option says)."""
    address: str = Field(default="", examples=["auto", "ray://head:10001"])
    """Address of the Ray cluster; auto finds the one of this machine (default: a cluster is started here)."""

    @property
    def alone(self) -> bool:
        """Return whether the main process scores by itself, without worker processes."""
        return self.name == "local" and not self.devices and self.workers < 2

    @field_validator("devices", mode="before")
    @classmethod
    def _one_device(cls, value: Any) -> Any:
        listed = [str(entry) for entry in value] if isinstance(value, list) else value
        return str(value) if isinstance(value, int) else listed

    @field_validator("devices")
    @classmethod
    def _numbers(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if value != ("auto",) and not all(device.isdecimal() for device in value):
            raise ValueError(f"{','.join(value)!r} should be numbers with commas (0,1), or auto")
        if len(set(value)) < len(value):
            raise ValueError(f"{','.join(value)!r} names a device twice")
        return value

    @model_validator(mode="before")
    @classmethod
    def _typed(cls, values: Any) -> Any:
        if isinstance(values, str):
            return {"name": values}
        if not isinstance(values, Mapping) or "workers" not in values:
            return values
        matched = _WORKERS.fullmatch(text := "" if values["workers"] is None else str(values["workers"]))
        if matched is None:
            raise ValueError(f"executor.workers is {text!r}: it should be a number, or of ray LEAST:MOST as in 8:64")
        least, most = matched.groups()
        return {**values, "workers": int(least), **({"most": int(most)} if most else {})}

    @model_validator(mode="after")
    def _of_one_kind(self) -> ExecutorConfig:
        if self.name == "ray" and self.devices:
            raise ValueError("Ray places its actors on GPUs by itself: leave executor.devices out")
        if self.name != "ray" and (self.address or self.most):
            setting = "executor.address is" if self.address else "A range of workers is"
            raise ValueError(f"{setting} of a Ray cluster: set executor.name to ray (--executor ray)")
        if self.most and not 0 < self.workers <= self.most:
            workers = f"executor.workers is {self.workers}:{self.most}"
            raise ValueError(f"{workers}: the first should be 1 or more, and not above the second")
        return self


def _columns(value: Any) -> Any:
    return read_columns(value, SCORES, RATINGS)


class DatasetSettings(Strict):
    """The setting that chooses the data set."""

    dataset: Annotated[str, Flag("NAME", "-d")] = "mini"
    """Data set, by name ('metaeval data list')."""


class DataSettings(Strict):
    """Settings for reading a data set."""

    split: Annotated[str | None, Flag("NAME")] = None
    """Split of the data set ('metaeval data show NAME')."""
    data: Annotated[Path | None, Flag("PATH")] = None
    """Folder that holds the published files (jsonl, ratings: your file)."""
    dataset_options: dict[str, OptionText] = Field(default_factory=dict)
    """Options of the data set ('metaeval data show NAME')."""
    columns: Annotated[dict[str, str], BeforeValidator(_columns), Flag("ROLE=COLUMN", "", "map", True)] = Field(
        default_factory=dict
    )
    """Column for a role (score=Points, id=, gold=, group= ...), or words for a level (full=Good). Repeatable."""


class ChunkSettings(Strict):
    """The settings of chunks."""

    chunk: ChunkConfig = ChunkConfig()
    """How documents are cut into chunks."""


class PairSettings(ChunkSettings):
    """Settings for making pairs from the data."""

    unit: Annotated[Unit, Flag("UNIT", "-u")] = "chunk"
    """Unit of analysis: chunk, citation, page, evidence or statement.

    Chunk: one row for each statement and chunk of a document that it cites. Citation, page and evidence have one row
    for each statement and cited document. Citation: its score is made from those of the document's chunks. Page: the
    metric reads the whole document. Evidence: it reads the sentences that the annotator marked. Statement: one row for
    each statement, with all documents that it cites (`cited`)."""
    evidence: EvidenceConfig = EvidenceConfig()
    """Which levels chunks take from evidence."""
    pool: Annotated[str, Flag("POOL")] = "own"
    """Retrieval pool: own, bm25:K, dense:K or dense:K:cosine:MODEL.

    The candidates for retrieval are the chunks of the documents that a statement cites; bm25:K adds the K best chunks
    of all other documents, as level none, and dense:K those that MiniLM's (or MODEL's) embeddings rank best."""
    aggregate: str = "max"
    """Score of a citation from the chunks of its document: max, mean, mean:K, or union:K.

    The best chunk's, the mean over all, the mean over the K best, or the score of the K best chunks joined in the order
    of the page, which are scored once more."""
    cited: Literal["joined", "each"] = "joined"
    """What a metric reads with unit statement: joined (all cited pages as one), or each (every chunk of every page, and
    `aggregate` makes one score of theirs: by default the best one's)."""
    over_limit: Literal["chunks", "cut"] = "chunks"
    """What a metric with an input limit reads of whole pages (units page and statement): chunks or cut.

    Chunks: each chunk of the page, and `aggregate` makes one score of theirs. Cut: the page up to the limit. What is
    cut off is counted."""

    @property
    def whole_pages(self) -> bool:
        """Return whether a metric reads whole pages: those of a citation, or all that a statement cites."""
        return self.unit == "page" or (self.unit == "statement" and self.cited == "joined")

    @field_validator("aggregate", "pool")
    @classmethod
    def _readable(cls, value: str, info: ValidationInfo) -> str:
        with as_value_error():
            check_pool(value) if info.field_name == "pool" else read_aggregation(value)
        return value


class MetricOptionSettings(Strict):
    """Settings of the options of metrics."""

    metric_options: dict[str, dict[str, Any]] = Field(default_factory=dict)
    """Options of each metric ('metaeval metrics show NAME')."""


class ControlSettings(Strict):
    """Settings of the controls that metrics are compared with."""

    controls: bool = True
    """Add rows of trivial scores, and of one that is learnt, for comparison."""


class MetricSettings(Strict):
    """The setting that chooses the metrics."""

    metrics: Annotated[MetricNames, Flag("NAMES", "-m")] = OFFLINE_METRICS
    """Metrics, with commas; scores:FILE reads a score file, published takes scores that come with the data."""


class ProtocolOptionSettings(Strict):
    """Settings of the options of protocols."""

    protocol_options: dict[str, dict[str, OptionText]] = Field(default_factory=dict)
    """Options of each protocol."""


class ProtocolSettings(Strict):
    """The setting that chooses the protocols."""

    protocols: Annotated[Names, Flag("NAMES", "-p", "protocol")] = ("all",)
    """Protocols, with commas: correlation, classification, retrieval (the three of all), decision, preference, systems,
    verdicts, contrast."""


class IntervalSettings(Strict):
    """Settings of intervals."""

    interval: IntervalConfig = IntervalConfig()
    """How intervals are made."""


class StatisticsSettings(IntervalSettings):
    """Settings of intervals and tests."""

    comparison: ComparisonConfig = ComparisonConfig()
    """How metrics are tested."""


class StoreSettings(Strict):
    """Settings of the stores in which scores are kept."""

    store: Annotated[Path | None, Flag("FILE", hidden=True)] = None
    """Score store (default: RESULTS/scores.sqlite)."""


class ExecutorSettings(Strict):
    """Settings of the processes that compute scores."""

    executor: Annotated[ExecutorConfig, Flag("NAME", hidden=True)] = ExecutorConfig()
    """Where scoring runs: local or ray.

    Processes of this machine, or actors of a Ray cluster. Scores do not depend on it."""


class BudgetSettings(Strict):
    """Settings that limit what may be paid."""

    budget: Annotated[float | None, Flag("USD"), Field(gt=0)] = None
    """Most that a paid metric may spend, in USD."""


class ScoringSettings(BudgetSettings, ExecutorSettings, StoreSettings):
    """Settings of where scores are computed and stored, and of what they may cost."""


class BatchSettings(Strict):
    """Settings of a batch: requests that are written to a file instead of sent, and the replies to them."""

    batch: Annotated[Path | None, Flag("FILE", name="replies", hidden=True)] = Field(default=None, exclude=True)
    """Replies to a batch of requests that was written earlier; nothing is sent."""


class ResultsSettings(Strict):
    """The setting that chooses the folder of results."""

    results: Annotated[Path, Flag("FOLDER")] = Path("results")
    """Folder for results (default: results)."""


class TrustSettings(Strict):
    """Settings of whether a file of settings may name code."""

    # It is typed, never read from a file, and not recorded with a run.
    trust_config: bool = Field(default=False, exclude=True)
    """Let config files name code, keys and addresses."""


class OutputSettings(TrustSettings, ResultsSettings):
    """Settings of where results are written."""


class LayoutSettings(Strict):
    """The setting that chooses the layout of a paper's tables."""

    layout: Literal["flat", "base-paper"] = "flat"
    """Layout of a suite's tables: flat, or base-paper (metrics in its three groups, ROC-AUC with two decimals)."""


class RunConfig(
    # Fields come in the order of the last base first.
    LayoutSettings,
    OutputSettings,
    BatchSettings,
    ScoringSettings,
    StatisticsSettings,
    ProtocolOptionSettings,
    ProtocolSettings,
    MetricOptionSettings,
    ControlSettings,
    MetricSettings,
    PairSettings,
    DataSettings,
    DatasetSettings,
):
    """The configuration of a run: data, pairs, metrics, protocols, intervals, and where results are written.

    It is immutable. Files of settings and keywords of functions have the same names; `--set` takes those in
    a mapping with a dot, as interval.level=0.9.
    """

    @model_validator(mode="before")
    @classmethod
    def _places(cls, values: Any) -> Any:
        names = metric_names(values.get("metrics")) if isinstance(values, Mapping) else None
        with as_value_error():  # anything but a list of names is refused below
            listed = isinstance(names, list) and all(isinstance(name, str) for name in names)
            options = values.get("metric_options", {}) if listed else None
            mapped = isinstance(options, Mapping) and all(isinstance(each, Mapping) for each in options.values())
            if not mapped:
                return values
            placed = with_places({**values, "metrics": names})
            # Functions that were given stay, since their names alone do not lead to them.
            return values if [*placed["metrics"]] == names else placed

    def with_metrics(self, names: Sequence[str]) -> RunConfig:
        """Return the run with other metrics."""
        named = with_places({"metrics": tuple(names), "metric_options": self.metric_options})
        return self.model_copy(update=dict(named))

    @property
    def store_path(self) -> Path:
        """Return the path of the score store: `store`, else scores.sqlite in the results folder."""
        return self.store or self.results / "scores.sqlite"


RunConfig.__doc__ = f"""{inspect.cleandoc(RunConfig.__doc__ or "")}

Parameters
----------
{parameter_docs(RunConfig.model_fields)}

Raises
------
pydantic.ValidationError
    For an unknown setting, and a value that is not allowed. Functions with these keywords raise `UserError` instead.
"""


def load_run(path: Path | None, settings: Mapping[str, Any], overrides: Sequence[str] = ()) -> RunConfig:
    """Build a run configuration; the arguments are those of `load_settings`."""
    return load_settings(RunConfig, path, settings, overrides)


def load_settings(
    model: type[Model], path: Path | None, settings: Mapping[str, Any], overrides: Sequence[str] = (), spell: Form = str
) -> Model:
    """Build a model of settings: the YAML file's values, then `settings` that are not None, then `key=value` overrides.

    Later ones win. An override names a nested key with dots (interval.seed=3); its value is YAML. path: the file, or
    the name of a shipped experiment; settings of a run in it that the model lacks are left out. spell: returns how a
    name in `settings` was typed. Raises `UserError` with the field, its value and what is allowed.
    """
    values = merged_settings(path, settings, overrides, RunConfig.model_fields.keys() - model.model_fields.keys())
    spelled = {name: spell(name) for name, value in settings.items() if value is not None}
    spelled |= {key: f"--set {key}" for key in map(override_key, overrides)}
    return validated(model, values, str(path or "the arguments"), spelled)
