"""The one way of all citation pipelines: options checked, files read, models asked, verdicts made, results laid out.

Nothing that differs between a run and its replay goes into the results: what came from the reply store, and what had
to be sent again, is told on the way.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

from metaeval.citation.chat import Chat, open_chat
from metaeval.citation.model import Answer
from metaeval.citation.readers.answers import read_answers
from metaeval.citation.sentences import find_sentence_splitter
from metaeval.config import RunConfig, load_run
from metaeval.errors import UserError
from metaeval.experiment.citing.pipeline import (
    AsksChat,
    FindCutoff,
    Given,
    JudgedByMetrics,
    MakeBackends,
    Pipeline,
    PipelineOptions,
    ReadsAnswers,
    Run,
)
from metaeval.experiment.citing.result import PipelineResult
from metaeval.experiment.citing.settings import ChatChoice, chat_options, sort_settings
from metaeval.experiment.columns import check_names
from metaeval.experiment.cutoffs import Cutoff, find_cutoff, read_thresholds
from metaeval.experiment.scoring import MetricProgress
from metaeval.experiment.verdicts import Backend, Premise, entailment, load_judge
from metaeval.files import safe_name
from metaeval.scoring.store import ScoreStore

_log = logging.getLogger(__name__)

DEFAULT_BACKEND = "minilm-bertscore"
"""The one that does best on WiCE dev of those that need no download."""


def run_pipeline(
    pipeline: Pipeline,
    options: PipelineOptions,
    settings: Mapping[str, Any],
    overrides: Sequence[str] = (),
    progress: MetricProgress | None = None,
) -> PipelineResult:
    """Run a pipeline; nothing is written but the stores of scores and replies, and the file of `record`.

    settings: those of a run (results, store, budget). overrides: what --set takes, name=value.

    Raises `UserError` for whatever is wrong in options, files and backends before anything is sent or scored; and when
    the chat model cannot go on or the budget is spent, with every reply so far kept.
    """
    run = prepare(pipeline, options, settings, overrides, progress)
    laid = pipeline.lay_out(judge(pipeline, run))
    return PipelineResult(
        pipeline=pipeline.name,
        name=run.name,
        config=laid.config or run.config,
        folder=laid.folder or run.folder,
        tables=laid.tables if isinstance(laid.tables, Mapping) else {sheet.name: sheet for sheet in laid.tables},
        row_tables=laid.rows,
        files=laid.files,
        shown=laid.shown,
        results=laid.results,
    )


def judge(pipeline: Pipeline, run: Run) -> Any:
    """What a pipeline makes of a prepared run before it is laid out: read, asked and judged."""
    read = pipeline.read(run)
    with _answering(run) as chat:
        heard = pipeline.ask(read, chat)
    with backends_over_store(run) as backends:
        return pipeline.judge(heard, backends)


def estimate_pipeline(
    pipeline: Pipeline, options: PipelineOptions, settings: Mapping[str, Any], overrides: Sequence[str] = ()
) -> str:
    """What such a run would still ask of the chat model, and cost; nothing is sent, and no key is needed.

    Raises `UserError` as `run_pipeline` does before anything is sent.
    """
    return pipeline.estimate(pipeline.read(prepare(pipeline, options, settings, overrides)))


def prepare(
    pipeline: Pipeline,
    options: PipelineOptions,
    settings: Mapping[str, Any],
    overrides: Sequence[str] = (),
    progress: MetricProgress | None = None,
) -> Run:
    """Check the options, and read the answers; nothing is asked or scored."""
    given, of_run = _sorted(pipeline, overrides)
    metrics = _metrics(pipeline, options)
    # A budget is the run's too: a backend may cost money as well.
    of_metrics = {"metrics": metrics} if metrics else {}
    config = load_run(None, {**pipeline.defaults, **settings, **_set(given, "budget"), **of_metrics}, of_run)
    choice, chat, cutoffs = _choice(options), None, {}
    if pipeline.chat == "always" or (pipeline.chat == "optional" and pipeline.asks(choice, given)):
        usual = {"model": pipeline.model} if pipeline.model and choice.replay is None else {}
        values = {**usual, **given.get("chat", {}), **_set(given, "model")}
        chat = chat_options(pipeline.chat_options, choice, values, config.budget, pipeline.purpose)
    if metrics and pipeline.cutoff is not None and isinstance(options, JudgedByMetrics):
        find = partial(pipeline.cutoff, given=given)
        cutoffs = find_cutoffs(metrics, config, options.threshold, options.calibration, pipeline.decides, find)
    splitter = find_sentence_splitter(getattr(options, "splitter", "auto"))
    name, answers = name_of(options.inputs), []
    if isinstance(options, ReadsAnswers):
        answers = gather(options.files, options.format)
        if not any(answer.passages for answer in answers):
            raise UserError(f"No answer of {name} comes with passages: there is nothing that its citations point at.")
    folder = config.results / "cite" / pipeline.name / safe_name(name)
    return Run(name, folder, options, given, config, cutoffs, choice, chat, splitter, answers, progress)


def name_of(files: Sequence[Path]) -> str:
    """The files' names, without folders and endings."""
    return "+".join(_stem(path) for path in files)


def gather(files: Sequence[Path], form: str = "auto") -> list[Answer]:
    """The answers of one or more files.

    An answer that names no system is of its file's; with several files, ids begin with the file's name.

    Raises `UserError` for no file, a file that cannot be read as answers, two files of one name, and a system that
    goes by the name of another file.
    """
    if not files:
        raise UserError("No file of answers is given: name at least one.")
    names = [_stem(path) for path in files]
    if len(set(names)) < len(names):
        raise UserError(f"Files are told apart by their names, and two have the same: {', '.join(names)}.")
    read = {name: read_answers(path, form) for path, name in zip(files, names, strict=True)}
    _check_systems(read)
    answers: list[Answer] = []
    for name, own_answers in read.items():
        for answer in own_answers:
            prefix = f"{name}/" if len(files) > 1 else ""
            own = f"{prefix}{answer.id}", answer.system or name, answer.group
            written, system, group = (_writable(text) for text in own)
            answers.append(replace(answer, id=written, system=system, group=group))
    return answers


def find_cutoffs(
    names: Sequence[str],
    config: RunConfig,
    threshold: str | None = None,
    calibrations: Sequence[Path] = (),
    decides: str = "",
    find: FindCutoff = find_cutoff,
) -> dict[str, Cutoff]:
    """The cut-off of each backend, in their order; `UserError` for a wrong backend, and one without a cut-off.

    decides: what needs decisions, as the beginning of the sentence that refuses a soft cut-off (empty: nothing does).
    """
    check_names(config)
    given = read_thresholds(threshold, names)
    found = {name: find(name, load_judge(name, config), given, calibrations) for name in names}
    if soft := [name for name, cutoff in found.items() if decides and cutoff.value is None]:
        raise UserError(f"{decides}, and {soft[0]!r} is asked for soft scores: give a threshold.")
    return found


@contextmanager
def backends_over_store(run: Run) -> Iterator[MakeBackends]:
    """What makes backends over the run's score store; the store is opened when the first of them is made."""
    config = run.config
    premise: Premise = getattr(run.options, "premise", "joint")
    with ExitStack() as stack:
        store = cache(lambda: stack.enter_context(ScoreStore(config.store_path)))

        def made(
            cutoffs: Mapping[str, Cutoff] = run.cutoffs,
            premise: Premise = premise,
            progress: MetricProgress | None = run.progress,
        ) -> Iterator[Backend]:
            # Each is made when the one before it has judged: its model is then let go.
            for name, cutoff in cutoffs.items():
                yield entailment(name, config, cutoff, store(), premise, progress)

        yield made


@contextmanager
def _answering(run: Run) -> Iterator[Chat | None]:
    """The chat model of the run; None where none is asked."""
    if run.chat is None:
        yield None
        return
    with open_chat(run.chat, run.choice.record, run.choice.replay, run.progress) as chat:
        yield chat
        _log.info("%s: %s", run.chat.model, chat.note())


def _sorted(pipeline: Pipeline, overrides: Sequence[str]) -> tuple[Given, list[str]]:
    """What --set says of the pipeline's owners, and of the run."""
    named = [one.removeprefix(pipeline.prefix) for one in overrides]
    return sort_settings(named, pipeline.owners) if pipeline.owners else ({}, named)


def _metrics(pipeline: Pipeline, options: PipelineOptions) -> tuple[str, ...]:
    """The metrics that judge; the default one where the pipeline needs one and none is named."""
    names = options.judges if isinstance(options, JudgedByMetrics) else ()
    if pipeline.backends == "one" and len(names) > 1:
        raise UserError(f"One metric judges here, and {len(names)} are named: give --nli once.")
    return names or ((DEFAULT_BACKEND,) if pipeline.backends in ("one", "many") else ())


def _choice(options: PipelineOptions) -> ChatChoice:
    if not isinstance(options, AsksChat):
        return ChatChoice()
    if options.record is not None and options.replay is not None:
        raise UserError("Replies are recorded or replayed: give --record or --replay, not both.")
    return ChatChoice(options.model, options.base_url, options.record, options.replay)


def _set(given: Given, name: str) -> dict[str, Any]:
    """What --set gives under a name, whoever has it."""
    return next(({name: values[name]} for values in given.values() if name in values), {})


def _check_systems(read: Mapping[str, Sequence[Answer]]) -> None:
    """Answers that name no system go by their file's name; it must not be another system's."""
    for name in [name for name, answers in read.items() if any(not answer.system for answer in answers)]:
        for other, answers in read.items():
            if other != name and any(answer.system == name for answer in answers):
                raise UserError(
                    f"Answers in {other} are of a system {name!r}, and so are those of the file {name}, which name "
                    "none: rename the file, or name its system in the field 'system'."
                )


def _writable(text: str) -> str:
    """A name as files can hold it: a lone surrogate, which JSON input may hold, as its escape."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _stem(path: Path) -> str:
    """A file's name without its endings: answers.jsonl.gz is answers."""
    return path.name.split(".")[0] or path.name
