"""Figures of citation pipelines: bars of their measures, lines over rounds, results of protocols, and ALiiCE's trees.

What is drawn of a record is declared by its pipeline (`Pipeline.drawn`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from metaeval.analyses.suites.job_figures import figures_of
from metaeval.citation.aliice.claim_options import aliice_profile
from metaeval.citation.aliice.claims import draft, has_mark, read
from metaeval.citation.data_model import Answer
from metaeval.citation.marks_and_sentences import find_sentence_splitter, split, whole
from metaeval.citation.parsers.dependency_parsers import find_parser
from metaeval.citation.pipelines.pipeline import PIPELINE, PipelineMeasure, find_pipeline
from metaeval.citation.readers.answer_files import gather
from metaeval.errors import UserError
from metaeval.files import sha256_file
from metaeval.report.result import SCHEMA as RESULT
from metaeval.report.result import Column, Result, load_result, read_versioned
from metaeval.report.table import Table
from metaeval.report.table_files import SCHEMA, load_table
from metaeval.runs.job_folder import NAME, read_manifest

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from metaeval.citation.pipelines.tree_figure import ClaimTree
    from metaeval.report.figures.bars import SystemBar

_TREES = 6
"""Number of sentences of a job whose trees are drawn."""


def citation_figures(folders: Sequence[Path]) -> dict[str, Figure]:
    """Return figures of completed jobs by file name.

    Bars of the measures, lines over rounds of edits, results of protocols (as of `cite meta`), and trees of jobs of
    `cite aliice`.
    """
    from metaeval.citation.pipelines.tree_figure import claim_tree
    from metaeval.report.figures.bars import system_bars
    from metaeval.report.figures.edit_rounds import round_lines

    bars, columns, level = bars_of(folders)
    still = [bar for bar in bars if bar.round is None]
    turns = [bar for bar in bars if bar.round is not None]
    drawn = {"figure-pipelines": system_bars(still, columns, level)} if still else {}
    drawn |= {"figure-rounds": round_lines(turns, columns, level)} if turns else {}
    drawn |= figures_of([result for folder in folders for result in _results(folder)])
    for folder in folders:
        trees = trees_of(folder) if _pipeline(folder) == "aliice" else []
        drawn |= {f"tree-{folder.name}-{number}": claim_tree(tree) for number, tree in enumerate(trees, start=1)}
    return drawn


def bars_of(folders: Sequence[Path]) -> tuple[list[SystemBar], list[Column], float]:
    """Return a bar for each value in the jobs' tables, the columns of the measures, and the intervals' level."""
    from metaeval.report.figures.bars import SystemBar

    bars: list[SystemBar] = []
    columns: dict[str, Column] = {}
    level = 0.95
    for folder in folders:
        name = _pipeline(folder)
        pipeline = find_pipeline(name)
        measures: Mapping[object, PipelineMeasure] = {measure.key: measure for measure in pipeline.measures}
        named, along = [name for name in pipeline.drawn[:2] if name], pipeline.drawn[2:]
        for sheet in _sheets(folder, "*/*.json" if pipeline.drawn[1] == PIPELINE else "*.json"):
            for record in sheet.records:
                measure = measures.get(record.get("measure"))
                if measure is None or record.get("value") is None or not all(record.get(name) for name in named):
                    continue
                columns.setdefault(measure.key, measure.column)
                level = float(sheet.settings.get("level") or level)
                stub, *colour = (str(record[name]) for name in named)
                ends: Any = (record["value"], record["low"], record["high"], *(record[name] for name in along))
                colours = colour if pipeline.drawn[1] == PIPELINE else [pipeline.title, *colour]
                bars.append(SystemBar(stub, ": ".join(colours), measure.key, *ends))
    return bars, list(columns.values()), level


def trees_of(folder: Path) -> list[ClaimTree]:
    """Return the trees of the first `_TREES` sentences with several claims in a job of `cite aliice`, by its parser."""
    settings = next((sheet.settings for sheet in _sheets(folder)), {})
    parser, profile = str(settings.get("parser", "small")).partition(" (")[0], str(settings.get("profile", "paper"))
    answers, _ = judged_answers(folder, read_manifest(folder), None)
    splitter = find_sentence_splitter("auto")
    texts = (sentence.text for answer in answers for sentence in split(whole(answer.text), splitter))
    cited = [text for text in texts if has_mark(text)]
    trees: list[ClaimTree] = []
    for sentence in cited:
        tree = tree_of(sentence, parser, profile)
        if len(tree.claims) > 1:
            trees.append(tree)
        if len(trees) == _TREES:
            break
    return trees


def judged_answers(folder: Path, manifest: Mapping[str, Any], data: Path | None) -> tuple[list[Answer], list[str]]:
    """Return the answers of a job, and a sentence for each file that has changed since.

    manifest: that of the job. data: file to read instead of the manifest's. Raises `UserError` for missing files.
    """
    inputs = manifest.get("inputs") or {}
    named = {Path(name): str(digest) for name, digest in inputs.items()} if isinstance(inputs, dict) else {}
    paths = [data] if data else list(named)
    if not paths:
        raise UserError(f"{folder / NAME} names no answers: judge them again, or use 'metaeval view' with --data FILE.")
    if gone := [path for path in paths if not path.is_file()]:
        raise UserError(
            f"The answers that the job judged, {gone[0]}, are missing: restore the file, or use 'metaeval view --data'."
        )
    changed = [path for path in paths if sha256_file(path) not in named.values()] if named else []
    notes = [f"{path} has changed since it was judged: marks may stand in other places." for path in changed]
    texts = (manifest.get("analysis") or {}).get("options", {}).get("sources")
    return gather(paths, str(manifest.get("format", "auto")), Path(texts) if texts else None), notes


def sentence_tree(sentence: str, parser: str) -> tuple[Figure, str, list[str]]:
    """Return a sentence's tree as figure, the parser and profile, and the claims as lines; `UserError` as `tree_of`."""
    from metaeval.citation.pipelines.tree_figure import claim_tree

    tree = tree_of(sentence, parser)
    lines = []
    for number, claim in enumerate(tree.claims, start=1):
        words = " ".join(tree.tokens[place] for place in claim.places) or sentence
        lines.append(f"claim {number} {claim.cites}: {words}")
    return claim_tree(tree), tree.made_by, lines


def tree_of(sentence: str, parser: str = "small", profile: str = "paper") -> ClaimTree:
    """Return the dependency tree of a sentence with citations such as [1], and ALiiCE's claims.

    Raises `UserError` for a sentence without a citation or too long to parse, and for a parser that is not installed.
    """
    from metaeval.citation.pipelines.tree_figure import ClaimTree, Highlighted

    chosen = aliice_profile(profile)
    parsing = find_parser(parser, chosen.one_root)
    ready = draft(sentence, chosen)
    if ready.text is None:
        why = "has no citation such as [1]" if not has_mark(sentence) else "is too long for the profile's rules"
        raise UserError(
            f"The sentence {sentence!r} {why}: ALiiCE does not parse it, so there is no tree. Give another sentence."
        )
    parse = parsing.parse([ready.text])[0]
    cut = read(ready, parse, chosen)
    claims = tuple(
        Highlighted(
            "".join(f"[{number}]" for number in claim.citations),
            next((node for node, cited in cut.nodes if cited == claim.citations and node in claim.places), None),
            claim.places,
        )
        for claim in cut.claims
    )
    return ClaimTree(parse.tokens, parse.labels, parse.heads, claims, f"{parsing.name}; ALiiCE, profile {profile}")


def _pipeline(folder: Path) -> str:
    return str(read_manifest(folder).get("command", "")).removeprefix("cite ")


def _results(folder: Path) -> list[Result]:
    """Return the results of protocols in the subfolders of a job, with their level added to the name of their data."""
    paths = sorted(folder.glob("*/*.json"))
    results = [load_result(path) for path in paths if read_versioned(path)[1] == RESULT]
    named = [each.data.model_copy(update={"name": f"{each.data.name}, {each.data.split}"}) for each in results]
    return [each.model_copy(update={"data": data}) for each, data in zip(results, named, strict=True)]


def _sheets(folder: Path, pattern: str = "*.json") -> list[Table]:
    paths: list[Any] = [path for path in sorted(folder.glob(pattern)) if path.name != NAME]
    return [load_table(path) for path in paths if read_versioned(path)[1] == SCHEMA]
