"""Read answers into claims as ALCE or ALiiCE does, and judge the claims by verdicts or degrees of support."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from metaeval.citation import measures
from metaeval.citation.alce import correctness
from metaeval.citation.alce.citations import (
    MAUVE_MODEL,
    READER,
    AlceOptions,
    alce_lines,
    alce_options,
    alce_signature,
    statements,
)
from metaeval.citation.alce.qa_model import extractive_reader
from metaeval.citation.aliice.citation_lines import aliice_lines
from metaeval.citation.aliice.claim_options import Profile, aliice_profile
from metaeval.citation.aliice.claims import MARK, AnswerClaims, read_answers
from metaeval.citation.aliice.mark_positions import answer_cvcp, mark_offsets
from metaeval.citation.citation_table import CitationLine, Untitled, Zero
from metaeval.citation.data_model import Answer, Entails, answer_cells
from metaeval.citation.marks_and_sentences import find_sentence_splitter
from metaeval.citation.measures import AnswerShare, Statistic
from metaeval.citation.parsers.dependency_parsers import find_parser
from metaeval.citation.system_comparison import SystemPanel
from metaeval.corpus.sentences import SentenceSplitter
from metaeval.errors import unknown
from metaeval.scoring.backends.checkpoint import Checkpoint, ModelFolder, find_model
from metaeval.stats.influence import COUNTS, SHARES

ClaimPipelineName = Literal["alce", "aliice"]
NAMES: tuple[ClaimPipelineName, ...] = ("alce", "aliice")
UNITS = ("sentences", "list items")

WITHIN = "cites_within"
"""Measure of an ALiiCE answer: 1 if a citation is between two words of a sentence, else 0."""

TEXT_MEASURES = (*correctness.MEASURES, *correctness.READER_MEASURES)
"""Measures of an answer's text, named as in the released ALCE code; `READER_MEASURES` are computed on request only."""

CLAIM_RECALL = "claims_nli"
MAUVE = "mauve"
"""Name of a measure of all answers of a system together, without values of single answers and without an interval."""

_WORD = re.compile(r"\w")

_COUNTED = ("statements", "sentences", "length", "num_preds", "claims_per_sentence", "cvcp")
"""Measures with values above 1; the others are shares."""

ValuesByMeasure = Mapping[str, Sequence[float | None]]
"""By measure, the value of each answer, in order; None where undefined."""

Whole = Callable[[Sequence[Answer]], float | None]


@dataclass(frozen=True, eq=False)
class PipelineJudgement:
    """The verdicts of one backend (a metric) on all answers. lines: the citation table.

    recall, precision: citation recall and precision of each answer, in order. degrees: the lines with degrees of
    support, for a soft backend, else empty. claim_recalls: for each answer, the share of its reference's claims that
    it entails; None where they were not computed.
    """

    lines: Sequence[CitationLine]
    recall: Sequence[AnswerShare]
    precision: Sequence[AnswerShare]
    degrees: Sequence[CitationLine] = ()
    claim_recalls: Sequence[float | None] | None = None

    @property
    def statistics(self) -> dict[str, Statistic]:
        """Return `headlines` of all answers, and their mean claim recall (`CLAIM_RECALL`) where it was computed."""
        claims = {} if self.claim_recalls is None else {CLAIM_RECALL: measures.means(self.claim_recalls)}
        return headlines(self.recall, self.precision) | claims


def headlines(recall: Sequence[AnswerShare], precision: Sequence[AnswerShare]) -> dict[str, Statistic]:
    """Return "recall" and "precision", the means over the answers that have a value, and "f1", their harmonic mean."""
    of_recall, of_precision = measures.macro(recall), measures.macro(precision)
    return {"recall": of_recall, "precision": of_precision, "f1": measures.harmonic(of_recall, of_precision)}


@dataclass(frozen=True, eq=False)
class PipelineReading:
    """Answers as a citation pipeline reads them, ready to be judged.

    fields: of the results' signature. lines: makes the citation table of all answers from a backend's verdicts.
    by_group, undefined_is_zero: see `citation_shares`. untitled, zero: see `Untitled` and `Zero`. values: measures of
    each answer that need no verdict. pooled: further statistics, by name, that are not means of values. claim_recalls:
    computes `PipelineJudgement.claim_recalls`; None where no reference holds claims, or they are not wanted. wholes: by
    name, functions that compute a measure of a system's answers together (MAUVE).
    """

    name: ClaimPipelineName
    answers: Sequence[Answer]
    fields: Mapping[str, str]
    lines: Callable[[Entails], list[CitationLine]]
    by_group: bool
    undefined_is_zero: bool
    untitled: Untitled
    zero: Zero
    values: ValuesByMeasure
    pooled: Mapping[str, Statistic] = field(default_factory=dict)
    claim_recalls: Callable[[Entails], Sequence[float | None]] | None = None
    wholes: Mapping[str, Whole] = field(default_factory=dict)

    @property
    def statistics(self) -> dict[str, Statistic]:
        """Return the statistics that need no verdict, by name: the means of `values`, and `pooled`."""
        ranges = {key: COUNTS if key in _COUNTED else SHARES for key in self.values}
        return {**{key: measures.means(values, ranges[key]) for key, values in self.values.items()}, **self.pooled}

    def judge(self, entails: Entails, soft: bool) -> PipelineJudgement:
        """Return the verdicts of a backend on the answers. soft: take its scores instead, without claim recall."""
        lines = self.lines(entails)
        if soft:
            degrees = measures.soften(self.answers, lines, entails, self.untitled, self.zero)
            table = [measures.judged_by_degrees(*both) for both in zip(lines, degrees, strict=True)]
            return PipelineJudgement(table, *self._shares(degrees), degrees)
        claims = self.claim_recalls(entails) if self.claim_recalls else None
        return PipelineJudgement(lines, *self._shares(lines), claim_recalls=claims)

    def bounds(
        self, judged: PipelineJudgement, panel: SystemPanel, system: int
    ) -> dict[str, tuple[float | None, float | None]]:
        """Return (lowest, highest) possible macro-average of a system as "recall" and as "precision".

        Missing verdicts are set to negative and to positive, missing soft scores to 0 and to 1. Empty where the system
        lacks no verdict. system: its index in `panel.systems`.
        """
        rows = panel.rows(system)
        ids = {self.answers[row].id for row in rows}
        if not any(line.answer in ids and line.reason for line in judged.lines):
            return {}
        lines = judged.degrees or judged.lines
        least, most = (self._shares([measures.filled(line, verdict) for line in lines]) for verdict in (0, 1))
        return {
            name: tuple(measures.value_of(measures.macro(shares), rows) for shares in ends)  # type: ignore[misc]
            for name, *ends in zip(("recall", "precision"), least, most, strict=True)
        }

    def _shares(self, lines: Sequence[CitationLine]) -> tuple[list[AnswerShare], list[AnswerShare]]:
        return measures.citation_shares(self.answers, lines, self.by_group, self.undefined_is_zero)


def answer_rows(reading: PipelineReading, judged: PipelineJudgement) -> list[dict[str, str | float | None]]:
    """Return one row (by column) per answer: recall, precision, F1, numbers of claims and of claims and citations
    without a verdict, and the measures of `reading.values`; None where undefined.
    """
    answers = zip(reading.answers, judged.recall, judged.precision, strict=True)
    return [
        {
            **answer_cells(answer),
            "recall": recall.value,
            "precision": precision.value,
            "f1": measures.f1(precision.value, recall.value),
            "claims": recall.total,
            "claims_unjudged": recall.open,
            "citations_unjudged": precision.open,
            **{key: values[number] for key, values in reading.values.items()},
        }
        for number, (answer, recall, precision) in enumerate(answers)
    ]


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
    changes: Mapping[str, Any] = MappingProxyType({}),
) -> PipelineReading:
    """Return the answers as a pipeline reads them: statements for ALCE; sentences, their parses and claims for ALiiCE.

    name: "alce" or "aliice". parser: of ALiiCE alone. units: sentences, or list items (ALCE on QAMPARI). measures:
    names of the text measures to compute; by default all that need no model. reader, mauve_model: hub ids or folders of
    the models for `READER_MEASURES` and for MAUVE. changes: options of the profile to change, by name. Raises
    `UserError` for an unknown pipeline,
    profile, parser, splitter, unit, measure or option, and for a model that is not available or cannot be used.
    """
    cutter = find_sentence_splitter(splitter)
    known = (*TEXT_MEASURES, MAUVE)
    for measure in measures:
        if measure not in known:
            raise unknown("measure", measure, known, "Recall, precision and F1 are always computed.")
    for what, value, allowed in (("pipeline", name, NAMES), ("units", units, UNITS)):
        if value not in allowed:
            raise unknown(what, value, allowed)
    chosen = aliice_profile(profile, **changes) if name == "aliice" else None
    changed = {"statements": units, **changes}
    options = alce_options(statements=units) if chosen else alce_options(profile, **changed)
    values: dict[str, Sequence[float | None]] = {}
    wholes: dict[str, Whole] = {}
    fields: dict[str, str] = {}
    if any(measure in correctness.READER_MEASURES for measure in measures):
        folder_of_model = _model(reader)
        values |= correctness.reader_values(answers, _reader(folder_of_model), options)
        fields["reader"] = f"{Path(reader).name}@{folder_of_model.fingerprint}"
    if MAUVE in measures:
        folder_of_model = _model(mauve_model)
        folder = str(folder_of_model.folder)
        wholes[MAUVE] = lambda of_system: correctness.answers_mauve(of_system, folder, options=options)
        fields["mauve"] = f"{Path(mauve_model).name}@{folder_of_model.fingerprint}"
    read = _aliice(answers, chosen, parser, cutter) if chosen else _alce(answers, options, profile, cutter)
    values |= correctness.answer_values(answers, options, cutter)
    # In the order of the tables.
    kept = {key: values[key] for key in TEXT_MEASURES if key in values and (not measures or key in measures)}
    wants_claims = not measures or CLAIM_RECALL in measures
    return replace(
        read,
        fields={**read.fields, **fields},
        values={**read.values, **kept},
        claim_recalls=(lambda entails: correctness.claim_recalls(answers, entails, options))
        if wants_claims and any(answer.reference.get("claims") for answer in answers)
        else None,
        wholes=wholes,
    )


def _model(name: str) -> ModelFolder:
    checkpoint = Checkpoint(name, "size and licence: see its page on the hub")
    return find_model(checkpoint, folder if (folder := Path(name)).is_dir() else None)


def _reader(model_folder: ModelFolder) -> correctness.QaReader:
    from transformers import AutoModelForQuestionAnswering

    from metaeval.scoring.backends.model_loading import load_model, load_tokenizer

    model: Any = load_model(AutoModelForQuestionAnswering, model_folder, "float32", "cpu")
    return extractive_reader(model, load_tokenizer(model_folder))


def _alce(answers: Sequence[Answer], options: AlceOptions, profile: str, cutter: SentenceSplitter) -> PipelineReading:
    stated = [statements(answer, options, cutter) for answer in answers]
    return PipelineReading(
        name="alce",
        answers=answers,
        fields={
            "pipeline": "alce",
            "profile": alce_signature(profile, options),
            "units": options.statements,
            "splitter": cutter.name,
        },
        lines=lambda entails: alce_lines(answers, entails, options, cutter, stated),
        by_group=False,
        undefined_is_zero=options.uncited_precision == "zero",
        untitled=options.untitled,
        zero=options.zero,
        values={"statements": [float(sum(statement.counts for statement in each)) for each in stated]},
    )


def _aliice(answers: Sequence[Answer], profile: Profile, parser: str, cutter: SentenceSplitter) -> PipelineReading:
    parses = find_parser(parser, profile.one_root)
    read = read_answers(answers, parses, profile, cutter)
    cited = [[claim for claim in each.claims if claim.marks] for each in read]
    # Cited claims over the sentences that hold at least one.
    per_sentence = [AnswerShare(len(claims), len({each.sentence for each in claims})) for claims in cited]
    # Share of cited claims that are a whole sentence because its tree could not be used.
    fallen = [AnswerShare(sum(each.made_by.startswith("fallback") for each in claims), len(claims)) for claims in cited]
    pooled = {"claims_per_sentence": measures.micro(per_sentence, COUNTS), "fallbacks": measures.micro(fallen)}
    cvcp = [answer_cvcp(each.texts, profile.cvcp == "all sentences") for each in read]
    if profile.cvcp == "released":
        offsets = [mark_offsets(each.texts) for each in read]
        pooled["cvcp"] = measures.variation(offsets)
        cvcp = [measures.value_of(measures.variation([of_answer])) for of_answer in offsets]
    return PipelineReading(
        name="aliice",
        answers=answers,
        fields={"pipeline": "aliice", "profile": profile.signature, "parser": parses.name, "splitter": cutter.name},
        lines=lambda entails: aliice_lines(read, entails, profile),
        by_group=profile.precision == "groups",
        undefined_is_zero=False,
        untitled=profile.untitled,
        zero=profile.zero,
        values={
            "cvcp": cvcp,
            WITHIN: [float(_within(each)) for each in read],
            "claims_per_sentence": [share.value for share in per_sentence],
            "fallbacks": [share.value for share in fallen],
            "sentences": [float(len(each.sentences)) for each in read],
        },
        pooled=pooled,
    )


def _within(read: AnswerClaims) -> bool:
    """Return whether any citation mark of the answer is between two words of its sentence.

    Marks that the profile moves to the sentence before (`leading`) count there.
    """
    return any(
        _WORD.search(MARK.sub("", text[: mark.start()])) and _WORD.search(MARK.sub("", text[mark.end() :]))
        for text in read.texts
        for mark in MARK.finditer(text)
    )
