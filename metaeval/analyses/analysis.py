"""The declaration of an analysis, and the output that its function returns.

An analysis is a name, one sentence, a pydantic model of options and a function from these to tables. The command
(`metaeval.cli.analysis_command`), the Python function (`metaeval.analyses.function_of_analysis`) and the pages of
options are derived.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, TypeAlias, get_origin

from pydantic import AfterValidator, BeforeValidator, field_serializer

from metaeval.core import config as groups
from metaeval.core import registry
from metaeval.core.config import RunConfig
from metaeval.core.config_files import refuse_repeated
from metaeval.core.declared import Flag, MetricNames, Strict, flag_of, is_typed, kinds_of, option_of
from metaeval.core.errors import RequestsWritten, UserError
from metaeval.core.headings import reading_tables

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from metaeval.analyses.panel import Panel
    from metaeval.corpus.ratings import Ratings
    from metaeval.report.result import Data
    from metaeval.report.table import Table
    from metaeval.runs.score import MetricProgress


Progress: TypeAlias = "MetricProgress | None"
"""Callback that reports the progress of scoring; None reports nothing."""


class DeclaredOptions(Strict):
    """Options of a command: keywords of its Python function and, for fields with a `Flag`, command-line options.

    Settings of a run are inherited from the groups in `metaeval.core.config`. A field of a group is not declared again.
    A class whose pydantic configuration allows extra fields takes further settings by any name.

    Attributes
    ----------
    untyped : frozenset of str
        Fields that the command line takes only with --set.
    """

    untyped: ClassVar[frozenset[str]] = frozenset()

    def run(self, **fixed: Any) -> RunConfig:
        """Return the configuration of the run that the options describe, without checking it again.

        Parameters
        ----------
        **fixed
            Settings that the analysis decides, in place of the options of the same names.

        Returns
        -------
        RunConfig
        """
        shared = {name: getattr(self, name) for name in RunConfig.model_fields if name in type(self).model_fields}
        set_here = (self.model_fields_set & shared.keys()) | fixed.keys()
        settings = {"metrics": RunConfig.model_fields["metrics"].default, **shared, **fixed}
        return RunConfig.model_construct(_fields_set=set_here, **registry.with_places(settings))

    def refuse(self, names: Iterable[str], reason: str) -> None:
        """Refuse options that do not go with others.

        Parameters
        ----------
        names : iterable of str
            The options.
        reason : str
            What follows "--option is" in the message.

        Raises
        ------
        UserError
            For the first of them that was given.
        """
        for name in names:
            if name in self.model_fields_set and getattr(self, name) is not None:
                raise UserError(f"{typed_as(type(self), name)} is {reason}.")

    @property
    def own(self) -> Mapping[str, Any]:
        """Return the options that are no settings of a run (`RunConfig`) and differ from their defaults, by name."""
        fields = type(self).model_fields
        names = (name for name in fields if name not in RunConfig.model_fields and name != "config")
        values = {name: getattr(self, name) for name in names}
        return {name: value for name, value in values.items() if value != fields[name].get_default()}


def typed_as(options: type[DeclaredOptions], name: str) -> str:
    """Return how a field is typed on the command line: --half-width, FILE (an argument) or --set folds=VALUE."""
    flag = flag_of(options.model_fields[name]) if name in options.model_fields else Flag()
    if flag.argument:
        return flag.metavar or name.upper()
    if name not in options.model_fields:
        return name
    if name not in options.untyped and is_typed(options.model_fields[name]):
        return option_of(name, options.model_fields[name])
    kinds = [get_origin(kind) or kind for kind in kinds_of(options.model_fields[name].annotation)]
    return f"--set {name}{'.NAME' if dict in kinds else ''}={'true' if bool in kinds else 'VALUE'}"


class AnalysisOptions(DeclaredOptions):
    """Options of an analysis; the file `config` can give their values."""

    config: Annotated[Path | None, Flag("FILE", "-c")] = None
    """YAML file of settings, or a shipped experiment."""


class EncodingSettings(Strict):
    """The setting for reading CSV files."""

    encoding: str = ""
    """Encoding of CSV files (default: UTF-8, or what the bytes look like)."""


class TableSettings(EncodingSettings):
    """Settings for reading tables."""

    skip_bad_cells: bool = False
    """Leave cells that are not numbers blank in columns of numbers, and count them."""


FileOrObject = Annotated[Any, BeforeValidator(lambda value: Path(value) if isinstance(value, str) else value)]
"""A file, or in Python an object that holds the same: mappings, a data frame."""


def _text_of_name(value: Any) -> Any:
    if not isinstance(value, str | int | Path):
        from metaeval.report.notebook import WrittenOnce

        value = value.write() if isinstance(value, WrittenOnce) else value
    return str(value) if isinstance(value, int | Path) and not isinstance(value, bool) else value


FileOrName = Annotated[str, BeforeValidator(_text_of_name)]
"""A file, or a job by its name or hash (an int too); in Python also an analysis's tables, whose job is then written."""


class RatedOptions(groups.DataSettings, AnalysisOptions):
    """Options of an analysis whose data may be a table of ratings, in Python also a data frame."""

    data: Annotated[FileOrObject, Flag("PATH")] = None
    """Folder that holds the published files, or your file (in Python also a data frame of ratings)."""

    def run(self, **fixed: Any) -> RunConfig:
        """Return the run that the options describe; raises `UserError` for a data frame beside a data set."""
        if not isinstance(self.data, Path | None):
            if (named := fixed.get("dataset", getattr(self, "dataset", ""))) not in ("mini", "ratings"):
                raise UserError(f"The data frame is the data set that is evaluated: leave dataset={named!r} out.")
            fixed |= {"dataset": "ratings", "data": None}
        return super().run(**fixed)

    @field_serializer("data", when_used="json-unless-none")
    def _recorded(self, data: Any) -> Any:
        from metaeval.core.tables import table_of

        return str(data) if isinstance(data, Path) else [row.cells for row in table_of("data", data).rows]

    def ratings(self, run: RunConfig) -> Ratings | None:
        """Return the ratings of a data frame given as `data`; else None."""
        from metaeval.runs.data import ratings_in

        return None if isinstance(self.data, Path | None) else ratings_in(self.data, run)


def own_fields(options: type[DeclaredOptions]) -> list[str]:
    """Return the names of the fields that are no settings shared by all analyses.

    Those without a `Flag` are first, then required arguments.
    """
    classes = (kind for kind in reversed(options.__mro__) if kind.__module__ not in (groups.__name__, __name__))
    fields = options.model_fields
    names = dict.fromkeys(name for kind in classes for name in vars(kind).get("__annotations__", ()) if name in fields)
    arguments = {name for name in names if flag_of(fields[name]).argument and fields[name].is_required()}
    return sorted(names, key=lambda name: (is_typed(fields[name]), name not in arguments))


def _score_files(names: tuple[str, ...]) -> tuple[str, ...]:
    from metaeval.runs.metrics import as_metrics

    return tuple(as_metrics(names))


class ScoredOptions(
    # Fields come in the order of the last base first.
    groups.OutputSettings,
    groups.ScoringSettings,
    groups.StatisticsSettings,
    groups.ProtocolOptionSettings,
    groups.MetricOptionSettings,
    groups.ControlSettings,
    groups.MetricSettings,
    groups.PairSettings,
    groups.DataSettings,
    TableSettings,
    AnalysisOptions,
):
    """Options of an analysis that scores metrics; a subclass declares on which data sets."""


class PanelOptions(ScoredOptions, groups.DatasetSettings):
    """Options of an analysis that scores metrics, each named by the user, on the rows of one data set."""

    untyped = frozenset({"executor", "store", "budget", "pool"})

    metrics: Annotated[MetricNames, AfterValidator(_score_files), Flag("METRIC", multiple=True, argument=True)] = (
        groups.OFFLINE_METRICS
    )
    """Metrics by name, or score files (.csv, .jsonl ...)."""

    @property
    def names_metrics(self) -> bool:
        """Return whether metrics or a settings file were given; else a rated set's published scores are evaluated."""
        return "metrics" in self.model_fields_set or self.config is not None


@dataclass(frozen=True, kw_only=True)
class Done:
    """The output of an analysis, before anything is printed or written.

    Parameters
    ----------
    config : RunConfig
        For the files of the job: settings that the manifest lists.
    data : sequence of Data
        Data sets that it lists (default: those of the tables in `sheets`).
    sheets : sequence of Table
        Tables, each written as a JSON file, and all together as one HTML page.
    job : callable, optional
        Writes the whole job instead of the fields for its files; it takes further fields of the manifest, and returns
        the job's folder and a text about its files.
    panel : Panel, optional
        Scored rows, which are written to a file of pairs.
    files : sequence of callable
        Write further files into the job's folder and return their paths; they may raise `UserError` where an optional
        package is missing.
    outputs : mapping of Path to callable
        Files that the user named, with the functions that write them.
    read : sequence of Path
        Input files that no option names; their hashes are recorded with the options, for `results rerun`.
    identity : (sequence of str, sequence of str), optional
        For a job without tables, the parts of its folder's name and the texts that are hashed into it; an output with
        neither tables nor identity has no folder.
    shown : object
        For the screen: what is printed, by its type (see `metaeval.cli.output.show`), instead of the tables and the
        value; the sentences in `sentences` and `cautions` are printed below it.
    whole : bool
        Whether tables are printed with their signatures.
    verdict : sequence of str
        Lines that are printed even with --quiet.
    written : sequence of str
        Lines about files that the user named, printed once these are written.
    sentences, cautions : sequence of str
        Printed below what is shown.
    warnings : sequence of str
        Sentences about what is left out.
    value : object
        Return value of the Python function (None: the tables).
    after : callable, optional
        Takes the job's folder, and returns the lines that the command prints last.
    exit_code : int
        Exit code of the command.
    rerun_with : DeclaredOptions, optional
        Options to record for `results rerun`, where they differ from those that the user gave.
    """

    config: RunConfig = field(default_factory=RunConfig)
    data: Sequence[Data] = ()
    sheets: Sequence[Table] = ()
    job: Callable[[Mapping[str, Any]], tuple[Path, str]] | None = None
    panel: Panel | None = None
    files: Sequence[Callable[[Path], Sequence[Path]]] = ()
    outputs: Mapping[Path, Callable[[Path], object]] = field(default_factory=dict)
    read: Sequence[Path] = ()
    identity: tuple[Sequence[str], Sequence[str]] | None = None
    shown: object = None
    whole: bool = False
    verdict: Sequence[str] = ()
    written: Sequence[str] = ()
    sentences: Sequence[str] = ()
    cautions: Sequence[str] = ()
    warnings: Sequence[str] = ()
    value: Any = None
    after: Callable[[Path], Sequence[str]] | None = None
    exit_code: int = 0
    rerun_with: DeclaredOptions | None = None


Parts = Generator[Done, None, Done]
"""An analysis in parts: each part is written as soon as it is yielded; the whole is returned."""


@dataclass(frozen=True, kw_only=True)
class Analysis:
    """An analysis, declared as data: its command, help, options, and the function that computes its output.

    Parameters
    ----------
    name : str
        The command as it is typed ("data show": the command `show` of the group `data`).
    summary : str
        One sentence, for lists and as the first line of help.
    options : subclass of DeclaredOptions
        The class of its options.
    run : callable
        Takes checked options and a progress callback, and returns the output, or yields it in `Parts`; raises
        `UserError` before anything is scored.
    about : str
        Further paragraphs of help.
    returns : str
        Type and meaning of what the Python function returns, as "TYPE: meaning" (default: the tables; see
        `Done.value`).
    examples : sequence of str
        Commands without `metaeval`.
    headline : bool
        Whether only a part of the tables is printed, and --full prints all.
    folder : str
        Folder of its jobs below the results (default: the name).
    again : callable
        Maps the options of a completed job to those that rerun it.
    figures : callable, optional
        Takes the folders of completed jobs, and returns figures by file name (None: results and pairs are drawn).
    tree : callable, optional
        Takes a sentence and a parser's name, and returns the figure of the parse tree, what made it, and lines to
        print.
    """

    name: str
    summary: str
    options: type[DeclaredOptions]
    run: Callable[[Any, Progress], Done | Parts]
    about: str = ""
    returns: str = "Sheets: The tables by name; `to_frame(NAME)` gives the records of one, `write()` writes the job."
    examples: Sequence[str] = ()
    headline: bool = False
    folder: str = ""
    again: Callable[[Mapping[str, Any]], Mapping[str, Any]] = dict
    figures: Callable[[Sequence[Path]], dict[str, Figure]] | None = None
    tree: Callable[[str, str], tuple[Figure, str, list[str]]] | None = None

    def complete(
        self, options: DeclaredOptions, progress: Progress, on_part: Callable[[Done], object] | None = None
    ) -> Done:
        """Run the analysis.

        Parameters
        ----------
        options : DeclaredOptions
            Checked options, as `options_of` returns them.
        progress : callable or None
            Reports the progress of scoring.
        on_part : callable, optional
            Called with each part that an analysis in `Parts` yields.

        Returns
        -------
        Done
            The output.
        """
        with reading_tables(getattr(options, "encoding", ""), getattr(options, "skip_bad_cells", False)):
            try:
                output = self.run(options, progress)
                while isinstance(output, Generator):
                    try:
                        part = next(output)
                    except StopIteration as end:
                        output = end.value
                    else:
                        if on_part:
                            on_part(part)
                return output
            except RequestsWritten as told:  # nothing was asked, and there is nothing to tabulate yet
                from metaeval.report.notebook import NotebookText

                return Done(config=options.run(), shown=(), verdict=[str(told)], value=NotebookText(str(told)))

    def outputs(self, options: DeclaredOptions) -> list[Path]:
        """Return the paths of the output files that the options name."""
        outputs = [name for name, declared in self.options.model_fields.items() if flag_of(declared).output]
        named = [getattr(options, name) for name in outputs]
        return [path for path in named if isinstance(path, Path)]

    def options_of(self, settings: Mapping[str, Any], overrides: Sequence[str] | None = None) -> DeclaredOptions:
        """Check settings.

        Parameters
        ----------
        settings : mapping
            Values by name (None: not given).
        overrides : sequence of str, optional
            `key=value` texts of a command line, whose options the messages then name; None for arguments of a Python
            function.

        Returns
        -------
        DeclaredOptions

        Raises
        ------
        UserError
            For a setting that is unknown or wrong.
        """
        fields = self.options.model_fields
        spell = str if overrides is None else partial(typed_as, self.options)
        for name, declared in fields.items():
            alias = flag_of(declared).alias
            if alias and alias not in fields and settings.get(alias) is not None:
                if settings.get(name) is not None:
                    raise UserError(f"{self.name}: {alias} is another name of {name}: give only one of the two.")
                settings = {**{key: value for key, value in settings.items() if key != alias}, name: settings[alias]}
        file = settings.get("config") if issubclass(self.options, AnalysisOptions) else None
        if not (file is None or isinstance(file, str | Path)):
            raise UserError(f"config is {file!r}: it should be a path.")
        refuse_repeated(settings, overrides or (), spell)
        path = None if file is None else Path(file)
        return groups.load_settings(self.options, path, settings, overrides or (), spell)
