"""Suites: one experiment over several data sets, and the tables of a paper over all of them."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from metaeval.analyses.analysis import DeclaredOptions, Done, Parts, Progress
from metaeval.analyses.analysis_job import write_evaluated
from metaeval.analyses.suites.job_figures import pictures_of
from metaeval.analyses.suites.suite_runs import (
    Part,
    Suite,
    lacks_data,
    omission_lines,
    omissions,
    run_suite,
    write_record,
)
from metaeval.core.declared import validated
from metaeval.core.errors import UserError
from metaeval.report.cautions import cautions
from metaeval.report.findings import findings
from metaeval.report.first_table import first_table
from metaeval.report.notebook import Results, Sheets
from metaeval.report.paper_tables import BASE_PAPER_GROUPS, FLAT, OTHER_GROUP, PaperLayout, paper_tables
from metaeval.report.rank_agreement import rank_agreement
from metaeval.report.ranking_measures import Declarations
from metaeval.report.result import Result
from metaeval.report.table import Table
from metaeval.report.table_files import write_table
from metaeval.runs.evaluate import declarations_of
from metaeval.runs.job import Command, close_job, write_report
from metaeval.runs.metrics import load_metric

_log = logging.getLogger("metaeval")


class SuiteResults(Results):
    """The results of a suite, one for each data set and protocol.

    Parameters
    ----------
    results, declarations
        As in `Results`.
    sheets : sequence of Table
        A paper's tables over all data sets, held as `tables`.
    """

    def __init__(self, results: Iterable[Result], declarations: Declarations, sheets: Sequence[Table]) -> None:
        super().__init__(results, declarations)
        self.tables = Sheets(sheets)


def run_parts(suite: Suite, kind: type[DeclaredOptions], progress: Progress) -> Parts:
    """Yield the output of each data set on which something could be run; return the one with the paper's tables.

    kind: of the options with which a single data set is rerun.
    """
    parts = []
    for part in run_suite(suite, progress):
        parts.append(part)
        if part.evaluated:
            settings = {name: getattr(part.config, name) for name in part.config.model_fields_set}
            yield Done(
                config=part.config,
                job=partial(write_evaluated, part.config, part.evaluated, "run"),
                rerun_with=validated(kind, settings, "the settings"),
            )
    results = [result for part in parts for result in part.results]
    left_out = [omission for part in parts for omission in part.left_out]
    if not results:
        reasons = " ".join(f"{what}: {reason}" for what, reason in omissions(left_out))
        raise UserError(f"Nothing could be run. {reasons}")
    with_number = [protocol for protocol in suite.protocols.values() if protocol.table_number]
    numbered = {protocol.name: (protocol.table_number, protocol.table_measures) for protocol in with_number}
    declarations = declarations_of(suite.protocols.values())
    layout = FLAT
    if suite.runs[0].layout == "base-paper":  # each metric in the group of its card's family, ROC-AUC in % as 92.61
        groups = {}
        for of, name in ((run, name) for run in suite.runs for name in run.metrics):
            with contextlib.suppress(UserError):  # a file of scores, or a metric that is not here
                groups[name] = BASE_PAPER_GROUPS.get(load_metric(name, of).card.family, OTHER_GROUP)
        layout = PaperLayout(groups, percent_digits=2)
    agreement = rank_agreement(results, declarations)
    tables = [*paper_tables(results, omissions(left_out), numbered, layout), *agreement]
    return Done(
        config=suite.runs[0],
        sheets=tables,
        job=partial(_write_tables, suite, parts, tables),
        shown=[first_table(results, declarations), *agreement],
        sentences=findings(results, declarations),
        cautions=cautions(results),
        warnings=omission_lines(left_out),
        value=SuiteResults(results, declarations, tables),
        exit_code=int(lacks_data(left_out)),
    )


def _write_tables(
    suite: Suite, parts: Sequence[Part], tables: Sequence[Table], more: Mapping[str, Any]
) -> tuple[Path, str]:
    results = [result for part in parts for result in part.results]
    command = Command("run", {"suite": True})
    folder = suite.folder(results, command)
    written = [path for table in tables for path in write_table(table, folder)]
    pictures = {}
    try:
        pictures = pictures_of(results, suite.protocols)
    except UserError as error:  # matplotlib is not installed
        _log.info("The page has no bars: %s", error)
    written.append(write_report(results, suite.protocols, folder, suite.name, pictures=pictures))
    written.append(write_record(suite, folder, parts))
    close_job(suite.runs[0], command, folder, [result.data for result in results], written, more)
    return folder, f"report.html; {', '.join(table.name for table in tables)}: json; suite.json"
