"""The one way of all citation pipelines: options checked, files read, models asked, verdicts made, results laid out.

Nothing that differs between a run and its replay goes into the results: what came from the reply store, and what had
to be sent again, is told on the way.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import cache, partial
from pathlib import Path
from typing import Any

from metaeval.citation.chat import open_chat
from metaeval.citation.model import Answer
from metaeval.citation.pipelines.pipeline import (
    AsksChat,
    FindCutoff,
    Given,
    JudgedByMetrics,
    Pipeline,
    PipelineOptions,
    ReadsAnswers,
    Run,
    chat_options,
    sort_settings,
)
from metaeval.citation.pipelines.result import PipelineResult
from metaeval.citation.pipelines.verdicts import Backend, Premise, entailment
from metaeval.citation.readers.answers import file_stem, gather
from metaeval.citation.sentences import find_sentence_splitter
from metaeval.config import load_run
from metaeval.errors import UserError
from metaeval.files import declare, safe_name
from metaeval.runs.columns import named_metrics
from metaeval.runs.cutoffs import Cutoff, find_cutoff, judge_of, read_thresholds
from metaeval.runs.job_folder import Command, changed, job_folder
from metaeval.runs.metrics import LoadedMetrics, MetricProgress, load_metrics, worker_pool
from metaeval.scoring.store import ScoreStore

_log = logging.getLogger(__name__)

DEFAULT_BACKEND = "minilm-bertscore"
"""The one that does best on WiCE dev of those that need no download."""


def run_pipeline(run: Run) -> PipelineResult:
    """Run a prepared pipeline; nothing is written but the stores of scores and replies, and the file of `record`.

    Raises `UserError` for whatever is wrong in options, files and backends before anything is sent or scored; and when
    the chat model cannot go on or the budget is spent, with every reply so far kept.
    """
    laid = run.pipeline.lay_out(judge(run))
    tables = laid.tables if isinstance(laid.tables, Mapping) else {sheet.name: sheet for sheet in laid.tables}
    usual = laid.folder or run.folder
    made = [line for sheet in tables.values() for line in sheet.signatures]
    given = {owner: values for owner, values in run.given.items() if values}
    command = Command(f"cite {run.pipeline.name}", {**changed(run.options), **({"set": given} if given else {})})
    config = laid.config or run.config
    folder = job_folder(usual.parent, [usual.name], made, command, config)
    inside = {path: path.is_relative_to(usual) for path in laid.files}
    return PipelineResult(
        command=command,
        pipeline=run.pipeline.name,
        name=run.name,
        config=config,
        folder=folder,
        tables=tables,
        row_tables=laid.rows,
        files={folder / path.relative_to(usual) if inside[path] else path: text for path, text in laid.files.items()},
        shown=laid.shown,
        results=laid.results,
        inputs=run.options.sources,
        form=getattr(run.options, "format", "auto"),
        value=laid.value,
        warnings=laid.warnings,
    )


def judge(run: Run) -> Any:
    """What the pipeline makes of a prepared run before it is laid out: read, asked and judged."""
    pipeline = run.pipeline
    read = pipeline.read(run)
    if run.chat is None:
        heard = pipeline.ask(read, None)
    else:
        choice = run.choice
        with open_chat(run.chat, choice.record, choice.replay, run.progress, choice.requests) as chat:
            heard = pipeline.ask(read, chat)
            _log.info("%s: %s", run.chat.model, chat.note())
    config = run.config
    how: Premise = getattr(run.options, "premise", "joint")
    with ExitStack() as stack:
        # The store is opened when the first backend is made.
        store = cache(lambda: stack.enter_context(ScoreStore(config.store_path)))
        pool = cache(lambda: stack.enter_context(worker_pool(config)))

        def backends(
            cutoffs: Mapping[str, Cutoff] = run.cutoffs,
            premise: Premise = how,
            progress: MetricProgress | None = run.progress,
        ) -> Iterator[Backend]:
            # Each is made when the one before it has judged: its model is then let go.
            for name, cutoff in cutoffs.items():
                yield entailment(name, run.metrics, cutoff, store(), premise, progress, pool(), run.choice.requests)

        return pipeline.judge(heard, backends)


def estimate_pipeline(run: Run) -> str:
    """What a prepared run would still ask of the chat model, and cost; nothing is sent, and no key is needed.

    Raises `UserError` as `run_pipeline` does before anything is sent.
    """
    return run.pipeline.estimate(run.pipeline.read(run))


def prepare(
    pipeline: Pipeline,
    options: PipelineOptions,
    settings: Mapping[str, Any],
    overrides: Sequence[str] = (),
    progress: MetricProgress | None = None,
    requests: Path | None = None,
) -> Run:
    """Check the options, and read the answers; nothing is asked or scored.

    settings: those of a run (results, store, budget). overrides: what --set takes, name=value. requests: a file for
    what a metric would ask, in a pipeline that asks no chat model itself. Raises `UserError`.
    """
    given: Given = {}
    of_run = [one.removeprefix(pipeline.prefix) for one in overrides]
    if pipeline.owners:
        given, of_run = sort_settings(of_run, pipeline.owners)
    metrics = options.judges if isinstance(options, JudgedByMetrics) else ()
    if pipeline.backends == "one" and len(metrics) > 1:
        raise UserError(f"One metric judges here, and {len(metrics)} are named: give --nli once.")
    if pipeline.backends in ("one", "many"):
        metrics = metrics or (DEFAULT_BACKEND,)
    judged = AsksChat(requests=requests, batch=settings.get("batch"))
    choice, chat, cutoffs = options if isinstance(options, AsksChat) else judged, None, {}
    declare("output", *filter(None, (choice.record, choice.requests)))
    # A budget and a batch are the run's too: a backend may ask a model as well.
    of_metrics = {"batch": choice.batch, **({"metrics": metrics} if metrics else {})}
    trust = {"trust_config": getattr(options, "trust_config", None)}
    config = load_run(None, {**pipeline.defaults, **trust, **settings, **_set(given, "budget"), **of_metrics}, of_run)
    loaded = named_metrics(config) if metrics else load_metrics((), config)
    if choice is judged and (option := next(iter(choice.idle), None)):
        loaded.check_asking(option)
    if choice.record is not None and choice.replay is not None:
        raise UserError("Replies are recorded or replayed: give --record or --replay, not both.")
    if choice.replay is not None and (choice.requests or choice.batch):
        raise UserError("Replies are replayed, or those of a batch: give --replay, or the settings requests and batch.")
    if pipeline.chat == "always" or (pipeline.chat == "optional" and pipeline.asks(choice, given)):
        usual = {"model": pipeline.model} if pipeline.model and choice.replay is None else {}
        values = {**usual, **given.get("chat", {}), **_set(given, "model"), **_set(given, "ask_again")}
        chat = chat_options(pipeline.chat_options, choice, values, config.budget, pipeline.purpose)
    if metrics and pipeline.cutoff is not None and isinstance(options, JudgedByMetrics):
        find = partial(pipeline.cutoff, given=given)
        cutoffs = find_cutoffs(loaded, options.threshold, options.calibration, pipeline.decides, find)
    splitter = find_sentence_splitter(getattr(options, "splitter", "auto"))
    answers: list[Answer] = []
    name = "+".join(file_stem(path) for path in options.inputs)
    if isinstance(options, ReadsAnswers):
        answers = gather(options.files, options.format)
        if not any(answer.passages for answer in answers):
            raise UserError(f"No answer of {name} comes with passages: there is nothing that its citations point at.")
    folder = config.results / "cite" / pipeline.name / safe_name(name)
    return Run(
        pipeline, name, folder, options, given, config, loaded, cutoffs, choice, chat, splitter, answers, progress
    )


def find_cutoffs(
    metrics: LoadedMetrics,
    threshold: float | str | None = None,
    calibrations: Sequence[Path] = (),
    decides: str = "",
    find: FindCutoff = find_cutoff,
) -> dict[str, Cutoff]:
    """The cut-off of each backend, in their order; `UserError` for one that judges no single claim or has no cut-off.

    decides: what needs decisions, as the beginning of the sentence that refuses a soft cut-off (empty: nothing does).
    """
    names = [*metrics.files, *metrics.names]
    given = read_thresholds(None if threshold is None else str(threshold), names)
    found = {name: find(name, judge_of(name, metrics), given, calibrations) for name in names}
    if soft := [name for name, cutoff in found.items() if decides and cutoff.value is None]:
        raise UserError(f"{decides}, and {soft[0]!r} is asked for soft scores: give a threshold.")
    return found


def _set(given: Given, name: str) -> dict[str, Any]:
    """What --set gives under a name, whoever has it."""
    return next(({name: values[name]} for values in given.values() if name in values), {})
