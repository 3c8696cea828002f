"""The values that pipelines, and other tools, give to the sentences and the whole of rated answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from metaeval.citation.citation_table import CitationLine, claims_of, unjudged_claim
from metaeval.citation.citeeval.baselines import response_means
from metaeval.citation.citeeval.evaluate_responses import CiteEvalMeasure, Rated
from metaeval.citation.citeeval.options_and_values import CitedScenario, Units, in_scenario
from metaeval.citation.citeeval.splitting import Split
from metaeval.citation.data_model import Answer
from metaeval.citation.human.rated_statements import ANSWERS, FROM_FILE, SENTENCES, UnitValues, means, units
from metaeval.citation.human.rating_files import read_score_file
from metaeval.citation.measures import AnswerShare
from metaeval.citation.pipelines.metric_verdicts import Backend
from metaeval.citation.scifi.answer_measures import entailments, lost_citing
from metaeval.citation.scifi.data_model import AnswerFacts, FactLine, ScifiOptions
from metaeval.core.errors import UserError
from metaeval.core.files import sha256_file
from metaeval.report.result import Ledger
from metaeval.stats.arrays import Bools

if TYPE_CHECKING:
    from pandas import DataFrame, Series

_JUDGED: tuple[CiteEvalMeasure, ...] = ("auto", "rating", "edits")

SentenceSpan = tuple[str, int | None, int | None]  # an answer's id, and the offsets of a sentence

ABSENT = "absent"  # reason of a missing verdict of which no more is known


class Measurement(NamedTuple):
    """The values of one measure of one pipeline with one judge.

    name: pipeline:measure:judge. fields: of its signature. tested: whether significance tests compare it: F1,
    entailment, strict AttrScore, CiteEval-Auto, a pipeline's only measure, or a score of another tool. ledger: counts
    of what the judge read.
    """

    name: str
    fields: Mapping[str, object]
    values: UnitValues
    tested: bool
    ledger: Ledger | None = None


def measurements(
    pipeline: str, fields: Mapping[str, object], values: Mapping[str, UnitValues], backend: Backend | None = None
) -> list[Measurement]:
    """Return a measurement of each measure in `values`, by a backend if there is one. fields: those that all share."""
    suffix, signed, ledger = ("", {}, None) if backend is None else (f":{backend.name}", backend.fields, backend.ledger)
    tested = {"f1", "entailment", "strict", "auto"} if len(values) > 1 else {*values}
    return [
        Measurement(f"{pipeline}:{name}{suffix}", {**fields, "measure": name, **signed}, each, name in tested, ledger)
        for name, each in values.items()
    ]


def claim_values(
    answers: Sequence[Answer],
    lines: Sequence[CitationLine],
    recall: Sequence[AnswerShare],
    precision: Sequence[AnswerShare],
    soft: bool = False,
) -> dict[str, UnitValues]:
    """Return the values of the measures "recall", "precision" and "f1" of claims and citations.

    lines: the citation table. recall, precision: the share of each answer. A sentence's recall is the mean over its
    claims, its precision the mean over its citations; either is missing where one of these lacks its verdict. soft: the
    verdicts are degrees of support, so that answers get no bounds.
    """

    def of(lines: Sequence[CitationLine], values: str, lacks: Callable[[CitationLine], bool]) -> DataFrame:
        inside = [line for line in lines if line.sentence_start is not None]
        places = [(line.answer, line.sentence_start, line.sentence_end) for line in inside]
        reasons = [(line.reason or ABSENT) if lacks(line) else None for line in inside]
        return _pooled(places, [getattr(line, values) for line in inside], reasons)

    recalls = of(claims_of(lines), "recall", unjudged_claim)
    precisions = of(lines, "precision", lambda line: line.state == "unjudged" and line.precision is None)
    sentences = [recalls, precisions.reindex(recalls.index)]
    wholes = [share_values(answers, shares) for shares in (recall, precision)]
    both = zip([*sentences, harmonic(*sentences)], [*wholes, harmonic(*wholes)], strict=True)
    # A missing verdict can be left out of either share, and not be counted as open (precision by citation groups).
    in_part = np.array([any(each.open and each.total for each in pair) for pair in zip(recall, precision, strict=True)])
    measured = {}
    for name, (of_sentences, of_answers) in zip(("recall", "precision", "f1"), both, strict=True):
        of_answers.loc[in_part & of_answers["value"].notna(), "reason"] = ABSENT
        if soft:
            of_answers.loc[of_answers["reason"].notna(), ["worst", "best"]] = np.nan
        measured[name] = UnitValues(of_sentences.reset_index(), of_answers)
    return measured


def _pooled(places: Sequence[SentenceSpan], values: Sequence[float | None], reasons: Sequence[str | None]) -> DataFrame:
    """Return the means of the units at each place (`means`), by answer, start and end."""
    rows = [(*place, *unit) for place, *unit in zip(places, values, reasons, strict=True)]
    return means(units(rows, SENTENCES), SENTENCES[:3])


def share_values(answers: Sequence[Answer], shares: Sequence[AnswerShare]) -> DataFrame:
    """Return the values of answers from their shares, with each missing verdict as a miss, and as a hit."""
    rows = [
        (answer.id, share.value, *(share.filled(hit).value for hit in (False, True)), ABSENT if share.open else None)
        for answer, share in zip(answers, shares, strict=True)
    ]
    return units(rows, ANSWERS).set_index("answer")


def whole_values(answers: Sequence[Answer], values: Sequence[float | None]) -> UnitValues:
    """Return a measure that has values of answers alone, none of which lacks a verdict."""
    rows = [(answer.id, value, value, value, None) for answer, value in zip(answers, values, strict=True)]
    return UnitValues(units([], SENTENCES), units(rows, ANSWERS).set_index("answer"))


def harmonic(recall: DataFrame, precision: DataFrame) -> DataFrame:
    """Return F1 of two frames of the same units, column by column; a verdict that either lacks is missing."""

    def f1(first: Series[float], second: Series[float]) -> Series[float]:
        return (2 * second * first / (second + first)).mask(first + second == 0, 0.0)

    both = recall.assign(**{name: f1(recall[name], precision[name]) for name in recall.columns.drop("reason")})
    missing = [each["reason"].where(each["value"].isna()) for each in (recall, precision)]
    return both.assign(reason=missing[0].fillna(missing[1]))


def places_of(answers: Sequence[Answer], splits: Sequence[Split]) -> tuple[DataFrame, DataFrame]:
    """Return frames of the places of CiteEval's statements, and of the answers, without values."""
    from pandas import DataFrame, Index

    pairs = zip(answers, splits, strict=True)
    rows = [(answer.id, at.start, at.end) for answer, split in pairs for at in split.statements]
    ids = Index([answer.id for answer in answers], name="answer")
    return DataFrame(rows, columns=list(SENTENCES[:3])), DataFrame(index=ids)


def placed(places: DataFrame, of: Units, missing: Bools, reasons: Sequence[str] | str = ABSENT) -> DataFrame:
    """Return the units at these places, with the reason of each whose verdict is missing."""
    from pandas import Series

    return places.assign(**of._asdict(), reason=Series(reasons, range(len(places)), object).where(missing).to_numpy())


def baseline_values(
    answers: Sequence[Answer], splits: Sequence[Split], values: Mapping[str, Units]
) -> dict[str, UnitValues]:
    """Return a baseline's values by measure; a response's is the mean over all its statements.

    values: of all statements, by measure. A value between its ends is missing.
    """
    response = np.repeat(np.arange(len(splits)), [len(split.statements) for split in splits])
    measured = {}
    for measure, each in values.items():
        wholes = response_means(each, np.ones(response.size, dtype=np.bool_), response, len(splits))
        known = [of._replace(value=np.where(of.worst == of.best, of.worst, np.nan)) for of in (each, wholes)]
        frames = zip(places_of(answers, splits), known, strict=True)
        measured[measure] = UnitValues(*(placed(places, of, of.worst < of.best) for places, of in frames))
    return measured


def citeeval_values(rated: Rated, scenario: CitedScenario) -> dict[str, UnitValues]:
    """Return CiteEval-Auto, its rating and its edit distance in a scenario, by measure.

    A judge that makes no edits has the rating alone.
    """
    # A statement that a reply skips has no judgement of its own, though the reply was read.
    read = ("read", "in part", "not asked")
    reasons = np.array(["unparsed" if judged.editing in read else judged.editing for judged in rated.judged])
    statements, answers = places_of(rated.responses, rated.splits)
    measured: dict[str, UnitValues] = {}
    for measure in (each for each in _JUDGED if each in rated.values):
        kept = in_scenario(rated.values[measure], rated.cited, scenario)
        whole, _, missing = rated.whole(measure, scenario)
        sentences = placed(statements, kept, kept.missing, reasons[rated.response].tolist())
        measured[measure] = UnitValues(sentences, placed(answers, whole, missing > 0))
    return measured


def fact_values(facts: Sequence[AnswerFacts], lines: Sequence[FactLine], options: ScifiOptions) -> UnitValues:
    """Return SCiFi's citation entailment; a sentence's is the mean over its facts, and missing where one is missing."""
    places: list[SentenceSpan] = [(each.answer.id, at.start, at.end) for each in facts for at in each.sentences]
    lost = [
        each.lost[at.number] if at.number in lost_citing(each, options) else None
        for each in facts
        for at in each.sentences
    ]
    places += [(line.answer, line.sentence_start, line.sentence_end) for line in lines]
    reasons = [*lost, *((line.reason or ABSENT) if line.state == "unjudged" else None for line in lines)]
    sentences = _pooled(places, [*[None] * len(lost), *(line.value for line in lines)], reasons)
    shares = share_values([each.answer for each in facts], entailments(facts, lines, options))
    return UnitValues(sentences.reset_index(), shares)


def measures_of_files(files: Sequence[Path], answers: Sequence[Answer]) -> list[Measurement]:
    """Read the files of other tools' scores; return a measurement for each of their measures.

    An answer without a score of its own gets the mean over its scored sentences. Raises `UserError` as
    `read_score_file` does, and for two files that name the same measure.
    """
    from pandas import concat

    measured: dict[str, Measurement] = {}
    for path in files:
        read = read_score_file(path, {answer.id: answer for answer in answers})
        for measure, scores in read.groupby("measure", sort=False):
            if measure in measured:
                raise UserError(f"Two files of scores have a measure {measure!r}: rename it in one of them.")
            sentences = scores[scores["start"].notna()]
            wholes = scores[scores["start"].isna()].set_index("answer")[["value", "reason"]]
            pooled = means(sentences, ["answer"], in_part=True)
            wholes = concat([wholes, pooled[~pooled.index.isin(wholes.index)]])
            ends = wholes["value"].where(wholes["reason"].isna())
            pinned = f"{path.name}@sha256:{sha256_file(path)[:12]}"
            measured[measure] = Measurement(
                f"{FROM_FILE}{measure}",
                {"pipeline": "scores", "measure": measure, "file": pinned},
                UnitValues(sentences, wholes.assign(worst=ends, best=ends)),
                tested=True,
            )
    return [*measured.values()]
