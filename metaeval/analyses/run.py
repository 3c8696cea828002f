"""Runs: metrics are scored on judged data, and their scores are evaluated."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BeforeValidator, InstanceOf

from metaeval.analyses.analysis import Analysis, AnalysisOptions, Done, Parts, Progress, RatedOptions, ScoredOptions
from metaeval.core import registry
from metaeval.core.config import BatchSettings, LayoutSettings, ProtocolSettings, RunConfig
from metaeval.core.config_files import read_entries
from metaeval.core.declared import Flag, Names
from metaeval.core.errors import NoModelError, UserError, as_value_error, count
from metaeval.core.files import safe_name
from metaeval.corpus.model import Corpus

if TYPE_CHECKING:
    from metaeval.analyses.readiness import Planned
    from metaeval.analyses.suites.suite_runs import Suite
    from metaeval.corpus.ratings import Ratings
    from metaeval.report.ranking_measures import Declarations
    from metaeval.runs.evaluate import EvaluatedRun


class JobOptions(BatchSettings, ScoredOptions):
    """Options of an analysis that scores named metrics on data, or only estimates the cost."""

    untyped = frozenset({"rehash"})

    requests: Annotated[Path | None, Flag("FILE", output=True, hidden=True)] = None
    """Write judges' requests as a batch; nothing is sent."""
    dry_run: Annotated[bool, Flag()] = False
    """Estimate only: nothing is scored, fetched or paid for."""
    rehash: Annotated[bool, Flag()] = False
    """Compute the hashes of model weights again, instead of remembering them."""


def _entries(listed: Any) -> Any:
    with as_value_error():
        return read_entries(listed)


class RunOptions(RatedOptions, LayoutSettings, ProtocolSettings, JobOptions):
    """Options of `run`."""

    corpus: InstanceOf[Corpus] | None = None
    """Judged data of your own, in place of a data set by name."""
    datasets: Annotated[tuple[dict[str, Any], ...], BeforeValidator(_entries)] = ()
    """Data sets of a suite with settings of their own: mappings with `dataset`, as in a file of settings."""
    dataset: Annotated[Names, Flag("NAMES", "-d")] = ("mini",)
    """Data set, by name ('metaeval data list'); with --suite several, with commas."""
    suite: Annotated[bool, Flag()] = False
    """Run every data set of --config or --dataset, and write a paper's tables."""

    @property
    def names_datasets(self) -> bool:
        """Whether the option `dataset` was given."""
        return "dataset" in self.model_fields_set

    def run(self, **fixed: Any) -> RunConfig:
        """Return the run on the named data set; raises `UserError` where several are named."""
        if not self.suite and (len(self.dataset) > 1 or self.datasets):
            named = self.dataset if self.names_datasets else [str(entry["dataset"]) for entry in self.datasets]
            raise UserError(f"Several data sets ({', '.join(named)}) need --suite: add it, or give one data set.")
        return super().run(**{"dataset": ",".join(self.dataset), **fixed})


def instead_of(
    options: JobOptions, run: RunConfig, data: Corpus | Ratings | None = None, tables: bool = False
) -> Done | None:
    """Return the output if only a batch of requests or an estimate is wanted; else None.

    data: replaces the run's data set. tables: whether a table of pairs is scored alone.
    """
    from metaeval.analyses.readiness import plan, requests_of
    from metaeval.report.notebook import NotebookText
    from metaeval.report.table import Table

    if options.rehash:
        from metaeval.scoring.backends.checkpoint import forget_hashes

        forget_hashes()
    if options.requests is not None:
        sentence = requests_of(run, options.requests, data, tables)
        return Done(config=run, shown=(), verdict=[sentence], value=NotebookText(sentence))
    if not options.dry_run:
        return None
    parts = list(plan(run, data, tables))
    lines = [line for part in parts for line in _plan_lines(part, run)]
    rows = Table(records=[{**asdict(part), "state": str(part.state)} for part in parts])
    lines.append("Nothing was scored, fetched or paid for.")
    return Done(config=run, shown=(), verdict=lines, value=rows)


def _plan_lines(part: Planned, run: RunConfig) -> list[str]:
    stored = "stored: not known before the download" if part.stored is None else f"{part.stored:,} stored"
    left = part.pairs - (part.stored or 0)
    lines = [f"{part.name}: {count(part.pairs, 'pair')}, {stored}, {left:,} to score ({part.state})"]
    if part.estimate:
        lines.append(f"  {part.estimate}")
    elif part.blocks and not run.executor.alone:
        blocks = f"{count(part.blocks, 'block')} (the most workers that have work)"
        lines.append(f"  {blocks}, about {count(part.tokens, 'token')}")
    return lines


def _run(options: RunOptions, progress: Progress) -> Done | Parts:
    from metaeval.runs.evaluate import run
    from metaeval.runs.metrics import able_defaults

    if options.suite:
        from metaeval.analyses.suite_outputs import run_parts

        return run_parts(read_suite(options), RunOptions, progress)
    config = options.run()
    data = options.corpus or options.ratings(config)
    config = able_defaults(config)
    try:
        return instead_of(options, config, data) or evaluated(options, config, run(config, progress, data), "run")
    except NoModelError as error:
        for line in _without(options, error) if data is None else ():
            error.add_note(line)
        raise


def read_suite(options: RunOptions) -> Suite:
    """Return the suite that options describe; raises `UserError` for an option that is for one data set only."""
    from metaeval.analyses.suites.suite_runs import suite_of

    single = ("corpus", "requests", "batch", "dry_run")
    options.refuse([name for name in single if getattr(options, name)], "for one data set: leave --suite out")
    if options.rehash:
        from metaeval.scoring.backends.checkpoint import forget_hashes

        forget_hashes()
    named = (RunConfig.model_fields.keys() & options.model_fields_set) - {"dataset"}
    settings = {name: getattr(options, name) for name in named}
    return suite_of(options.config, settings, options.datasets, options.dataset if options.names_datasets else ())


def _without(options: RunOptions, error: NoModelError) -> list[str]:
    """Return lines with the commands that lead to the tables although the model of a metric is not here."""
    from metaeval.analyses.command_words import words_of

    def typed(*words: str) -> str:
        kind = registry.find("analysis", words[0]).options
        kept = [name for name in (*_KEPT, "protocols") if name in kind.model_fields]
        return shlex.join(["metaeval", *words, *words_of(options, kept, kind, short=True)])

    name, base = error.metric, error.metric.partition(":")[0]
    model = ["-m", f"{base}:{error.folder}"]
    if base not in registry.names("metric"):  # a variant has its name from a file
        model = ["-m", name, "-s", f"metric_options.{name}.model={error.folder}"]
    table = options.data if options.dataset == ("ratings",) else ""
    return [
        f"  with its files in a folder:    {typed('run', *model)}",
        f"  with scores made elsewhere:    {'' if table else typed('pairs', 'pairs.jsonl')}",
        f"    on a machine with a GPU:     metaeval score -m {name} -d ratings --data {table or 'pairs.jsonl'} -o .",
        f"    then here:                   {typed('evaluate', safe_name(name.replace(':', '.')) + '.jsonl')}",
        f"  with a metric without a model: {typed('run', '-m', 'support-mini')}",
    ]


def evaluated(options: AnalysisOptions, config: RunConfig, outcome: EvaluatedRun, command: str) -> Done:
    """Return the output of a run by the analysis `command`: headline values, findings, the job, and a next command."""
    from metaeval.analyses.analysis_job import write_evaluated
    from metaeval.report.cautions import cautions
    from metaeval.report.findings import findings
    from metaeval.report.first_table import first_tables
    from metaeval.report.judge_card import judge_cards
    from metaeval.report.notebook import Results
    from metaeval.report.rank_agreement import rank_agreement
    from metaeval.report.result_tables import lay_out
    from metaeval.runs.evaluate import declarations_of

    results = outcome.results
    declarations = declarations_of(outcome.protocols.values())
    left_out = [f"Left out: {name} on {results[0].data.name}: {why}" for name, why in outcome.left_out.items()]
    tables = [table for result in results for table in (lay_out(result), *judge_cards(result, sys.maxsize))]
    chosen = config.protocols != RunConfig().protocols  # a protocol that nobody asked for is a remark, not a warning
    return Done(
        config=config,
        sheets=[*tables, *rank_agreement(results, declarations)],
        job=partial(write_evaluated, config, outcome, command),
        shown=first_tables(results, declarations),
        sentences=findings(results, declarations)[: 1 if len(results) > 1 else None],
        cautions=cautions(results),
        warnings=left_out if chosen else [],
        value=Results(results, declarations, left_out),
        after=lambda _: [*([] if chosen else left_out), *next_step(options, config, outcome, declarations)],
    )


_KEPT = ("dataset", "split", "data", "columns", "unit", "pool", "results", "store", "dataset_options")
"""Settings of the run that the next command repeats."""


def next_step(
    options: AnalysisOptions, config: RunConfig, outcome: EvaluatedRun, declarations: Declarations
) -> list[str]:
    """Return a line with the next command and its purpose; empty where the results suggest none.

    The command compares a single metric with another, plans for leading metrics without a significant difference,
    learns a threshold for a metric that leads alone, and evaluates scores that are levels as verdicts.
    """
    import numpy as np

    from metaeval.analyses.command_words import words_of
    from metaeval.report.ranking_measures import headlines, top
    from metaeval.runs.metrics import FILE_PREFIX

    results = outcome.results
    shown = headlines(results, declarations)
    if outcome.source is None or not shown or not shown[0].metrics:
        return []
    first = shown[0]
    rated = any(result.unit == "rating" for result in results)
    rows = [row.metric for row in first.result.rows if row.kind == "metric"]
    known = [registry.retyped(name, config.metric_options).removeprefix(FILE_PREFIX) for name in config.metrics]
    typed = dict(zip(rows, known, strict=True)) if len(rows) == len(known) else {}
    scores = [column.score[~np.isnan(column.score)] for column in outcome.columns if column.kind == "metric"]
    decided = all(score.size and np.isin(score, (0.0, 1.0, 2.0)).all() for score in scores)  # all are levels
    if rated and decided and all(result.protocol != "verdicts" for result in results):
        command, purpose = ["evaluate", *known, "-p", "verdicts"], "how often these verdicts are right, as they stand"
    else:
        leading = [typed.get(name, name) for name in top(first)]
        others = [typed.get(name, name) for name in rows]
        command, purpose = _comparison(first.result.protocol, first.result.data.groups, leading, others, rated)
    if not command:
        return []
    chosen = config.protocols != RunConfig().protocols and len({result.protocol for result in results}) == 1
    if chosen and command[0] in ("compare", "plan"):
        command += ["-p", first.result.protocol]  # else the command would use another measure than the table
    kept = [name for name in _KEPT if name in type(options).model_fields]
    takes = registry.find("analysis", command[0]).options
    return [f"Next: metaeval {shlex.join([*command, *words_of(options, kept, takes, short=True)])}   ({purpose})"]


def _comparison(
    protocol: str, groups: int, leading: Sequence[str], metrics: Sequence[str], rated: bool
) -> tuple[list[str], str]:
    """Return the next command for the leading ones of all `metrics`, as words, and its purpose; empty for none."""
    if len(metrics) == 1:
        other = "bm25" if list(metrics) == ["overlap"] else "overlap"
        return ([], "") if rated else (["compare", leading[0], other], "whether it differs from another metric")
    if len(leading) > 1 and protocol == "systems":
        # More rows do not help: `plan` plans for groups, and refuses correlations of a few systems.
        return ["compare", *leading[:2]], "by how much they may differ"
    if len(leading) > 1 and groups < 2:
        return [], ""  # a plan is drawn from groups
    if len(leading) > 1:
        return ["plan", *leading[:2]], "how many rows it takes to detect a difference between the two"
    if rated:
        return ["compare", leading[0], next(name for name in metrics if name != leading[0])], "by how much they differ"
    return ["thresholds", leading[0], "--learn"], "the threshold from which it says supported"


RUN = Analysis(
    name="run",
    summary="Score data with metrics and compare them with human labels.",
    about="""The headline values are printed with what they mean; the folder that is written holds the rest. Scores are
kept in the score store and served from it. With --suite there is one run for each data set, and a paper's tables over
all of them. What cannot be run is left out and named; without a data set the exit code is 1.""",
    returns="Results: A result for each protocol, a list that prints table and findings; of a suite for each data set.",
    examples=[
        "run",
        "run -p classification -m minilm-bertscore -d wice",
        "run -m overlap -s chunk.size=100 -s interval.seed=3",
        "run -m my_module:my_metric       (a function or class of yours)",
        "run --suite -d wice,factcheck_gpt -m overlap,rouge",
        "run -m llm-discrete --dry-run    (what it would ask and cost)",
    ],
    options=RunOptions,
    run=_run,
    headline=True,
)
