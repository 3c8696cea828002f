"""The metrics of a run: loaded by name and checked, without their models; and the cut-offs of their verdicts."""

from __future__ import annotations

import inspect
import logging
import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from metaeval.core import registry
from metaeval.core.config import RunConfig
from metaeval.core.config_files import MetricVariant, check_file, metric_variant, variants
from metaeval.core.declared import validated
from metaeval.core.errors import NoModelError, UserError, did_you_mean, install_extra, unknown
from metaeval.core.files import canonical_json, job_memory, sha256_json
from metaeval.core.headings import SCORES, TEXTS
from metaeval.core.registry import with_places
from metaeval.core.tables import TABLES
from metaeval.corpus.model import Corpus
from metaeval.corpus.ratings import Ratings
from metaeval.report.table_files import load_table
from metaeval.runs.data import (
    Job,
    RatedSet,
    find_dataset,
    kind_of_data,
    load_corpus,
    prepare,
    prepare_ratings,
    variant_path,
)
from metaeval.scoring.backends.model_metric import ModelMetric
from metaeval.scoring.contract import Combination, Metric, MetricCard, TextPair, TwoStepMetric, version_of
from metaeval.scoring.engine import settled_metric
from metaeval.scoring.functions import FunctionMetric, as_class, cause_of, files_hash
from metaeval.scoring.functions import identity_of as declared_identity
from metaeval.scoring.score_files import SUFFIXES, ScoreFile, read_scores

_log = logging.getLogger("metaeval")


def load_metric(name: str, config: RunConfig | None) -> Metric:
    """Load a metric by its registered name, a variant's name, 'name:argument' or 'module:Class'.

    config: the run, whose options the metric takes. None: the name was read from data (a signature, a file of another
    folder), so that only registered metrics are loaded. Raises `UserError` for a wrong name, option or value, and for
    code that is not trusted.
    """
    path = None if registry.is_given("metric", name) else variant_path("metric", name)
    variant = metric_variant(path) if path else MetricVariant(metric=name)
    base, colon, argument = name.partition(":")
    # nli:MODEL_ID: what follows the colon is the value of the option that the card declares as its argument.
    takes = colon and not path and base in registry.names("metric")
    if takes and (option := registry.find("metric", base).card.argument):
        variant = MetricVariant(metric=base, options={option: argument})
    trusted = bool(config and (path is None or config.trust_config))
    if path and not trusted:
        check_file(path, {"metric": variant.metric, "metric_options": {variant.metric: variant.options}})
    if config is None:
        registry.check_typed("metric", name)
        config = RunConfig()
    kind = as_class(registry.find("metric", variant.metric, path, code=trusted))
    if not (isinstance(kind, type) and issubclass(kind, Metric)):
        raise UserError(f"{name!r} is not a metric: give a function of (source, statement), or a metaeval.Metric.")
    if inspect.isabstract(kind):
        raise UserError(f"Metric {name!r} does not define {', '.join(sorted(kind.__abstractmethods__))}().")
    if not isinstance(getattr(kind, "card", None), MetricCard):
        raise UserError(f"Metric {name!r} has no card: set card = MetricCard(name=..., ...) on its class.")
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
    if identity := declared_identity(code):
        bounds = f" ({card.low} to {card.high})" if (card.low, card.high) != (None, None) else ""
        return f"identity:{identity}{bounds}{versions}", True
    if name in registry.names("metric"):
        return versions.strip(), True
    memory, module = job_memory(), name.partition(":")[0]
    if registry.is_given("metric", name) or not (files := memory.get(("files", module)) or files_hash(module)):
        return f"{name}@undeclared", False
    memory["files", module] = files  # a file that is edited while the job runs is not what it runs
    return f"{name}@sha256:{files}{versions}", not memory.get("from_python")


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
                    f"Metric {name!r} needs the packages {', '.join(missing)}: type "
                    f"{install_extra(card.extra) if card.extra else pip}, or choose overlap, rouge, bm25, support-mini."
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


FILE_PREFIX = "scores:"


PUBLISHED = "published"
"""The name that stands for all metrics whose scores were published with the data."""


def load_run_data(
    config: RunConfig, data: Corpus | Ratings | None = None, published: bool = False
) -> tuple[LoadedMetrics, Job | RatedSet]:
    """Load the run's metrics, and then its data (or take `data`); ratings first, whose published scores have names.

    published: whether all published scores of ratings are evaluated, before the metrics that the run names. Raises
    `UserError` as `named_metrics` does, and where ratings lack the texts that a metric would read.
    """
    if isinstance(data, Corpus) or (data is None and kind_of_data(config) == "corpus"):
        return named_metrics(config), prepare(config, data)
    named = [name for name in config.metrics if name != PUBLISHED and not name.startswith(FILE_PREFIX)]
    known = {*registry.names("metric"), *(name for name in named if ":" in name or registry.is_given("metric", name))}
    dataset = find_dataset(config.dataset, config)[0]
    files = data is None and any(dataset.files.values())
    if files and not dataset.texts and known.intersection(named):
        load_corpus(config)  # which says that the texts are not there
    rated = prepare_ratings(config, data)
    scores = rated.ratings.scores
    if unscored := [name for name in named if name not in scores]:
        others = (name for name in unscored if name not in known and (files or did_you_mean(name, scores)))
        if (wrong := next(others, None)) is not None:
            raise unknown(f"metric published with {rated.name}", wrong, scores)
        _ = rated.texts
    both = [name for name in named if name in scores and name in known]
    if both and len(rated.text_headings) == len(TEXTS):
        _log.warning("%s: %s is the column of this name: rename it to run the metric.", rated.name, ", ".join(both))
    names = tuple(dict.fromkeys([*(scores if published else ()), *config.metrics]))
    config = config.model_copy(update={"metrics": names})
    return named_metrics(config, scores) if names else load_metrics((), config), rated


def named_metrics(config: RunConfig, published: Collection[str] | None = None) -> LoadedMetrics:
    """Load the run's metrics and score files before any work is done; published metrics have nothing to load.

    published: names of the scores that come with ratings; None for a corpus, whose data set names them. Options of a
    known metric that is not part of the run are ignored with a warning. Raises `UserError` for a wrong metric or none,
    a missing score file, and options of an unknown metric.
    """
    if not config.metrics:
        raise UserError("No metric is given: give at least one, for example --metrics overlap.")
    files = [name for name in dict.fromkeys(config.metrics) if name.startswith(FILE_PREFIX)]
    scored = {*files, PUBLISHED, *(find_dataset(config.dataset, config)[0].scores if published is None else published)}
    registry.refuse_given("metric", scored, f"the published scores of {config.dataset}")
    metrics = load_metrics((name for name in config.metrics if name not in scored), config)
    # The other mapped columns belong to the ratings.
    mapping = {role: name for role, name in config.columns.items() if published is None or role in SCORES}
    metrics = replace(metrics, files={name: read_scores(score_path(name), mapping) for name in files})
    known = {*config.metrics, *(name.partition(":")[0] for name in config.metrics)}
    for owner in sorted(config.metric_options.keys() - known):
        base = owner.partition(":")[0]
        if base not in registry.names("metric") and owner not in variants("metrics"):
            every = {*config.metrics, *registry.names("metric"), *variants("metrics")}
            raise unknown("metric in metric_options", owner, every, registry.LIST_COMMAND["metric"])
        _log.warning("The options of %s are ignored: it is not a metric of this run.", owner)
    return metrics


def score_path(name: str) -> Path:
    """Return the path of a score file from its name among the metrics, scores:PATH."""
    return Path(name.removeprefix(FILE_PREFIX))


def as_metrics(names: Sequence[str]) -> list[str]:
    """Return metrics as a run's setting `metrics` names them: "scores:" is put before a path of a score file."""
    ends = (*SUFFIXES, *TABLES)
    return [f"{FILE_PREFIX}{name}" if name.endswith(ends) and ":" not in name else name for name in names]


def check_batch(metrics: LoadedMetrics) -> None:
    """Raise `UserError` for a file of a batch's replies if no metric of the run asks a chat model."""
    if metrics.config.batch is not None:
        metrics.check_asking("--replies")


SOFT = "soft"
"""What is given in place of a threshold to make no decision: scores are degrees of support."""


SHEET = "calibration"
"""Name of the table that holds calibrated thresholds."""


@dataclass(frozen=True, slots=True)
class Cutoff:
    """The score of a metric at which, and beyond which, claims count as supported.

    value: raw; beyond it is above, or below for a metric of which lower is better. None: there is no threshold, and the
    score itself is the degree of support ("soft"). source: where the value is from, in words.
    """

    value: float | None
    source: str


def read_thresholds(text: str | None, names: Sequence[str], option: str = "--threshold") -> dict[str, float | None]:
    """Return thresholds by metric from a text: one for all (0.5, soft), or NAME=X with commas; None is soft.

    A metric without one is left out. option: that the text is from, for errors. Raises `UserError` for a name that is
    not among the metrics, and for a value that is neither a number nor `soft`.
    """
    thresholds: dict[str, float | None] = {}
    for part in (part.strip() for part in (text or "").split(",") if part.strip()):
        # A metric's name may contain a colon, but no equals sign.
        name, equals, number = part.rpartition("=")
        (name,) = [name] if name in names else with_places({"metrics": [name]})["metrics"]
        if equals and name not in names:
            raise unknown(f"backend in {option}", name, names)
        try:
            value = None if number == SOFT else float(number)
        except ValueError:
            value = math.nan
        if value is not None and not math.isfinite(value):
            raise UserError(f"{option} is {number!r}; allowed: a number, soft, or NAME=X for one metric of several.")
        thresholds |= dict.fromkeys([name] if equals else names, value)
    return thresholds


def find_cutoff(
    name: str, metric: Metric, thresholds: Mapping[str, float | None], calibrations: Sequence[Path] = ()
) -> Cutoff:
    """Return a metric's threshold from `thresholds` (None: soft), else from the first file with one, else its card.

    Raises `UserError` where there is none, and for a calibration with other options, weights or code.
    """
    if name in thresholds:
        return Cutoff(thresholds[name], "as given")
    for path in calibrations:
        if (cutoff := _calibrated(name, metric, path)) is not None:
            return cutoff
    card = metric.card
    # The threshold of a card was calibrated with default options, and is invalid with others.
    if card.threshold is not None:
        options, runtime = metric.options, set(metric.options.runtime)
        changed = options.model_dump(exclude=runtime) != type(options)().model_dump(exclude=runtime)
        if card.threshold == card.neutral or not changed:
            return Cutoff(card.threshold, card.threshold_from)
    why = "none with these options" if card.threshold is not None else "none that is known"
    raise UserError(
        f"The metric {name!r} needs a threshold; it has {why}. Give --threshold X, or learn one from human labels "
        f"(metaeval thresholds {name} --learn -d NAME) and add -s calibration=FILE."
    )


def identity_of(name: str, metric: Metric) -> str:
    """Return a hash of everything that can change the metric's scores."""
    with plug_in(name):
        return sha256_json(metric.identity())[:16]


def _calibrated(name: str, metric: Metric, path: Path) -> Cutoff | None:
    sheet = load_table(path)
    if sheet.name != SHEET:
        raise UserError(f"{path} is a table of {sheet.name!r}, not of thresholds (of 'thresholds --learn').")
    for record in sheet.records:
        if record.get("metric") != name:
            continue
        if not metric.kept or record.get("identity") != identity_of(name, metric):
            raise UserError(f"{path}: {name!r} had other options, weights or code: learn its threshold again.")
        value = record.get("threshold")
        if not isinstance(value, float):
            raise UserError(f"{path}: the threshold of {name!r} is {value!r}, which is not a number: learn it again.")
        target = sheet.settings.get("target", "full")
        return Cutoff(value, f"calibrated on {sheet.data.name}/{sheet.data.split}, {target} support")
    return None


def judge_of(name: str, metrics: LoadedMetrics) -> Metric:
    """Return the metric `name` if it can judge pairs one by one; no model is loaded or downloaded yet.

    Raises `UserError` for a file or column of scores, and a metric whose score of a pair depends on the other pairs.
    """
    if name not in metrics.by_name:
        raise UserError(f"{name} is a file or column of scores and cannot score new pairs: give a metric by its name.")
    metric = metrics.fresh(name)
    if isinstance(metric, Combination) or metric.corpus_dependent:
        raise UserError(f"The score that {name!r} gives a pair depends on the other pairs: it cannot judge a claim.")
    return metric
