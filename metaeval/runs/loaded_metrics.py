"""Load metrics by name, choose the processes that score, and score a job with several metrics."""

from __future__ import annotations

import inspect
import logging
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from metaeval.core import registry
from metaeval.core.config import RunConfig
from metaeval.core.config_files import MetricVariant, check_file, metric_variant
from metaeval.core.declared import validated
from metaeval.core.errors import NoModelError, UserError, install_extra
from metaeval.core.files import canonical_json, job_memory, sha256_json
from metaeval.runs.prepared_run import variant_path
from metaeval.scoring.backends.model_loading import devices_of
from metaeval.scoring.backends.model_metric import ModelMetric
from metaeval.scoring.contract import (
    Combination,
    Metric,
    MetricCard,
    TextPair,
    TwoStepMetric,
    checked_answer,
    version_of,
)
from metaeval.scoring.engine import ScoredPairs, score_jointly, settled_metric
from metaeval.scoring.executors.contract import Execute, WorkerRecipe
from metaeval.scoring.executors.local import ProcessPool, places
from metaeval.scoring.executors.worker_pool import Pool
from metaeval.scoring.functions import FunctionMetric, as_class, cause_of, files_hash, identity_of
from metaeval.scoring.score_files import ScoreFile
from metaeval.scoring.score_store import ScoreStore

_VERSIONED = ("metaeval", "numpy", "torch", "transformers", "tokenizers")


@contextmanager
def worker_pool(config: RunConfig) -> Iterator[Pool | None]:
    """Yield the pool of processes that score, which start when first needed; None if this process alone scores."""
    if config.executor.name == "ray":
        from metaeval.scoring.executors.ray import RayPool

        with closing(RayPool(config.executor.address, config.executor.workers, config.executor.most)) as actors:
            yield actors
        return
    if config.executor.alone:
        yield None
        return
    workers, devices = config.executor.workers, devices_of(config.executor.devices)
    if devices and workers not in (0, len(devices)):
        raise UserError(
            f"executor.workers is {workers} and executor.devices names {len(devices)}: one process runs on "
            "each device, so leave executor.workers out."
        )
    if os.name != "posix":
        raise UserError("Several processes need Linux or macOS: leave executor.workers and executor.devices out.")
    with closing(ProcessPool(places(workers or len(devices), devices))) as processes:
        yield processes


def scoring_function(
    pool: Pool | None, names: Sequence[str], metrics: Sequence[Metric], config: RunConfig
) -> Execute | None:
    """Return what scores blocks with metrics which share a job in the pool; None: this process does.

    That is without a pool, for objects of this Python session, and for metrics whose `where` is "driver".
    """
    # What Python gave is found in this process alone.
    here_alone = any(registry.is_given("metric", name) for name in names)
    if pool is None or here_alone or any(metric.where == "driver" for metric in metrics):
        return None
    return partial(pool.run, recipe_of(names, metrics, config))


def recipe_of(names: Sequence[str], metrics: Sequence[Metric], config: RunConfig) -> WorkerRecipe:
    """Return the recipe (names, options, identities, versions) from which another process makes these metrics."""
    settings = config.model_dump(mode="json", include={"metric_options", "budget"})
    identities = tuple(sha256_json(metric.identity()) for metric in metrics)
    return WorkerRecipe(tuple(names), {**settings, "trust_config": config.trust_config}, identities, package_versions())


def package_versions() -> Mapping[str, str]:
    """Return the versions of the packages that scores depend on, by name; "none" for one that is not installed."""
    return {name: version_of(name) for name in _VERSIONED}


_log = logging.getLogger("metaeval")


def load_metric(name: str, config: RunConfig | None) -> Metric:
    """Load a metric by its registered name, a variant's name, 'name:argument' or 'module:Class'.

    config: the run, whose options the metric takes. None: the name was read from data (a signature, a file of another
    folder), so that only registered metrics are loaded. Raises `UserError` for a wrong name, option or value, and for
    code that is not trusted.
    """
    path = None if registry.is_given("metric", name) else variant_path("metric", name)
    variant = metric_variant(path) if path else _by_argument(name) or MetricVariant(metric=name)
    trusted = bool(config and (path is None or config.trust_config))
    if path and not trusted:
        check_file(path, {"metric": variant.metric, "metric_options": {variant.metric: variant.options}})
    if config is None:
        registry.check_typed("metric", name)
        config = RunConfig()
    kind = as_class(registry.find("metric", variant.metric, path, code=trusted))
    _check_class(name, kind)
    # Options of `nli` hold for every `nli:MODEL`.
    options = {**({} if path else config.metric_options.get(variant.metric, {})), **variant.options}
    for setting in ("budget", "batch"):
        if getattr(config, setting) is not None and setting in kind.Options.model_fields:
            options[setting] = getattr(config, setting)
    options.update(config.metric_options.get(name, {}))
    with plug_in(name):
        metric: Metric = kind(validated(kind.Options, options, f"the options of metric {name!r}"))
    metric.origin, metric.kept = _origin(variant.metric, kind)
    return metric


def _origin(name: str, kind: type[Metric]) -> tuple[str, bool]:
    """Return what is known of a metric's code ("": it is registered), and whether its scores are stored beyond the job.

    That is the identity that it declares, else the hash of its files, and the versions of the packages that it
    declares. Objects of a Python session have no hash: what they do can change without any file. Their scores are not
    stored, nor are those of a module that the session, which may have loaded it before it was edited, names.
    """
    card, code = kind.card, kind.function if issubclass(kind, FunctionMetric) else kind
    packages = getattr(getattr(code, "function_card", None), "packages", ())
    versions = "".join(f" {package} {version_of(package)}" for package in packages)
    if identity := identity_of(code):
        bounds = f" ({card.low} to {card.high})" if (card.low, card.high) != (None, None) else ""
        return f"identity:{identity}{bounds}{versions}", True
    if name in registry.names("metric"):
        return versions.strip(), True
    memory, module = job_memory(), name.partition(":")[0]
    if registry.is_given("metric", name) or not (files := memory.get(("files", module)) or files_hash(module)):
        return f"{name}@undeclared", False
    memory["files", module] = files  # a file that is edited while the job runs is not what it runs
    return f"{name}@sha256:{files}{versions}", not memory.get("from_python")


def _by_argument(name: str) -> MetricVariant | None:
    """Return the metric and option of a name such as `nli:MODEL_ID`; None for other names.

    What follows the colon is the value of the option that the metric's card declares as its argument; None without one.
    """
    base, colon, argument = name.partition(":")
    if not colon or base not in registry.names("metric"):
        return None
    option = registry.find("metric", base).card.argument
    return MetricVariant(metric=base, options={option: argument}) if option else None


def _check_class(name: str, kind: Any) -> None:
    """Raise `UserError` for an object that is not a metric class, and for a class without a card or a method."""
    if not (isinstance(kind, type) and issubclass(kind, Metric)):
        raise UserError(
            f"{name!r} is not a metric: give the name of a function of (source, statement), or of a subclass of "
            "metaeval.Metric."
        )
    if inspect.isabstract(kind):
        raise UserError(
            f"Metric {name!r} does not define {', '.join(sorted(kind.__abstractmethods__))}(): add it there."
        )
    card = getattr(kind, "card", None)
    if not isinstance(card, MetricCard):
        raise UserError(f"Metric {name!r} has no card: set card = MetricCard(name=..., ...) on its class.")


@contextmanager
def plug_in(name: str) -> Iterator[None]:
    """Turn an exception in a metric's code (no `UserError`, no broken pipe) into a `UserError` with type and line."""
    try:
        yield
    except (UserError, BrokenPipeError):  # the reader of the progress closes the pipe
        raise
    except Exception as error:
        sentence = f"Metric {name!r} stopped with {cause_of(error)}: correct it, and run this again."
        raise UserError(sentence) from error


def able_defaults(config: RunConfig) -> RunConfig:
    """Return the configuration without default metrics whose packages are not installed; a logged warning names them.

    It is unchanged where the user named the metrics.
    """
    if "metrics" in config.model_fields_set:
        return config
    lacking = {name: card for name in config.metrics if (card := registry.find("metric", name).card).missing}
    if lacking:
        extras = ",".join(dict.fromkeys(card.extra for card in lacking.values()))
        _log.warning("Not run: %s. To add them, type %s.", ", ".join(lacking), install_extra(extras))
    able = tuple(name for name in config.metrics if name not in lacking)
    return config.model_copy(update={"metrics": able})


NOT_ASKING = "None of {} asks a chat model, as {} requires: leave it out, or give a judge (llm-discrete)."


@dataclass(frozen=True, eq=False)
class LoadedMetrics:
    """The metrics of a run and those that they combine, each loaded and checked once, before anything is scored.

    They hold no model: `fresh` makes the metric that scores. names: the run's metrics, without score files. by_name:
    these and members of combinations. files: contents of the run's score files, by name; one may hold several metrics.
    """

    config: RunConfig
    names: tuple[str, ...]
    by_name: Mapping[str, Metric]
    files: Mapping[str, Sequence[ScoreFile]] = field(default_factory=dict)
    _given: set[str] = field(default_factory=set)

    def __getitem__(self, name: str) -> Metric:
        return self.by_name[name]

    def only(self, names: Iterable[str]) -> LoadedMetrics:
        """Return the same metrics with only these as the run's; members of combinations stay loaded."""
        return replace(self, names=tuple(names))

    @property
    def combinations(self) -> dict[str, Combination]:
        """Return the run's metrics that combine others, by name."""
        return {name: metric for name in self.names if isinstance(metric := self[name], Combination)}

    @property
    def single(self) -> list[str]:
        """Return the names of the metrics that read texts: the run's without combinations, then these' members."""
        members = [member for metric in self.combinations.values() for member in metric.members]
        return [name for name in dict.fromkeys([*self.names, *members]) if name not in self.combinations]

    def fresh(self, name: str) -> Metric:
        """Return an unprepared metric of this name with the same options, which will hold the model.

        A user's class with an `__init__` may load its model there: the first call returns the loaded metric itself.
        """
        loaded = self[name]
        if loaded.origin and "__init__" in vars(type(loaded)) and name not in self._given:
            self._given.add(name)
            return loaded
        with plug_in(name):
            metric = type(loaded)(loaded.options)
        metric.origin, metric.kept = loaded.origin, loaded.kept
        return metric

    def settled(self, pairs: Collection[TextPair]) -> LoadedMetrics:
        """Return the metrics with the options that texts determine (as a language)."""
        options = {name: metric.settled(pairs) for name, metric in self.by_name.items()}
        by_name = {name: settled_metric(metric, (), options[name]) for name, metric in self.by_name.items()}
        known = self.config.metric_options
        changed = {name: {**known.get(name, {}), **chosen} for name, chosen in options.items() if chosen}
        if not changed:
            return self
        config = self.config.model_copy(update={"metric_options": {**known, **changed}})
        return replace(self, config=config, by_name=by_name)

    def groups(self) -> list[list[str]]:
        """Return the names of the single metrics, grouped by the output of a model that they share; most are alone."""
        groups: dict[str, list[str]] = {}
        for name in self.single:
            metric = self[name]
            with plug_in(name):
                try:
                    identity = metric.identity()  # finds or fetches the checkpoint
                except NoModelError as error:
                    error.metric = name  # as the run names it
                    raise
                shared = metric.observed() if isinstance(metric, TwoStepMetric) else {name: identity}
            groups.setdefault(canonical_json(shared), []).append(name)
        return list(groups.values())

    def check_asking(self, option: str) -> None:
        """Raise `UserError` if none of these metrics, or their members, asks a chat model, which `option` needs."""
        if not any("batch" in metric.Options.model_fields for metric in self.by_name.values()):
            raise UserError(NOT_ASKING.format(", ".join(self.names), option))


def load_metrics(wanted: Iterable[str], config: RunConfig) -> LoadedMetrics:
    """Load a run's metrics (each name once) and the members of combinations, without their models.

    Raises `UserError` for a wrong name, option or value, missing packages, and a combination of combinations.
    """
    by_name: dict[str, Metric] = {}

    def load(name: str) -> Metric:
        if name not in by_name:
            by_name[name] = metric = load_metric(name, config)
            if missing := (card := metric.card).missing:
                pip = f'"pip install {card.install or " ".join(missing)}"'
                raise UserError(
                    f"Metric {name!r} needs the packages {', '.join(missing)}, which are not installed here: type "
                    f"{install_extra(card.extra) if card.extra else pip}, or choose other metrics (those without a "
                    "model: overlap, rouge, bm25, support-mini)."
                )
            if isinstance(metric, ModelMetric) and metric.place:
                _ = metric.model_folder  # one that is not there is told before data are read
        return by_name[name]

    names = tuple(dict.fromkeys(wanted))
    for name in names:
        metric = load(name)
        for member in metric.members if isinstance(metric, Combination) else ():
            if isinstance(load(member), Combination):
                raise UserError(f"{name!r} combines {member!r}, itself a combination: combine single metrics.")
    return LoadedMetrics(config, names, by_name)


MetricProgress = Callable[[str, int, int], None]
"""Called with the metric's name, the number of scored pairs, and the number of all pairs."""


def score_metrics(
    texts: Sequence[TextPair],
    names: Sequence[str],
    config: RunConfig,
    store: ScoreStore | None = None,
    progress: MetricProgress | None = None,
) -> Iterator[tuple[str, Metric, ScoredPairs]]:
    """Score (source, statement) texts with each metric; yield its name, the metric and its scores, combinations last.

    Every checkpoint is found (or fetched) before the first metric scores. The models of one group are released before
    those of the next are loaded. Scores are in the order of the texts; a store (None: none) keeps them.
    """
    with worker_pool(config) as pool:
        yield from score_in(pool, texts, load_metrics(names, config), store, progress)


def score_in(
    pool: Pool | None,
    texts: Sequence[TextPair],
    metrics: LoadedMetrics,
    store: ScoreStore | None,
    progress: MetricProgress | None,
) -> Iterator[tuple[str, Metric, ScoredPairs]]:
    """Score texts with each metric in a pool (None: here); yield name, metric and scores of each, combinations last."""
    metrics = metrics.settled(texts)
    combinations = metrics.combinations
    members = {member for metric in combinations.values() for member in metric.members}
    member_scores: dict[str, tuple[int, ScoredPairs]] = {}
    for group in metrics.groups():
        label, models = " + ".join(group), [metrics.fresh(name) for name in group]
        with plug_in(label):
            report = partial(progress, label) if progress else None
            execute = scoring_function(pool, group, models, metrics.config)
            answers = score_jointly(models, texts, store, report, execute)
        for name, metric, scored in zip(group, models, answers, strict=True):
            if note := metric.note():
                _log.info("%s: %s", name, note)
            if name in members:
                member_scores[name] = metric.card.direction, scored
            if name in metrics.names:
                yield name, metric, scored
        del models, metric
    for name, combination in combinations.items():
        parts = [member_scores[member] for member in combination.members]
        yield name, combination, _combine(name, combination, parts, texts)


def _combine(
    name: str, metric: Combination, parts: Sequence[tuple[int, ScoredPairs]], texts: Sequence[TextPair]
) -> ScoredPairs:
    # Unique pairs only: a pair that occurs twice in the job would count twice in the scale.
    first = {pair: number for number, pair in reversed(list(enumerate(texts)))}
    numbers = sorted(first.values())
    answers = [[scored.answers[number].oriented(direction) for number in numbers] for direction, scored in parts]
    with plug_in(name):
        combined = [checked_answer(metric, answer) for answer in metric.combine(answers)]
        unique = dict(zip((texts[number] for number in numbers), combined, strict=True))
    identity = {
        **metric.identity(),
        "members": [scored.identity for _, scored in parts],
        "corpus": sha256_json(sorted(set(texts))),
    }
    return ScoredPairs([unique[pair] for pair in texts], identity, len(unique), 0)
