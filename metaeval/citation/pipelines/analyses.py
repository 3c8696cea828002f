"""Citation pipelines as analyses: one declaration of each registered pipeline, of this package or of another."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BeforeValidator, ConfigDict, Field, create_model

from metaeval import registry
from metaeval.analyses.analysis import USUAL, Analysis, AnalysisFamily, DeclaredOptions, Done, FileOrObject
from metaeval.analyses.function import make_function
from metaeval.citation.pipelines.figures import citation_figures
from metaeval.config import (
    BatchSettings,
    BudgetSettings,
    ResultsSettings,
    ScoringSettings,
    Strict,
    TrustSettings,
)
from metaeval.declared import Flag, flag_of, kinds_of, validated
from metaeval.errors import RequestsWritten, UserError

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

    from metaeval.citation.pipelines.pipeline import Pipeline
    from metaeval.citation.pipelines.result import PipelineResult
    from metaeval.runs.metrics import MetricProgress


class CitingOptions(BudgetSettings, ResultsSettings, DeclaredOptions):
    """What every pipeline takes beside its own options; further settings by name are its owners', or those of a run."""

    model_config = ConfigDict(extra="allow")

    untyped = frozenset({"store", "executor", "requests", "batch"})


class _JudgesAlone(BatchSettings):
    requests: Annotated[Path | None, Flag("FILE", output=True)] = None
    """Write judges' requests as a batch; nothing is sent."""


class _AsksChat(Strict):
    dry_run: Annotated[bool, Flag()] = False
    """Estimate only: nothing is scored, fetched or paid for."""


def analysis_of(pipeline: Pipeline) -> Analysis:
    """The analysis that a pipeline declares: `metaeval cite NAME`, and `metaeval.cite.NAME` in Python."""
    summary, about, examples = _help(pipeline.help)
    return Analysis(
        name=f"cite {pipeline.name}",
        summary=summary,
        about=about,
        examples=examples,
        options=options_of(pipeline),
        run=partial(_run, pipeline),
        again=_with_kept_replies,
        figures=citation_figures,
        tree=pipeline.tree,
    )


def options_of(pipeline: Pipeline) -> type[DeclaredOptions]:
    """A pipeline's own options, and what a run of it needs: scoring where metrics judge, a plan where a model is asked.

    Every own field is an option, but for those that the pipeline's options name as untyped.
    """
    from metaeval.citation.pipelines.pipeline import untyped_of

    groups: list[type] = [CitingOptions]
    untyped = CitingOptions.untyped | untyped_of(pipeline.options)
    if pipeline.backends != "none":
        groups = [TrustSettings, ScoringSettings, *groups]
    if pipeline.chat != "none":
        groups = [_AsksChat, *groups]
    else:
        groups = [_JudgesAlone, *groups] if pipeline.backends != "none" else groups
        untyped |= {"budget"}
    own = pipeline.options
    read_first = sorted(own.model_fields.items(), key=lambda item: not flag_of(item[1]).argument)
    fields: Any = {name: _field(field) for name, field in read_first}
    made: Any = create_model(
        own.__name__, __base__=tuple(groups), __module__=own.__module__, __doc__=own.__doc__, **fields
    )
    made.untyped = untyped & made.model_fields.keys()
    options: type[DeclaredOptions] = made
    return options


def _field(field: FieldInfo) -> tuple[Any, Any]:
    """A field of a pipeline's options; where it names the files to read, it also takes answers as objects."""
    kind: Any = field.annotation
    known = [part for part in field.metadata if not isinstance(part, Flag)]
    if flag_of(field).argument and Path in kinds_of(kind):
        kind = Annotated[tuple[Any, ...], BeforeValidator(_read_from)] if flag_of(field).multiple else FileOrObject
        known = []
    default = {} if field.is_required() else {"default": field.get_default(call_default_factory=True)}
    return Annotated[(kind, *known, flag_of(field))], Field(description=field.description, **default)


def _read_from(value: Any) -> Any:
    """Files as paths, and answers as objects, in one row: a list among them stands for what is in it."""
    if isinstance(value, str | Path | Mapping) or not isinstance(value, Iterable):
        return (Path(value) if isinstance(value, str) else value,)
    parts = [
        one if isinstance(one, Iterable) and not isinstance(one, str | Path | Mapping) else (one,) for one in value
    ]
    return tuple(Path(one) if isinstance(one, str) else one for part in parts for one in part)


def _help(text: str) -> tuple[str, str, list[str]]:
    """The summary, the further paragraphs, and the example commands of a help text."""
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


def _run(pipeline: Pipeline, options: DeclaredOptions, progress: MetricProgress | None) -> Done:
    from metaeval.analyses.job import recipe_of
    from metaeval.citation.pipelines.run import estimate_pipeline, prepare, run_pipeline
    from metaeval.report.notebook import NotebookText

    fields, given = pipeline.options.model_fields, options.model_fields_set
    own = {name: getattr(options, name) for name in fields if name in given}
    of_run = ("results", "store", "executor", "budget", "trust_config", "batch")
    settings = {name: getattr(options, name) for name in of_run if name in given and name not in fields}
    requests = None if "requests" in fields else getattr(options, "requests", None)
    with _as_files(own) as (read, made_here):
        made = validated(pipeline.options, read, f"the options of {pipeline.name}")
        run = prepare(pipeline, made, settings, _overrides(pipeline, options.model_extra or {}), progress, requests)
        if getattr(options, "dry_run", False):
            text = estimate_pipeline(run)
            return Done(config=run.config, shown=(), verdict=text.splitlines(), value=NotebookText(text))
        try:
            result = run_pipeline(run)
        except RequestsWritten as told:
            return Done(config=run.config, shown=(), verdict=[str(told)], value=NotebookText(str(told)))
        name = f"cite {pipeline.name}"
        result = replace(result, recipe={} if made_here else recipe_of(name, options, made.sources))
    return Done(
        config=result.config,
        job=partial(_write, result),
        read=made.sources,
        outputs={
            path: partial(_write_text, text=text)
            for path, text in result.files.items()
            if not path.is_relative_to(result.folder)
        },
        shown=result.grids,
        warnings=result.warnings,
        value=result if result.value is None else result.value,
    )


def _write(result: PipelineResult, noted: Mapping[str, Any]) -> tuple[Path, Sequence[Path]]:
    return result.folder, result.write(noted)


def _write_text(path: Path, text: str) -> None:
    from metaeval.files import write_texts

    write_texts({path: text})


def _overrides(pipeline: Pipeline, settings: Mapping[str, Any]) -> list[str]:
    """Further settings as --set takes them; those behind the pipeline's prefix stand for themselves."""
    from metaeval.analyses.words import yaml_text
    from metaeval.citation.pipelines.pipeline import AsksChat

    asked = [] if issubclass(pipeline.options, AsksChat) else [key for key in AsksChat.model_fields if key in settings]
    if asked:
        raise UserError(f"{pipeline.name!r} asks no chat model: leave {', '.join(asked)} out.")
    behind = settings.get(pipeline.prefix.removesuffix(".")) if pipeline.prefix else None
    if isinstance(behind, Mapping):
        settings = {**{name: value for name, value in settings.items() if value is not behind}, **behind}
    return [f"{name}={yaml_text(value)}" for name, value in settings.items()]


@contextmanager
def _as_files(own: Mapping[str, Any]) -> Iterator[tuple[dict[str, Any], bool]]:
    """The options with files in the place of objects, which become lines of one; and whether there were objects."""
    name = "file" if "file" in own else "files"
    answers = own.get(name, ())
    answers = (answers,) if isinstance(answers, Path | Mapping) else tuple(answers)
    objects = [not isinstance(one, str | Path) for one in answers]
    if any(objects) and not all(objects):
        raise UserError("Answers are files, or objects: this is a list of both.")
    if not any(objects):
        yield dict(own), False
        return
    with TemporaryDirectory() as folder:
        path = Path(folder) / "answers"
        path.write_text("".join(json.dumps(one) + "\n" for one in answers), encoding="utf-8")
        form = {"format": "jsonl"}
        try:
            yield {**own, **form, name: path if name == "file" else (path,)}, True
        except UserError as error:
            raise UserError(str(error).replace(f"{folder}/", "")) from error


def _with_kept_replies(options: Mapping[str, Any]) -> Mapping[str, Any]:
    """The options of a completed job, with the replies that it recorded in the place of the model."""
    kept = options.get("record")
    if kept is None or not Path(kept).is_file():
        return options
    live = {"record", "base_url", "requests", "batch"}
    return {**{name: value for name, value in options.items() if name not in live}, "replay": kept}


def cite(pipeline: Any, answers: Any = None, nli: Any = (), **settings: Any) -> Any:
    """Judge the citations in answers by the pipeline of a name: `cite("alce", ...)` is `cite.alce(...)`.

    pipeline: alce, aliice, scifi, citeeval, or any other that is registered; answers alone are ALCE's. answers: files,
    or objects with the fields of the JSONL format: text with marks [1], and passages. nli: metrics that judge, by
    default minilm-bertscore (citeeval: none, AutoAIS is left out). settings: options of the command by name, and what
    --set takes.
    """
    named = isinstance(pipeline, str) and (answers is not None or pipeline in registry.names("pipeline"))
    name, read = (pipeline, answers) if named else (USUAL["cite"], pipeline)
    function = make_function(registry.find("analysis", f"cite.{name}", code=True), f"cite.{name}")
    return function(*(() if read is None else (read,)), **({"nli": nli} if nli else {}), **settings)


PIPELINES = AnalysisFamily(adapt=analysis_of, call=cite)
