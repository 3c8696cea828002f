"""The analysis `cite citeeval`: a chat model says what statements rest on, edits their citations and rates them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from metaeval.analyses.analysis import Analysis, Done, Progress
from metaeval.citation.chat_models import estimate_for, reply_texts, tokens_and_cost, why_unread
from metaeval.citation.citeeval.baselines import BASELINES
from metaeval.citation.citeeval.citation_edits import PUBLISHED, fingerprint, read_coefficients
from metaeval.citation.citeeval.evaluate_responses import CiteEvalMeasure, Rated, evaluate, inquiries_of
from metaeval.citation.citeeval.judge import Asking, asked_fields, load_prompts, questions_of
from metaeval.citation.citeeval.judge_replies import JudgeMode
from metaeval.citation.citeeval.options_and_values import PROFILES, CitedScenario, UncitedStatements
from metaeval.citation.citeeval.splitting import Split, split_responses
from metaeval.citation.data_model import answer_cells
from metaeval.citation.marks_and_sentences import find_sentence_splitter
from metaeval.citation.pipelines import options as shared
from metaeval.citation.pipelines.cited import CitedTable, Definition, Measure
from metaeval.citation.pipelines.citeeval_baselines import (
    BaselineColumns,
    add_baselines,
    baseline_definition,
    load_labellers,
)
from metaeval.citation.pipelines.citeeval_systems import omission, retrieval_quality, system_sheets, word_counts
from metaeval.citation.pipelines.metric_verdicts import Judges
from metaeval.citation.pipelines.provenance import counts_text
from metaeval.core.declared import Flag, one_of
from metaeval.core.errors import UserError
from metaeval.report.table import Note, Record, Table, plain

MEASURES: Mapping[CiteEvalMeasure, Measure] = {
    "auto": Measure("auto", "CiteEval-Auto", "weighted mean of rating and edit distance", 1, 3, ranks=True),
    "rating": Measure("rating", "rating", "rating of a statement's citations by the judge, from 0 to 1", 1, 3),
    "edits": Measure("edits", "edit distance", "worth of the citations by the edits that the judge proposes", 1, 3),
}

_READING = {
    "edits": "CiteEval-Auto: 0.5 of rating and 0.5 of edit distance, statement by statement; answers: those with it",
    "cot": "mode cot: the rating after reasoning, and no edits; answers: those with a rating",
    "vanilla": "mode vanilla: the rating without reasoning, and no edits; answers: those with a rating",
}

Scenario = Annotated[
    CitedScenario, Flag("NAME"), Field(description="Statements that count: full (all) or cited (those with citations).")
]

_EXAMPLES = 3


class AsksJudge(shared.AsksChat):
    """Base of options of an analysis that asks CiteEval's judge."""

    profile: Annotated[shared.ProfileName, one_of("profile", PROFILES)] = "paper"
    attribution_file: Path | None = None
    """A prompt of your own that asks what each statement rests on."""
    editing_file: Path | None = Field(default=None, description="A prompt of your own that asks for edits and ratings.")
    statements_per_request: Annotated[int | None, Field(ge=1)] = None
    """Most statements that are judged at once (none: all of a response)."""

    def asking(self, **fixed: Any) -> Asking:
        """Return the chat model and the options of its requests. fixed: fields that the analysis decides.

        Raises `UserError` for a wrong option or prompt file.
        """
        names = Asking.model_fields.keys() & AsksJudge.__annotations__.keys()
        asking = shared.chat_options(Asking, self, **{name: getattr(self, name) for name in names}, **fixed)
        load_prompts(asking)
        return asking


class CiteEvalCommand(shared.ReadsAnswers, AsksJudge, shared.JudgedByMetrics):
    """Options of `cite citeeval`."""

    untyped = frozenset({"format", "uncited"})

    nli: shared.Judges = Field(default=(), description="Metrics that also judge the statements by AutoAIS. Repeatable.")
    scenario: Scenario = "full"
    coefficients: Annotated[Path | None, Flag("FILE")] = None
    """Coefficients of the edit distance: fitted.json of 'cite refit'."""
    baselines: Annotated[shared.NameList, Flag("NAMES", multiple=True)] = ()
    """Baselines on the same statements: lqac, attrscore (by the chat model), attrscore:METRIC."""
    mode: JudgeMode = "edits"
    """What comes before a rating: edits, reasoning (cot), or nothing (vanilla)."""
    uncited: UncitedStatements = "by context"
    """Statements without citations: by context (they fail if they rest on the passages, else they do not count),
    fails, rated (the judge's own rating of them), or left out (the judge does not see them)."""


def check_edited(rated: Rated, asking: Asking, refusal: str) -> None:
    """Raise `UserError` where requests about citations were sent, and none of their replies can be read.

    refusal: beginning of the message.
    """
    if any(judged.edits for judged in rated.judged):
        return
    questions = questions_of(rated.responses, rated.splits, asking)
    pairs = zip(questions, chain(*rated.replies), strict=True)
    replies = [reply for question, reply in pairs if question.module == "editing"]
    if replies:
        why = why_unread(replies, asking.max_tokens)
        raise UserError(f"{refusal}: of {len(replies):,} requests about their citations {why}.")


def rated_table(
    options: Any, rated: Rated, config: Any, splitter: str, definitions: Sequence[Definition] = (), **fields: Any
) -> CitedTable:
    """Return an empty table of rated answers. options: of the analysis. fields: further settings of its numbers."""
    settings = {"profile": options.profile, "scenario": options.scenario, "splitter": splitter, **fields}
    return CitedTable(
        "citeeval",
        "CiteEval",
        shared.name_of_data(options.files),
        rated.responses,
        config,
        {"pipeline": "citeeval", **settings},
        definitions,
        ("", "supported from {} on ({})"),
        unit="statement",
        profile=f"profile {options.profile}, {options.scenario} scenario",
    )


def counted(splits: Sequence[Split]) -> list[tuple[int, str]]:
    """Return how many statements and citations the answers have."""
    statements = [statement for split in splits for statement in split.statements]
    return [(len(statements), "statement"), (sum(len(each.citations) for each in statements), "citation")]


def _run(options: CiteEvalCommand, progress: Progress) -> Done:
    asking, profile = options.asking(mode=options.mode, uncited=options.uncited), PROFILES[options.profile]
    judges = Judges(options, progress, needed=False, decides="AutoAIS needs decisions")
    by_model = [name for name in BASELINES if name in options.baselines]
    labellers = load_labellers(options.baselines, judges.config)
    coefficients = PUBLISHED
    if options.coefficients is not None:
        coefficients = read_coefficients(options.coefficients, profile.index_shift)
    answers, splitter = shared.answers_in(options), find_sentence_splitter(options.splitter)
    for answer in answers:
        retrieval_quality(answer)  # what cannot be read is refused before anything is asked
    splits, split = split_responses(answers, profile, splitter)
    if options.dry_run:
        requests = [question.request for question in questions_of(answers, splits, asking)]
        requests += [inquiry.request for inquiry in inquiries_of(answers, splits, asking, by_model)]
        return shared.estimated(judges.config, str(estimate_for(requests, asking)))
    with options.opened(asking, progress) as chat:
        rated = evaluate(answers, splits, chat.ask, asking, profile, by_model, coefficients)
        models = chat.models
    # Refitted coefficients change the edit distance, and no baseline.
    chosen = {} if coefficients == PUBLISHED else {"coefficients": f"refitted@{fingerprint(coefficients)}"}
    chosen |= {} if asking.uncited == "by context" else {"uncited": asking.uncited}
    measures = [replace(measure, ranks=key == rated.main) for key, measure in MEASURES.items() if key in rated.values]
    measures.append(Measure("answers", "answers", "", 1, 0))
    names = [*(["autoais"] if judges.cutoffs else []), *rated.baselines, *(["attrscore"] if labellers.names else [])]
    definitions = [Definition("citeeval", "CiteEval", measures, _READING[asking.mode])]
    definitions += [baseline_definition(name, rated, options.scenario) for name in dict.fromkeys(names)]
    cited = rated_table(options, rated, judges.config, split, definitions, **chosen)
    main, *_ = rated.whole(rated.main, options.scenario)
    cited.add(
        asking.model,
        lambda missing: {key: rated.statistic(key, options.scenario, missing) for key in rated.values},
        lacking=rated.lacking(rated.values[rated.main].missing, "no judgement"),
        whole={"answers": lambda rows: float((~np.isnan(main.value[rows])).sum())},
        fields=asked_fields(asking, models),
    )
    beside = add_baselines(cited, rated, judges, labellers, asking, models, options.scenario, progress)
    marks = rated.unread_marks(range(len(answers)))
    first = "; ".join(f"{plain(answer)}, offset {start}" for answer, start, _ in marks[:_EXAMPLES])
    wrong = counts_text(Counter(why for *_, why in marks))
    return cited.done(
        [*options.files, *([options.coefficients] if options.coefficients else [])],
        judge_note(asking, models),
        *beside[2],
        Note("marks", f"cite nothing: {wrong} (first: {first})" if marks else ""),
        counted=counted(splits),
        sheets=lambda around: system_sheets(cited, around, rated, asking, options.scenario),
        rows=_rows(rated, asking, options.scenario, *beside[:2]),
    )


def judge_note(asking: Asking, models: Sequence[str]) -> Note:
    """Return the note on the model that judged, and its prompts. models: its names in the replies."""
    fields = asked_fields(asking, models)
    prompts = fields["prompts"].replace(",", ", ")  # so that a line can end between them
    return Note("judge", f"{plain(asking.model)}, answered as {plain(fields['answered_as'])}; {prompts}")


def _rows(
    rated: Rated, asking: Asking, scenario: CitedScenario, of_answers: BaselineColumns, of_statements: BaselineColumns
) -> list[Table]:
    """Return the rows of answers, statements and replies, with the baselines' columns beside CiteEval's."""
    took = [tokens_and_cost(replies, asking) for replies in rated.replies]
    columns: dict[str, Sequence[Any]] = {
        "tokens_in": [each["tokens in"] for each in took],
        "tokens_out": [each["tokens out"] for each in took],
        "words": word_counts(rated),
        "omission_rate": omission(rated),
        **of_answers,
    }
    answers: list[Record] = [
        {**answer_cells(answer), **row, **{name: column[number] for name, column in columns.items()}}
        for number, (answer, row) in enumerate(zip(rated.responses, rated.response_rows(scenario), strict=True))
    ]
    statements: list[Record] = [
        {**row, **{name: column[number] for name, column in of_statements.items()}}
        for number, row in enumerate(rated.statement_rows())
    ]
    # The replies about each answer, in the order of asking.
    replies: list[Record] = [
        {"answer": answer.id, "system": answer.system, "reply": text}
        for answer, heard in zip(rated.responses, rated.replies, strict=True)
        for text in reply_texts(heard)
    ]
    named = {"answers": answers, "statements": statements, "replies": replies}
    return [Table(name=name, records=records) for name, records in named.items()]


CITEEVAL = Analysis(
    name="cite citeeval",
    summary="Rate citations by a chat model's ratings and edits (CiteEval).",
    about="""A chat model finds what each statement rests on, proposes edits of its citations, and rates them.
CiteEval-Auto combines rating and edits, from 0 (worst) to 1. Source: Xu et al. 2025 (arXiv 2506.01829).""",
    examples=[
        "cite citeeval answers.json --replay judge.jsonl",
        "cite citeeval answers.json --model NAME --record judge.jsonl",
        "cite citeeval answers.json --model NAME --baselines lqac --dry-run --budget 2 -s chat.price_in=0.5 "
        "-s chat.price_out=1.5",
    ],
    options=CiteEvalCommand,
    run=_run,
    folder="cite/citeeval",
    again=shared.with_kept_replies,
    figures=shared.draw,
)
