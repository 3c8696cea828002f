"""A citation pipeline as it is declared, and the options that pipelines share.

A pipeline is its options, what it needs, and five functions: read, estimate, ask, judge and lay out. Everything else is
done for it, once for all pipelines, in `run.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, is_dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, TypeVar, cast, get_type_hints

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError

from metaeval import registry
from metaeval.citation.chat import ChatOptions, replayed_model
from metaeval.citation.model import Answer
from metaeval.citation.panel import SystemPanel, panel_of
from metaeval.citation.pipelines.result import RowTable
from metaeval.citation.pipelines.verdicts import Backend
from metaeval.config import RunConfig
from metaeval.corpus.sentences import SentenceSplitter
from metaeval.declared import Flag, option_docs, validated
from metaeval.errors import UserError, did_you_mean, unknown
from metaeval.reading import MalformedError, parse_yaml
from metaeval.report.result import Column, Result
from metaeval.report.table import Table
from metaeval.runs.cutoffs import Cutoff, find_cutoff
from metaeval.runs.evaluation import resampling_of
from metaeval.runs.metrics import LoadedMetrics, MetricProgress
from metaeval.scoring.contract import Metric

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Kind = TypeVar("Kind", bound=ChatOptions)


def sort_settings(overrides: Sequence[str], owners: Mapping[str, type]) -> tuple[dict[str, dict[str, Any]], list[str]]:
    """Overrides (name=value) as checked values by owner and name; and those of the run, as they are.

    owners: dataclasses, or pydantic models, whose fields the names are, under names of one's choice; the first that
    has a field has it.

    Raises `UserError` for a name that nobody has, and for a value of the wrong kind.
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
            raise UserError(f"Unknown setting {name!r} in --set.{did_you_mean(name, known)}")
    return sorted_, of_run


def fields_of(owner: type) -> tuple[str, ...]:
    """The names of an owner's options."""
    if issubclass(owner, BaseModel):
        return tuple(owner.model_fields)
    if not is_dataclass(owner):
        raise TypeError(f"{owner.__name__} has no fields")
    return tuple(owner.__dataclass_fields__)


def _value(owner: type, override: str) -> Any:
    """What an option is set to, read as YAML and checked against its type."""
    name, equals, text = (part.strip() for part in override.partition("="))
    if not equals:
        raise UserError(f"--set {override}: write name=value.")
    try:
        kind = get_type_hints(owner, include_extras=True)[name]
        return TypeAdapter(kind).validate_python(parse_yaml(text))
    except ValidationError as error:
        allowed = error.errors()[0]["msg"].removeprefix("Input should be ").removeprefix("Value error, ")
        words = option_docs(owner).get(name, "")
        raise UserError(f"--set {override}: {name} should be {allowed}. {words}".rstrip()) from error
    except MalformedError as error:
        raise UserError(f"--set {override}: not YAML ({error}); text is safe in quotes, 'like this'.") from error


def _cut(value: Any) -> Any:
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list | tuple | None) or any(isinstance(text, bool | int | float) for text in texts or ()):
        return value  # no list of names: the field says so
    return [name.strip() for text in texts or () for name in str(text).split(",") if name.strip()]


def one_of(what: str, allowed: Sequence[str], **short: str) -> AfterValidator:
    """That a field is one of some words, or of the short forms of them; `UserError` with the nearest word else."""

    def check(value: str) -> str:
        if short.get(value, value) not in allowed:
            raise unknown(what, value, allowed)
        return short.get(value, value)

    return AfterValidator(check)


Names = Annotated[tuple[str, ...], BeforeValidator(_cut), Flag("NAME", multiple=True)]
"""Names given one by one, or with commas."""

Judges = Annotated[tuple[str, ...], BeforeValidator(_cut), Flag("NAME", multiple=True, alias="metrics")]
"""Metrics that judge, by name."""


def _as_paths(value: Any) -> Any:
    return (value,) if isinstance(value, str | Path) else value


Files = Annotated[tuple[Path, ...], BeforeValidator(_as_paths), Flag("FILE", multiple=True)]
"""Files; one stands alone."""

Threshold = Annotated[
    float | str | None, AfterValidator(lambda value: None if value is None else str(value)), Flag("X")
]
"""A threshold as text: a number, numbers by metric, or soft."""

Given = Mapping[str, Mapping[str, Any]]
"""What --set says, by owner and name."""

FindCutoff = Callable[[str, Metric, Mapping[str, float | None], Sequence[Path]], Cutoff]
"""A metric's cut-off from its name, itself, the thresholds that were typed, and calibration files."""

Scenario = Annotated[str, Flag("NAME"), Field(description="full: all statements; cited: those with citations.")]
Profile = Annotated[str, Flag("NAME"), Field(description="paper, or released: as the published code computes.")]
Form = Annotated[
    str,
    Flag("NAME", "-f"),
    Field(description="Format: alce, jsonl, scifi, crag25, scholarqa, expertqa; auto: by its content."),
]
Splitter = Annotated[str, Flag("NAME"), Field(description="Splitter: auto, nltk or rules.")]
ParserName = Annotated[str, Flag("NAME"), Field(description="Parser: small (shipped), spacy:NAME, stored:FILE.")]


class PipelineOptions(BaseModel):
    """Options of a pipeline: each field is an option of its command, and a keyword of its function.

    untyped: fields that the command takes by --set alone; those of the bases are so too.
    """

    untyped: ClassVar[frozenset[str]] = frozenset()

    model_config = ConfigDict(extra="forbid", frozen=True)

    @property
    def inputs(self) -> tuple[Path, ...]:
        """The files that are read: those of the field `files`, or the one of `file`."""
        one = getattr(self, "file", None)
        return getattr(self, "files", ()) if one is None else (one,)

    @property
    def sources(self) -> tuple[Path, ...]:
        """The files that are read, whether or not the result is named after them."""
        return self.inputs


def untyped_of(options: type[PipelineOptions]) -> frozenset[str]:
    """The fields of a pipeline's options that its command takes by --set alone."""
    return frozenset().union(*(vars(kind).get("untyped", ()) for kind in options.__mro__))


class ReadsAnswers(PipelineOptions):
    """Options of a pipeline that reads files of answers."""

    untyped = frozenset({"splitter"})

    files: Annotated[tuple[Path, ...], Flag("FILE", multiple=True, argument=True)] = Field(
        description="Files of answers; several: one system each."
    )
    format: Form = "auto"
    splitter: Splitter = "auto"


class JudgedByMetrics(PipelineOptions):
    """Options of a pipeline whose verdicts are a metric's."""

    nli: Judges = Field(
        default=(), description="Metrics that judge, with commas (default: minilm-bertscore). Repeatable."
    )
    threshold: Threshold = Field(
        default=None, description="Score from which a claim is supported: X, NAME=X with commas, or soft."
    )
    calibration: Files = Field(
        default=(), description="Thresholds that 'metaeval thresholds --learn' wrote (calibration.json). Repeatable."
    )

    @property
    def judges(self) -> tuple[str, ...]:
        """The metrics that are named, each once."""
        return tuple(dict.fromkeys(self.nli))


class AsksChat(PipelineOptions):
    """Options of a pipeline that asks a chat model."""

    untyped = frozenset({"requests", "batch", "ask_again"})

    model: Annotated[str | None, Flag("NAME")] = Field(default=None, description="Chat model that judges.")
    base_url: Annotated[str | None, Flag("URL")] = Field(
        default=None, description="Server (default: OpenAI's), or several with commas."
    )
    record: Annotated[Path | None, Flag("FILE", output=True)] = Field(
        default=None, description="File in which replies are kept."
    )
    replay: Annotated[Path | None, Flag("FILE")] = Field(
        default=None, description="File of kept replies to use instead; costs nothing."
    )
    requests: Annotated[Path | None, Flag("FILE", output=True)] = Field(
        default=None, description="Write requests as a batch; nothing is sent."
    )
    batch: Annotated[Path | None, Flag("FILE", name="replies")] = Field(
        default=None, description="Output of that batch; nothing is sent."
    )
    ask_again: Annotated[str | None, Flag("unparsed")] = Field(
        default=None, description="Ask once more for replies out of form."
    )

    @property
    def names_model(self) -> bool:
        """Whether anybody is there to answer."""
        return self.model is not None or self.replay is not None

    @property
    def idle(self) -> list[str]:
        """The options that are given and mean nothing where no model is asked."""
        names = {"base_url": "--base-url", "record": "--record", "requests": "--set requests", "batch": "--set batch"}
        return [typed for name, typed in names.items() if getattr(self, name) is not None]


def chat_options(
    kind: type[Kind],
    choice: AsksChat,
    options: Mapping[str, Any],
    budget: float | None = None,
    purpose: str = "judges",
    **defaults: Any,
) -> Kind:
    """The options of the chat model: defaults, then options that were set by name, then what the choice says.

    A model that nobody names is the one that the file of replies was recorded with. purpose: what the model does, for
    the sentence. Raises `UserError` for a wrong option, and where no model is named.
    """
    values = {**defaults, **({} if budget is None else {"budget": budget}), **options}
    named = choice.model or options.get("model")
    if named:
        values["model"] = str(named)
    elif choice.replay is not None:
        values["model"] = replayed_model(choice.replay)
    else:
        raise UserError(
            f"A chat model {purpose}, and none is named: type --model NAME (with export OPENAI_API_KEY=..., or "
            "--base-url http://HOST:PORT/v1 for a server of your own), or --replay FILE for replies that --record "
            "FILE kept."
        )
    typed = choice.model_dump(include={"base_url", "batch", "ask_again"}, exclude_none=True)
    return validated(kind, {**values, **typed}, "the options of the chat model")


@dataclass(frozen=True)
class Measure:
    """What a pipeline measures. scale: what a value is multiplied by where it is printed, with so many digits."""

    key: str
    label: str
    meaning: str
    scale: float = 1.0
    digits: int = 3

    @property
    def column(self) -> Column:
        """How it is printed."""
        return Column(key=self.key, label=self.label, scale=self.scale, digits=self.digits)


@dataclass(frozen=True, eq=False)
class Run:
    """A run that is checked and read, and of which nothing is asked or scored yet.

    options: of the pipeline's own model. given: what --set says, by owner and name. metrics: those that judge, with
    their cutoffs.
    chat: of the pipeline's own chat options; None where no chat model is asked. answers: empty where the pipeline
    reads something else.
    """

    pipeline: Pipeline
    name: str
    folder: Path
    options: Any
    given: Given
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
        return panel_of(self.answers, resampling_of(self.config))


@dataclass(frozen=True, eq=False)
class Layout:
    """What a pipeline hands back: tables (by name, where one is not the table's own), rows and files.

    results: of protocols, by the folder below the run's that they go to; each folder then has a manifest. config,
    folder: of the result, where they are not the run's own. value: what the Python function returns in the place of
    the result. warnings: sentences about what is left out.
    """

    tables: Sequence[Table] | Mapping[str, Table]
    rows: Sequence[RowTable] = ()
    files: Mapping[Path, str] = field(default_factory=dict)
    shown: Sequence[Table] | None = None
    results: Mapping[str, Sequence[Result]] = field(default_factory=dict)
    config: RunConfig | None = None
    folder: Path | None = None
    value: Any = None
    warnings: Sequence[str] = ()


MakeBackends = Callable[..., Iterator[Backend]]
"""Makes the run's backends, one after the other; each call makes new ones.

Arguments, all optional: the cut-offs, how a group's passages are read (`Premise`), and whom progress is told.
"""


@dataclass(frozen=True)
class Pipeline:
    """A citation pipeline, as data and pure functions.

    name: of the command. title: as printed. paper: where it is from. help: the command's help text; its first line
    stands in lists. options: each field is an option. measures: what it measures. owners: classes whose fields --set
    takes by name, under names of one's choice; the first that has a field has it. backends: how many metrics judge.
    chat: whether a chat model is asked; purpose: what that model does, and chat_options: its options;
    model: the one that is asked where none is named. prefix: what names in --set may begin with. decides: what needs
    decisions, as the beginning of a sentence that refuses soft scores. signed: further classes whose options stand in
    signatures. prompts: by its name in signatures, what the prompt asks, and the file of the wording that is shipped.
    tree: draws a sentence as the pipeline cuts it, with a named parser: the figure, who parsed
    it, and its claims as lines.

    read: checks the options and reads the answers into what is judged. ask: puts to it what the chat model says.
    judge: the verdicts of the backends. lay_out: tables, rows and files (none: of what `judge` makes, or `ask`).
    estimate: what asking would cost. cutoff: of one backend (None: `read` finds them). asks: whether a chat model is
    asked, where that is optional. defaults: what a run is set to where nothing else is said.
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
    measures: Sequence[Measure] = ()
    owners: Mapping[str, type] = field(default_factory=dict)
    backends: Literal["none", "optional", "one", "many"] = "none"
    chat: Literal["none", "optional", "always"] = "none"
    purpose: str = "judges"
    chat_options: type[ChatOptions] = ChatOptions
    model: str = ""
    prefix: str = ""
    decides: str = ""
    signed: Sequence[type] = ()
    prompts: Mapping[str, tuple[str, Path]] = field(default_factory=dict)
    tree: Callable[[str, str], tuple[Figure, str, list[str]]] | None = None
    cutoff: Callable[..., Cutoff] | None = lambda *read, given: find_cutoff(*read)
    asks: Callable[[AsksChat, Given], bool] = lambda choice, given: choice.names_model
    defaults: Mapping[str, Any] = field(default_factory=dict)


def find_pipeline(name: str) -> Pipeline:
    """The pipeline that is registered under this name; `UserError` with the nearest name where none is."""
    found: Pipeline = registry.find("pipeline", name, code=True)
    return found
