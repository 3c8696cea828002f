"""The page on what the data sets' labels mean, made from the audits of all published data sets.

python -m benchmarks.data_audit FOLDER > docs/reference/data-audit.md
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from metaeval.analyses.data_audit import audit
from metaeval.analyses.data_sets import SIZES
from metaeval.config import RunConfig
from metaeval.errors import UserError
from metaeval.report.data_audit import PERCENT, Audit, at_own_size, findings
from metaeval.report.markdown import escape
from metaeval.report.ranking_measures import LEVELS
from metaeval.report.result import FULL_SUPPORT
from metaeval.report.table import UNDEFINED, format_value, plain

_DOCS = """# What the data sets' labels mean

How many chunks of fully supported citations hold a whole evidence set, what a perfect detector of full support would
score under `evidence.rule=touched`, and what predicts levels without reading a source. `metaeval data audit NAME`
prints the same for one data set or a corpus of your own, and writes a page with all tables;
[What a chunk's level means](../explanation/evidence.md) explains the rules. This page is made by

    python -m benchmarks.data_audit FOLDER > docs/reference/data-audit.md
"""
_LEGEND = """Words a page: the median. Whole sets: of the chunks of at most 150 words with evidence of a full citation.
Full / partial ROC-AUC (FS-PS): of a perfect detector of full support, under `touched`. Duplicates: statement texts and
chunk texts that stand in several groups, and statements judged twice against the same page. Alpha: Krippendorff's, over
the votes of annotators. A dash: not known, or none. Given away: the interval of a control's ROC-AUC leaves out 50."""
_PERFECT = "full / partial ROC-AUC (FS-PS)"
_COLUMNS = (
    "citations",
    "full / partial / none",
    "words a page",
    "whole sets",
    _PERFECT,
    "duplicates",
    "alpha of votes",
)


def markdown(audits: Sequence[Audit], left_out: Mapping[str, str]) -> str:
    """Several audits as one page of documentation. left_out: of data that could not be audited, why."""
    rows = []
    for found in audits:
        data, perfect = found.data, {one.rule: one.perfect.get(FULL_SUPPORT, {}).get("FS-PS") for one in found.rules}
        at = at_own_size(found)
        alpha = found.votes.alpha if found.votes else None
        twins = found.duplicates
        rows.append(
            (
                f"{data.name}, {data.split}",
                f"{data.citations:,}",
                " / ".join(f"{data.levels.get(level, 0):,}" for level in LEVELS),
                f"{found.words[0]:,.0f}",
                f"{at.whole:,} of {at.touched:,}" if at else "no evidence",
                format_value(perfect.get("touched"), PERCENT),
                f"{twins.statements:,} / {twins.chunks:,} / {twins.judged_twice:,}",
                UNDEFINED if alpha is None else f"{alpha:.2f}",
            )
        )
    lines = [f"| {' | '.join(cells)} |" for cells in (("data", *_COLUMNS), ("---", *("--:" for _ in _COLUMNS)))]
    lines += [f"| {' | '.join(escape(plain(cell)) for cell in row)} |" for row in rows]
    said = {
        f"{found.data.name}, {found.data.split}": " ".join(list(findings(found))[0 if found.sizes else 1 :])
        for found in audits
    }
    parts = [_DOCS.rstrip(), "\n".join(lines), _LEGEND, "## Findings", _listed(said)]
    return "\n\n".join([*parts, *(["## Not audited", _listed(left_out)] if left_out else [])]) + "\n"


def _listed(said: Mapping[str, str]) -> str:
    return "\n".join(f"- **{escape(plain(name))}**: {escape(plain(text or 'none.'))}" for name, text in said.items())


_PUBLISHED = (
    *(("mini", "all"), ("wice", "dev"), ("wice", "test"), ("factcheck_gpt", "all"), ("expertqa", "all")),
    *(("qasem", "dev"), ("qasem", "test"), ("gensearch", "intrinsic_halls"), ("frank", "all")),
    ("xsum_hallucination", "all"),
)


def documentation(data: Path | None) -> str:
    """The audits of all published data sets as one page. data: the folder with their files; None: they are fetched."""
    audits, left_out = [], {}
    for name, split in _PUBLISHED:
        try:
            audits.append(audit(RunConfig(dataset=name, split=split, data=None if name == "mini" else data), SIZES))
        except UserError as error:
            left_out[f"{name}, {split}"] = str(error)
    return markdown(audits, left_out)


if __name__ == "__main__":
    print(documentation(Path(sys.argv[1]) if sys.argv[1:] else None), end="")
