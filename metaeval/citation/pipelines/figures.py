"""Figures of citation pipelines: bars of their measures, and the dependency trees that ALiiCE cuts sentences by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from metaeval.citation.aliice.claims import draft, has_mark, read
from metaeval.citation.aliice.profile import aliice_profile
from metaeval.citation.model import Answer
from metaeval.citation.parsers.parse import find_parser
from metaeval.citation.pipelines.pipeline import find_pipeline
from metaeval.citation.readers.answers import gather
from metaeval.citation.sentences import find_sentence_splitter, split, whole
from metaeval.errors import UserError
from metaeval.files import sha256_file
from metaeval.report.formats import SCHEMAS, load_table
from metaeval.report.result import Column, read_versioned
from metaeval.report.table import Table
from metaeval.runs.job_folder import NAME, read_manifest

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from metaeval.citation.pipelines.tree_figure import ClaimTree
    from metaeval.report.figures.bars import SystemBar

_TREES = 6
"""Sentences of a job whose trees are drawn, the first of those with several claims."""


def citation_figures(folders: Sequence[Path]) -> dict[str, Figure]:
    """Bars of the pipelines' measures side by side, and trees of what `cite aliice` judged, by the names of files."""
    from metaeval.citation.pipelines.tree_figure import claim_tree
    from metaeval.report.figures.bars import system_bars

    bars, columns, level = bars_of(folders)
    drawn = {"figure-pipelines": system_bars(bars, columns, level)} if bars else {}
    for folder in folders:
        trees = trees_of(folder) if _pipeline(folder) == "aliice" else []
        drawn |= {f"tree-{folder.name}-{number}": claim_tree(tree) for number, tree in enumerate(trees, start=1)}
    return drawn


def bars_of(folders: Sequence[Path]) -> tuple[list[SystemBar], list[Column], float]:
    """The measures that take verdicts, of every system under every pipeline and backend; and the intervals' level."""
    from metaeval.report.figures.bars import SystemBar

    bars: list[SystemBar] = []
    columns: dict[str, Column] = {}
    level = 0.95
    for folder in folders:
        name = _pipeline(folder)
        pipeline = find_pipeline(name)
        for sheet in _sheets(folder):
            for record in sheet.records:
                measure = next((one for one in pipeline.measures if one.key == record.get("measure")), None)
                if measure is None or not record.get("backend") or record.get("value") is None:
                    continue
                columns.setdefault(measure.key, measure.column)
                level = float(sheet.settings.get("level") or level)
                judged = f"{pipeline.title}: {record['backend']}"
                ends = (record["value"], record["low"], record["high"])
                bars.append(SystemBar(str(record["system"]), judged, measure.key, *ends))  # type: ignore[arg-type]
    return bars, list(columns.values()), level


def trees_of(folder: Path) -> list[ClaimTree]:
    """Trees of the first sentences of an ALiiCE job that have several claims, by the parser that it had."""
    settings = next((sheet.settings for sheet in _sheets(folder)), {})
    parser, profile = str(settings.get("parser", "small")).partition(" (")[0], str(settings.get("profile", "paper"))
    answers, _ = judged_answers(folder, read_manifest(folder), None)
    splitter = find_sentence_splitter("auto")
    texts = (sentence.text for answer in answers for sentence in split(whole(answer.text), splitter))
    cited = [text for text in texts if has_mark(text)]
    found: list[ClaimTree] = []
    for sentence in cited:
        tree = tree_of(sentence, parser, profile)
        if len(tree.claims) > 1:
            found.append(tree)
        if len(found) == _TREES:
            break
    return found


def judged_answers(folder: Path, made: Mapping[str, Any], given: Path | None) -> tuple[list[Answer], list[str]]:
    """The answers that were judged, and a sentence where their files have changed since."""
    inputs = made.get("inputs") or {}
    named = {Path(name): str(digest) for name, digest in inputs.items()} if isinstance(inputs, dict) else {}
    paths = [given] if given else list(named)
    if not paths:
        raise UserError(f"{folder / NAME} does not name the files of answers: give the file with --data.")
    if gone := [path for path in paths if not path.is_file()]:
        raise UserError(f"{gone[0]}, whose answers were judged, is not here: give the file with --data.")
    changed = [path for path in paths if sha256_file(path) not in named.values()] if named else []
    notes = [f"{path} has changed since it was judged: marks may stand in other places." for path in changed]
    return gather(paths, str(made.get("format", "auto"))), notes


def sentence_tree(sentence: str, parser: str) -> tuple[Figure, str, list[str]]:
    """The tree of a sentence as a figure, who parsed it, and its claims as lines; `UserError` as `tree_of`."""
    from metaeval.citation.pipelines.tree_figure import claim_tree

    tree = tree_of(sentence, parser)
    lines = []
    for number, claim in enumerate(tree.claims, start=1):
        words = " ".join(tree.tokens[place] for place in claim.places) or sentence
        lines.append(f"claim {number} {claim.cites}: {words}")
    return claim_tree(tree), tree.made_by, lines


def tree_of(sentence: str, parser: str = "small", profile: str = "paper") -> ClaimTree:
    """The dependency tree of a sentence with citations such as [1], and the claims that ALiiCE cuts it into.

    Raises `UserError` for a sentence without a citation, and for a parser that is not here.
    """
    from metaeval.citation.pipelines.tree_figure import ClaimTree, Highlighted

    chosen = aliice_profile(profile)
    parsing = find_parser(parser, chosen.one_root)
    ready = draft(sentence, chosen)
    if ready.text is None:
        why = "has no citation such as [1]" if not has_mark(sentence) else "is too long for the profile's rules"
        raise UserError(f"The sentence {sentence!r} {why}: ALiiCE does not parse it, and there is no tree to draw.")
    parse = parsing.parse([ready.text])[0]
    found = read(ready, parse, chosen)
    claims = tuple(
        Highlighted(
            "".join(f"[{number}]" for number in one.citations),
            next((node for node, cited in found.nodes if cited == one.citations and node in one.places), None),
            one.places,
        )
        for one in found.claims
    )
    return ClaimTree(parse.tokens, parse.labels, parse.heads, claims, f"{parsing.name}; ALiiCE, profile {profile}")


def _pipeline(folder: Path) -> str:
    return str(read_manifest(folder).get("command", "")).removeprefix("cite ")


def _sheets(folder: Path) -> list[Table]:
    paths: list[Any] = [path for path in sorted(folder.glob("*.json")) if path.name != NAME]
    return [load_table(path) for path in paths if read_versioned(path)[1] in SCHEMAS]
