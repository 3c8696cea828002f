"""The pipeline `citeeval`: options, questions to the chat model, scores of systems with bounds, cost, and rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from metaeval.citation.chat_models import (
    Chat,
    ChatOptions,
    Spent,
    cost_of,
    estimate_for,
    reply_texts,
    spent_on,
    why_unread,
)
from metaeval.citation.citeeval import evaluate_responses as evaluation
from metaeval.citation.citeeval.baselines import BASELINES, Baseline
from metaeval.citation.citeeval.citation_edits import PUBLISHED, fingerprint, read_coefficients
from metaeval.citation.citeeval.evaluate_responses import SCENARIOS, ResponseValues
from metaeval.citation.citeeval.evaluate_responses import CiteEvalMeasure as Key
from metaeval.citation.citeeval.judge import Asking, asked_fields, load_prompts, questions_of
from metaeval.citation.citeeval.options_and_values import (
    BaselineOptions,
    CiteEvalOptions,
    baseline_options,
    citeeval_options,
)
from metaeval.citation.citeeval.splitting import Split, split_response
from metaeval.citation.data_model import Answer, answer_cells
from metaeval.citation.pipelines import citeeval_baselines, pipeline
from metaeval.citation.pipelines.citeeval_baselines import CiteEvalJudge, RatedAnswers, ScoredBaseline
from metaeval.citation.pipelines.citeeval_systems import omission_rate, retrieval_quality, system_sheets, word_count
from metaeval.citation.pipelines.generate import MONEY, amount, tokens_and_cost
from metaeval.citation.pipelines.layout import TableLines, interval_cell
from metaeval.citation.pipelines.pipeline import Pipeline, PipelineMeasure, Run
from metaeval.citation.pipelines.provenance import (
    Provenance,
    counts_text,
    data_note,
    data_of,
    settings_text,
    uncertainty,
    warning,
)
from metaeval.declared import Flag
from metaeval.errors import UserError, unknown
from metaeval.report.table import UNDEFINED, Note, Record, Scalar, Table, format_value, plain
from metaeval.runs.evaluation import resampling_of
from metaeval.runs.loaded_metrics import LoadedMetrics, load_metrics
from metaeval.runs.verdict_cutoffs import judge_of
from metaeval.setting_types import one_of

MEASURES: Mapping[Key, PipelineMeasure] = {
    "auto": PipelineMeasure("auto", "CiteEval-Auto", "weighted mean of rating and edit distance"),
    "rating": PipelineMeasure("rating", "rating", "rating of a statement's citations by the judge, from 0 to 1"),
    "edits": PipelineMeasure("edits", "edit distance", "worth of the citations by the edits that the judge proposes"),
}
"""The measures, in the order of the tables."""


def shown_measures(rated: RatedAnswers) -> dict[Key, PipelineMeasure]:
    """Return the measures that the judge of a run gives in its mode, by key, in the order of the tables."""
    measured = evaluation.measures_of(rated.reading.judge.asking.mode)
    return {key: measure for key, measure in MEASURES.items() if key in measured}


_BOUNDS = "least to most"
_EXAMPLES = 3

OWNERS: Mapping[str, type] = {
    "asking": Asking,
    "options": CiteEvalOptions,
    "baselines": BaselineOptions,
    "chat": ChatOptions,
}
"""Classes whose fields --set takes."""


class CiteEvalCommand(pipeline.ReadsAnswers, pipeline.AsksChat, pipeline.JudgedByMetrics):
    """Options of CiteEval."""

    untyped = frozenset({"calibration", "format"})

    nli: pipeline.Judges = Field(
        default=(), description="Metrics that also judge the statements by AutoAIS. Repeatable."
    )
    profile: pipeline.ProfileName = "paper"
    scenario: Annotated[pipeline.ScenarioName, one_of("scenario", SCENARIOS)] = "full"
    coefficients: Annotated[Path | None, Flag("FILE")] = Field(
        default=None, description="Coefficients of the edit distance: fitted.json of 'cite refit'."
    )
    baselines: Annotated[pipeline.NameList, Flag("NAMES", multiple=True)] = Field(
        default=(),
        description="Baselines on the same statements: lqac, attrscore (by the chat model), attrscore:METRIC.",
    )


def read_judge(run: Run, **defaults: Any) -> CiteEvalJudge:
    """Return the settings of the judge: its chat model, its requests, and the rules that make numbers of its replies.

    defaults: fields of `Asking` (the options of its requests) that the pipeline sets where the user does not. Raises
    `UserError` for a wrong option or prompt file, and for a mode without edits where the pipeline needs them.
    """
    options = citeeval_options(run.options.profile, **run.set_options["options"])
    chat: Any = run.chat  # every pipeline of CiteEval asks a chat model
    asking = Asking(**{**defaults, **run.set_options["asking"], "model": chat.model, "ask_again": chat.ask_again})
    load_prompts(asking)
    if asking.mode != "edits" and run.pipeline.name != "citeeval":
        raise UserError(
            f"'cite {run.pipeline.name}' needs the judge's edits, and mode={asking.mode} asks for none: set mode=edits."
        )
    return CiteEvalJudge(run.options.profile, options, asking, chat)


def check_edited(
    answers: Sequence[Answer],
    splits: Sequence[Split],
    judge: CiteEvalJudge,
    chat: Chat,
    results: Sequence[ResponseValues],
    refusal: str,
) -> None:
    """Raise `UserError` where requests about citations were sent, and none of their replies can be read.

    chat: has the replies to the judge's questions first. refusal: beginning of the message.
    """
    if any(result.judged.edits for result in results):
        return
    judge_questions = questions_of(answers, splits, judge.asking)
    replies = [
        reply for question, reply in zip(judge_questions, chat.heard, strict=True) if question.module == "editing"
    ]
    if replies:
        why = why_unread(replies, judge.asking.max_tokens)
        raise UserError(f"{refusal}: of {len(replies):,} requests about their citations {why}.")


def read_citeeval(run: Run) -> citeeval_baselines.CiteEvalReading:
    """Return the run's answers cut into statements; raises `UserError` for a wrong option, baseline or file."""
    judge = read_judge(run)
    by_model, labellers = _baselines(run)
    for answer in run.answers:
        retrieval_quality(answer)  # raises the error for wrong gold sources before anything is asked
    file = run.options.coefficients
    return citeeval_baselines.CiteEvalReading(
        run=run,
        judge=judge,
        splits=[split_response(answer, judge.options, run.splitter) for answer in run.answers],
        coefficients=PUBLISHED if file is None else read_coefficients(file, judge.options.index_shift),
        baseline_options=baseline_options(judge.profile, **run.set_options["baselines"]),
        by_model=by_model,
        labellers=labellers,
    )


def estimate_citeeval(reading: citeeval_baselines.CiteEvalReading) -> str:
    """Return one line on the cost of the requests that have no stored reply yet."""
    judge = reading.judge
    open_questions = evaluation.questions(
        reading.run.answers, reading.splits, judge.asking, reading.by_model, reading.baseline_options
    )
    return str(estimate_for([question.request for question in open_questions], judge.chat))


def ask_citeeval(reading: citeeval_baselines.CiteEvalReading, chat: Chat) -> RatedAnswers:
    """Ask the chat model, and return the answers with its ratings."""
    evaluated = evaluation.evaluate(
        reading.run.answers,
        reading.splits,
        chat.ask,
        reading.judge.asking,
        reading.judge.options,
        reading.by_model,
        reading.baseline_options,
        reading.coefficients,
    )
    return RatedAnswers(reading, evaluated, chat.models)


def _baselines(run: Run) -> tuple[list[Baseline], LoadedMetrics]:
    """Return the baselines that the chat model judges, and the metrics of attrscore:METRIC.

    Raises `UserError` for an unknown name, and for a metric that cannot be loaded or has no three classes.
    """
    labellers: list[str] = []
    for name in run.options.baselines:
        base, colon, metric = name.partition(":")
        if name in BASELINES:
            continue
        if base != "attrscore" or not colon:
            raise unknown("baseline", name, [*BASELINES, "attrscore:METRIC"])
        labellers.append(metric)
    metrics = load_metrics(labellers, run.config)
    for metric in metrics.names:
        if not judge_of(metric, metrics).card.three_way:
            raise UserError(
                f"AttrScore needs three classes, and {metric!r} gives one score: give a metric with three "
                "classes (attrscore, nli), or let the chat model give the labels (--baselines attrscore)."
            )
    return [baseline for baseline in BASELINES if baseline in run.options.baselines], metrics


def rated_provenance(
    run: Run,
    judge: CiteEvalJudge,
    splits: Sequence[Split],
    fields: Mapping[str, Scalar],
    notes: Sequence[Note],
    more: str = "",
) -> Provenance:
    """Return the provenance that all tables of answers rated by CiteEval's judge share.

    fields: what the numbers depend on, beside profile and options. notes: notes above those of a table. more: text at
    the end of the note on uncertainty.
    """
    statements = [statement for split in splits for statement in split.statements]
    data = data_of(
        run.name, "citeeval", run.answers, len(statements), sum(len(statement.citations) for statement in statements)
    )
    of_data = data_note(run.panel, data, (data.statements, "statement"), (data.citations, "citation"))
    scenario = f"{run.options.scenario} scenario"
    return Provenance(
        data=data,
        kind="CiteEval",
        subtitle=f"{plain(data.name)}, CiteEval, profile {plain(judge.profile)}, {scenario}",
        fields={"pipeline": "citeeval", "profile": judge.profile, "options": judge.changed, **fields},
        interval=run.config.interval,
        before=(warning(run.panel), of_data, *notes),
        after=(uncertainty(run.config.interval, data.groups, more),),
    )


def _judge(rated: RatedAnswers, backends: pipeline.MakeBackends) -> pipeline.Layout:
    reading, scored = rated.reading, citeeval_baselines.judge_baselines(rated, backends)
    scenario_fields = {"scenario": reading.scenario, "splitter": reading.run.splitter.name}
    whole = rated_provenance(reading.run, reading.judge, reading.splits, scenario_fields, ())
    coefficients = reading.coefficients
    # Refitted coefficients change the edit distance, and no baseline.
    refitted = {} if coefficients == PUBLISHED else {"coefficients": f"refitted@{fingerprint(coefficients)}"}
    shown = {**whole.fields, **refitted}
    fields = {**shown, **asked_fields(reading.judge.asking, rated.models)}
    of_judge = replace(whole, fields=fields, before=(*whole.before, _settings(shown)))
    whole = replace(whole, before=(*whole.before, _settings(whole.fields)))
    notes = _notes(rated, str(fields["prompts"]))
    # The prompts of a baseline are in the fields of its first judge.
    first = {baseline.baseline: baseline.fields for baseline in reversed(scored)}
    by_model = {
        name: _judge_note(rated, str(signed["prompts"])) for name, signed in first.items() if "prompts" in signed
    }
    # The replies about each answer, in the order of asking.
    replies = [
        {"answer": answer.id, "system": answer.system, "reply": text}
        for answer, own_replies in zip(reading.run.answers, rated.evaluated.replies, strict=True)
        for text in reply_texts(own_replies)
    ]
    return pipeline.Layout(
        [
            _scores(rated, of_judge, notes),
            _judging(rated, of_judge, notes),
            *system_sheets(rated, of_judge, shown_measures(rated), notes[:1]),
            *citeeval_baselines.baseline_sheets(rated, scored, whole, by_model),
        ],
        [
            Table(name="answers", records=answer_rows(rated, scored)),
            Table(name="statements", records=statement_rows(rated, scored)),
            Table(name="replies", records=replies),
        ],
    )


def _settings(fields: Mapping[str, Scalar]) -> Note:
    return Note("settings", settings_text({key: value for key, value in fields.items() if key != "pipeline"}))


def _judge_note(rated: RatedAnswers, prompts: str) -> Note:
    """Return the note on the model that judged, and its prompts."""
    wordings = prompts.replace(",", ", ")  # so that a line can end between them
    model = plain(rated.reading.judge.asking.model)
    return Note("judge", f"{model}, answered as {plain(rated.answered_as)}; {wordings}")


def _scores(rated: RatedAnswers, provenance: Provenance, notes: Sequence[Note]) -> Table:
    run, scenario, table = rated.reading.run, rated.reading.scenario, TableLines()
    for place, system in enumerate(run.panel.systems):
        numbers = run.panel.rows(place)
        answers, results = [run.answers[n] for n in numbers], [rated.evaluated.results[n] for n in numbers]
        values = evaluation.estimates(answers, results, scenario, resampling_of(run.config))
        cells, ends = [], []
        for key, measure in shown_measures(rated).items():
            value, (least, most), column = values[key], evaluation.bounds(results, key, scenario), measure.column
            cells.append(interval_cell((value.value, value.low, value.high), column))
            known = least is not None and most is not None
            ends.append(f"{format_value(least, column)} to {format_value(most, column)}" if known else UNDEFINED)
            record = {"system": system, "measure": key, "value": value.value, "low": value.low, "high": value.high}
            record |= {"answers": value.n, "undefined": len(answers) - (value.n or 0), "least": least, "most": most}
            table.records.append(record)
        table.add("", system, [*cells, f"{[*values.values()][-1].n:,} of {len(answers):,}"])
        if _incomplete(rated):
            table.add(_BOUNDS, system, [*ends, ""])
    headings = ["system", *(measure.label for measure in shown_measures(rated).values()), "answers"]
    title = "CiteEval: citations as a chat model rates and edits them, from 0 to 1"
    if rated.reading.judge.asking.mode != "edits":
        title = "CiteEval: citations as a chat model rates them without edits, from 0 to 1"
    return provenance.lines("citeeval", title, headings, table, notes)


def _incomplete(rated: RatedAnswers) -> bool:
    """Return whether a judgement is missing that could change a mean of the run's scenario."""
    return any(
        result.values[key, rated.reading.scenario].missing
        for result in rated.evaluated.results
        for key in shown_measures(rated)
    )


def _judging(rated: RatedAnswers, provenance: Provenance, notes: Sequence[Note]) -> Table:
    """Return the table of counts by system: outcomes of questions, unread marks, tokens and cost of the replies."""
    every: dict[str, dict[str, float | None]] = {}
    panel, chat, table = rated.reading.run.panel, rated.reading.judge.chat, TableLines()
    for place, system in enumerate(panel.systems):
        numbers = panel.rows(place).tolist()
        results, costs = [rated.evaluated.results[n] for n in numbers], [cost_of(rated.spent(n), chat) for n in numbers]
        wrong = Counter(mark.why for mark in evaluation.unread_marks(results))
        every[system] = {
            **evaluation.counts(results),
            **{f"marks: {why}": times for why, times in sorted(wrong.items())},
            **citeeval_baselines.baseline_questions(rated, numbers),
            **tokens_and_cost(spent_on(chain(*(rated.evaluated.replies[n] for n in numbers))), chat),
            # Prices or counts of tokens can be unknown.
            MONEY: None if None in costs else sum(cost for cost in costs if cost is not None),
        }
    # Counts that are 0 for every system are left out; the cost of the replies comes last.
    names = {name for row in every.values() for name, value in row.items() if value != 0}
    took = list(tokens_and_cost(Spent(), chat))
    shown = [*sorted(names.difference(took)), *(name for name in took if name in names)]
    for system, row in every.items():
        records = [{"system": system, "count": name, "value": value} for name, value in row.items()]
        table.add("", system, [amount(name, row.get(name, 0)) for name in shown], *records)
    paid = Note("money", "what the replies cost when they were asked for; kept ones cost nothing again")
    title = "What was asked, and what came of it"
    return provenance.lines("judging", title, ["system", *shown], table, [paid, *notes])


def _notes(rated: RatedAnswers, prompts: str) -> list[Note]:
    mode = rated.reading.judge.asking.mode
    reading = (
        "CiteEval-Auto: 0.5 of the rating and 0.5 of the edit distance, statement by statement; "
        "answers: those with a CiteEval-Auto, of all"
    )
    if mode != "edits":
        how = "after reasoning" if mode == "cot" else "without reasoning"
        reading = f"mode {mode}: the rating {how}, and no edits; answers: those with a rating, of all"
    if _incomplete(rated):
        reading += f"; {_BOUNDS}: the mean over all answers, were no judgement missing (the mean above is of what was "
        reading += "judged, and can lie outside)"
    marks = evaluation.unread_marks(rated.evaluated.results)
    wrong = counts_text(Counter(mark.why for mark in marks))
    first = "; ".join(f"{plain(mark.answer)}, offset {mark.start}" for mark in marks[:_EXAMPLES])
    return [
        _judge_note(rated, prompts),
        Note("reading", reading),
        Note("marks", f"cite nothing: {wrong} (first: {first})" if marks else ""),
    ]


def answer_rows(rated: RatedAnswers, scored: Sequence[ScoredBaseline]) -> list[Record]:
    """Return one row per answer: values in the run's scenario, bounds of the main one, tokens, length, baselines."""
    rows: list[Record] = []
    for number, (answer, result) in enumerate(zip(rated.reading.run.answers, rated.evaluated.results, strict=True)):
        spent = rated.spent(number)
        tokens = {"tokens_in": spent.tokens_in, "tokens_out": spent.tokens_out}
        omitted = {"words": word_count(result), "omission_rate": omission_rate(result)}
        of_baselines = _merged([baseline.cells(baseline.answers[number]) for baseline in scored])
        rows.append({**answer_cells(answer), **result.row(rated.reading.scenario), **tokens, **omitted, **of_baselines})
    return rows


def statement_rows(rated: RatedAnswers, scored: Sequence[ScoredBaseline]) -> list[Record]:
    """Return one row per statement: its citations, judgements and values; the state says why a value is missing."""
    return [
        {
            **{"answer": answer.id, "system": answer.system, **statement.row},
            **_merged([baseline.of_statement(number, place) for baseline in scored]),
        }
        for number, (answer, result) in enumerate(zip(rated.reading.run.answers, rated.evaluated.results, strict=True))
        for place, statement in enumerate(result.statements)
    ]


def _merged(records: Sequence[Record]) -> Record:
    return {name: value for record in records for name, value in record.items()}


CITEEVAL = Pipeline(
    name="citeeval",
    title="CiteEval",
    paper="Xu et al. 2025, CiteEval: Principle-Driven Citation Evaluation for Source Attribution",
    help="""Rate citations by a chat model's ratings and edits (CiteEval).

    A chat model finds what each statement rests on, proposes edits of its
    citations, and rates them. CiteEval-Auto combines rating and edits, from 0
    (worst) to 1.

    \b
    Examples:
      metaeval cite citeeval answers.json --replay judge.jsonl
      metaeval cite citeeval answers.json --model NAME --record judge.jsonl
      metaeval cite citeeval answers.json --model NAME --baselines lqac \\
        --dry-run --budget 2 -s price_in=0.5 -s price_out=1.5
    """,
    options=CiteEvalCommand,
    measures=tuple(MEASURES.values()),
    drawn=("system", ""),
    owners=OWNERS,
    backends="optional",
    chat="always",
    decides="AutoAIS needs decisions",
    read=read_citeeval,
    estimate=estimate_citeeval,
    ask=ask_citeeval,
    judge=_judge,
)
