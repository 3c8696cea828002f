"""ALCE and ALiiCE: answers cut into claims, and each claim and citation judged by any metric."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from metaeval.citation.alce.citations import alce_lines, statements
from metaeval.citation.alce.correctness import answer_values
from metaeval.citation.alce.mauve import MODEL as MAUVE_MODEL
from metaeval.citation.alce.options import alce_options
from metaeval.citation.alce.questions import MODEL as READER
from metaeval.citation.aliice.answers import AnswerClaims, aliice_lines, read_answers
from metaeval.citation.aliice.claims import MARK, answer_cvcp, mark_offsets
from metaeval.citation.aliice.profile import aliice_profile
from metaeval.citation.measures import (
    Share,
    SoftLine,
    citation_shares,
    filled,
    settled,
    soft_filled,
    soft_precisions,
    soft_recalls,
    soften,
    zero_where_undefined,
)
from metaeval.citation.model import Answer, Entails
from metaeval.citation.parsers.find import find_parser
from metaeval.citation.premises import Untitled, Zero
from metaeval.citation.sentences import SentenceSplitter, find_sentence_splitter
from metaeval.citation.table import Line
from metaeval.config import RunConfig
from metaeval.errors import unknown
from metaeval.experiment.citing.pipeline import Measure
from metaeval.experiment.citing.quantities import (
    Panel,
    Quantity,
    f1_of,
    macro_of,
    mean_of,
    micro_of,
    panel_of,
    variation_of,
)
from metaeval.experiment.citing.text_measures import (
    CLAIM_RECALL,
    MAUVE,
    TEXT_MEASURES,
    ModelMeasures,
    Values,
    Whole,
    claim_recaller,
    model_measures,
    wanted,
)
from metaeval.experiment.sheet import Scalar
from metaeval.experiment.verdicts import Backend
from metaeval.report.result import Column

Name = Literal["alce", "aliice"]
NAMES: tuple[Name, ...] = ("alce", "aliice")
UNITS = ("sentences", "list items")
_WORD = re.compile(r"\w")

MEASURES = (
    Measure("recall", "recall", "share of claims that their citations together support", 100, 1),
    Measure("precision", "precision", "share of citations that support their claim and are needed", 100, 1),
    Measure("f1", "F1", "harmonic mean of recall and precision", 100, 1),
)
HEADLINES = RECALL, PRECISION, F1 = tuple(measure.column for measure in MEASURES)

WITHIN = "cites_within"
"""Of an ALiiCE answer: 1 where a citation stands within a sentence, between words of it, else 0."""


@dataclass(frozen=True, eq=False)
class Reading:
    """Answers as a pipeline reads them.

    fields: what the signature says of the reading. lines: the citation table of all answers, by what gives verdicts.
    by_group: an answer's precision is the mean over its citation groups, not over its citations. undefined_is_zero:
    precision of an answer that cites nothing. claim_recalls: of each answer, the share of the reference's claims that
    it entails; None where no reference holds claims. quantities: what needs no verdict. values: the same, for each
    answer. wholes: measures of a system's answers together (MAUVE).
    """

    name: Name
    answers: Sequence[Answer]
    fields: Mapping[str, Scalar]
    lines: Callable[[Entails], list[Line]]
    by_group: bool
    undefined_is_zero: bool
    untitled: Untitled
    zero: Zero
    claim_recalls: Callable[[Entails], Sequence[float | None]] | None
    quantities: Sequence[Quantity]
    values: Values
    wholes: Mapping[str, Whole]


@dataclass(frozen=True, eq=False)
class Judged:
    """One backend's judgement. lines: the citation table. recall, precision: of each answer. quantities: of all.

    degrees: of each line, where the backend is soft.
    """

    backend: Backend
    lines: Sequence[Line]
    recall: Sequence[Share]
    precision: Sequence[Share]
    quantities: Sequence[Quantity]
    degrees: Sequence[SoftLine] = ()


@dataclass(frozen=True, eq=False)
class Cited:
    """Answers of one or more systems, judged by one or more backends."""

    reading: Reading
    config: RunConfig
    panel: Panel
    judged: Sequence[Judged]


def read_claims(
    name: str,
    answers: Sequence[Answer],
    profile: str = "paper",
    parser: str = "small",
    splitter: str = "auto",
    units: str = "sentences",
    measures: Sequence[str] = (),
    reader: str = READER,
    mauve_model: str = MAUVE_MODEL,
) -> Reading:
    """Read the answers as a pipeline does: sentences, and with ALiiCE their parses and claims.

    units: sentences, or list items (ALCE on QAMPARI). measures: names of those to keep (all if none, but for those that
    need a model). reader, mauve_model: hub ids or folders, for QA-EM and QA-F1, and for MAUVE.

    Raises `UserError` for an unknown pipeline, profile, parser, splitter, unit or measure.
    """
    cutter = find_sentence_splitter(splitter)
    known = (*TEXT_MEASURES, MAUVE.key)
    for measure in measures:
        if measure not in known:
            raise unknown("measure", measure, known, "Recall, precision and F1 are always there.")
    if name == "aliice":
        aliice_profile(profile)
        by_model = model_measures(answers, measures, reader, mauve_model, alce_options())
        return _aliice(answers, profile, parser, cutter, measures, by_model)
    if name != "alce":
        raise unknown("pipeline", name, NAMES)
    if units not in UNITS:
        raise unknown("units", units, UNITS)
    by_model = model_measures(answers, measures, reader, mauve_model, alce_options(profile))
    return _alce(answers, profile, cutter, units, measures, by_model)


def judge(reading: Reading, backends: Iterable[Backend], config: RunConfig) -> Cited:
    """Judge the answers with each backend in turn."""
    panel = panel_of(reading.answers, config.interval)
    return Cited(reading, config, panel, [_judged(reading, backend) for backend in backends])


def bounds_of(cited: Cited, one: Judged, system: int) -> dict[str, tuple[float | None, float | None]]:
    """Lowest and highest recall and precision of a system, were every missing verdict against it, or for it.

    A missing soft score is then 0, or 1. Empty where nothing of the system is missing.
    """
    own = {cited.reading.answers[row].id for row in cited.panel.rows(system)}
    if not any(line.answer in own and line.reason for line in one.lines):
        return {}
    ends = []
    for verdict in (0, 1):
        if one.backend.soft:
            shares = _soft_shares(cited.reading, [soft_filled(line, verdict) for line in one.degrees])
        else:
            shares = shares_of(cited.reading, [filled(line, verdict) for line in one.lines])
        ends.append([cited.panel.interval(macro_of(RECALL, each), system).value for each in shares])
    return {column.key: (worst, best) for column, worst, best in zip((RECALL, PRECISION), *ends, strict=True)}


def by_key(quantities: Sequence[Quantity]) -> Mapping[str, Quantity]:
    """Quantities by the key of their column."""
    return {quantity.column.key: quantity for quantity in quantities}


def headlines(recall: Sequence[Share], precision: Sequence[Share]) -> list[Quantity]:
    """Recall, precision and F1 from the shares of each answer: means over answers, and their harmonic mean."""
    of_recall, of_precision = macro_of(RECALL, recall), macro_of(PRECISION, precision)
    return [of_recall, of_precision, f1_of(F1, of_recall, of_precision)]


def _judged(reading: Reading, backend: Backend) -> Judged:
    lines: Sequence[Line] = reading.lines(backend.entails)
    degrees: Sequence[SoftLine] = ()
    if backend.soft:
        degrees = soften(reading.answers, lines, backend.entails, reading.untitled, reading.zero)
        recall, precision = _soft_shares(reading, degrees)
        lines = [settled(line) for line in degrees]
    else:
        recall, precision = shares_of(reading, lines)
    quantities = headlines(recall, precision)
    if reading.claim_recalls and not backend.soft:
        quantities.append(mean_of(CLAIM_RECALL, reading.claim_recalls(backend.entails)))
    return Judged(backend, lines, recall, precision, quantities, degrees)


def shares_of(reading: Reading, lines: Sequence[Line]) -> tuple[list[Share], list[Share]]:
    """Recall and precision of each answer, from decided verdicts."""
    return citation_shares(reading.answers, lines, reading.by_group, reading.undefined_is_zero)


def _soft_shares(reading: Reading, degrees: Sequence[SoftLine]) -> tuple[list[Share], list[Share]]:
    """Recall and precision of each answer, from degrees of support."""
    recall = soft_recalls(reading.answers, degrees)
    precision = soft_precisions(reading.answers, degrees, reading.by_group)
    return recall, zero_where_undefined(precision, recall) if reading.undefined_is_zero else precision


def _alce(
    answers: Sequence[Answer],
    profile: str,
    cutter: SentenceSplitter,
    units: str,
    measures: Sequence[str],
    by_model: ModelMeasures,
) -> Reading:
    options = alce_options(profile, statements=units)
    values = wanted({**answer_values(answers, options, cutter), **by_model.values}, measures)
    stated = [statements(answer, options, cutter) for answer in answers]
    own = {"statements": [float(sum(one.counts for one in each)) for each in stated]}
    return Reading(
        name="alce",
        answers=answers,
        fields={
            "pipeline": "alce",
            "profile": profile,
            "units": units,
            "splitter": cutter.name,
            **by_model.fields,
        },
        lines=lambda entails: alce_lines(answers, entails, options, cutter, stated),
        by_group=False,
        undefined_is_zero=options.uncited_precision == "zero",
        untitled=options.untitled,
        zero=options.zero,
        claim_recalls=claim_recaller(
            answers, measures, lambda entails: answer_values(answers, options, cutter, entails)
        ),
        quantities=[
            mean_of(Column(key="statements", label=units.replace("list ", ""), digits=1), own["statements"]),
            *(mean_of(TEXT_MEASURES[key].column, column) for key, column in values.items()),
        ],
        values={**own, **values},
        wholes=by_model.wholes,
    )


def _aliice(
    answers: Sequence[Answer],
    profile: str,
    parser: str,
    cutter: SentenceSplitter,
    measures: Sequence[str],
    by_model: ModelMeasures,
) -> Reading:
    options = aliice_profile(profile)
    parses = find_parser(parser, options.one_root)
    read = read_answers(answers, parses, options, cutter)
    values = wanted({**answer_values(answers, splitter=cutter), **by_model.values}, measures)
    sentences = [float(len(each.sentences)) for each in read]
    cvcp = [answer_cvcp(each.texts) for each in read]
    made, fallen = [_claims(each) for each in read], [_fallbacks(each) for each in read]
    within = [float(_within(each)) for each in read]
    how = Column(key="cvcp", label="CVCP")
    return Reading(
        name="aliice",
        answers=answers,
        fields={
            "pipeline": "aliice",
            "profile": options.signature,
            "parser": parses.name,
            "splitter": cutter.name,
            **by_model.fields,
        },
        lines=lambda entails: aliice_lines(read, entails, options),
        by_group=options.precision == "groups",
        undefined_is_zero=False,
        untitled=options.untitled,
        zero=options.zero,
        claim_recalls=claim_recaller(
            answers, measures, lambda entails: answer_values(answers, splitter=cutter, entails=entails)
        ),
        quantities=[
            mean_of(how, cvcp)
            if options.cvcp == "paper"
            else variation_of(how, [mark_offsets(each.texts) for each in read]),
            mean_of(Column(key=WITHIN, label="within %", scale=100, digits=1), within),
            micro_of(Column(key="claims_per_sentence", label="claims/sentence", digits=2), made),
            micro_of(Column(key="fallbacks", label="fallback %", scale=100, digits=1), fallen),
            mean_of(Column(key="sentences", label="sentences", digits=1), sentences),
            *(mean_of(TEXT_MEASURES[key].column, column) for key, column in values.items()),
        ],
        values={
            "cvcp": cvcp,
            WITHIN: within,
            "claims_per_sentence": [share.value for share in made],
            "fallbacks": [share.value for share in fallen],
            "sentences": sentences,
            **values,
        },
        wholes=by_model.wholes,
    )


def _claims(read: AnswerClaims) -> Share:
    """Cited claims over the sentences that hold one."""
    cited = [each for each in read.claims if each.marks]
    return Share(len(cited), len({each.claim.sentence for each in cited}))


def _fallbacks(read: AnswerClaims) -> Share:
    """Cited claims that stand for a whole sentence because its tree could not be used, over all cited claims."""
    cited = [each for each in read.claims if each.marks]
    return Share(sum(each.claim.made_by.startswith("fallback") for each in cited), len(cited))


def _within(read: AnswerClaims) -> bool:
    """A mark that opens a sentence belongs to the one before, whatever a profile makes of it."""
    return any(
        _WORD.search(MARK.sub("", text[: mark.start()])) and _WORD.search(MARK.sub("", text[mark.end() :]))
        for text in read.texts
        for mark in MARK.finditer(text)
    )
