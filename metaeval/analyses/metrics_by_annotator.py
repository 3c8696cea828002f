"""Metrics against each annotator of a rated set, over all choices of votes, and whether the best metric stays best."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import get_args

import numpy as np

from metaeval.display_text import count
from metaeval.errors import UserError
from metaeval.files import sha256_json
from metaeval.report import result as results
from metaeval.report.result_tables import cell
from metaeval.report.table import UNDEFINED, Note, Record, Table, TableRow, known, plain
from metaeval.runs.prepared_run import Frame, RatedSet
from metaeval.runs.score_columns import AlignedColumn
from metaeval.runs.score_panel import Panel, make_sheet
from metaeval.stats.agreement import krippendorff_alpha
from metaeval.stats.annotator_errors import level_probabilities, mean_reliability, weighted_area
from metaeval.stats.arrays import Bools, Floats, Ints
from metaeval.stats.correlations import concordance, rank_correlations
from metaeval.stats.influence import SHARES, SIGNED
from metaeval.stats.intervals import ValueWithInterval, intervals, studentised_interval
from metaeval.stats.resampling import replicate
from metaeval.stats.vote_choices import (
    Measure,
    Range,
    is_binary,
    measure_value,
    range_over_votes,
    values_of_random_votes,
)
from protocols.contract import Resampling

MOST_COLUMNS = 5
"""Most annotators that have a column each; with more, the lowest, median and highest value are shown."""

FEWEST = 20
"""Fewest items on which an annotator must have voted to be compared with metrics."""

DRAWS = 1000


@dataclass(frozen=True)
class AnnotatorVotes:
    """Votes of A annotators, by name, on the n items of a frame. values: (n, A), NaN for missing votes."""

    names: tuple[str, ...]
    values: Floats

    @property
    def items(self) -> Bools:
        """Whether each item has a vote, (n,)."""
        return np.asarray((~np.isnan(self.values)).any(axis=1))


def votes_of(source: RatedSet, frame: Frame) -> AnnotatorVotes:
    """Return the votes of a rated set, in the order of the frame; raises `UserError` for fewer than two annotators."""
    names, values = source.ratings.columns.take(frame.numbers).votes.matrix
    if len(names) < 2:
        raise UserError(
            f"{frame.name} holds the votes of {len(names) or 'no'} annotator{('' if len(names) == 1 else 's')}, but at "
            "least two are needed: give each annotator's votes in a column whose name begins with 'vote', or give one "
            "row per vote and a column 'annotator'."
        )
    return AnnotatorVotes(names, values)


def annotator_sheets(panel: Panel) -> list[Table]:
    """Return a table of each metric against gold and each annotator and, for several metrics, one of the best metric.

    The latter says for each other metric how many annotators, and choices of votes, agree that it is worse. Raises
    `UserError` for data without two annotators.
    """
    source = panel.source
    if not isinstance(source, RatedSet):
        raise UserError(
            f"{source.name} has no votes of single annotators: choose a data set that has them, such as "
            "ratings or xsum_hallucination."
        )
    frame = source.frame()
    votes = votes_of(source, frame)
    ranking = [_ranking_sheet(panel, frame, votes)] if len(panel.columns) > 1 else []
    return [_values_sheet(panel, frame, votes), *ranking]


def _values_sheet(panel: Panel, frame: Frame, votes: AnnotatorVotes) -> Table:
    binary = is_binary(votes.values)
    soft = np.array([np.nan if np.isnan(row).all() else float(np.nanmean(row)) for row in votes.values])
    probability = level_probabilities(votes.values)[:, 1] if binary else np.full(soft.size, np.nan)
    reliability = mean_reliability(votes.values)
    judged = [n for n in range(len(votes.names)) if (~np.isnan(votes.values[:, n])).sum() >= FEWEST]
    each = len(votes.names) <= MOST_COLUMNS
    headings = [*(f"by {votes.names[n]}" for n in judged)] if each else ["lowest annotator", "median", "highest"]
    records: list[Record] = []
    rows: list[TableRow] = []
    for measure in get_args(Measure):
        column = _label(measure, binary)
        for metric in panel.columns:
            score = metric.score[frame.numbers]
            scored = ~np.isnan(score)
            interval_of = partial(_estimate_of, measure, score, group=frame.group, resampling=panel.resampling)
            value_by_annotator = {votes.names[n]: interval_of(label=votes.values[:, n]) for n in judged}
            whole = scored & votes.items
            none = Range(np.nan, np.nan, True)
            open_ = range_over_votes(measure, votes.values[whole], score[whole]) if whole.sum() > 1 else none
            value_by_label = {"gold": interval_of(label=frame.gold), "soft labels": interval_of(label=soft)}
            value_by_label["corrected"] = (
                _weighted_area(score, probability, frame.group, panel.resampling)
                if measure == "area"
                else _disattenuated(value_by_label["soft labels"], reliability)
            )
            shown = list(value_by_annotator.values()) if each else _low_median_high(list(value_by_annotator.values()))
            cells = [cell(value.value, value.low, value.high, column) for value in (*value_by_label.values(), *shown)]
            rows.append((column.label, metric.name, [*cells, _range(open_, column)]))
            # A list: an annotator may be called "gold".
            against: list[tuple[str, ValueWithInterval, bool | None]] = [
                *((name, value, None) for name, value in (*value_by_label.items(), *value_by_annotator.items())),
                ("lowest choice", ValueWithInterval(known(open_.low)), open_.exact),
                ("highest choice", ValueWithInterval(known(open_.high)), open_.exact),
            ]
            records += [
                {"measure": column.key, "metric": metric.name, "against": name, "exact": exact}
                | {"value": estimate.value, "low": estimate.low, "high": estimate.high}
                for name, estimate, exact in against
            ]
    return make_sheet(
        panel,
        frame,
        "annotators",
        "Metrics against each annotator",
        {"analysis": "annotators", "votes": _signed(votes)},
        ("metric", ("gold", "soft labels", "corrected", *map(plain, headings), "over all choices"), rows),
        records,
        notes=_notes(frame, votes, judged),
    )


def _ranking_sheet(panel: Panel, frame: Frame, votes: AnnotatorVotes) -> Table:
    binary = is_binary(votes.values)
    measure: Measure = "area" if binary else "spearman"
    label = _label(measure, binary)
    columns = sorted(panel.columns, key=lambda column: -_value(measure, column, frame))
    scored = votes.items & ~np.isnan([column.score[frame.numbers] for column in columns]).any(axis=0)
    records: list[Record] = []
    rows: list[TableRow] = []
    if scored.sum() > 1:
        scores = np.array([column.score[frame.numbers][scored] for column in columns])
        scored_votes = votes.values[scored]
        chosen = values_of_random_votes(measure, scored_votes, scores, DRAWS, panel.config.interval.seed)
        best = columns[0]
        for number, other in enumerate(columns[1:], start=1):
            by = [_less(measure, scores[0], scores[number], scored_votes[:, n]) for n in range(len(votes.names))]
            defined = [value for value in by if not np.isnan(value)]
            difference_range = range_over_votes(measure, scored_votes, scores[0], scores[number])
            shares = [float(np.mean(np.array(defined) > 0)), float(np.mean(chosen[0] > chosen[number]))]
            survives = difference_range.low > 0 if difference_range.exact or difference_range.low <= 0 else None
            kept = {True: "yes", False: "no", None: "in all that were tried"}[survives]
            difference = _less(measure, scores[0], scores[number], frame.gold[scored])
            agree = f"{sum(value > 0 for value in defined)} of {len(defined)}", f"{100 * shares[1]:.1f} %"
            less = cell(known(difference), None, None, label, signed=True)
            rows.append(("", other.name, [less, *agree, _range(difference_range, label), kept]))
            records.append(
                {
                    **{"measure": label.key, "metric": best.name, "other": other.name},
                    **{"difference": known(difference), "annotators": len(defined)},
                    **{"annotators that agree": known(shares[0]), "choices that agree": known(shares[1])},
                    **{"lowest": known(difference_range.low), "highest": known(difference_range.high)},
                    **{"exact": difference_range.exact, "survives": survives},
                }
            )
    headings = (
        "difference by gold",
        "annotators that agree",
        "random votes that agree",
        "over all choices",
        "survives",
    )
    title = f"Whether {plain(columns[0].name)} stays above the others ({label.label})"
    reading = (
        f"difference to each other of the metric highest by gold, on "
        f"{count(int(scored.sum()), 'text')} that all scored; "
        f"random votes: {DRAWS:,} choices of one vote a text"
    )
    return make_sheet(
        panel,
        frame,
        "annotators-ranking",
        title,
        {"analysis": "annotators", "votes": _signed(votes), "draws": DRAWS, "seed": panel.config.interval.seed},
        ("other metric", headings, rows),
        records,
        notes=[Note("reading", reading)],
        intervals=False,
    )


def _label(measure: Measure, binary: bool) -> results.Column:
    if measure == "spearman":
        return results.Column(key="spearman", label="Spearman", scale=1.0, digits=3)
    key, label = ("auc", "ROC-AUC") if binary else ("concordance", "Concordance")
    return results.Column(key=key, label=label, scale=100.0, digits=1)


def _estimate_of(
    measure: Measure, score: Floats, label: Floats, group: Ints, resampling: Resampling
) -> ValueWithInterval:
    """Return a measure of scores and labels, (n,) each and NaN where missing, and its interval over groups, (n,)."""
    there = ~np.isnan(score) & ~np.isnan(label)
    if there.sum() < 2:
        return ValueWithInterval(None)
    codes, compact = np.unique(group[there], return_inverse=True)
    arrays = score[there], label[there], compact.astype(np.int64), int(codes.size)
    # Of the two coefficients of ranks the first is Spearman's.
    prepared, ends = (concordance(*arrays), SHARES) if measure == "area" else (rank_correlations(*arrays), SIGNED)
    return intervals(partial(replicate, prepared), np.bincount(compact), resampling, ends)[0]


def _weighted_area(score: Floats, probability: Floats, group: Ints, resampling: Resampling) -> ValueWithInterval:
    """Return the ROC-AUC of texts that are positive with this probability, and its t interval over groups.

    score, probability: (n,) each, NaN where missing; such texts are left out. None if all probabilities are 0, or 1.
    """
    there = ~np.isnan(score) & ~np.isnan(probability)
    codes, compact = np.unique(group[there], return_inverse=True)
    influence = weighted_area(score[there], probability[there], compact.astype(np.int64), codes.size)
    if influence is None:
        return ValueWithInterval(None)
    ends, note, effective = studentised_interval(influence, codes.size, resampling)
    low, high = ends or (None, None)
    return ValueWithInterval(influence.value, low, high, note, effective)


def _disattenuated(estimate: ValueWithInterval, reliability: float) -> ValueWithInterval:
    """Return a correlation and its interval divided by the root of the reliability, within -1 to 1 (Spearman 1904)."""
    if estimate.value is None or not reliability > 0:
        return ValueWithInterval(None)

    def freed(value: float | None) -> float | None:
        return None if value is None else float(np.clip(value / np.sqrt(reliability), -1, 1))

    return estimate._replace(value=freed(estimate.value), low=freed(estimate.low), high=freed(estimate.high))


def _of(measure: Measure, score: Floats, label: Floats) -> float:
    there = ~np.isnan(score) & ~np.isnan(label)
    return measure_value(measure, score[there], label[there]) if there.sum() > 1 else np.nan


def _value(measure: Measure, column: AlignedColumn, frame: Frame) -> float:
    value = _of(measure, column.score[frame.numbers], frame.gold)
    return -np.inf if np.isnan(value) else value


def _less(measure: Measure, first: Floats, second: Floats, label: Floats) -> float:
    return _of(measure, first, label) - _of(measure, second, label)


def _low_median_high(values: Sequence[ValueWithInterval]) -> list[ValueWithInterval]:
    """Return the lowest, median and highest value, without intervals: those of a selected value would be too narrow."""
    defined = [estimate.value for estimate in values if estimate.value is not None]
    if not defined:
        return [ValueWithInterval(None)] * 3
    return [ValueWithInterval(value) for value in (min(defined), float(np.median(defined)), max(defined))]


def _range(bounds: Range, label: results.Column) -> str:
    if np.isnan(bounds.low):
        return UNDEFINED
    low, high = (f"{label.scale * end:.{label.digits}f}" for end in (bounds.low, bounds.high))
    return f"{low} to {high}" if bounds.exact else f"{low} to {high}*"


def _signed(votes: AnnotatorVotes) -> str:
    return f"sha256:{sha256_json([list(votes.names), np.nan_to_num(votes.values, nan=-9e99).tolist()])[:12]}"


def _correction_note(votes: AnnotatorVotes) -> str:
    """Return the note that says how the column "corrected" removes annotators' errors, or why it cannot."""
    reliability = mean_reliability(votes.values)
    if not reliability > 0:
        return "annotators agree no more than by chance, so that nothing can be freed of their errors"
    area = (
        "ROC-AUC counts a text as positive with its probability given all votes (Dawid and Skene 1979); "
        if is_binary(votes.values)
        else ""
    )
    return (
        f"{area}Spearman by soft labels is divided by the root of their reliability, ICC(1,k) {reliability:.3f}; "
        "intervals take both as known"
    )


def _notes(frame: Frame, votes: AnnotatorVotes, judged: Sequence[int]) -> list[Note]:
    there = ~np.isnan(votes.values)
    twice = there.sum(axis=1) > 1
    unlike = np.array([np.unique(row[~np.isnan(row)]).size > 1 for row in votes.values[twice]])
    alpha: Mapping[str, float] = {
        "nominal": krippendorff_alpha(votes.values, "nominal"),
        "interval": krippendorff_alpha(votes.values, "interval"),
    }
    agreement = ", ".join("undefined" if np.isnan(value) else f"{value:.3f} ({name})" for name, value in alpha.items())
    disagree = f"{int(unlike.sum()):,} of {int(twice.sum()):,} texts with two votes or more are voted on differently"
    left = len(votes.names) - len(judged)
    without = "has no values of its own" if left == 1 else "have no values of their own"
    few = f"; {left} judged fewer than {FEWEST} and {without}" if left else ""
    exact = (
        "lowest and highest value over every choice of one vote a text"
        if is_binary(votes.values)
        else "* lowest and highest value over the choices of one vote a text that were tried; others may lie beyond"
    )
    judged_on = f"{count(int(there.sum()), 'vote')} on {int(votes.items.sum()):,} of {frame.gold.size:,} texts"
    graded = "; the gold is graded: ROC-AUC by it is the concordance"
    kind = graded if is_binary(votes.values) and np.unique(frame.gold).size > 2 else ""
    return [
        Note("agreement", f"Krippendorff's alpha {agreement}; {disagree}"),
        Note("votes", f"{count(len(votes.names), 'annotator')}, {judged_on}{few}{kind}"),
        Note("corrected", _correction_note(votes)),
        Note("choices", f"{exact}; of these very texts, where intervals are about others"),
    ]
