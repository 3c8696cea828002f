"""Options that citation analyses share, and what is made of them: answers, and the options of a chat model."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, TypeVar

from pydantic import AfterValidator, BeforeValidator, Field

from metaeval.analyses.analysis import DeclaredOptions, Done, EncodingSettings, Progress
from metaeval.citation.chat_models import Chat, ChatOptions, open_chat, replayed_model
from metaeval.citation.data_model import Answer
from metaeval.core.config import (
    BatchSettings,
    BudgetSettings,
    ChunkSettings,
    IntervalSettings,
    MetricOptionSettings,
    ResultsSettings,
    RunConfig,
    ScoringSettings,
    TrustSettings,
)
from metaeval.core.declared import ExistingPath, Flag, metric_names, validated
from metaeval.core.errors import UserError, shown

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Kind = TypeVar("Kind", bound=ChatOptions)


def _cut(value: Any) -> Any:
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list | tuple | None) or any(isinstance(text, bool | int | float) for text in texts or ()):
        return value  # pydantic then rejects the value by the type of the field
    return [name.strip() for text in texts or () for name in str(text).split(",") if name.strip()]


def read_from(value: Any) -> Any:
    """Return files and objects as one flat sequence: lists in `value` are unpacked, and texts become paths."""
    if isinstance(value, Iterable) and not isinstance(value, str | Path | Mapping):
        return tuple(part for each in value for part in read_from(each))
    return (Path(value) if isinstance(value, str) else value,)


# Names, in repeated options or separated by commas.
NameList = Annotated[tuple[str, ...], BeforeValidator(_cut), Flag("NAME", multiple=True)]

Judges = Annotated[
    tuple[str, ...],
    BeforeValidator(_cut),
    BeforeValidator(metric_names),
    Flag("NAME", "-m", multiple=True, alias="metrics"),
]

# Files; a single path needs no list.
Files = Annotated[tuple[Path, ...], BeforeValidator(read_from), Flag("FILE", multiple=True)]

# The files of answers that a command reads; in Python also answers as objects.
FilesToRead = Annotated[tuple[Any, ...], BeforeValidator(read_from), Flag("FILE", multiple=True, argument=True)]

# A threshold as text: a number, a number per metric, or soft.
Threshold = Annotated[float | str | None, AfterValidator(lambda x: None if x is None else str(x)), Flag("X")]

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


class CiteOptions(ResultsSettings, IntervalSettings, EncodingSettings, DeclaredOptions):
    """Base of the options of citation analyses; a class adds its own `untyped` fields to those of its bases."""

    untyped: ClassVar[frozenset[str]] = frozenset({"store", "executor", "requests", "batch"})

    @classmethod
    def __pydantic_init_subclass__(cls, **_: Any) -> None:
        declared = [vars(kind).get("untyped", frozenset()) for kind in cls.__mro__]
        # A budget is typed where a chat model is asked; elsewhere only a metric that asks one could spend it.
        budget = set() if "dry_run" in cls.model_fields else {"budget"}
        cls.untyped = (frozenset().union(*declared) - {"budget"} | budget) & cls.model_fields.keys()


class ReadsAnswers(CiteOptions):
    """Base of options of an analysis that reads files of answers."""

    untyped = frozenset({"splitter", "clean"})

    files: FilesToRead = Field(description="Files of answers, one per system.")
    format: FormatName = "auto"
    sources: SourcesFile = None
    splitter: Splitter = "auto"
    clean: Annotated[bool | None, Flag()] = None
    """Leave out what is not the answer: reasoning, code, headings, list numbers, lists of sources, addresses (default:
    yes, but for the profiles of released code)."""


class JudgedByMetrics(TrustSettings, BatchSettings, ScoringSettings, MetricOptionSettings, ChunkSettings, CiteOptions):
    """Base of options of an analysis in which metrics give the verdicts."""

    untyped = frozenset({"calibration", "trust_config"})

    nli: Judges = ()
    """Metrics that decide whether passages support a claim (default: minilm-bertscore). Repeatable."""
    threshold: Threshold = None
    """Least score of a supported claim: X, NAME=X,NAME=X, or soft (scores as degrees)."""
    calibration: Files = ()
    """Learnt thresholds: calibration.json of 'metaeval thresholds --learn'. Repeatable."""
    requests: Annotated[Path | None, Flag("FILE", output=True)] = None
    """File to write the judges' requests to as a batch; nothing is sent."""


class AsksChat(BudgetSettings, CiteOptions):
    """Base of options of an analysis that asks a chat model.

    `chat` has further options of the model by name (`metaeval.citation.chat_models.ChatOptions`).
    """

    untyped = frozenset({"ask_again", "chat"})

    model: Annotated[str | None, Flag("NAME")] = Field(default=None, description="Chat model that judges.")
    base_url: Annotated[str | None, Flag("URL")] = None
    """Address of the model's server (default: OpenAI's); several are separated by commas."""
    record: Annotated[Path | None, Flag("FILE", output=True)] = None
    """File to save the model's replies to, for --replay."""
    replay: Annotated[Path | None, Flag("FILE")] = None
    """Saved replies to use instead of asking the model; costs nothing."""
    requests: Annotated[Path | None, Flag("FILE", output=True)] = None
    """File to write the requests to as a batch; nothing is sent."""
    batch: Annotated[Path | None, Flag("FILE", name="replies")] = None
    """Output of such a batch, with the replies; nothing is sent."""
    ask_again: Annotated[str | None, Flag("unparsed")] = None
    """Ask once more where a reply cannot be parsed."""
    chat: Annotated[dict[str, Any], Flag("NAME")] = Field(
        default_factory=dict,
        description="Further options of the chat model, as chat.temperature=0.",
        json_schema_extra={"names": [*ChatOptions.model_fields]},
    )
    dry_run: Annotated[bool, Flag()] = False
    """Estimate only: nothing is scored, fetched or paid for."""

    def opened(self, chat: ChatOptions, progress: Progress) -> AbstractContextManager[Chat]:
        """Open the source of the model's replies for a block (`open_chat`). chat: the options of the model."""
        return open_chat(chat, self.record, self.replay, progress, self.requests)

    @property
    def names_model(self) -> bool:
        """Whether a model, or a file of its replies to replay, is named."""
        return self.model is not None or self.replay is not None or "model" in self.chat

    @property
    def idle(self) -> list[str]:
        """The options, as typed, that the user gave although they have no effect where no chat model is asked."""
        flags = {"base_url": "--base-url", "record": "--record", "requests": "--set requests", "batch": "--set batch"}
        set_flags = [flag for name, flag in flags.items() if getattr(self, name) is not None]
        return [*set_flags, *(f"--set chat.{name}" for name in self.chat)]


def name_of_data(files: Iterable[Any]) -> str:
    """Return the name of the data in these files, after which a job is named; that of objects is answers."""
    from metaeval.citation.readers.answer_files import file_stem

    return "+".join(dict.fromkeys(file_stem(file) if isinstance(file, Path) else "answers" for file in files))


def answers_in(options: ReadsAnswers, labelled: str = "", judged: bool = True) -> list[Answer]:
    """Return the answers of the files, or of the objects in their place.

    labelled: field of an answer's reference that holds judgements, so that passages may be without text. judged: as in
    `metaeval.citation.readers.answer_files.read_answers`; passages may be without text where it is False.

    Raises
    ------
    UserError
        For a file that cannot be read, and where no passage has a text to judge citations by.
    """
    from metaeval.citation.readers.answer_files import gather
    from metaeval.citation.readers.clean_up import is_cleaned

    with as_files(options.files, options.format) as (files, form):
        clean = is_cleaned(options.clean, getattr(options, "profile", ""))
        answers = gather(files, form, options.sources, clean, judged)
    if not judged or (labelled and any(labelled in answer.reference for answer in answers)):
        return answers
    if not any(passage.text.strip() for answer in answers for passage in answer.passages):
        raise UserError(f"No answer in {name_of_data(options.files)} has passages to judge by: give --sources FILE.")
    return answers


@contextmanager
def as_files(answers: tuple[Any, ...], form: str = "auto") -> Iterator[tuple[tuple[Path, ...], str]]:
    """Yield the files and their format; objects are written to a temporary file, whose folder errors do not name."""
    from metaeval.citation.readers.answer_files import in_other_format

    objects = [not isinstance(answer, Path) for answer in answers]
    if not any(objects):
        yield answers, form
        return
    if not all(objects):
        raise UserError("The list of answers contains files and objects: give only files, or only objects.")
    with TemporaryDirectory() as folder:
        path = Path(folder) / "answers"
        try:
            path.write_text("".join(json.dumps(answer) + "\n" for answer in answers), encoding="utf-8")
        except TypeError as error:
            raise UserError(f"Answers that are objects are mappings, as lines of JSON are: {error}.") from None
        try:
            yield (path,), form if in_other_format(answers[0]) else "jsonl"
        except UserError as error:
            raise UserError(str(error).replace(f"{folder}/", "")) from error


def chat_options(kind: type[Kind], options: AsksChat, purpose: str = "judges", **defaults: Any) -> Kind:
    """Return the options of the chat model: defaults, overridden by `options.chat`, and these by what was typed.

    Where no model is named, it is the one whose replies were recorded. purpose: what the model does, for the error
    message.

    Raises
    ------
    UserError
        For a wrong option, one with two values, where no model is named, and for two sources of replies.
    """
    typed = {"model", "budget", "base_url", "batch", "ask_again", *defaults} & options.model_fields_set
    for name, value in options.chat.items():
        if name in typed and str(getattr(options, name)) != str(value):
            two = f"{shown(str(getattr(options, name)))} and, as chat.{name}, {shown(str(value))}"
            raise UserError(f"{name} has two values, {two}: give one of them.")
    if options.record is not None and options.replay is not None:
        raise UserError("Replies are recorded or replayed, not both: give only one of --record and --replay.")
    if options.replay is not None and (options.requests or options.batch):
        raise UserError("Replies have one source: give --replay, or the settings requests and batch, not both.")
    values = {**defaults, **({} if options.budget is None else {"budget": options.budget}), **options.chat}
    if options.model is not None:
        values["model"] = options.model
    elif options.replay is not None and "model" not in options.chat:
        values["model"] = replayed_model(options.replay)
    if not values.get("model"):
        how = "--model NAME (with export OPENAI_API_KEY=..., or --base-url http://HOST:PORT/v1), or --replay FILE"
        raise UserError(f"A chat model {purpose}, and none is given: give {how}.")
    values |= options.model_dump(include={"base_url", "batch", "ask_again"}, exclude_none=True)
    return validated(kind, values, "the options of the chat model")


def estimated(config: RunConfig, text: str) -> Done:
    """Return the output of a dry run: a text on what a run would cost."""
    from metaeval.report.notebook import NotebookText

    return Done(config=config, shown=(), verdict=text.splitlines(), value=NotebookText(text))


def with_kept_replies(options: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the options of a completed job; if its recorded replies are still there, they replace the model."""
    kept = options.get("record")
    if kept is None or not Path(kept).is_file():
        return options
    live = {"record", "base_url", "requests", "batch"}
    return {**{name: value for name, value in options.items() if name not in live}, "replay": kept}


def draw(folders: Sequence[Path]) -> dict[str, Figure]:
    """Return the figures of completed jobs of citation by file name."""
    from metaeval.citation.pipelines.figures import citation_figures

    return citation_figures(folders)
