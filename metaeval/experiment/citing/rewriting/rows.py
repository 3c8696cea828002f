"""The claims that were written again, one by one: all of them, and those whose verdict changed."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from metaeval.citation.aliice.rewriting import Rewriting
from metaeval.experiment.citing.rewriting.run import Rejudged
from metaeval.files import safe_name, write_text

Row = Mapping[str, str | int | float | bool | None]

COLUMNS = (
    *("answer", "system", "group", "claim_number", "citations", "sentence", "claim", "rewritten", "state"),
    *("new_words", "joint_before", "joint_after", "score_before", "score_after"),
)


def claim_row(rejudged: Rejudged, one: Rewriting) -> Row:
    """A claim with its sentence, both wordings, and the verdicts and scores of its passages together on each."""
    cited = rejudged.prepared.read[one.fragment.answer].claims[one.fragment.number]
    old, new = rejudged.joints[rejudged.prepared.key(one.fragment)]
    values = (
        *(old.answer, old.system, old.group, old.claim_number, " ".join(map(str, cited.claim.citations))),
        *(one.fragment.sentence, one.fragment.claim, one.text, one.state, " ".join(one.new_words)),
        *(*rejudged.verdicts(one), old.score, None if one.text is None else new.score),
    )
    return dict(zip(COLUMNS, values, strict=True))


def write_claims(rejudged: Rejudged, folder: Path) -> list[Path]:
    """Write both lists as CSV and JSON lines; the paths. Same replies and verdicts, same bytes."""
    lists = {
        "rewritings": rejudged.rewritings,
        "changed": [one for one in rejudged.rewritings if rejudged.changed(one)],
    }
    written = []
    for stem, those in lists.items():
        rows = [claim_row(rejudged, one) for one in those]
        for suffix, text in ((".csv", _csv(rows)), (".jsonl", _jsonl(rows))):
            path = folder / f"{stem}-{safe_name(rejudged.backend.name)}{suffix}"
            write_text(path, text)
            written.append(path)
    return written


def _csv(rows: Sequence[Row]) -> str:
    """With a header, even without rows; None is an empty field, truth values are 0 and 1."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in rows:
        writer.writerow([int(value) if isinstance(value, bool) else value for value in row.values()])
    # A lone surrogate, which JSON input may hold, has no UTF-8 form.
    return out.getvalue().encode("utf-8", "backslashreplace").decode("utf-8")


def _jsonl(rows: Sequence[Row]) -> str:
    return "".join(json.dumps(row, allow_nan=False, separators=(",", ":")) + "\n" for row in rows)
