"""The analysis `cite alce`: citation recall and precision of sentences, and ALCE's measures of the text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated

from pydantic import Field

from metaeval.analyses.analysis import Analysis, Done, Progress
from metaeval.citation.alce.citations import MAUVE_MODEL, PAPER, PROFILES, READER, AlceProfile, read_alce
from metaeval.citation.alce.correctness import CLAIM_RECALL, MAUVE, claim_recalls, text_measures
from metaeval.citation.aliice.citation_lines import WITHIN
from metaeval.citation.citation_table import CitationLine, Uncited, find_profile
from metaeval.citation.marks_and_sentences import Leading, find_sentence_splitter
from metaeval.citation.measures import Statistic, means
from metaeval.citation.pipelines import options as shared
from metaeval.citation.pipelines.cited import TEXT, CitedTable, Definition, Measure, Missing
from metaeval.citation.pipelines.metric_verdicts import Judges
from metaeval.citation.stated_answers import TITLES, StatedAnswers
from metaeval.core.declared import Flag, one_of
from metaeval.core.errors import count
from metaeval.corpus.sentences import SentenceSplitter
from metaeval.report.table import Note
from metaeval.stats.influence import COUNTS, SHARES

MEASURES = (
    Measure("recall", "recall", "share of claims that their citations together support", ranks=True),
    Measure("precision", "precision", "share of citations that support their claim and are needed", ranks=True),
    Measure("f1", "F1", "harmonic mean of recall and precision", ranks=True),
)

DEFINITIONS = (
    Definition(
        "citation-scores",
        "Citation recall and precision (%)",
        (*MEASURES, Measure(CLAIM_RECALL, "claim recall", "share of the reference's claims that the text entails")),
        "recall: share of sentences or claims that their citations support; precision: share of citations that support "
        "theirs and are needed",
    ),
    Definition(
        "answers",
        "The answers",
        (
            Measure("statements", "sentences", "number of sentences or items that count", 1, 1),
            Measure("cvcp", "CVCP", "coefficient of variation of citation positions", 1, 3),
            Measure(WITHIN, "within %", "share of answers that cite within a sentence"),
            Measure("claims_per_sentence", "claims/sentence", "claims of a sentence that cites", 1, 2),
            Measure("fallbacks", "fallback %", "share of claims that are a whole sentence for want of a tree"),
            Measure("sentences", "sentences", "number of sentences", 1, 1),
            Measure("str_em", "EM recall", "share of the reference's short answers that occur in the text"),
            Measure("str_hit", "hit", "share of answers in which every short answer occurs"),
            Measure("rougeLsum", "ROUGE-Lsum", "longest common subsequence with the reference"),
            Measure("num_preds", "items", "number of items of the list", 1, 1),
            Measure("qampari_prec", "list precision", "share of the list's items that are correct"),
            Measure("qampari_rec", "list recall", "share of the correct items that are in the list"),
            Measure("qampari_rec_top5", "list recall-5", "list recall, of which five hits are the most that counts"),
            Measure("qampari_f1", "list F1", "harmonic mean of list precision and list recall"),
            Measure("qampari_f1_top5", "list F1-5", "harmonic mean of list precision and list recall-5"),
            Measure("length", "words", "number of words of the answer", 1, 1),
            Measure("qa_em", "QA-EM", "share of short answers that a reader model extracts exactly"),
            Measure("qa_f1", "QA-F1", "word overlap (F1) of short answers with those that a reader model extracts"),
            Measure("qa_hit", "QA-hit", "share of answers from which a reader model extracts every short answer"),
            Measure(MAUVE, "MAUVE", "similarity of the distributions of answers and references"),
        ),
    ),
)

Statistics = Mapping[str, Statistic]

PremiseName = Annotated[
    str,
    one_of("premise", ("joint", "max over chunks"), chunks="max over chunks"),
    Flag("HOW"),
    Field(description="How passages are read: joint (as one text) or chunks (the best chunk; --set chunk.size)."),
]


class ClaimOptions(shared.ReadsAnswers, shared.JudgedByMetrics):
    """Options of ALCE and ALiiCE."""

    untyped = frozenset({"premise", "reader", "mauve_model", "leading", "uncited"})

    profile: Annotated[str, Flag("NAME")] = "paper"
    """Definition: paper (as published), released (as the authors' code computes); ALCE: aliice (as the ALCE columns of
    ALiiCE's tables)."""
    measures: Annotated[shared.NameList, Flag("NAMES", multiple=True)] = ()
    """Measures of the text: str_em, str_hit, rougeLsum, length, qa_em, mauve ... Repeatable."""
    premise: PremiseName = "joint"
    leading: Annotated[Leading | None, Flag("HOW")] = None
    """Marks that open a sentence: auto, keep, move first, move all (default: the profile's)."""
    uncited: Annotated[Uncited | None, Flag("HOW")] = None
    """Sentences or claims without a citation: fails, or left out (default: the profile's)."""
    reader: Annotated[str, Flag("MODEL")] = READER
    """Reader model of qa_em, qa_f1 and qa_hit: hub id or folder."""
    mauve_model: Annotated[str, Flag("MODEL")] = MAUVE_MODEL
    """Model of mauve: hub id or folder."""


class AlceOptions(ClaimOptions):
    """Options of ALCE."""

    untyped = frozenset({"units"})

    units: Annotated[str, one_of("units", ("sentences", "list items"), list="list items"), Flag("UNITS")] = "sentences"
    """Units that need citations: sentences, or list (items between commas, as in QAMPARI)."""


def _run(options: AlceOptions, progress: Progress) -> Done:
    answers, judges = shared.answers_in(options), Judges(options, progress)
    profile = find_profile(PROFILES, options.profile, options.leading, options.uncited)
    splitter = find_sentence_splitter(options.splitter)
    stated = read_alce(answers, replace(profile, units=options.units), splitter)
    name, models = shared.name_of_data(options.files), (options.reader, options.mauve_model)
    cited = judge_claims(name, stated, judges, splitter, options.measures, *models)
    moved, kept = (stated.opened.get(leading, 0) for leading in ("move all", "keep"))
    behind = f"marks behind the full stop belong to the sentence before it, in {count(moved, 'answer')} "
    notes = [Note("leading", f"{behind}(--set leading=keep keeps them)")] if moved else []
    some = f"in {count(kept, 'answer')} a mark opens a sentence and others do not, and counts for that sentence "
    warnings = [f'{some}(--set "leading=move all" gives it to the one before)'] if kept else []
    return cited.done(options.files, *notes, warnings=warnings)


def judge_claims(
    name: str,
    stated: StatedAnswers,
    judges: Judges,
    splitter: SentenceSplitter,
    wanted: Sequence[str] = (),
    reader: str = READER,
    mauve_model: str = MAUVE_MODEL,
) -> CitedTable:
    """Return the table of the claims of ALCE or ALiiCE, judged by each metric, and of the measures of the text.

    name: of the data. wanted, reader, mauve_model: see `text_measures`.
    """
    answers, rules = stated.answers, stated.profile if isinstance(stated.profile, AlceProfile) else PAPER
    values, mauve, fields = text_measures(answers, rules, splitter, wanted, reader, mauve_model)
    cited = CitedTable(
        stated.name,
        TITLES[stated.name],
        name,
        answers,
        judges.config,
        {**stated.fields, **fields},
        DEFINITIONS,
        words=(
            "soft: recall is the mean score of claims, precision that of single citations",
            "supported from {} on ({})",
        ),
        unit="sentence" if stated.name == "alce" else "claim",
        profile=f"profile {stated.profile.name}",
    )
    ranges = {key: COUNTS if key in ("length", "num_preds") else SHARES for key in values}
    texts = {**stated.statistics, **{key: means(of, ranges[key]) for key, of in values.items()}}
    whole = {MAUVE: lambda rows: mauve([answers[row] for row in rows])} if mauve else {}
    cited.add(TEXT, lambda missing: texts, whole=whole)
    asks = (not wanted or CLAIM_RECALL in wanted) and any(answer.reference.get("claims") for answer in answers)
    for backend in judges:
        lines, degrees = stated.judge(backend.entails, backend.soft)
        decides = asks and not backend.soft
        claims = {CLAIM_RECALL: means(claim_recalls(answers, backend.entails, rules))} if decides else {}
        counted = [
            {"claims": of.total, "claims_unjudged": of.open, "citations_unjudged": cites.open}
            for of, cites in zip(*stated.shares(degrees), strict=True)
        ]

        def measure(missing: Missing, of: Sequence[CitationLine] = degrees, claims: Statistics = claims) -> Statistics:
            return {**stated.measure(of, missing), **claims}

        cited.add(backend, measure, lines, rows={"answers": counted})
    return cited


ALCE = Analysis(
    name="cite alce",
    summary="Measure citation recall and precision of sentences (ALCE).",
    about="""Recall is the share of sentences that their citations support; precision is the share of citations that
support their sentence and are needed. Source: Gao et al. 2023, Enabling Large Language Models to Generate Text with
Citations.""",
    examples=[
        "cite alce answers.json",
        "cite alce answers.json --nli autoais --profile released",
        "cite alce one.json two.json --nli minilm-bertscore --nli overlap",
        "cite alce answers.jsonl --nli nli --threshold 0.5",
    ],
    options=AlceOptions,
    run=_run,
    folder="cite/alce",
    figures=shared.draw,
)
