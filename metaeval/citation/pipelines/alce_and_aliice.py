"""The pipelines `alce` and `aliice`: options and measures; `alce_and_aliice_tables` has their steps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated

from pydantic import Field

from metaeval.citation.alce.citations import MAUVE_MODEL, READER
from metaeval.citation.citation_table import Uncited
from metaeval.citation.marks_and_sentences import Leading
from metaeval.citation.pipelines import pipeline
from metaeval.citation.pipelines.pipeline import Pipeline, PipelineMeasure
from metaeval.declared import Flag
from metaeval.setting_types import one_of

TITLES: Mapping[str, str] = {"alce": "ALCE", "aliice": "ALiiCE"}

MEASURES = (
    PipelineMeasure("recall", "recall", "share of claims that their citations together support", 100, 1),
    PipelineMeasure("precision", "precision", "share of citations that support their claim and are needed", 100, 1),
    PipelineMeasure("f1", "F1", "harmonic mean of recall and precision", 100, 1),
)

TEXT_MEASURES = (
    PipelineMeasure("str_em", "EM recall", "share of the reference's short answers that occur in the text", 100, 1),
    PipelineMeasure("str_hit", "hit", "share of answers in which every short answer occurs", 100, 1),
    PipelineMeasure("rougeLsum", "ROUGE-Lsum", "longest common subsequence with the reference", 100, 1),
    PipelineMeasure("claims_nli", "claim recall", "share of the reference's claims that the text entails", 100, 1),
    PipelineMeasure("num_preds", "items", "number of items of the list", 1, 1),
    PipelineMeasure("qampari_prec", "list precision", "share of the list's items that are correct", 100, 1),
    PipelineMeasure("qampari_rec", "list recall", "share of the correct items that are in the list", 100, 1),
    PipelineMeasure(
        "qampari_rec_top5", "list recall-5", "share of the correct items that are in the list; five are enough", 100, 1
    ),
    PipelineMeasure("qampari_f1", "list F1", "harmonic mean of list precision and list recall", 100, 1),
    PipelineMeasure("qampari_f1_top5", "list F1-5", "harmonic mean of list precision and list recall-5", 100, 1),
    PipelineMeasure("length", "words", "number of words of the answer", 1, 1),
    PipelineMeasure("qa_em", "QA-EM", "share of short answers that a reader model extracts exactly", 100, 1),
    PipelineMeasure(
        "qa_f1", "QA-F1", "word overlap (F1) of short answers with those that a reader model extracts", 100, 1
    ),
    PipelineMeasure(
        "qa_hit", "QA-hit", "share of answers from which a reader model extracts every short answer", 100, 1
    ),
    PipelineMeasure("mauve", "MAUVE", "similarity of the distributions of answers and references", 100, 1),
)
PremiseName = Annotated[
    str,
    one_of("premise", ("joint", "max over chunks"), chunks="max over chunks"),
    Flag("HOW"),
    Field(description="How passages are read: joint (as one text) or chunks (the best chunk; --set chunk.size)."),
]


class ClaimOptions(pipeline.ReadsAnswers, pipeline.JudgedByMetrics):
    """Options of ALCE and ALiiCE."""

    untyped = frozenset({"premise", "reader", "mauve_model", "leading", "uncited"})

    premise: PremiseName = "joint"
    profile: Annotated[str, Flag("NAME")] = Field(
        default="paper",
        description="Definition: paper (as published), released (as the authors' code computes); ALCE: aliice (as the "
        "ALCE columns of ALiiCE's tables).",
    )
    measures: Annotated[pipeline.NameList, Flag("NAMES", multiple=True)] = Field(
        default=(),
        description="Measures of the text: str_em, str_hit, rougeLsum, length, qa_em, mauve ... Repeatable.",
    )
    reader: Annotated[str, Flag("MODEL")] = Field(
        default=READER, description="Reader model of qa_em, qa_f1 and qa_hit: hub id or folder."
    )
    mauve_model: Annotated[str, Flag("MODEL")] = Field(
        default=MAUVE_MODEL, description="Model of mauve: hub id or folder."
    )
    leading: Annotated[Leading | None, Flag("HOW")] = Field(
        default=None,
        description="Marks that open a sentence: keep, or move first or all of them to the sentence before (default: "
        "the profile's).",
    )
    uncited: Annotated[Uncited | None, Flag("HOW")] = Field(
        default=None,
        description="A sentence or claim without a citation: fails, or left out (default: the profile's).",
    )


class AlceCommand(ClaimOptions):
    """Options of ALCE."""

    untyped = frozenset({"units"})

    units: Annotated[str, one_of("units", ("sentences", "list items"), list="list items"), Flag("UNITS")] = Field(
        default="sentences",
        description="Units that need citations: sentences, or list (items between commas, as in QAMPARI).",
    )


class AliiceCommand(ClaimOptions):
    """Options of ALiiCE."""

    parser: pipeline.ParserName = "small"


ALCE = Pipeline(
    name="alce",
    title=TITLES["alce"],
    paper="Gao et al. 2023, Enabling Large Language Models to Generate Text with Citations",
    options=AlceCommand,
    help="""Measure citation recall and precision of sentences (ALCE).

    Recall is the share of sentences that their citations support; precision
    is the share of citations that support their sentence and are needed.

    \b
    Examples:
      metaeval cite alce answers.json
      metaeval cite alce answers.json --nli autoais --profile released
      metaeval cite alce one.json two.json --nli minilm-bertscore --nli overlap
      metaeval cite alce answers.jsonl --nli nli --threshold 0.5
    """,
    measures=(*MEASURES, *TEXT_MEASURES),
    backends="many",
    read=pipeline.step("citation.pipelines.alce_and_aliice_steps:read"),
    judge=pipeline.step("citation.pipelines.alce_and_aliice_steps:lay_out"),
)

ALIICE = replace(
    ALCE,
    name="aliice",
    title=TITLES["aliice"],
    paper="Xu et al. 2025, ALiiCE: Evaluating Positional Fine-grained Citation Generation",
    options=AliiceCommand,
    tree=pipeline.step("citation.pipelines.figures:sentence_tree"),
    help="""Measure citation recall and precision of claims (ALiiCE).

    Each sentence is cut into one claim per group of citations, by the
    positions of the citations in its dependency tree.

    \b
    Examples:
      metaeval cite aliice answers.json
      metaeval cite aliice answers.json --parser spacy:en_core_web_sm
      metaeval cite aliice answers.json --nli rouge,overlap --profile released
    """,
)
