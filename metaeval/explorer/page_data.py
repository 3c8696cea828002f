"""The explorer's data of a job: its rows with their texts, scores and evidence, and the explanations of metrics.

The job's folder holds the scores and the settings; the texts are read again from the data that the settings name.
"""

from __future__ import annotations

import logging
import math
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from metaeval.core.config import RunConfig
from metaeval.core.config_files import shown_settings
from metaeval.core.errors import UserError, count, unknown
from metaeval.corpus.chunks import Chunking
from metaeval.corpus.model import SupportLevel
from metaeval.corpus.pair_table import Pair, PlacedEvidence, place_evidence
from metaeval.corpus.ratings import Rating, Ratings
from metaeval.corpus.units import UnitRow
from metaeval.explorer import explorer_page, numbering, sampled_ids
from metaeval.explorer.job_folders import folders_of, report_below, run_entry
from metaeval.explorer.shown_answers import is_citation_job, show_answers
from metaeval.report.cautions import cautions
from metaeval.report.findings import findings
from metaeval.report.first_table import first_table
from metaeval.report.result import SCHEMA, load_result, read_versioned
from metaeval.report.result_tables import lay_out, units
from metaeval.report.table import Table
from metaeval.runs.data import Job, RatedSet, prepare, prepare_ratings
from metaeval.runs.evaluate import declarations_of, named_protocols
from metaeval.runs.job import NAME, PAIRS, Kept, check, completed_run, read_pairs, settings_of
from metaeval.runs.metrics import FILE_PREFIX, find_cutoff, load_metric, plug_in
from metaeval.runs.score import MetricProgress
from metaeval.scoring.block_plan import longest_first
from metaeval.scoring.contract import Metric
from metaeval.scoring.engine import context_of, settled_metric


def evidence_reader(job: Job) -> Callable[[Pair], list[PlacedEvidence]]:
    """Return a function from a pair to the evidence that its text may hold.

    That is the evidence of the pair's citation or, where a pair joins whole pages, of all citations of its statement.
    """
    corpus, config = job.corpus, job.config
    citations = {citation.id: citation for citation in corpus.citations}
    cited: dict[str, list[str]] = {}
    for citation in corpus.citations if config.unit == "statement" and config.whole_pages else ():
        cited.setdefault(citation.statement_id, []).append(citation.id)

    @cache
    def placed(citation_id: str) -> PlacedEvidence:
        citation = citations[citation_id]
        chunking = Chunking(sys.maxsize) if config.whole_pages else config.chunk.chunking()
        cut = None if config.unit == "evidence" else chunking
        return place_evidence(corpus.documents[citation.document_id], citation, config.evidence.by_sentence, cut)

    return lambda pair: [placed(name) for name in cited.get(pair.statement_id, [pair.citation_id]) if name in citations]


def spans_of(evidence: Sequence[PlacedEvidence], pair: Pair) -> list[int]:
    """Return the offsets of this evidence in a pair's text, start and end alternating, without overlapping pieces."""
    flat = [placed.spans(pair) for placed in evidence]
    offsets: list[int] = []
    for start, end in sorted(span for of in flat for span in zip(of[::2], of[1::2], strict=True)):
        if not offsets or start >= offsets[-1]:
            offsets += [start, end]
    return offsets


def pair_columns(job: Job, rows: Sequence[UnitRow], kept: Mapping[str, Any]) -> dict[str, Any]:
    """Return the page's data of these rows: each distinct text, statement, document ... once, and rows with indices.

    kept: the fields of each row in the pair file, by the row's id.
    """
    corpus, evidence_of = job.corpus, evidence_reader(job)
    texts, statements, documents, groups, systems = (numbering() for _ in range(5))
    shown_rows: list[dict[str, Any]] = []
    for row in rows:
        pairs, level = [job.pairs[number] for number in row.members], kept[row.id]["level"]
        first = pairs[0]
        evidence = [evidence_of(pair) for pair in pairs]
        unplaced = dict.fromkeys(text for of_pair in evidence for placed in of_pair for text in placed.unplaced)
        system = corpus.statements[row.statement_id].system
        shown_rows.append(
            {
                **{"id": row.id, "statement": statements[row.statement_id], "document": documents[first.document_id]},
                **{"chunk": first.chunk, "texts": [texts[pair.source] for pair in pairs], "group": groups[row.group]},
                **{"system": systems[system], "level": -1 if level is None else int(level), "held": row.held},
                **{"cited": int(row.cited), "words": row.words, "pool": statements[row.statement_id]},
                **{"evidence": [*map(spans_of, evidence, pairs)], "unplaced": list(unplaced)},
            }
        )
    shown = [corpus.documents[name] for name in documents]
    return {
        **_columns(shown_rows, texts=texts, statementIds=statements, groups=groups, systems=systems),
        "levels": [level.label for level in sorted(SupportLevel)],
        "statementTexts": [corpus.statements[name].text for name in statements],
        "documents": [{"id": document.id, "title": document.title, "url": document.url} for document in shown],
    }


def _columns(rows: Sequence[Mapping[str, Any]], **names: Iterable[str]) -> dict[str, Any]:
    by_field = {key: [row[key] for row in rows] for key in (rows[0] if rows else ())}
    return {"rows": by_field, **{field: [*of_field] for field, of_field in names.items()}}


# Name of the column of human ratings beside the metrics, with which a scatter plot compares these.
AGAINST = "human rating"

_WORDS = 12  # a group whose name has more words is taken for the source text of its ratings


def rating_levels(ratings: Ratings) -> tuple[dict[str, Any], Callable[[float], int]]:
    """Return the names of levels 0, 1 and 2 ("levels") and cuts in words ("cuts"), and a function from rating to level.

    Ratings on the three-level scale keep it. Of two distinct ratings the lower is level 0 and the higher 2, and level 1
    has the name ""; of more, each third of the scale from the lowest rating to the highest is a level.
    """
    values = sorted(set(ratings.columns.gold.tolist()))
    low, high = values[0], values[-1]
    if ratings.levels and {*values} <= {*map(float, SupportLevel)}:
        return {"levels": [level.label for level in sorted(SupportLevel)], "cuts": ""}, int
    if len(values) == 2:
        return {"levels": [f"{low:g}", "", f"{high:g}"], "cuts": ""}, lambda gold: 2 if gold == high else 0
    # A little slack: 1/3 as it is printed is still in the middle.
    first, second = (low + (high - low) * (third + slack) / 3 for third, slack in ((1, -1e-6), (2, 1e-6)))
    words = {"levels": ["low", "middle", "high"], "cuts": f"low: below {first:.3g}, high: above {second:.3g}"}
    return words, lambda gold: 0 if gold < first else 2 if gold > second else 1


def rating_columns(rated: RatedSet, rows: Sequence[Rating], read: Mapping[str, tuple[str, str]]) -> dict[str, Any]:
    """Return the page's data of these ratings but their levels: each distinct text once, and rows with indices.

    The rated text takes the place of the statement, and the group that of the document. read: the texts (source,
    statement) that metrics were given, by id, where they scored them.
    """
    roles = rated.text_headings
    texts, statements, groups, systems, pools = (numbering() for _ in range(5))
    shown_rows: list[dict[str, Any]] = []
    for row in rows:
        source = row.fields.get(roles.get("source", ""), "") or row.group
        if source == row.group and len(source.split()) <= _WORDS:  # the name of a document
            source = ""
        statement = row.text or row.fields.get(roles.get("statement", ""), "")
        source, statement = read.get(row.id, (source, statement))
        others = {name: text for name, text in row.fields.items() if text not in ("", source, statement)}
        votes = {name: f"{vote:g}" for name, vote in row.votes.items()}
        shown_rows.append(
            {
                **{"id": row.id, "statement": statements[statement], "document": groups[row.group], "chunk": 0},
                **{"texts": [texts[source]] if source else [], "group": groups[row.group]},
                **{"system": systems[row.system], "rating": row.gold, "held": None, "cited": 1},
                **{"words": len(source.split()), "pool": pools[f"{row.group}\0{row.pair}"]},
                **{"evidence": [[]] if source else [], "unplaced": [], "more": {**others, **votes}},
            }
        )
    return {
        **_columns(shown_rows, texts=texts, statementIds=statements, groups=groups, systems=systems),
        "statementTexts": [*statements],
        "documents": [{"id": name, "title": "", "url": ""} for name in groups],
    }


_log = logging.getLogger("metaeval")

Source = TypeVar("Source", Job, RatedSet)

_UNTOLD = frozenset({"constant", "oracle", "inverted oracle"})  # controls that say nothing of single pairs

_TOGETHER = 32  # pairs that a metric explains at a time
_MANY = 1000  # pairs from which on a metric that reads no model takes seconds too
_DIGITS = 6  # significant digits of a score on the page


@dataclass(frozen=True)
class View:
    """The settings of a page: what to show of a job, and where its data are.

    data: path of the data, in place of that in the job's manifest. most: pairs of a page, above which statements are
    sampled. explain: metrics that explain their scores even if this takes a model. trust: the manifest may name code
    and programs. progress: callback that reports the progress of explanations.
    """

    data: Path | None = None
    most: int = 5000
    explain: tuple[str, ...] = ()
    trust: bool = False
    progress: MetricProgress | None = None


def view_page(names: Sequence[str], results: Path, path: Path, view: View) -> tuple[str, list[str]]:
    """Return the HTML page of these jobs, and a line of text about each.

    names: jobs as `results list` names them, or their folders. path: where the page will be written.

    Raises `UserError` for a job whose pairs cannot be shown, and for data that are not those judged.
    """
    blocks: dict[str, Any] = {}
    titles, summaries, runs = [], [], []
    folders = [folder for name in names for folder in folders_of(name, results)]
    for number, folder in enumerate(folders):
        cited = is_citation_job(folder)
        shown = {"job": show_answers(folder, view.data, view.most)} if cited else show_job(folder, view)
        blocks |= {f"{key}-{number}": value for key, value in shown.items()}
        about = shown["job"]
        about["report"] = report_below(folder, path)
        titles.append(about["title"])
        runs.append({"number": number, **run_entry(folder, about)})
        drawn = f" of {about['of']:,}" if about["of"] > about["pairs"] else ""
        what = "answer" if cited else "rating" if about["unit"] == "rating" else "pair"
        summaries.append(f"{about['title']}: {count(about['pairs'], what)}{drawn}")
    named = [
        f"{title} ({folder.name})" if titles.count(title) > 1 else title
        for title, folder in zip(titles, folders, strict=True)
    ]
    return explorer_page("; ".join(titles), {"jobs": named, "runs": runs, **blocks}), summaries


def show_job(folder: Path, view: View) -> dict[str, Any]:
    """Return the page's data for a job: `job`, and of its N-th metric `spans-N` (explanations) and `replies-N`.

    Raises `UserError` as `view_page` does.
    """
    head, kept = kept_pairs(folder)
    names = [str(name) for name in head["columns"]]
    if unasked := [name for name in view.explain if name not in names]:
        raise unknown("metric of the job", unasked[0], names)
    explained_rows: list[UnitRow] = []
    ratings: list[float] = []
    published: Collection[str] = ()
    columns: dict[str, Any]
    source: Job | RatedSet
    if head["job"].get("unit") == "rating":
        source = _prepared(folder, view, prepare_ratings)
        known = {row.id: row for row in source.ratings.rows if row.id in kept}
        words, level = rating_levels(source.ratings)
        origins = {row.id: row.fields.get("original", row.id) for row in known.values()}  # edits stand beside originals
        ids = sampled_ids([(name, origins[name], level(row.gold)) for name, row in known.items()], view.most)
        chosen = [known[name] for name in ids]
        ratings, published = [row.gold for row in chosen], source.ratings.scores
        if any(name not in published and _metric_of_column(name, source.config, view) for name in names):
            scored = {row.id: row for row in source.rows}
            explained_rows = [scored[name] for name in ids]
        read = {row.id: source.texts[row.members[0]] for row in explained_rows}
        columns = rating_columns(source, chosen, read)
        columns |= {**words, "rows": {**columns["rows"], "level": [level(gold) for gold in ratings]}}
        of = len(known)
    else:
        source = judged_job(folder, view, head)
        rows = {row.id: row for row in source.rows if row.id in kept}
        ids = sampled_ids([(row.id, row.statement_id, row.level) for row in rows.values()], view.most)
        explained_rows = [rows[name] for name in ids]
        columns = pair_columns(source, explained_rows, kept)
        of = len(rows)
    if of < len(kept):
        gone = min(kept.keys() - {row.id for row in (source.rows if isinstance(source, Job) else source.ratings.rows)})
        raise UserError(f"{folder / PAIRS} has the pair {gone!r}, which is not in the data: run the job again.")
    config, unit = source.config, source.config.unit if isinstance(source, Job) else "rating"
    files = [path for path in sorted(folder.glob("*.json")) if path.name != NAME]
    tables = [load_result(path) for path in files if read_versioned(path)[1] == SCHEMA]
    declarations = declarations_of(named_protocols(config).values())
    headline = [first_table(tables, declarations)] if tables else []
    judges = {row.metric for table in tables for row in table.rows if any(key[:3] == "tpr" for key in row.values)}
    metrics: list[dict[str, Any]] = []
    spans: dict[str, Any] = {}
    for number, name in enumerate(names):
        if name in _UNTOLD:
            continue
        metric = None if name in published else _metric_of_column(name, config, view)
        explained = _explanation_spans(metric, name, source, explained_rows, view)
        replied = _stored_replies(metric, source, explained_rows)
        metrics.append(
            {
                **_column_description(name, metric, name in head["controls"]),
                "scores": [
                    None if score is None or not math.isfinite(score) else float(f"{score:.{_DIGITS}g}")
                    for score in (kept[row]["scores"][number] for row in ids)
                ],
                "missing": _by_row(kept[row].get("missing", {}).get(name) for row in ids),
                "cut": _by_row(kept[row].get("cut", {}).get(name) for row in ids),
                "spans": explained is not None,
                "replies": replied is not None,
            }
        )
        if name in judges:
            top = max([1.0, *(score for row in ids if (score := kept[row]["scores"][number]) is not None)])
            metrics[-1] |= {"verdicts": True, "threshold": top, "from": "a yes of the judge"}
        if replied is not None:
            spans[f"replies-{len(metrics) - 1}"] = replied
        if explained is not None:
            spans[f"spans-{len(metrics) - 1}"] = explained
    if ratings:
        empty = {"missing": {}, "cut": {}, "spans": False, "replies": False}
        metrics.append({**_column_description(AGAINST, None, True), "scores": ratings, **empty})
    notes, judged, here = [], str(head["job"].get("data")), str(source.fields["data"])
    if judged.rpartition("@")[2] != here.rpartition("@")[2]:  # a file may have another name now
        notes = [f"What was judged is {judged}, and what the page shows is {here}: texts and evidence may differ."]
        _log.warning("%s", notes[0])
    about = {
        "kind": "pairs",
        "title": f"{source.name}, {source.split}, {units(unit)}",
        "unit": unit,
        "pairs": len(ids),
        "of": of,
        "fields": {key: str(value) for key, value in source.fields.items()},
        "metrics": metrics,
        "against": AGAINST if ratings else "",
        "tables": [_table(grid) for grid in (*headline, *map(lay_out, tables))],
        "notes": notes,
        "findings": findings(tables, declarations) if tables else [],
        "cautions": cautions(tables),
        **columns,
    }
    return {"job": about, **spans}


def judged_job(folder: Path, view: View, head: Mapping[str, Any]) -> Job:
    """Return a folder's job, data reread; `UserError` if unit, chunks or pool differ from the pair file's `head`."""
    job = _prepared(folder, view, prepare)
    for key in ("unit", "chunks", "pool"):
        if (judged := head["job"].get(key)) != str(job.fields[key]):
            here = job.fields[key]
            raise UserError(f"{folder} was made with {key} {judged}, and the data now have {here}: run the job again.")
    return job


def threshold_of(name: str, config: RunConfig) -> float | None:
    """Return the score from which a metric says supported, higher being more support; None where it is not known."""
    threshold: float | None = _column_description(name, _metric_of_column(name, config, View()), False)["threshold"]
    return threshold


def kept_pairs(folder: Path) -> tuple[Mapping[str, Any], dict[str, Any]]:
    """Return the first line of a job's pair file, and its rows by id; `UserError` if the job has no pair file."""
    path = folder / PAIRS
    if not path.is_file():
        raise UserError(f"{folder} holds no {PAIRS}: give a job of 'metaeval run' or 'metaeval evaluate'.")
    if check(path) is not Kept.SAME:
        _log.warning("%s: %s.", path, check(path))
    head, lines = read_pairs(path)
    return head, {row["id"]: row for row in lines}


def _prepared(folder: Path, view: View, read: Callable[[RunConfig], Source]) -> Source:
    """Return the job of a folder with its data read again by `read`, from `view.data` if it is set."""
    settings = shown_settings(folder / NAME, settings_of(folder), view.trust)
    if view.data:
        settings["data"] = str(view.data)
    config = completed_run(settings, str(folder / NAME), view.trust)
    try:
        return read(config)
    except UserError as error:
        if view.data or config.data is None:
            raise
        cure = f"The page reads the job's data again, from {config.data}: if they were moved, name them by --data"
        raise UserError(f"{error} {cure}.") from error


def _metric_of_column(name: str, config: RunConfig, view: View) -> Metric | None:
    """Return a column's metric; None for a control, a score file, and a metric that cannot be loaded.

    The latter is an error (`UserError`) for a metric in `view.explain`.
    """
    if name not in config.metrics or name.startswith(FILE_PREFIX):
        return None
    try:
        return load_metric(name, config)
    except UserError:
        if name in view.explain:
            raise
        return None


def _column_description(name: str, metric: Metric | None, control: bool) -> dict[str, Any]:
    """Return a column's name, scale and threshold; their sign is reversed where lower scores mean more support."""
    about: dict[str, Any] = {"name": name, "control": control, "low": None, "high": None}
    about |= {"threshold": None, "from": "", "summary": ""}
    if metric is None:
        return about
    card = metric.card
    low, high = card.low, card.high
    if card.direction == -1:
        low, high = (None if end is None else -end for end in (high, low))
    about |= {"low": low, "high": high, "summary": card.summary}
    try:
        cutoff = find_cutoff(name, metric, {})
    except UserError:  # there is none, or the model is not here to say with which weights it would hold
        return about
    return about | {"threshold": None if cutoff.value is None else card.direction * cutoff.value, "from": cutoff.source}


def _explanation_spans(
    metric: Metric | None, name: str, job: Job | RatedSet, rows: Sequence[UnitRow], view: View
) -> list[list[list[int]]] | None:
    """Return, by row and by chunk of the row, the metric's spans as a flat list; None where it explains nothing here.

    Each span is five numbers: side (0 statement, 1 source), start, length, weight in %, link (-1: none).
    """
    if metric is None or not metric.explains():
        if name in view.explain:
            raise UserError(f"{name} cannot explain its scores ('metaeval metrics show {name}'): leave --explain out.")
        return None
    if metric.card.modules and name not in view.explain:  # it takes a model
        return None
    metric = settled_metric(metric, job.texts)
    shown = [job.texts[number] for row in rows for number in row.members]
    context = context_of(set(job.texts if metric.corpus_dependent else shown))
    spans_of: dict[tuple[str, str], list[int]] = {}
    pairs = sorted(dict.fromkeys(shown), key=lambda pair: longest_first(pair[0]))  # those of a source together
    tell = view.progress if metric.card.modules or len(pairs) > _MANY else None
    with plug_in(name):
        metric.prepare(context.sources, context.statements)
        for first in range(0, len(pairs), _TOGETHER):
            if tell:
                tell(f"explaining {name}", first, len(pairs))
            some = pairs[first : first + _TOGETHER]
            for pair, spans in zip(some, metric.explain_all(some), strict=True):
                spans_of[pair] = []
                for span in spans:
                    spans_of[pair] += [int(span.side == "source"), span.start, span.end - span.start]
                    spans_of[pair] += [round(100 * span.weight), -1 if span.link is None else span.link]
    if tell:
        tell(f"explaining {name}", len(pairs), len(pairs))
    return [[spans_of[job.texts[number]] for number in row.members] for row in rows]


def _stored_replies(metric: Metric | None, job: Job | RatedSet, rows: Sequence[UnitRow]) -> list[list[str]] | None:
    """Return, for each row, the stored replies of a chat model about its chunks; None if no reply is stored."""
    if metric is None or type(metric).replies is Metric.replies:
        return None
    texts = [[job.texts[number] for number in row.members] for row in rows]
    replies = {pair: metric.replies(*pair) for pair in dict.fromkeys(pair for pairs in texts for pair in pairs)}
    return [[reply for pair in pairs for reply in replies[pair]] for pairs in texts] if any(replies.values()) else None


def _by_row(values: Iterable[Any]) -> dict[int, Any]:
    return {row: value for row, value in enumerate(values) if value}


def _table(grid: Table) -> dict[str, Any]:
    blocks = []
    for block in grid.blocks:
        lines = []
        for line in block.lines:
            cells = [{name: getattr(cell, name) for name in _OF_CELLS} for cell in line.cells]
            lines.append({"name": line.name, "cells": cells})
        blocks.append({"title": block.title, "lines": lines})
    notes = [[note.label, note.line] for note in grid.footnotes]
    headings = [str(heading) for heading in grid.headings]
    if len({*headings}) < len(headings):  # the page has no headings over columns
        over = [group.title for group in grid.groups for _ in range(group.columns)]
        headings = [f"{title}: {heading}" for title, heading in zip(over, headings, strict=True)]
    about = {"title": grid.title, "headings": headings, "legend": grid.legend}
    return {**about, "blocks": blocks, "notes": notes}


_OF_CELLS = ("number", "interval", "marks", "rank")
