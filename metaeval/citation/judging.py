"""ALCE and ALiiCE alike: answers read into claims, judged by verdicts or by degrees of support, and bounded."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from metaeval.citation import measures
from metaeval.citation.alce import correctness
from metaeval.citation.alce.citations import AlceOptions, alce_lines, alce_options, statements
from metaeval.citation.alce.qa_reader import extractive_reader
from metaeval.citation.aliice.claims import MARK, AnswerClaims, aliice_lines, answer_cvcp, mark_offsets, read_answers
from metaeval.citation.aliice.profile import Profile, aliice_profile
from metaeval.citation.measures import Share, Statistic
from metaeval.citation.model import Answer, Entails, answer_cells
from metaeval.citation.panel import Panel
from metaeval.citation.parsers.parse import find_parser
from metaeval.citation.sentences import find_sentence_splitter
from metaeval.citation.table import Line, Untitled, Zero
from metaeval.corpus.sentences import SentenceSplitter
from metaeval.errors import unknown
from metaeval.scoring.backends.checkpoint import Checkpoint, ModelFolder, find_model
from metaeval.stats.influence import COUNTS, SHARES

Name = Literal["alce", "aliice"]
NAMES: tuple[Name, ...] = ("alce", "aliice")
UNITS = ("sentences", "list items")

WITHIN = "cites_within"
"""Of an ALiiCE answer: 1 where a citation stands within a sentence, between words of it, else 0."""

TEXT_MEASURES = (*correctness.MEASURES, *correctness.READER_MEASURES)
"""The measures of an answer's text, under the released ALCE code's names; those of a reader only when asked for."""

CLAIM_RECALL = "claims_nli"
MAUVE = "mauve"
"""A measure of all answers of a system together: no answer has one, and it has no interval."""

_WORD = re.compile(r"\w")

_COUNTED = ("statements", "sentences", "length", "num_preds", "claims_per_sentence", "cvcp")
"""Values that can be above 1; the others are shares."""

Values = Mapping[str, Sequence[float | None]]
"""Of each answer, by measure."""

Whole = Callable[[Sequence[Answer]], float | None]


@dataclass(frozen=True, eq=False)
class Judged:
    """One backend's judgement. lines: the citation table. recall, precision: of each answer.

    degrees: the lines with degrees of support, where the backend is soft. claim_recalls: of each answer, the share of
    the reference's claims that it entails; None where nobody asked.
    """

    lines: Sequence[Line]
    recall: Sequence[Share]
    precision: Sequence[Share]
    degrees: Sequence[Line] = ()
    claim_recalls: Sequence[float | None] | None = None

    @property
    def statistics(self) -> dict[str, Statistic]:
        """Recall, precision, F1, and the recall of claims where they were asked for, of all answers."""
        found = headlines(self.recall, self.precision)
        return found if self.claim_recalls is None else found | {CLAIM_RECALL: measures.means(self.claim_recalls)}


def headlines(recall: Sequence[Share], precision: Sequence[Share]) -> dict[str, Statistic]:
    """Recall, precision and F1 from the shares of each answer: means over answers, and their harmonic mean."""
    of_recall, of_precision = measures.macro(recall), measures.macro(precision)
    return {"recall": of_recall, "precision": of_precision, "f1": measures.harmonic(of_recall, of_precision)}


@dataclass(frozen=True, eq=False)
class Reading:
    """Answers as a pipeline reads them.

    fields: what the signature says of the reading. lines: the citation table of all answers, by what gives verdicts.
    by_group: an answer's precision is the mean over its citation groups, not over its citations. undefined_is_zero:
    precision of an answer that cites nothing. values: what needs no verdict, of each answer. pooled: statistics that
    are no means of these. claim_recalls: see `Judged`; None where no reference holds claims. wholes: measures of a
    system's answers together (MAUVE).
    """

    name: Name
    answers: Sequence[Answer]
    fields: Mapping[str, str]
    lines: Callable[[Entails], list[Line]]
    by_group: bool
    undefined_is_zero: bool
    untitled: Untitled
    zero: Zero
    values: Values
    pooled: Mapping[str, Statistic] = field(default_factory=dict)
    claim_recalls: Callable[[Entails], Sequence[float | None]] | None = None
    wholes: Mapping[str, Whole] = field(default_factory=dict)

    @property
    def statistics(self) -> dict[str, Statistic]:
        """What needs no verdict, of all answers."""
        ranges = dict.fromkeys(_COUNTED, COUNTS)
        own = {key: measures.means(own, ranges.get(key, SHARES)) for key, own in self.values.items()}
        return {**own, **self.pooled}

    def judge(self, entails: Entails, soft: bool) -> Judged:
        """Judge the answers; soft: verdicts are open, and scores are degrees of support."""
        lines = self.lines(entails)
        if soft:
            degrees = measures.soften(self.answers, lines, entails, self.untitled, self.zero)
            table = [measures.settled(*both) for both in zip(lines, degrees, strict=True)]
            return Judged(table, *self._shares(degrees), degrees)
        claims = self.claim_recalls(entails) if self.claim_recalls else None
        return Judged(lines, *self._shares(lines), claim_recalls=claims)

    def bounds(self, judged: Judged, panel: Panel, system: int) -> dict[str, tuple[float | None, float | None]]:
        """Lowest and highest recall and precision of a system, were every missing verdict against it, or for it.

        A missing soft score is then 0, or 1. Empty where nothing of the system is missing.
        """
        rows = panel.rows(system)
        own = {self.answers[row].id for row in rows}
        if not any(line.answer in own and line.reason for line in judged.lines):
            return {}
        least, most = (
            self._shares([measures.filled(line, verdict) for line in judged.degrees or judged.lines])
            for verdict in (0, 1)
        )
        return {
            name: tuple(measures.value_of(measures.macro(shares), rows) for shares in ends)  # type: ignore[misc]
            for name, *ends in zip(("recall", "precision"), least, most, strict=True)
        }

    def _shares(self, lines: Sequence[Line]) -> tuple[list[Share], list[Share]]:
        return measures.citation_shares(self.answers, lines, self.by_group, self.undefined_is_zero)


def answer_rows(reading: Reading, judged: Judged) -> list[dict[str, str | float | None]]:
    """One row per answer: its recall, precision and F1, its verdicts that are missing, and what needs no verdict."""
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
        for number, (answer, recall, precision) in enumerate(
            zip(reading.answers, judged.recall, judged.precision, strict=True)
        )
    ]


def read_claims(
    name: str,
    answers: Sequence[Answer],
    profile: str = "paper",
    parser: str = "small",
    splitter: str = "auto",
    units: str = "sentences",
    measures: Sequence[str] = (),
    reader: str = correctness.READER,
    mauve_model: str = correctness.MAUVE_MODEL,
) -> Reading:
    """Read the answers as a pipeline does: sentences, and with ALiiCE their parses and claims.

    units: sentences, or list items (ALCE on QAMPARI). measures: names of those to keep (all if none, but for those that
    need a model). reader, mauve_model: hub ids or folders, for QA-EM and QA-F1, and for MAUVE.

    Raises `UserError` for an unknown pipeline, profile, parser, splitter, unit or measure, and for a model that cannot
    be had or used.
    """
    cutter = find_sentence_splitter(splitter)
    known = (*TEXT_MEASURES, MAUVE)
    for measure in measures:
        if measure not in known:
            raise unknown("measure", measure, known, "Recall, precision and F1 are always there.")
    for what, given, allowed in (("pipeline", name, NAMES), ("units", units, UNITS)):
        if given not in allowed:
            raise unknown(what, given, allowed)
    chosen = aliice_profile(profile) if name == "aliice" else None
    options = alce_options("paper" if chosen else profile, statements=units)
    values: dict[str, Sequence[float | None]] = {}
    wholes: dict[str, Whole] = {}
    fields: dict[str, str] = {}
    if any(measure in correctness.READER_MEASURES for measure in measures):
        found = _model(reader)
        values |= correctness.reader_values(answers, _reader(found), options)
        fields["reader"] = f"{Path(reader).name}@{found.fingerprint}"
    if MAUVE in measures:
        found = _model(mauve_model)
        folder = str(found.folder)
        wholes[MAUVE] = lambda own: correctness.answers_mauve(own, folder, options=options)
        fields["mauve"] = f"{Path(mauve_model).name}@{found.fingerprint}"
    read = _aliice(answers, chosen, parser, cutter) if chosen else _alce(answers, options, profile, cutter)
    values |= correctness.answer_values(answers, options, cutter)
    asked = not measures or CLAIM_RECALL in measures
    return replace(
        read,
        fields={**read.fields, **fields},
        # Those that are asked for (all if none are), in the order of the tables.
        values={
            **read.values,
            **{key: values[key] for key in TEXT_MEASURES if key in values and (not measures or key in measures)},
        },
        claim_recalls=(lambda entails: correctness.claim_recalls(answers, entails, options))
        if asked and any(answer.reference.get("claims") for answer in answers)
        else None,
        wholes=wholes,
    )


def _model(name: str) -> ModelFolder:
    checkpoint = Checkpoint(name, "size and licence: see its page on the hub")
    return find_model(checkpoint, folder if (folder := Path(name)).is_dir() else None)


def _reader(found: ModelFolder) -> correctness.QaReader:
    from transformers import AutoModelForQuestionAnswering

    from metaeval.scoring.backends.models import load_model, load_tokenizer

    model: Any = load_model(AutoModelForQuestionAnswering, found, "float32", "cpu")
    return extractive_reader(model, load_tokenizer(found))


def _alce(answers: Sequence[Answer], options: AlceOptions, profile: str, cutter: SentenceSplitter) -> Reading:
    stated = [statements(answer, options, cutter) for answer in answers]
    return Reading(
        name="alce",
        answers=answers,
        fields={"pipeline": "alce", "profile": profile, "units": options.statements, "splitter": cutter.name},
        lines=lambda entails: alce_lines(answers, entails, options, cutter, stated),
        by_group=False,
        undefined_is_zero=options.uncited_precision == "zero",
        untitled=options.untitled,
        zero=options.zero,
        values={"statements": [float(sum(one.counts for one in each)) for each in stated]},
    )


def _aliice(answers: Sequence[Answer], profile: Profile, parser: str, cutter: SentenceSplitter) -> Reading:
    parses = find_parser(parser, profile.one_root)
    read = read_answers(answers, parses, profile, cutter)
    cited = [[claim for claim in each.claims if claim.marks] for each in read]
    # Cited claims over the sentences that hold one.
    made = [Share(len(own), len({each.sentence for each in own})) for own in cited]
    # Cited claims that stand for a whole sentence because its tree could not be used, over all cited claims.
    fallen = [Share(sum(each.made_by.startswith("fallback") for each in own), len(own)) for own in cited]
    pooled = {"claims_per_sentence": measures.micro(made, COUNTS), "fallbacks": measures.micro(fallen)}
    if profile.cvcp == "released":
        pooled["cvcp"] = measures.variation([mark_offsets(each.texts) for each in read])
    return Reading(
        name="aliice",
        answers=answers,
        fields={"pipeline": "aliice", "profile": profile.signature, "parser": parses.name, "splitter": cutter.name},
        lines=lambda entails: aliice_lines(read, entails, profile),
        by_group=profile.precision == "groups",
        undefined_is_zero=False,
        untitled=profile.untitled,
        zero=profile.zero,
        values={
            "cvcp": [answer_cvcp(each.texts) for each in read],
            WITHIN: [float(_within(each)) for each in read],
            "claims_per_sentence": [share.value for share in made],
            "fallbacks": [share.value for share in fallen],
            "sentences": [float(len(each.sentences)) for each in read],
        },
        pooled=pooled,
    )


def _within(read: AnswerClaims) -> bool:
    """A mark that opens a sentence belongs to the one before, whatever a profile makes of it."""
    return any(
        _WORD.search(MARK.sub("", text[: mark.start()])) and _WORD.search(MARK.sub("", text[mark.end() :]))
        for text in read.texts
        for mark in MARK.finditer(text)
    )
