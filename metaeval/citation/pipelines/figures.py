"""Figures of jobs of citation: bars of measures, lines over rounds, results of protocols, and ALiiCE's trees."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from metaeval.analyses.suites.job_figures import figures_of
from metaeval.citation.aliice.claim_options import aliice_profile
from metaeval.citation.aliice.claims import draft, has_mark, read
from metaeval.citation.data_model import Answer
from metaeval.citation.marks_and_sentences import find_sentence_splitter, reading_of, split
from metaeval.citation.parsers.dependency_parsers import find_parser
from metaeval.citation.readers.answer_files import gather
from metaeval.citation.readers.clean_up import is_cleaned
from metaeval.core.errors import UserError
from metaeval.core.files import sha256_file
from metaeval.report.result import SCHEMA as RESULT
from metaeval.report.result import Result, load_result, read_versioned
from metaeval.report.table import Table
from metaeval.report.table_files import SCHEMA, load_table
from metaeval.runs.job import NAME, read_manifest

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from metaeval.citation.parsers.dependency_parsers import Parse
    from metaeval.citation.pipelines.tree_figure import Highlighted

    ClaimTree: TypeAlias = tuple[Parse, Sequence[Highlighted], str]

_TREES = 6  # number of sentences of a job whose trees are drawn


def citation_figures(folders: Sequence[Path]) -> dict[str, Figure]:
    """Return figures of completed jobs by file name.

    Bars of the measures, lines over rounds of edits, results of protocols (as of `cite meta`), and trees of jobs of
    `cite aliice`.
    """
    from metaeval.citation.pipelines.tree_figure import claim_tree
    from metaeval.report.figures.bars import system_bars
    from metaeval.report.figures.edit_rounds import round_lines

    bars, level = bars_of(folders)
    still, turns = ([bar for bar in bars if (bar["round"] is None) is alone] for alone in (True, False))
    drawn = {"figure-pipelines": system_bars(still, level)} if still else {}
    drawn |= {"figure-rounds": round_lines(turns, level)} if turns else {}
    results: list[Result] = []
    for path in (path for folder in folders for path in sorted(folder.glob("*/*.json"))):
        if read_versioned(path)[1] == RESULT:
            result = load_result(path)
            data = result.data.model_copy(update={"name": f"{result.data.name}, {result.data.split}"})
            results.append(result.model_copy(update={"data": data}))
    drawn |= figures_of(results)
    for folder in folders:
        trees = trees_of(folder) if _pipeline(folder) == "aliice" else []
        drawn |= {f"tree-{folder.name}-{number}": claim_tree(*tree) for number, tree in enumerate(trees, start=1)}
    return drawn


def bars_of(folders: Sequence[Path]) -> tuple[list[dict[str, Any]], float]:
    """Return a record for each value with an interval in the jobs' tables, and the intervals' level.

    A record (system, judge, measure, value, low, high, round) is made of one that names its `line` or `system`; its
    judge is the pipeline (the job's, or the field `pipeline`) with the field `backend` or `judge`. Values for which no
    judge was needed, whose backend is empty, are left out. Subfolders, of a data set each, are read for tables that
    compare pipelines.
    """
    bars: list[dict[str, Any]] = []
    level = 0.95
    for folder in folders:
        patterns = ("*.json", "*/*.json")
        for sheet, inner in ((sheet, "/" in pattern) for pattern in patterns for sheet in _sheets(folder, pattern)):
            for record in sheet.records:
                system, backend = record.get("line") or record.get("system"), record.get("backend", record.get("judge"))
                known = record.get("value") is not None and {"measure", "low"} <= record.keys()
                if not known or not system or backend == "" or (inner and "pipeline" not in record):
                    continue
                level = float(sheet.settings.get("level") or level)
                judge = ": ".join(str(name) for name in (record.get("pipeline", _pipeline(folder)), backend) if name)
                kept = {name: record.get(name) for name in ("measure", "value", "low", "high", "round")}
                bars.append({"system": str(system), "judge": judge, **kept})
    return bars, level


def trees_of(folder: Path) -> list[ClaimTree]:
    """Return the trees of the first `_TREES` sentences with several claims in a job of `cite aliice`, by its parser."""
    settings = next((sheet.settings for sheet in _sheets(folder)), {})
    parser, profile = str(settings.get("parser", "small")).partition(" (")[0], str(settings.get("profile", "paper"))
    answers, _ = judged_answers(folder, read_manifest(folder), None)
    splitter = find_sentence_splitter("auto")
    texts = (sentence.text for answer in answers for sentence in split(reading_of(answer), splitter))
    # Sentences that cite nothing, or are too long for the rules, are not parsed.
    parsed = (text for text in texts if draft(text, aliice_profile(profile)).text is not None)
    trees = (tree_of(text, parser, profile) for text in parsed)
    return list(islice((tree for tree in trees if len(tree[1]) > 1), _TREES))


def judged_answers(folder: Path, manifest: Mapping[str, Any], data: Path | None) -> tuple[list[Answer], list[str]]:
    """Return the answers of a job, and a sentence for each file that has changed since.

    manifest: that of the job. data: file to read instead of the manifest's. Raises `UserError` for missing files.
    """
    recipe = manifest.get("recipe") or {}
    options, digests = recipe.get("options", {}), recipe.get("files", {})
    named = {Path(name): str(digests.get(name)) for name in options.get("files", ()) if isinstance(name, str)}
    paths = [data] if data else list(named)
    if not paths:
        raise UserError(f"{folder / NAME} names no answers: judge them again, or use 'metaeval view' with --data FILE.")
    if gone := [path for path in paths if not path.is_file()]:
        raise UserError(f"The judged answers {gone[0]} are missing: restore the file, or use 'metaeval view --data'.")
    changed = [path for path in paths if sha256_file(path) not in named.values()] if named else []
    notes = [f"{path} has changed since it was judged: marks may stand in other places." for path in changed]
    texts = options.get("sources")
    clean = is_cleaned(options.get("clean"), str(options.get("profile", "")))
    return gather(paths, str(options.get("format", "auto")), Path(texts) if texts else None, clean), notes


def sentence_tree(sentence: str, parser: str) -> tuple[Figure, str, list[str]]:
    """Return a sentence's tree as figure, the parser and profile, and the claims as lines; `UserError` as `tree_of`."""
    from metaeval.citation.pipelines.tree_figure import claim_tree

    parse, claims, made_by = tree_of(sentence, parser)
    words = [" ".join(parse.tokens[place] for place in places) or sentence for _, _, places in claims]
    lines = [f"claim {n} {cites}: {text}" for n, ((cites, _, _), text) in enumerate(zip(claims, words, strict=True), 1)]
    return claim_tree(parse, claims, made_by), made_by, lines


def tree_of(sentence: str, parser: str = "small", profile: str = "paper") -> ClaimTree:
    """Return the parse of a sentence with citations such as [1], ALiiCE's claims, and the parser with the profile.

    Raises `UserError` for a sentence without a citation or too long to parse, and for a parser that is not installed.
    """
    chosen = aliice_profile(profile)
    parsing = find_parser(parser, chosen.one_root)
    ready = draft(sentence, chosen)
    if ready.text is None:
        why = "has no citation such as [1]" if not has_mark(sentence) else "is too long for the profile's rules"
        raise UserError(f"The sentence {sentence!r} {why}, and ALiiCE makes no tree of it: give another.")
    parse = parsing.parse([ready.text])[0]
    cut = read(ready, parse, chosen)
    claims: list[Highlighted] = []
    for claim in cut.claims:
        nodes = (node for node, cited in cut.nodes if cited == claim.citations and node in claim.places)
        claims.append(("".join(f"[{number}]" for number in claim.citations), next(nodes, None), claim.places))
    return parse, claims, f"{parsing.name}; ALiiCE, profile {profile}"


def _pipeline(folder: Path) -> str:
    return str(read_manifest(folder).get("command", "")).removeprefix("cite ")


def _sheets(folder: Path, pattern: str = "*.json") -> list[Table]:
    paths = (path for path in sorted(folder.glob(pattern)) if path.name != NAME)
    return [load_table(path) for path in paths if read_versioned(path)[1] == SCHEMA]
