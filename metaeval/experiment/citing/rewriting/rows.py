"""The claims that were written again, one by one: all of them, and those whose verdict changed."""

from __future__ import annotations

from pathlib import Path

from metaeval.citation.aliice.rewriting import Rewriting
from metaeval.experiment.citing.result import RowTable
from metaeval.experiment.citing.rewriting.run import Rejudged
from metaeval.experiment.sheet import Record
from metaeval.files import safe_name

COLUMNS = (
    *("answer", "system", "group", "claim_number", "citations", "sentence", "claim", "rewritten", "state"),
    *("new_words", "joint_before", "joint_after", "score_before", "score_after"),
)


def claim_row(rejudged: Rejudged, one: Rewriting) -> Record:
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
    name = safe_name(rejudged.backend.name)
    rows = [claim_row(rejudged, one) for one in rejudged.rewritings]
    changed = [claim_row(rejudged, one) for one in rejudged.rewritings if rejudged.changed(one)]
    return [
        *RowTable("rewritings", rows, f"rewritings-{name}", COLUMNS).write(folder),
        *RowTable("changed", changed, f"changed-{name}", COLUMNS).write(folder),
    ]
