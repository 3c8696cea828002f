"""The declaration of a citation pipeline, and the options that pipelines share.

A pipeline declares its options, what it needs, and five functions: read, estimate, ask, judge and lay out. `run.py`
does everything else, in the same way for all pipelines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, is_dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, TypeAlias, TypeVar, cast, get_type_hints

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError

from metaeval import registry
from metaeval.citation.chat_models import ChatOptions, replayed_model
from metaeval.citation.data_model import Answer
from metaeval.config import RunConfig
from metaeval.declared import Flag, option_docs, validated
from metaeval.errors import UserError, did_you_mean
from metaeval.parsing import MalformedError, parse_yaml
from metaeval.setting_types import ExistingPath, metric_names

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from metaeval.citation.pipelines.metric_verdicts import Backend
    from metaeval.citation.system_comparison import SystemPanel
    from metaeval.corpus.sentences import SentenceSplitter
    from metaeval.report.result import Column, Result
    from metaeval.report.table import Table
    from metaeval.runs.loaded_metrics import LoadedMetrics, MetricProgress
    from metaeval.runs.verdict_cutoffs import Cutoff

Kind = TypeVar("Kind", bound=ChatOptions)


def sort_settings(overrides: Sequence[str], owners: Mapping[str, type]) -> tuple[dict[str, dict[str, Any]], list[str]]:
    """Return the checked values of overrides (name=value) by owner and field, and those of run settings unchanged.

    owners: dataclasses or pydantic models by name; a field belongs to the first that has it.

    Raises `UserError` for an unknown name, and for a value of the wrong type.
    """
    sorted_: dict[str, dict[str, Any]] = {owner: {} for owner in owners}
    of_run: list[str] = []
    for override in overrides:
        name = override.partition("=")[0].strip()
        owner = next((key for key, kind in owners.items() if name in fields_of(kind)), None)
        if owner is not None:
            sorted_[owner][name] = _value(owners[owner], override)
        elif name.partition(".")[0] in RunConfig.model_fields or not name:
            of_run.append(override)
        else:
            known = [*(field for kind in owners.values() for field in fields_of(kind)), *RunConfig.model_fields]
            raise UserError(f"Unknown setting {name!r}.{did_you_mean(name, known)}")
    return sorted_, of_run


def fields_of(owner: type) -> tuple[str, ...]:
    """Return the field names of a dataclass or a pydantic model."""
    if issubclass(owner, BaseModel):
        return tuple(owner.model_fields)
    if not is_dataclass(owner):
        raise TypeError(f"{owner.__name__} has no fields")
    return tuple(owner.__dataclass_fields__)


def _value(owner: type, override: str) -> Any:
    """Return the value of an override, read as YAML and checked against the type of its field."""
    name, equals, text = (part.strip() for part in override.partition("="))
    if not equals:
        raise UserError(f"--set {name}: write name=value.")
    try:
        kind = get_type_hints(owner, include_extras=True)[name]
        return TypeAdapter(kind).validate_python(parse_yaml(text))
    except ValidationError as error:
        allowed = error.errors()[0]["msg"].removeprefix("Input should be ").removeprefix("Value error, ")
        words = option_docs(owner).get(name, "")
        raise UserError(f"--set {name} should be {allowed}. {words}".rstrip()) from None
    except MalformedError as error:
        raise UserError(f"--set {name}: not YAML ({error}); put text in quotes, 'like this'.") from None


def _cut(value: Any) -> Any:
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list | tuple | None) or any(isinstance(text, bool | int | float) for text in texts or ()):
        return value  # pydantic then rejects the value by the type of the field
    return [name.strip() for text in texts or () for name in str(text).split(",") if name.strip()]


NameList = Annotated[tuple[str, ...], BeforeValidator(_cut), Flag("NAME", multiple=True)]
"""Names, in repeated options or separated by commas."""

Judges = Annotated[
    tuple[str, ...],
    BeforeValidator(_cut),
    BeforeValidator(metric_names),
    Flag("NAME", "-m", multiple=True, alias="metrics"),
]
"""Names of the metrics that give the verdicts."""


def _as_paths(value: Any) -> Any:
    return (value,) if isinstance(value, str | Path) else value


Files = Annotated[tuple[Path, ...], BeforeValidator(_as_paths), Flag("FILE", multiple=True)]
"""Files; a single path needs no list."""

RarelyGivenFiles = Annotated[tuple[Path, ...], BeforeValidator(_as_paths), Flag("FILE", multiple=True, hidden=True)]
"""Files of an option that the help leaves out; a message names the option where it is needed."""

FilesToRead = Annotated[tuple[Path, ...], Flag("FILE", multiple=True, argument=True)]
"""The files that a command reads."""

Threshold = Annotated[
    float | str | None, AfterValidator(lambda value: None if value is None else str(value)), Flag("X")
]
"""A threshold as text: a number, a number per metric, or soft."""

SetOptions = Mapping[str, Mapping[str, Any]]
"""Options that are set with --set, by owner and field."""

ScenarioName = Annotated[
    str, Flag("NAME"), Field(description="Statements that count: full (all) or cited (those with citations).")
]
ProfileName = Annotated[
    str,
    Flag("NAME"),
    Field(description="Definition: paper (as published) or released (as the authors' code computes)."),
]
FormatName = Annotated[
    str,
    Flag("NAME", "-f"),
    Field(description="Format of the file: a name that 'metaeval cite formats' lists, or auto (by its content)."),
]
SourcesFile = Annotated[
    ExistingPath | None,
    Flag("FILE"),
    Field(description="Texts of cited sources by id, url or index: JSON lines, CSV, Parquet or a folder of texts."),
]
Splitter = Annotated[str, Flag("NAME"), Field(description="Sentence splitter: auto, nltk or rules.")]
ParserName = Annotated[
    str, Flag("NAME"), Field(description="Dependency parser: small (included), spacy:NAME or stored:FILE.")
]


class PipelineOptions(BaseModel):
    """Options of a pipeline: each field is an option of its command and a keyword of its function.

    untyped: the fields that the command takes only with --set, beside those of the base classes. hidden: those that
    its help leaves out.
    """

    untyped: ClassVar[frozenset[str]] = frozenset()
    hidden: ClassVar[frozenset[str]] = frozenset()

    model_config = ConfigDict(extra="forbid", frozen=True)

    @property
    def inputs(self) -> tuple[Path, ...]:
        """The files that are read, and after which the result is named: the field `file`, else the field `files`."""
        file = getattr(self, "file", None)
        return getattr(self, "files", ()) if file is None else (file,)

    @property
    def read_files(self) -> tuple[Path, ...]:
        """The files that are read, including those after which the result is not named."""
        return self.inputs


def untyped_of(options: type[PipelineOptions]) -> frozenset[str]:
    """Return the fields of a pipeline's options that its command takes only with --set."""
    return frozenset().union(*(vars(kind).get("untyped", ()) for kind in options.__mro__))


class ReadsAnswers(PipelineOptions):
    """Base of options of a pipeline that reads files of answers."""

    untyped = frozenset({"splitter"})

    files: FilesToRead = Field(description="Files of answers, one per system.")
    format: FormatName = "auto"
    sources: SourcesFile = None
    splitter: Splitter = "auto"


class JudgedByMetrics(PipelineOptions):
    """Base of options of a pipeline in which metrics give the verdicts."""

    nli: Judges = Field(
        default=(),
        description="Metrics that decide whether passages support a claim (default: minilm-bertscore). Repeatable.",
    )
    threshold: Threshold = Field(
        default=None, description="Least score of a supported claim: X, NAME=X,NAME=X, or soft (scores as degrees)."
    )
    calibration: RarelyGivenFiles = Field(
        default=(), description="Learnt thresholds: calibration.json of 'metaeval thresholds --learn'. Repeatable."
    )

    @property
    def judges(self) -> tuple[str, ...]:
        """The names of the metrics, without duplicates."""
        return tuple(dict.fromkeys(self.nli))


class AsksChat(PipelineOptions):
    """Base of options of a pipeline that asks a chat model."""

    untyped = frozenset({"requests", "batch", "ask_again"})

    model: Annotated[str | None, Flag("NAME")] = Field(default=None, description="Chat model that judges.")
    base_url: Annotated[str | None, Flag("URL")] = Field(
        default=None, description="Address of the model's server (default: OpenAI's); several are separated by commas."
    )
    record: Annotated[Path | None, Flag("FILE", output=True)] = Field(
        default=None, description="File to save the model's replies to, for --replay."
    )
    replay: Annotated[Path | None, Flag("FILE")] = Field(
        default=None, description="Saved replies to use instead of asking the model; costs nothing."
    )
    requests: Annotated[Path | None, Flag("FILE", output=True)] = Field(
        default=None, description="File to write the requests to as a batch; nothing is sent."
    )
    batch: Annotated[Path | None, Flag("FILE", name="replies")] = Field(
        default=None, description="Output of such a batch, with the replies; nothing is sent."
    )
    ask_again: Annotated[str | None, Flag("unparsed")] = Field(
        default=None, description="Ask once more where a reply cannot be parsed."
    )

    @property
    def names_model(self) -> bool:
        """Whether a model, or a file of its replies to replay, is named."""
        return self.model is not None or self.replay is not None

    @property
    def idle(self) -> list[str]:
        """The options, as typed, that the user gave although they have no effect where no chat model is asked."""
        flags = {"base_url": "--base-url", "record": "--record", "requests": "--set requests", "batch": "--set batch"}
        return [flag for name, flag in flags.items() if getattr(self, name) is not None]


def chat_options(
    kind: type[Kind],
    choice: AsksChat,
    options: Mapping[str, Any],
    budget: float | None = None,
    purpose: str = "judges",
    **defaults: Any,
) -> Kind:
    """Return the options of the chat model: defaults, overridden by options set by name, and these by `choice`.

    Where no model is named, it is the one whose replies were recorded. purpose: what the model does, for the error
    message. Raises `UserError` for a wrong option, and where no model is named.
    """
    values = {**defaults, **({} if budget is None else {"budget": budget}), **options}
    named = choice.model or options.get("model")
    if named:
        values["model"] = str(named)
    elif choice.replay is not None:
        values["model"] = replayed_model(choice.replay)
    else:
        raise UserError(
            f"A chat model {purpose}, and none is given: give --model NAME (with export "
            "OPENAI_API_KEY=..., or --base-url http://HOST:PORT/v1 for your own server), or --replay "
            "FILE with replies that --record FILE wrote."
        )
    typed = choice.model_dump(include={"base_url", "batch", "ask_again"}, exclude_none=True)
    return validated(kind, {**values, **typed}, "the options of the chat model")


@dataclass(frozen=True)
class PipelineMeasure:
    """A measure of a pipeline. scale: factor of a printed value; digits: its decimals."""

    key: str
    label: str
    meaning: str
    scale: float = 1.0
    digits: int = 3

    @property
    def column(self) -> Column:
        """The column that prints the measure."""
        from metaeval.report.result import Column

        return Column(key=self.key, label=self.label, scale=self.scale, digits=self.digits)


@dataclass(frozen=True, eq=False)
class Run:
    """A checked run whose answers are read; nothing is asked or scored yet.

    name: that of the data, made of the names of its files. folder: for the results. options: an instance of the
    pipeline's options. set_options: those of --set, by owner and field. metrics: those that give verdicts, with their
    cutoffs by name. choice: the options on the chat model. chat: an instance of the pipeline's chat options; None where
    no chat model is asked. answers: empty where the pipeline reads something else.
    """

    pipeline: Pipeline
    name: str
    folder: Path
    options: Any
    set_options: SetOptions
    config: RunConfig
    metrics: LoadedMetrics
    cutoffs: Mapping[str, Cutoff]
    choice: AsksChat
    chat: Any
    splitter: SentenceSplitter
    answers: Sequence[Answer]
    progress: MetricProgress | None = None

    @cached_property
    def panel(self) -> SystemPanel:
        """The answers with their systems and groups."""
        from metaeval.citation.system_comparison import panel_of
        from metaeval.runs.evaluation import resampling_of

        return panel_of(self.answers, resampling_of(self.config))


@dataclass(frozen=True, eq=False)
class Layout:
    """The output of a pipeline: tables (a mapping gives them other names than their own), rows and files.

    rows: tables of records of answers, sentences, statements, facts or citations. In a sequence, a table's name is what
    they are and the backend, as in "answers:overlap"; in a mapping this is the key, and the table's name is that of its
    file. shown: the tables that the command prints; None: all of them. results: results of protocols, by subfolder.
    config, folder: those of the result, where they differ from the run's. value: what the Python function returns
    instead of the result. warnings: sentences about what is left out.
    """

    tables: Sequence[Table] | Mapping[str, Table]
    rows: Sequence[Table] | Mapping[str, Table] = ()
    files: Mapping[Path, str] = field(default_factory=dict)
    shown: Sequence[Table] | None = None
    results: Mapping[str, Sequence[Result]] = field(default_factory=dict)
    config: RunConfig | None = None
    folder: Path | None = None
    value: Any = None
    warnings: Sequence[str] = ()


MakeBackends: TypeAlias = "Callable[..., Iterator[Backend]]"
"""Yields the run's backends one after the other; each call makes new ones.

Optional arguments: the cut-offs, how a group's passages are read (`Premise`), and a callback for progress.
"""


def step(place: str) -> Callable[..., Any]:
    """Return a function that calls metaeval.MODULE:NAME (`place`), whose module is imported at the first call.

    With it a declaration, and so the help of its command, costs nothing of what a run imports.
    """
    module, _, name = place.partition(":")
    return lambda *parts, **options: getattr(import_module(f"metaeval.{module}"), name)(*parts, **options)


@dataclass(frozen=True)
class Pipeline:
    """A citation pipeline, as data and pure functions.

    name: name of the command. title: name in tables. paper: its source. help: help text of the command; its first line
    is the summary. options: class of its options. measures: what it measures.
    owners: classes whose fields --set takes, by name; a field belongs to the first that has it. backends: how many
    metrics give verdicts. chat: whether a chat model is asked; purpose: what that model does; chat_options: class of
    its options; model: its default name. prefix: optional prefix of names in --set. decides: what needs decisions, as
    the beginning of the error message about soft scores. tree: draws a sentence as the pipeline cuts it, with a named
    parser; returns the figure, the parser and rules, and the claims as lines.

    read: checks the options and reads the answers. ask: adds the replies of the chat model. judge: adds the verdicts of
    the backends. lay_out: makes tables, rows and files (default: `judge` or `ask` has made them). estimate: says what
    asking would cost. cutoff: returns the cut-off of a backend (None: `read` does). asks: whether a chat model is
    asked, where that is optional. defaults: settings of a run in place of the general defaults. drawn: the fields of a
    record that name a bar's line and colour in figures (empty: the pipeline's title; `PIPELINE`: of several pipelines,
    in a folder for each data set), and the field of a line's x axis.
    """

    name: str
    title: str
    paper: str
    help: str
    options: type[PipelineOptions]
    read: Callable[[Run], Any]
    lay_out: Callable[[Any], Layout] = lambda judged: cast(Layout, judged)
    judge: Callable[[Any, MakeBackends], Any] = lambda heard, backends: heard
    estimate: Callable[[Any], str] = lambda read: "No chat model is asked: nothing is paid."
    ask: Callable[[Any, Any], Any] = lambda read, chat: read
    measures: Sequence[PipelineMeasure] = ()
    owners: Mapping[str, type] = field(default_factory=dict)
    backends: Literal["none", "optional", "one", "many"] = "none"
    chat: Literal["none", "optional", "always"] = "none"
    purpose: str = "judges"
    chat_options: type[ChatOptions] = ChatOptions
    model: str = ""
    prefix: str = ""
    decides: str = ""
    tree: Callable[[str, str], tuple[Figure, str, list[str]]] | None = None
    cutoff: Callable[..., Cutoff] | None = lambda *read, set_options: step("runs.verdict_cutoffs:find_cutoff")(*read)
    asks: Callable[[AsksChat, SetOptions], bool] = lambda choice, set_options: choice.names_model
    defaults: Mapping[str, Any] = field(default_factory=dict)
    drawn: tuple[str, str] | tuple[str, str, str] = ("system", "backend")

    @property
    def command(self) -> str:
        """The command as it is typed after metaeval."""
        return f"cite {self.name}"


PIPELINE = "pipeline"
"""The field that names the pipeline of a record, in tables that compare several."""


def find_pipeline(name: str) -> Pipeline:
    """Return the pipeline of this name. Raises `UserError` with the nearest name where there is none."""
    pipeline: Pipeline = registry.find("pipeline", name, code=True)
    return pipeline
