"""The citation pipelines behind one face: answers in, lines of the citation table out, for whatever gives verdicts."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from metaeval.citation.alce.citations import alce_lines
from metaeval.citation.alce.evaluate import answer_values
from metaeval.citation.alce.mauve import MODEL as MAUVE_MODEL
from metaeval.citation.alce.options import alce_options
from metaeval.citation.alce.questions import MODEL as READER
from metaeval.citation.alce.statements import statements
from metaeval.citation.aliice.answers import AnswerClaims, read_answers
from metaeval.citation.aliice.cvcp import answer_cvcp, mark_offsets
from metaeval.citation.aliice.lines import aliice_lines
from metaeval.citation.aliice.profile import aliice_profile
from metaeval.citation.aliice.released_text import MARK
from metaeval.citation.measures import Share
from metaeval.citation.model import Answer, Entails
from metaeval.citation.parsers.find import find_parser
from metaeval.citation.premises import Untitled, Zero
from metaeval.citation.sentences import SentenceSplitter, find_sentence_splitter
from metaeval.citation.table import Line
from metaeval.errors import unknown
from metaeval.experiment.citing.correctness import TEXT_MEASURES, claim_recaller, wanted
from metaeval.experiment.citing.model_measures import MAUVE, ModelMeasures, Whole, model_measures
from metaeval.experiment.citing.quantities import Quantity, mean_of, micro_of, variation_of
from metaeval.report.result import Column

Name = Literal["alce", "aliice"]
NAMES: tuple[Name, ...] = ("alce", "aliice")
_LIST = "list items"
_WORD = re.compile(r"\w")

WITHIN = "cites_within"
"""Of an ALiiCE answer: 1 where a citation stands within a sentence, between words of it, else 0."""


@dataclass(frozen=True, eq=False)
class Pipeline:
    """A pipeline with its answers read.

    fields: what the signature says of it. lines: the citation table of all answers, by what gives verdicts. by_group:
    an answer's precision is the mean over its citation groups, not over its citations. undefined_is_zero: precision of
    an answer that cites nothing. claim_recalls: of each answer, the share of the reference's claims that it entails;
    None where no reference holds claims. quantities: what needs no verdict. values: the same, for each answer. wholes:
    measures of a system's answers together (MAUVE).
    """

    name: Name
    answers: Sequence[Answer]
    fields: Mapping[str, object]
    lines: Callable[[Entails], list[Line]]
    by_group: bool
    undefined_is_zero: bool
    untitled: Untitled
    zero: Zero
    claim_recalls: Callable[[Entails], Sequence[float | None]] | None
    quantities: Sequence[Quantity]
    values: Mapping[str, Sequence[float | None]]
    wholes: Mapping[str, Whole]


def read_pipeline(
    name: str,
    answers: Sequence[Answer],
    profile: str = "paper",
    parser: str = "small",
    splitter: str = "auto",
    units: str = "sentences",
    measures: Sequence[str] = (),
    reader: str = READER,
    mauve_model: str = MAUVE_MODEL,
) -> Pipeline:
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
    if units not in ("sentences", _LIST):
        raise unknown("units", units, ("sentences", _LIST))
    by_model = model_measures(answers, measures, reader, mauve_model, alce_options(profile))
    return _alce(answers, profile, cutter, units, measures, by_model)


def _alce(
    answers: Sequence[Answer],
    profile: str,
    cutter: SentenceSplitter,
    units: str,
    measures: Sequence[str],
    by_model: ModelMeasures,
) -> Pipeline:
    options = alce_options(profile, statements=units)
    values = wanted({**answer_values(answers, options, cutter), **by_model.values}, measures)
    stated = [statements(answer, options, cutter) for answer in answers]
    own = {"statements": [float(sum(one.counts for one in each)) for each in stated]}
    return Pipeline(
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
            *(mean_of(TEXT_MEASURES[key], column) for key, column in values.items()),
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
) -> Pipeline:
    options = aliice_profile(profile)
    parses = find_parser(parser, options.one_root)
    read = read_answers(answers, parses, options, cutter)
    values = wanted({**answer_values(answers, splitter=cutter), **by_model.values}, measures)
    sentences = [float(len(each.sentences)) for each in read]
    cvcp = [answer_cvcp(each.texts) for each in read]
    made, fallen = [_claims(each) for each in read], [_fallbacks(each) for each in read]
    within = [float(_within(each)) for each in read]
    how = Column(key="cvcp", label="CVCP")
    return Pipeline(
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
            *(mean_of(TEXT_MEASURES[key], column) for key, column in values.items()),
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
