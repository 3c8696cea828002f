"""The report of `metrics verify`."""

from __future__ import annotations

from metaeval.report.notebook import NotebookText
from metaeval.report.terminal import aligned
from metaeval.scoring.contract import Status
from metaeval.scoring.fixed_pairs import (
    BATCH_TOLERANCE,
    OFFICIAL_TOLERANCE,
    OfficialComparison,
    VerificationReport,
    difference,
)


def verified_text(verified: VerificationReport, compared: OfficialComparison | None) -> NotebookText:
    """Return the report of `metrics verify`: scores of the test pairs, and how far they differ from other scores.

    The other scores are those of one pair at a time, published ones and, with `compared`, the official package's.
    """
    return NotebookText("\n".join([*_table(verified, compared), "", *_verdicts(verified, compared)]))


def _table(verified: VerificationReport, compared: OfficialComparison | None) -> list[str]:
    headings = ["pair", "score", "tokens", "cut"]
    headings += ["alone differs by"] if verified.single else []
    headings += ["official", "differs by"] if compared else []
    rows = [headings]
    for number, (pair, answer) in enumerate(zip(verified.test_pairs, verified.batched, strict=True)):
        score = str(answer.status) if answer.score is None else f"{answer.score:.6f}"
        row = [pair.name, score, f"{answer.tokens:,}", f"{answer.cut:,}" if answer.cut else "-"]
        if verified.single:
            row.append(_small(difference(answer, verified.single[number])))
        if compared:
            other = compared.answers[number]
            row.append("-" if other.score is None else f"{other.score:.6f}")
            row.append("-" if answer.status is not Status.OK else _small(difference(answer, other)))
        rows.append(row)
    return aligned(rows, right=range(1, len(headings)))


def _verdicts(verified: VerificationReport, compared: OfficialComparison | None) -> list[str]:
    rows = []
    worst = verified.batch_difference
    dtype = getattr(verified.metric.options, "dtype", "float32")
    allowed = f"allowed {BATCH_TOLERANCE:g}" if dtype == "float32" else f"that is {dtype}'s rounding"
    if worst is None:
        rows.append(("one by one", "not repeated: a judge is asked each pair alone, and for money"))
    else:
        rows.append(("one by one", f"largest difference {_small(worst)} ({allowed})"))
    for score, ours in verified.published:
        here = "no score" if ours is None else f"{ours:.6f}"
        rows.append(("published", f"{score.score:.{score.decimals}f}, here {here} ({score.where})"))
    if compared:
        left_out = len(verified.test_pairs) - compared.pairs
        without = f", {left_out} without a score of ours left out" if left_out else ""
        rows.append(
            (
                compared.package,
                f"largest difference {_small(compared.largest)} over {compared.pairs} pairs{without} "
                f"(allowed {OFFICIAL_TOLERANCE:g})",
            )
        )
    good = verified.agrees and (compared is None or compared.agrees)
    return [*aligned(rows), "As it should be." if good else "NOT as it should be: do not trust its scores here."]


def _small(value: float) -> str:
    if value == float("inf"):
        return "no score"
    return "0" if value == 0 else f"{value:.1e}"
