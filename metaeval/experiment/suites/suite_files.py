"""A suite's files: each data set's results, the paper tables, and a record that later commands read."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from metaeval.errors import UserError
from metaeval.experiment.run import write_results
from metaeval.experiment.suites.skip_unavailable import LeftOut
from metaeval.experiment.suites.suite import Part, Suite
from metaeval.files import read_text, write_text
from metaeval.report.result import Result, load_result

RECORD = "suite.json"


def write_part(part: Part) -> list[Path]:
    """Write one data set's results as a run of its own does; the paths."""
    return write_results(part.config, part.results) if part.results else []


def write_record(suite: Suite, results: Sequence[Sequence[Path]], left_out: Sequence[LeftOut]) -> Path:
    """Write what the suite ran, where each run's result files are, and what was left out and why."""
    path = suite.folder / RECORD
    record = {
        **_settings(suite),
        "results": [[str(file) for file in files] for files in results],
        "left_out": [vars(one) for one in left_out],
    }
    write_text(path, json.dumps(record, indent=1, sort_keys=True, ensure_ascii=False) + "\n")
    return path


def read_record(suite: Suite) -> tuple[list[list[Result]], list[LeftOut]]:
    """Each run's results, as an earlier command wrote them for this very suite, and what it left out; else empty."""
    try:
        record = json.loads(read_text(suite.folder / RECORD))
        if {key: record.get(key) for key in ("name", "runs")} != _settings(suite):
            return [], []
        results = [[load_result(Path(file)) for file in files] for files in record["results"]]
        return results, [LeftOut(**one) for one in record["left_out"]]
    except (UserError, json.JSONDecodeError, AttributeError, KeyError, TypeError):
        return [], []


def _settings(suite: Suite) -> dict[str, Any]:
    return {"name": suite.name, "runs": [run.model_dump(mode="json") for run in suite.runs]}
