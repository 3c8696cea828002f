"""Declare every registered citation pipeline as an analysis."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BeforeValidator, ConfigDict, Field, create_model

from metaeval.analyses.analysis import (
    Analysis,
    AnalysisFamily,
    DeclaredOptions,
    Done,
    EncodingSettings,
    FileOrObject,
)
from metaeval.config import BatchSettings, BudgetSettings, ResultsSettings, ScoringSettings, Strict, TrustSettings
from metaeval.declared import Flag, flag_of, kinds_of, validated
from metaeval.errors import RequestsWritten, UserError

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pydantic.fields import FieldInfo

    from metaeval.citation.pipelines.pipeline import Pipeline, PipelineOptions
    from metaeval.runs.loaded_metrics import MetricProgress


_CHAT = "chat."
"""The prefix of the chat model's settings, for a pipeline in which one of them is also an option."""


class CitingOptions(BudgetSettings, ResultsSettings, EncodingSettings, DeclaredOptions):
    """Options that every pipeline has beside its own; further settings by name belong to its owners or to the run."""

    model_config = ConfigDict(extra="allow")

    untyped = frozenset({"store", "executor", "requests", "batch"})


class _Described(CitingOptions):
    """The last base of options that are made of fields with descriptions: no source is searched for docstrings."""

    model_config = ConfigDict(use_attribute_docstrings=False)


class _JudgesAlone(BatchSettings):
    requests: Annotated[Path | None, Flag("FILE", output=True)] = None
    """Write judges' requests as a batch; nothing is sent."""


class _AsksChat(Strict):
    dry_run: Annotated[bool, Flag()] = False
    """Estimate only: nothing is scored, fetched or paid for."""


@dataclass(frozen=True, kw_only=True)
class _WritesAnswers(Analysis):
    """The analysis of a pipeline that asks a chat model and has an option --output of its own.

    The setting `output` then is the form of the model's replies, as in every other pipeline.
    """

    def options_of(self, settings: Mapping[str, Any], overrides: Sequence[str] | None = None) -> DeclaredOptions:
        """Return checked options; an override output=FORM is read as chat.output=FORM."""
        texts = overrides or ()
        prefixed = [f"{_CHAT}{text}" if text.partition("=")[0].strip() == "output" else text for text in texts]
        return super().options_of(settings, None if overrides is None else prefixed)


def analysis_of(pipeline: Pipeline) -> Analysis:
    """Return the analysis of a pipeline: `metaeval cite NAME`, and `metaeval.cite.NAME` in Python."""
    summary, about, examples = _help(pipeline.help)
    kind = _WritesAnswers if pipeline.prefix == _CHAT else Analysis
    return kind(
        name=pipeline.command,
        summary=summary,
        about=about,
        examples=examples,
        options=options_of(pipeline),
        run=partial(run_analysis, pipeline),
        again=_with_kept_replies,
        figures=_figures,
        tree=pipeline.tree,
    )


def _figures(folders: Sequence[Path]) -> dict[str, Figure]:
    from metaeval.citation.pipelines.figures import citation_figures

    return citation_figures(folders)


def options_of(pipeline: Pipeline) -> type[DeclaredOptions]:
    """Return a pipeline's options with those of its run: of scoring with metrics, and of estimates with a chat model.

    Every field of the pipeline is an option, except its untyped ones.
    """
    return _options(pipeline.options, pipeline.backends != "none", pipeline.chat != "none")


@cache  # a pipeline is looked up often, and a model of its options takes a quarter of a second
def _options(kind: type[PipelineOptions], scores: bool, asks: bool) -> type[DeclaredOptions]:
    from metaeval.citation.pipelines.pipeline import untyped_of

    groups: list[type] = [_Described]
    untyped = CitingOptions.untyped | untyped_of(kind)
    if scores:
        groups = [TrustSettings, ScoringSettings, *groups]
    if asks:
        groups = [_AsksChat, *groups]
    else:
        groups = [_JudgesAlone, *groups] if scores else groups
        untyped |= {"budget"}
    read_first = sorted(kind.model_fields.items(), key=lambda item: not flag_of(item[1]).argument)
    fields: Any = {name: _field(field, name in kind.hidden) for name, field in read_first}
    model: Any = create_model(
        kind.__name__, __base__=tuple(groups), __module__=kind.__module__, __doc__=kind.__doc__, **fields
    )
    model.untyped = untyped & model.model_fields.keys()
    options: type[DeclaredOptions] = model
    return options


def _field(field: FieldInfo, hidden: bool) -> tuple[Any, Any]:
    """Return (type, field) of an option; an argument that names files also accepts answers as objects."""
    kind: Any = field.annotation
    known = [part for part in field.metadata if not isinstance(part, Flag)]
    flag = replace(flag_of(field), hidden=hidden or flag_of(field).hidden)
    if flag.argument and Path in kinds_of(kind):
        kind = Annotated[tuple[Any, ...], BeforeValidator(_read_from)] if flag.multiple else FileOrObject
        known = []
    default = {} if field.is_required() else {"default": field.get_default(call_default_factory=True)}
    return Annotated[(kind, *known, flag)], Field(description=field.description, **default)


def _read_from(value: Any) -> Any:
    """Return files and objects as one flat sequence: lists in `value` are unpacked, and texts become paths."""
    if isinstance(value, str | Path | Mapping) or not isinstance(value, Iterable):
        return (Path(value) if isinstance(value, str) else value,)
    parts = [
        entry if isinstance(entry, Iterable) and not isinstance(entry, str | Path | Mapping) else (entry,)
        for entry in value
    ]
    return tuple(Path(entry) if isinstance(entry, str) else entry for part in parts for entry in part)


def _help(text: str) -> tuple[str, str, list[str]]:
    """Return the summary, the further paragraphs, and the example commands in a pipeline's help text."""
    summary, *more = inspect.cleandoc(text).split("\n\n")
    shown = [part for part in more if part.lstrip().startswith("\b")]
    lines = "\n".join(shown).replace("\\\n", " ").splitlines()
    examples: list[str] = []
    for line in lines:
        words = " ".join(line.split())
        if words.startswith("metaeval "):
            examples.append(words.removeprefix("metaeval "))
        elif examples and words:
            examples[-1] += f" {words}"
    about = " ".join(" ".join(part.split()) for part in more if part not in shown)
    return " ".join(summary.split()), about, examples


def run_analysis(pipeline: Pipeline, options: DeclaredOptions, progress: MetricProgress | None) -> Done:
    """Run a pipeline with the options of its command, or estimate its cost."""
    from metaeval.analyses.analysis_job import recipe_of
    from metaeval.citation.pipelines.run_pipeline import estimate_pipeline, prepare, run_pipeline
    from metaeval.report.notebook import NotebookText

    fields, names = pipeline.options.model_fields, options.model_fields_set
    values = {name: getattr(options, name) for name in fields if name in names}
    of_run = ("results", "store", "executor", "budget", "trust_config", "batch")
    settings = {name: getattr(options, name) for name in of_run if name in names and name not in fields}
    requests = None if "requests" in fields else getattr(options, "requests", None)
    with _as_files(values) as (read, made_here):
        checked = validated(pipeline.options, read, f"the options of {pipeline.name}")
        run = prepare(pipeline, checked, settings, _overrides(pipeline, options.model_extra or {}), progress, requests)
        if getattr(options, "dry_run", False):
            text = estimate_pipeline(run)
            return Done(config=run.config, shown=(), verdict=text.splitlines(), value=NotebookText(text))
        try:
            result = run_pipeline(run)
        except RequestsWritten as told:
            return Done(config=run.config, shown=(), verdict=[str(told)], value=NotebookText(str(told)))
        recipe = {} if made_here else recipe_of(pipeline.command, options, checked.read_files)
        result = replace(result, recipe=recipe)
    return Done(
        config=result.config,
        job=lambda noted: (result.folder, result.write(noted)),
        read=checked.read_files,
        outputs={
            path: partial(_write_text, text=text)
            for path, text in result.files.items()
            if not path.is_relative_to(result.folder)
        },
        shown=result.grids,
        warnings=result.warnings,
        value=result if result.value is None else result.value,
    )


def _write_text(path: Path, text: str) -> None:
    from metaeval.files import write_texts

    write_texts({path: text})


def _overrides(pipeline: Pipeline, settings: Mapping[str, Any]) -> list[str]:
    """Return settings as name=value, without the pipeline's prefix; `UserError` for chat settings that it lacks."""
    from metaeval.analyses.command_words import yaml_text
    from metaeval.citation.pipelines.pipeline import AsksChat

    misplaced = (
        [] if issubclass(pipeline.options, AsksChat) else [key for key in AsksChat.model_fields if key in settings]
    )
    if misplaced:
        raise UserError(f"The pipeline {pipeline.name!r} does not use a chat model: leave {', '.join(misplaced)} out.")
    behind = settings.get(pipeline.prefix.removesuffix(".")) if pipeline.prefix else None
    if isinstance(behind, Mapping):
        settings = {**{name: value for name, value in settings.items() if value is not behind}, **behind}
    return [f"{name}={yaml_text(value)}" for name, value in settings.items()]


@contextmanager
def _as_files(options: Mapping[str, Any]) -> Iterator[tuple[dict[str, Any], bool]]:
    """Yield the options with objects replaced by a temporary file of them, and whether there were objects."""
    name = "file" if "file" in options else "files"
    answers = options.get(name, ())
    answers = (answers,) if isinstance(answers, Path | Mapping) else tuple(answers)
    objects = [not isinstance(answer, str | Path) for answer in answers]
    if any(objects) and not all(objects):
        raise UserError("The list of answers contains files and objects: give only files, or only objects.")
    if not any(objects):
        yield dict(options), False
        return

    from metaeval.citation.readers.answer_files import in_other_format

    with TemporaryDirectory() as folder:
        path = Path(folder) / "answers"
        path.write_text("".join(json.dumps(answer) + "\n" for answer in answers), encoding="utf-8")
        form = {} if in_other_format(answers[0]) else {"format": "jsonl"}
        try:
            yield {**options, **form, name: path if name == "file" else (path,)}, True
        except UserError as error:
            raise UserError(str(error).replace(f"{folder}/", "")) from error


def _with_kept_replies(options: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the options of a completed job; if its recorded replies are still there, they replace the model."""
    kept = options.get("record")
    if kept is None or not Path(kept).is_file():
        return options
    live = {"record", "base_url", "requests", "batch"}
    return {**{name: value for name, value in options.items() if name not in live}, "replay": kept}


PIPELINES = AnalysisFamily(adapt=analysis_of)
