"""A multiverse as files: every outlook as CSV, everything as JSON, what follows from it as Markdown."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from metaeval.experiment.suites.multiverse import Multiverse, Outlook
from metaeval.experiment.suites.rank_stability import (
    Influence,
    Standing,
    Swap,
    by_protocol,
    influences,
    specification,
    standings,
    swaps,
)
from metaeval.files import write_text
from metaeval.report.markdown import escape

_OUTCOME = ("protocol", "measure", "metric", "value", "rank")


def write_multiverse(found: Multiverse, folder: Path) -> list[Path]:
    """Write multiverse.csv, .json and .md into a folder; the paths. The same outlooks give the same bytes."""
    texts = {"csv": _csv(found.outlooks), "json": _json(found), "md": markdown(found)}
    paths = []
    for suffix, text in texts.items():
        path = folder / f"multiverse.{suffix}"
        write_text(path, text)
        paths.append(path)
    return paths


def markdown(found: Multiverse) -> str:
    """The report: for each protocol who is first how often, which choices move ranks, and which metrics swap."""
    blocks = [f"# Multiverse: {escape(found.dataset)}, {escape(found.split)}"]
    blocks += [
        f"`{axis}` was held at {value}: these data give evidence as sentence indices, or none."
        for axis, value in found.held.items()
    ]
    for protocol, outlooks in by_protocol(found.outlooks):
        blocks += _protocol(protocol, outlooks)
    if found.skipped:
        lines = [f"- {escape(_choices(choices))}: {escape(reason)}" for choices, reason in found.skipped]
        blocks += [f"## Left out\n\n{len(found.skipped)} combinations could not be run.", "\n".join(lines)]
    return "\n\n".join(blocks) + "\n"


def _protocol(protocol: str, outlooks: Sequence[Outlook]) -> Iterator[str]:
    count = len({specification(outlook) for outlook in outlooks})
    unranked = count - len({specification(outlook) for outlook in outlooks if outlook.rank is not None})
    yield f"## {protocol}: {escape(outlooks[0].measure)} over {_specifications(count)}"
    if unranked:
        yield f"{unranked:,} of them rank nothing: every metric has the same value there, or none."
    yield _table(("metric", "first in", "rank", "value"), [_standing(one) for one in standings(outlooks)])
    moved = influences(outlooks)
    yield _moved([one for one in moved if one.share][:2])
    if moved:
        yield _table(("choice", "share of the variance of ranks"), [_influence(one) for one in moved])
    swapped = swaps(outlooks)
    yield _swapped(swapped) if swapped else "No two metrics swap places."


def _specifications(count: int) -> str:
    return "1 specification" if count == 1 else f"{count:,} specifications"


def _standing(one: Standing) -> tuple[str, ...]:
    low, high = one.ranks
    return (
        escape(one.metric),
        f"{one.first:,} of {one.specifications:,} ({100 * one.share_first:.0f} %)",
        str(low) if low == high else f"{low} to {high}",
        f"{one.values[0]:.3f} to {one.values[1]:.3f}",
    )


def _influence(one: Influence) -> tuple[str, ...]:
    return (escape(one.axis), "-" if one.share is None else f"{100 * one.share:.1f} %")


def _moved(most: Sequence[Influence]) -> str:
    if not most:
        return "No choice moves a rank."
    named = " and ".join(f"`{one.axis}` ({100 * (one.share or 0):.0f} %)" for one in most)
    return (
        f"Ranks move most with {named}: the share of the variance of ranks that a choice explains alone, over the "
        "specifications that have it. Where not every combination exists, shares can overlap."
    )


def _swapped(found: Sequence[Swap]) -> str:
    lines = ["Pairs whose order depends on the choices, and in how many specifications each is above:", ""]
    for one in found:
        lines.append(f"- {escape(one.one)} {one.one_above:,}, {escape(one.other)} {one.other_above:,}")
    return "\n".join(lines)


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    marks = [":--", *("--:" for _ in headings[1:])]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (headings, marks, *rows))


def _choices(choices: Any) -> str:
    return ", ".join(f"{name}={value}" for name, value in choices.items())


def _axes(outlooks: Sequence[Outlook]) -> list[str]:
    return list(dict.fromkeys(axis for outlook in outlooks for axis in outlook.choices))


def _csv(outlooks: Sequence[Outlook]) -> str:
    """One row an outlook, numbers at full precision; a choice that makes no difference to it is empty."""
    axes = _axes(outlooks)
    file = io.StringIO()
    writer = csv.writer(file)
    writer.writerow([*_OUTCOME, *axes])
    for one in outlooks:
        outcome = (one.protocol, one.measure, one.metric, one.value, one.rank)
        writer.writerow([*outcome, *(one.choices.get(axis, "") for axis in axes)])
    return file.getvalue()


def _json(found: Multiverse) -> str:
    data = {
        "schema": "metaeval-multiverse/1",
        "dataset": found.dataset,
        "split": found.split,
        "held": dict(found.held),
        "outlooks": [{**vars(one), "choices": dict(one.choices)} for one in found.outlooks],
        "skipped": [{"choices": dict(choices), "reason": reason} for choices, reason in found.skipped],
        "summary": {
            protocol: {
                "standings": [vars(one) for one in standings(outlooks)],
                "influences": [vars(one) for one in influences(outlooks)],
                "swaps": [vars(one) for one in swaps(outlooks)],
            }
            for protocol, outlooks in by_protocol(found.outlooks)
        },
    }
    return json.dumps(data, indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n"
