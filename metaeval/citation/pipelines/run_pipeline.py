"""Run any citation pipeline: check options, read files, ask models, make verdicts, and lay out results.

Results hold nothing that differs between a run and its replay: the number of replies from the store, and of those
that were sent again, is only logged.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

from metaeval.citation.chat_models import open_chat
from metaeval.citation.data_model import Answer
from metaeval.citation.marks_and_sentences import find_sentence_splitter
from metaeval.citation.pipelines.metric_verdicts import Backend, Premise, entailment
from metaeval.citation.pipelines.pipeline import (
    AsksChat,
    JudgedByMetrics,
    Pipeline,
    PipelineOptions,
    ReadsAnswers,
    Run,
    SetOptions,
    chat_options,
    sort_settings,
)
from metaeval.citation.pipelines.pipeline_result import PipelineResult
from metaeval.citation.readers.answer_files import file_stem, gather
from metaeval.citation.support.level_readings import FIELD
from metaeval.config import load_run
from metaeval.errors import UserError
from metaeval.files import declare, safe_name
from metaeval.report.table import Table
from metaeval.runs.job_folder import Command, changed, job_folder
from metaeval.runs.loaded_metrics import LoadedMetrics, MetricProgress, load_metrics, worker_pool
from metaeval.runs.score_columns import named_metrics
from metaeval.runs.verdict_cutoffs import Cutoff, find_cutoff, judge_of, read_thresholds
from metaeval.scoring.contract import Metric
from metaeval.scoring.score_store import ScoreStore

FindCutoff = Callable[[str, Metric, Mapping[str, float | None], Sequence[Path]], Cutoff]
"""Returns the cut-off of a metric, from its name, the metric, typed thresholds, and calibration files."""

_log = logging.getLogger(__name__)

DEFAULT_BACKEND = "minilm-bertscore"
"""The best on WiCE dev of the metrics that need no download."""


def run_pipeline(run: Run) -> PipelineResult:
    """Run a prepared pipeline; it writes only the stores of scores and replies, and the files `record` and `requests`.

    Raises `UserError` for wrong options, files and backends before anything is sent or scored; and where the chat
    model fails or the budget is spent, after the replies so far are stored.
    """
    laid = run.pipeline.lay_out(judge(run))
    tables = laid.tables if isinstance(laid.tables, Mapping) else {sheet.name: sheet for sheet in laid.tables}
    usual = laid.folder or run.folder
    signatures = [line for sheet in tables.values() for line in sheet.signatures]
    set_options = {owner: values for owner, values in run.set_options.items() if values}
    command = Command(run.pipeline.command, {**changed(run.options), **({"set": set_options} if set_options else {})})
    config = laid.config or run.config
    folder = job_folder(usual.parent, [usual.name], signatures, command, config)

    def moved(path: Path) -> Path:
        return folder / path.relative_to(usual) if path.is_relative_to(usual) else path

    whole: dict[str, Any] = {
        "command": command,
        "pipeline": run.pipeline.name,
        "name": run.name,
        "config": config,
        "folder": folder,
        "tables": tables,
        "rows": laid.rows
        if isinstance(laid.rows, Mapping)
        else {table.name: with_file_name(table) for table in laid.rows},
        "files": {moved(path): text for path, text in laid.files.items()},
        "inputs": run.options.read_files,
        "form": getattr(run.options, "format", "auto"),
    }
    return PipelineResult(**(vars(laid) | whole))


def with_file_name(rows: Table) -> Table:
    """Return a table of rows under the name of its file, which is per-answers-overlap for "answers:overlap"."""
    return replace(rows, name="-".join(["per", *map(safe_name, rows.name.split(":", 1))]))


def judge(run: Run) -> Any:
    """Read the answers, ask the chat model if there is one, and judge; return the input of the pipeline's `lay_out`."""
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
            # A backend is made when the one before it has judged, so that one model at a time is in memory.
            for name, cutoff in cutoffs.items():
                yield entailment(name, run.metrics, cutoff, store(), premise, progress, pool(), run.choice.requests)

        return pipeline.judge(heard, backends)


def estimate_pipeline(run: Run) -> str:
    """Return text on what a prepared run would still ask the chat model, and its cost; nothing is sent.

    No key is needed. Raises `UserError` as `run_pipeline` does before anything is sent.
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
    """Return the run with checked options and the answers read; nothing is asked or scored.

    settings: settings of the run (results, store, budget). overrides: those of --set, as name=value. requests: file
    to which a metric that asks a chat model writes its requests instead of sending them; only for pipelines that
    ask none themselves. Raises `UserError` for anything wrong in these.
    """
    set_options: SetOptions = {}
    of_run = [override.removeprefix(pipeline.prefix) for override in overrides]
    if pipeline.owners:
        set_options, of_run = sort_settings(of_run, pipeline.owners)
    metrics = options.judges if isinstance(options, JudgedByMetrics) else ()
    if pipeline.backends == "one" and len(metrics) > 1:
        raise UserError(f"This pipeline uses one metric, and {len(metrics)} are given: name one with --nli.")
    if pipeline.backends in ("one", "many"):
        metrics = metrics or (DEFAULT_BACKEND,)
    judged = AsksChat(requests=requests, batch=settings.get("batch"))
    choice, chat, cutoffs = options if isinstance(options, AsksChat) else judged, None, {}
    declare("output", *filter(None, (choice.record, choice.requests)))
    # The budget and the batch are also the run's, since a backend may ask a model as well.
    of_metrics = {"batch": choice.batch, **({"metrics": metrics} if metrics else {})}
    trust = {"trust_config": getattr(options, "trust_config", None)}
    config = load_run(
        None, {**pipeline.defaults, **trust, **settings, **_set(set_options, "budget"), **of_metrics}, of_run
    )
    loaded = named_metrics(config) if metrics else load_metrics((), config)
    if choice is judged and (option := next(iter(choice.idle), None)):
        loaded.check_asking(option)
    if choice.record is not None and choice.replay is not None:
        raise UserError("Replies are recorded or replayed, not both: give only one of --record and --replay.")
    if choice.replay is not None and (choice.requests or choice.batch):
        raise UserError(
            "Replies can come from --replay or from a batch, but not from both: give only --replay, or "
            "only the settings requests and batch."
        )
    if pipeline.chat == "always" or (pipeline.chat == "optional" and pipeline.asks(choice, set_options)):
        usual = {"model": pipeline.model} if pipeline.model and choice.replay is None else {}
        values = {
            **usual,
            **set_options.get("chat", {}),
            **_set(set_options, "model"),
            **_set(set_options, "ask_again"),
        }
        chat = chat_options(pipeline.chat_options, choice, values, config.budget, pipeline.purpose)
    if metrics and pipeline.cutoff is not None and isinstance(options, JudgedByMetrics):
        find = partial(pipeline.cutoff, set_options=set_options)
        cutoffs = find_cutoffs(loaded, options.threshold, options.calibration, pipeline.decides, find)
    splitter = find_sentence_splitter(getattr(options, "splitter", "auto"))
    answers: list[Answer] = []
    name = "+".join(file_stem(path) for path in options.inputs)
    if isinstance(options, ReadsAnswers):
        answers = gather(options.files, options.format, options.sources)
        judged_in_file = not metrics and any(FIELD in answer.reference for answer in answers)
        if not judged_in_file and not any(passage.text.strip() for answer in answers for passage in answer.passages):
            raise UserError(
                f"No answer in {name} has passages to judge its citations by: give answers with passages, or the texts "
                "of their sources with --sources FILE."
            )
    folder = config.results / "cite" / pipeline.name / safe_name(name)
    return Run(
        pipeline, name, folder, options, set_options, config, loaded, cutoffs, choice, chat, splitter, answers, progress
    )


def find_cutoffs(
    metrics: LoadedMetrics,
    threshold: float | str | None = None,
    calibrations: Sequence[Path] = (),
    decides: str = "",
    find: FindCutoff = find_cutoff,
) -> dict[str, Cutoff]:
    """Return the cut-off of each metric by name; `UserError` for one that judges no single claim or has no cut-off.

    threshold, calibrations: the user's options. decides: what needs decisions, as the beginning of the error message
    about a soft cut-off (empty: soft is allowed). find: returns a metric's cut-off.
    """
    names = [*metrics.files, *metrics.names]
    thresholds = read_thresholds(None if threshold is None else str(threshold), names)
    cutoffs = {name: find(name, judge_of(name, metrics), thresholds, calibrations) for name in names}
    if soft := [name for name, cutoff in cutoffs.items() if decides and cutoff.value is None]:
        raise UserError(
            f"{decides}, and 'soft' gives the metric {soft[0]!r} no threshold: give a number with --threshold "
            f"{soft[0]}=X."
        )
    return cutoffs


def _set(set_options: SetOptions, name: str) -> dict[str, Any]:
    """Return {name: value} of the option `name` that --set gives the first owner that has it; {} if it gives none."""
    return next(({name: values[name]} for values in set_options.values() if name in values), {})
