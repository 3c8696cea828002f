"""What an analysis declares, and what it hands back.

An analysis is a name, one sentence, a pydantic model of options and a function from these to tables. The command
(`metaeval.cli.declared`), the Python function (`metaeval.analyses.function`) and the pages of options are derived.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, get_origin

from pydantic import AfterValidator, BeforeValidator

from metaeval import registry
from metaeval.config import (
    OFFLINE_METRICS,
    ControlSettings,
    DatasetSettings,
    DataSettings,
    MetricOptionSettings,
    MetricSettings,
    Names,
    OutputSettings,
    PairSettings,
    ProtocolOptionSettings,
    RunConfig,
    ScoringSettings,
    StatisticsSettings,
    Strict,
    load_settings,
)
from metaeval.declared import Flag, flag_of, kinds_of, option_of
from metaeval.errors import UserError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from metaeval.report.result import Data
    from metaeval.report.table import Table
    from metaeval.runs.metric_scores import Panel
    from metaeval.runs.metrics import MetricProgress


class DeclaredOptions(Strict):
    """Options of a command: every field is a keyword of its function, one with a `Flag` an option of its command.

    untyped: fields that the command takes by --set alone.

    Settings of a run are inherited from the groups in `metaeval.config`. A field of a group is not declared again. A
    class whose pydantic configuration allows extra fields takes further settings by any name.
    """

    untyped: ClassVar[frozenset[str]] = frozenset()

    def run(self, **fixed: Any) -> RunConfig:
        """The run that the options describe. fixed: settings that the analysis decides by itself."""
        shared = {name: getattr(self, name) for name in RunConfig.model_fields if name in type(self).model_fields}
        set_here = (self.model_fields_set & shared.keys()) | fixed.keys()
        return RunConfig.model_construct(_fields_set=set_here, **{**shared, **fixed})

    def refuse(self, names: Iterable[str], reason: str) -> None:
        """Raise `UserError` for the first of these options that was given; reason: what it is for, or why not."""
        for name in names:
            if name in self.model_fields_set and getattr(self, name) is not None:
                raise UserError(f"{typed_as(type(self), name)} is {reason}.")

    @property
    def own(self) -> Mapping[str, Any]:
        """The options of the analysis itself that are not at their defaults."""
        fields = type(self).model_fields
        names = (name for name in fields if name not in RunConfig.model_fields and name != "config")
        values = {name: getattr(self, name) for name in names}
        return {name: value for name, value in values.items() if value != fields[name].get_default()}


def typed_as(options: type[DeclaredOptions], name: str) -> str:
    """How a field is typed: as --half-width, or with --set."""
    if name not in options.untyped:
        return option_of(name, options.model_fields[name])
    kinds = [get_origin(kind) or kind for kind in kinds_of(options.model_fields[name].annotation)]
    return f"--set {name}{'.NAME' if dict in kinds else ''}={'true' if bool in kinds else 'VALUE'}"


class AnalysisOptions(DeclaredOptions):
    """Options of an analysis, whose settings can come from a file."""

    config: Annotated[Path | None, Flag("FILE", "-c")] = None
    """YAML file of settings, or name of a shipped experiment."""


def _path_of_text(value: Any) -> Any:
    return Path(value) if isinstance(value, str) else value


FileOrObject = Annotated[Any, BeforeValidator(_path_of_text)]
"""A file, or in Python an object that holds the same: mappings, a data frame."""


def _text_of_name(value: Any) -> Any:
    return str(value) if isinstance(value, int | Path) and not isinstance(value, bool) else value


FileOrName = Annotated[str, BeforeValidator(_text_of_name)]
"""A file, or the name of a job, whose hash may be all digits."""


def own_fields(options: type[DeclaredOptions]) -> list[str]:
    """The fields that a class of options and its bases in the same module declare: objects of Python come first."""
    classes = (kind for kind in reversed(options.__mro__) if kind.__module__ == options.__module__)
    names = [name for kind in classes for name in kind.__annotations__ if name in options.model_fields]
    return sorted(names, key=lambda name: any(isinstance(part, Flag) for part in options.model_fields[name].metadata))


def _score_files(names: tuple[str, ...]) -> tuple[str, ...]:
    from metaeval.runs.metric_scores import as_metrics

    return tuple(as_metrics(names))


class ScoredOptions(
    # Fields come in the order of the last base first.
    OutputSettings,
    ScoringSettings,
    StatisticsSettings,
    ProtocolOptionSettings,
    MetricOptionSettings,
    ControlSettings,
    MetricSettings,
    PairSettings,
    DataSettings,
    AnalysisOptions,
):
    """Options of an analysis that scores metrics on rows of data; which data sets, it says itself."""


class RowOptions(ScoredOptions):
    """Options of an analysis whose metrics are named one by one."""

    untyped = frozenset({"executor", "store", "budget", "pool"})

    metrics: Annotated[Names, AfterValidator(_score_files), Flag("METRIC", multiple=True, argument=True)] = (
        OFFLINE_METRICS
    )
    """Metrics by name, or score files (.csv, .jsonl ...)."""

    @property
    def names_metrics(self) -> bool:
        """Whether metrics are named; a rated set without names has all its published scores evaluated."""
        return "metrics" in self.model_fields_set or self.config is not None


class PanelOptions(RowOptions, DatasetSettings):
    """Options of an analysis that scores metrics on the rows of one data set."""


@dataclass(frozen=True, kw_only=True)
class Done:
    """What an analysis hands back; nothing of it is printed or written yet.

    config: of the manifest. data: what was read, for the manifest (default: that of the sheets). sheets: tables,
    written as JSON and on one page. job: writes a whole job, in place of all else that a job holds, with what its
    manifest says besides; returns its folder, and its files or in words what is in it. read: input files that no option
    names by itself, held in the recipe by their hashes. identity: of a job without sheets, parts of its folder's name
    and what its hash is of; without any of these the job has no folder. panels: what was judged, written
    as pairs. files: writers of further files of the job's folder; each returns the paths that it wrote, and may raise
    `UserError` where an optional package is missing: all else is written. outputs: files that the user named, with
    their writers. shown: what is printed, by its type (`metaeval.cli.output.show`), in place of the sheets and the
    value; sentences and notes of caution below it. whole: tables with their signatures. verdict: lines that are
    printed with --quiet too. warnings: sentences about what is left out. value: what the Python function returns (None:
    the sheets). after: what the command says at the end, from the job's folder. exit_code: of the command. rerun_with:
    the options of the job's recipe, where they are others than those that were given.
    """

    config: RunConfig = field(default_factory=RunConfig)
    data: Sequence[Data] = ()
    sheets: Sequence[Table] = ()
    job: Callable[[Mapping[str, Any]], tuple[Path, str | Sequence[Path]]] | None = None
    panels: Sequence[Panel] = ()
    files: Sequence[Callable[[Path], Sequence[Path]]] = ()
    outputs: Mapping[Path, Callable[[Path], object]] = field(default_factory=dict)
    read: Sequence[Path] = ()
    identity: tuple[Sequence[str], Sequence[str]] | None = None
    shown: object = None
    whole: bool = False
    verdict: Sequence[str] = ()
    sentences: Sequence[str] = ()
    cautions: Sequence[str] = ()
    warnings: Sequence[str] = ()
    value: Any = None
    after: Callable[[Path], Sequence[str]] | None = None
    exit_code: int = 0
    rerun_with: DeclaredOptions | None = None


Parts = Generator[Done, None, Done]
"""An analysis in parts: each is written as soon as it is there, and what is returned is the whole."""


@dataclass(frozen=True, kw_only=True)
class Analysis:
    """An analysis, as data and one function.

    name: as it is typed; a second word is that of a command in a group. summary: one sentence, for lists and as the
    first line of help. about: further paragraphs of help. examples: commands without `metaeval`. options: its fields.
    run: from checked options, and whom progress is told, to what is printed and written, or to `Parts`; raises
    `UserError` before anything is scored. headline: less is printed than is written, and --full prints all. folder: of
    its jobs, in that of results (default: the name). json: the text of its value, which --json prints in place of
    everything else. again: from the options of a completed job to those with which it is run again. figures: of the
    folders of completed jobs (None: what results and pairs show). tree: draws a sentence with a parser's name.
    """

    name: str
    summary: str
    options: type[DeclaredOptions]
    run: Callable[[Any, MetricProgress | None], Done | Parts]
    about: str = ""
    examples: Sequence[str] = ()
    headline: bool = False
    folder: str = ""
    json: Callable[[Any], str] | None = None
    again: Callable[[Mapping[str, Any]], Mapping[str, Any]] = dict
    figures: Callable[[Sequence[Path]], dict[str, Figure]] | None = None
    tree: Callable[[str, str], tuple[Figure, str, list[str]]] | None = None

    @property
    def earlier(self) -> Mapping[str, str]:
        """The earlier name of each option that has been renamed."""
        fields = self.options.model_fields.items()
        return {name: flag_of(declared).earlier for name, declared in fields if flag_of(declared).earlier}

    def complete(
        self, options: DeclaredOptions, progress: MetricProgress | None, on_part: Callable[[Done], object] | None = None
    ) -> Done:
        """Run the analysis; what the whole hands back. on_part: called with each part as soon as it is there."""
        found = self.run(options, progress)
        while isinstance(found, Generator):
            try:
                part = next(found)
            except StopIteration as end:
                found = end.value
            else:
                if on_part:
                    on_part(part)
        return found

    def outputs(self, options: DeclaredOptions) -> list[Path]:
        """The files that options name to be written."""
        named = [
            getattr(options, name) for name, declared in self.options.model_fields.items() if flag_of(declared).output
        ]
        return [path for path in named if isinstance(path, Path)]

    def options_of(self, settings: Mapping[str, Any], overrides: Sequence[str] = ()) -> DeclaredOptions:
        """Checked options from settings by name (None: not given) and `key=value` overrides; `UserError` else."""
        fields = self.options.model_fields
        for name, earlier in self.earlier.items():
            if earlier not in fields and settings.get(earlier) is not None:
                raise UserError(f"{self.name}: {earlier} is the earlier name of {name}.")
        for name, declared in fields.items():
            alias = flag_of(declared).alias
            if alias and alias not in fields and settings.get(alias) is not None:
                if settings.get(name) is not None:
                    raise UserError(f"{self.name}: {alias} is another name of {name}: give one of the two.")
                settings = {**{key: value for key, value in settings.items() if key != alias}, name: settings[alias]}
        file = settings.get("config") if issubclass(self.options, AnalysisOptions) else None
        if not (file is None or isinstance(file, str | Path)):
            raise UserError(f"Setting 'config' in the settings is {file!r}: it should be a path.")
        return load_settings(self.options, None if file is None else Path(file), settings, overrides)


@dataclass(frozen=True)
class Family:
    """Analyses that are made of things of another kind.

    adapt: from such a thing to its analysis. call: what calling their group does, as `metaeval.cite(...)`.
    """

    adapt: Callable[[Any], Analysis]
    call: Callable[..., Any]


GROUPS: Mapping[str, str] = {
    "cite": "Judge the citations in answers, with any metric.",
    "gate": "Fit a release gate, check a release, write the workflow.",
    "data": "Show, fetch, verify, convert, validate and audit data sets.",
    "metrics": "List, show, verify and serve metrics.",
    "shards": "Plan, show, merge and verify the shards of a job.",
    "results": "Show, explain, export, draw, compare, rerun or delete jobs.",
    "store": "Verify and compact the stores of scores and replies.",
}
"""The help of each group of commands; those registered as data.show, data.fetch ... are the group data."""


USUAL: Mapping[str, str] = {"cite": "alce"}
"""The command of a group that is meant where files or options are typed and no command is named."""


def names_in(group: str) -> list[str]:
    """What can be typed behind a group ("": behind `metaeval`): the commands and groups that are registered."""
    prefix = f"{group}." if group else ""
    inside = (name.removeprefix(prefix) for name in registry.names("analysis") if name.startswith(prefix))
    return sorted({name.partition(".")[0] for name in inside})
