"""The files of a meta-evaluation: results and sheets by level, and the ratings with every score, to be read again."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from metaeval.corpus.model import Ratings
from metaeval.experiment.citing.meta.citebench import citebench_sheets
from metaeval.experiment.citing.meta.run import Meta
from metaeval.experiment.citing.meta.sheets import annotators_sheet, measures_sheet, systems_sheet, within_sheet
from metaeval.experiment.manifest import write_manifests
from metaeval.experiment.sheet import Sheet, write_sheet
from metaeval.files import safe_name, write_text
from metaeval.report.formats import write_tables
from metaeval.report.result import save_result

RATINGS = "ratings.jsonl"
"""The ratings and every measure's scores, which `metaeval evaluate -d ratings --data FILE` reads."""


def folder_of(meta: Meta) -> Path:
    """RESULTS/cite/meta/NAME."""
    return meta.prepared.config.results / "cite" / "meta" / safe_name(meta.prepared.asked.name)


def meta_sheets(meta: Meta) -> dict[str, list[Sheet]]:
    """Every sheet in the order in which they are read, by the folder that it goes to (empty: the run's own)."""
    found: dict[str, list[Sheet]] = {}
    for level in meta.levels:
        sheets = [within_sheet(meta, level), systems_sheet(meta, level) if level.unit == "responses" else None]
        found[level.unit] = [sheet for sheet in sheets if sheet is not None]
    annotators = annotators_sheet(meta)
    found[""] = [*citebench_sheets(meta), *([annotators] if annotators else []), measures_sheet(meta)]
    return found


def write_meta(meta: Meta, sheets: dict[str, list[Sheet]]) -> list[Path]:
    """Write results, sheets and ratings, with a manifest in each folder; the paths. Same verdicts, same bytes.

    The manifest alone holds time and machine.
    """
    folder, written = folder_of(meta), []
    for level, results in zip(meta.levels, meta.results, strict=True):
        own = folder / level.unit
        path = own / RATINGS
        write_text(path, ratings_lines(level.ratings))
        written.append(path)
        for result in results:
            path = own / f"{result.protocol}.json"
            save_result(result, path)
            written += [path, *write_tables(result, own / result.protocol)]
    for place, few in sheets.items():
        written += [path for sheet in few for path in write_sheet(sheet, folder / place)]
    write_manifests(meta.prepared.config, [result for few in meta.results for result in few], written)
    return written


def ratings_lines(ratings: Ratings) -> str:
    """The ratings as JSON lines with every measure's score, as `metaeval.corpus.loaders.ratings` reads them."""
    lines: Sequence[str] = [
        json.dumps(
            {
                "id": row.id,
                "group": row.group,
                "gold": row.gold,
                **({"system": row.system} if row.system else {}),
                **({"text": row.text} if row.text else {}),
                "scores": {metric: scores.get(row.id) for metric, scores in ratings.scores.items()},
            },
            allow_nan=False,
        )
        for row in ratings.rows
    ]
    return "".join(f"{line}\n" for line in lines)
