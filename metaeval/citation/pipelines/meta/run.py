"""The pipeline `meta`: do citation pipelines agree with people's ratings of the same statements and answers?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from metaeval.citation.chat import Chat, ChatOptions, estimate_for
from metaeval.citation.citeeval.baselines import autoais
from metaeval.citation.citeeval.evaluate import ResponseValues, evaluate
from metaeval.citation.citeeval.judge import Asking, asked_fields, load_prompts, questions_of
from metaeval.citation.citeeval.splitting import Split, split_response
from metaeval.citation.citeeval.values import CiteEvalOptions, changed_options, citeeval_options
from metaeval.citation.human.model import (
    FROM_FILE,
    Alignment,
    AnswerValues,
    Level,
    MetaOptions,
    cited_alone,
    rated_levels,
    score_of,
)
from metaeval.citation.human.readers import read_human_set, read_score_file
from metaeval.citation.human.values import citeeval_values, claim_values, fact_values, score_file_values, triple_values
from metaeval.citation.judging import PipelineReading, read_claims
from metaeval.citation.model import Answer
from metaeval.citation.parsers.parse import find_parser
from metaeval.citation.pipelines.claims_tables import judge
from metaeval.citation.pipelines.meta.model import (
    BY_METRIC,
    PIPELINES,
    USUAL,
    Measurement,
    MetaCommand,
    MetaEvaluation,
    ToMeasure,
)
from metaeval.citation.pipelines.meta.sheets import brief_grids, meta_sheets
from metaeval.citation.pipelines.pipeline import Layout, MakeBackends, Pipeline, Run, chat_options
from metaeval.citation.pipelines.run import find_cutoffs
from metaeval.citation.pipelines.scifi_tables import estimate_facts, fact_cutoff, one_fact_each
from metaeval.citation.pipelines.verdicts import Backend
from metaeval.citation.scifi.entailment import counter, fact_lines
from metaeval.citation.scifi.facts import PROFILE, facts_signature, read_with_model, read_with_parser
from metaeval.citation.scifi.model import AnswerFacts, ScifiOptions
from metaeval.citation.scifi.shares import lost_citing
from metaeval.citation.sentences import find_sentence_splitter
from metaeval.config import RunConfig
from metaeval.errors import UserError, unknown
from metaeval.files import sha256_file
from metaeval.report.result import Result
from metaeval.report.table import count
from metaeval.runs.columns import column_of
from metaeval.runs.evaluation import find_protocols
from metaeval.runs.prepared_run import RatedSet
from metaeval.runs.run import evaluate_columns

RATINGS = "ratings.jsonl"
"""The ratings and every measure's scores, which `metaeval evaluate -d ratings --data FILE` reads."""


def _read(run: Run) -> ToMeasure:
    """Read ratings, answers and scores, and check all that is asked; no model is asked, nothing is scored."""
    asked: MetaCommand = run.options
    names, options = asked.names, MetaOptions(**run.given["meta"])
    if wrong := next((name for name in names if name not in PIPELINES), None):
        raise unknown("pipeline", wrong, PIPELINES)
    find_protocols(run.config)
    rules = {**options.rules, "scenario": asked.scenario}
    run = replace(run, config=run.config.model_copy(update={"dataset_options": rules}))
    scifi = ScifiOptions(**run.given["scifi"])
    asking, chat = _chat(names, run, scifi)
    profile = options.profile if options.profile in ("paper", "released") else "paper"
    by_decision = {*names} & {*BY_METRIC} - {"scifi"}
    decides = "AutoAIS is made of decisions" if "autoais" in names else ""
    by_metric = run.metrics, asked.threshold, asked.calibration
    cutoffs = find_cutoffs(*by_metric, decides) if by_decision else {}
    parser = find_parser(options.parser, PROFILE.one_root) if "scifi" in names and scifi.facts == "parser" else None
    if "scifi" in names:
        # A prompt that cannot be read, and a tokenizer that cannot be loaded, are refused here.
        facts_signature(scifi, parser, None if parser else chat), counter(scifi.window_unit)
    as_facts = partial(fact_cutoff, given={"options": run.given["scifi"]})
    graded = find_cutoffs(*by_metric, find=as_facts) if "scifi" in names else {}
    human = read_human_set(asked.files, asked.format, asked.human)
    human = cited_alone(human) if asked.scenario == "cited" else human
    answers = [own.answer for own in human.answers]
    if names and not any(answer.passages for answer in answers):
        raise UserError(f"No answer of {run.name} comes with passages: there is nothing that its citations point at.")
    citeeval = citeeval_options(profile, **run.given["citeeval"])
    splitter = find_sentence_splitter(options.splitter)
    splits = [human.splits[answer.id] for answer in answers] if human.splits else []
    if not splits and {"citeeval", "autoais"} & {*names}:
        splits = [split_response(answer, citeeval, splitter) for answer in answers]
    return ToMeasure(
        names=names,
        options=options,
        scenario="cited" if asked.scenario == "cited" else "full",
        citeeval=citeeval,
        asking=asking,
        chat=chat,
        scifi=scifi,
        run=run,
        parser=parser,
        splitter=splitter,
        human=human,
        splits=splits,
        pipelines=[
            read_claims(name, answers, options.profile, options.parser, options.splitter, measures=("length",))
            for name in names
            if name in USUAL
        ],
        cutoffs=cutoffs,
        graded=graded,
        given=read_measures(asked.scores, answers),
    )


def _chat(names: Sequence[str], run: Run, scifi: ScifiOptions) -> tuple[Asking | None, ChatOptions | None]:
    """What the chat model is asked with; `UserError` for a model that nobody asks, and for nobody who answers."""
    if "citeeval" not in names and not ("scifi" in names and scifi.facts == "model"):
        if run.chat is not None or run.choice.idle:
            raise UserError(
                "No pipeline here asks a chat model: add citeeval to --pipelines, or set facts=model with scifi, or "
                "leave the model out."
            )
        return None, None
    # What both CiteEval's judge and SCiFi's model are asked with was sorted to the judge.
    shared = {name: value for name, value in run.given["asking"].items() if name in ChatOptions.model_fields}
    chat = chat_options(ChatOptions, run.choice, {**run.given["chat"], **shared}, run.config.budget)
    asking = Asking(**{**run.given["asking"], "model": chat.model})
    load_prompts(asking)
    return asking, chat


def _estimate(read: ToMeasure) -> str:
    """A line for each pipeline that asks; sends nothing, and needs no key.

    What SCiFi asks secondly depends on the replies to its first requests, which alone are reckoned.
    """
    chat = read.chat
    if chat is None:
        return "No pipeline here asks a chat model: nothing is sent, and nothing is paid."
    if read.run.choice.replay is not None:
        return f"The replies are in {read.run.choice.replay}: no chat model is asked, and nothing is paid."
    lines = []
    if "citeeval" in read.names and read.asking is not None:
        asked = [one.request for one in questions_of(read.answers, read.splits, read.asking)]
        lines.append(f"citeeval, {count(len(read.answers), 'answer')} to judge: {estimate_for(asked, chat)}")
    if "scifi" in read.names and read.scifi.facts == "model":
        lines.append(f"scifi, {estimate_facts(read.answers, read.scifi, chat, read.splitter)}")
    return "\n".join(lines)


_Heard = tuple[ToMeasure, Sequence[ResponseValues], Sequence[Measurement], Sequence[AnswerFacts], Mapping[str, object]]
"""What was asked, what CiteEval's judge said and its measures, SCiFi's facts and what the signature says of them."""


def _ask(read: ToMeasure, chat: Chat | None) -> _Heard:
    """What CiteEval's judge says, and the facts; `UserError` first where no level of ratings can be judged."""
    _rated(read, read.given)
    rated: Sequence[ResponseValues] = ()
    measured: list[Measurement] = []
    if "citeeval" in read.names and chat is not None and read.asking is not None:
        rated = evaluate(read.answers, read.splits, chat.ask, read.asking, read.citeeval).results
        measured = citeeval_measures(read, read.asking, rated, chat.models)
    facts, fields = read_facts(read, chat) if "scifi" in read.names else ([], {})
    return read, rated, measured, facts, fields


def _judge(heard: _Heard, make: MakeBackends) -> MetaEvaluation:
    """Every measure of every pipeline, held against the ratings."""
    read, rated, own, facts, fields = heard
    measured = [*read.given, *own]
    backends: list[tuple[str, Backend]] = []
    progress, asking = read.run.progress, ""

    def told(metric: str, done: int, total: int) -> None:
        """Progress that names the pipeline which asks with the metric."""
        if progress is not None:
            progress(f"{asking}, {metric}", done, total)

    premise = "max over chunks" if read.options.premise == "chunks" else "joint"
    for backend in make(read.cutoffs, premise, told if progress else None):
        backends.append(("", backend))
        for pipeline in read.pipelines:
            asking = pipeline.name
            measured += citation_measures(pipeline, backend, read.run.config)
        if "autoais" in read.names:
            asking = "autoais"
            how = {"splitter": "as published" if read.human.splits else read.splitter.name}
            measured += autoais_measures(read.answers, read.splits, how, backend)
    for backend in make(read.graded, "joint", told if progress else None):
        backends.append(("scifi", backend))
        asking = "scifi"
        measured.append(scifi_measure(read, facts, fields, backend))
    # Pipelines in the order of their list, and scores that were given behind them; the sort keeps all else.
    order = {name: place for place, name in enumerate(PIPELINES)}
    measured.sort(key=lambda one: order.get(one.name.partition(":")[0], len(PIPELINES)))
    aligned, levels, left_out = _rated(read, measured)
    kept: list[Level] = []
    results: list[list[Result]] = []
    left_out = [*left_out]
    for level in levels:
        try:
            results.append(_results(read, level, measured))
            kept.append(level)
        except UserError as error:  # all ratings of a level are the same
            left_out.append((level.unit, str(error)))
    if not kept:
        raise UserError(left_out[-1][1])
    return MetaEvaluation(read, measured, aligned, kept, left_out, results, backends, rated)


def _rated(
    read: ToMeasure, measured: Sequence[Measurement]
) -> tuple[Alignment, Sequence[Level], Sequence[tuple[str, str]]]:
    return rated_levels(read.run.name, read.human, {one.name: one.values for one in measured}, read.options)


def _results(read: ToMeasure, level: Level, measured: Sequence[Measurement]) -> list[Result]:
    """All measures under each protocol; the tests are those of the measures to be tested alone."""
    rated, tested = RatedSet(read.run.config, read.run.name, level.unit, level.ratings), read.tested(measured)
    columns = [
        column_of(one.name, [score_of(value) for value in level.values[one.name]], one.fields, one.ledger)
        for one in measured
        if one.name in level.values
    ]
    results = evaluate_columns(rated, columns, tested=tested).results
    # What people gave here is ratings, in no levels.
    return [one.model_copy(update={"title": one.title.replace("human levels", "human ratings")}) for one in results]


def citation_measures(pipeline: PipelineReading, backend: Backend, config: RunConfig) -> list[Measurement]:
    """Recall, precision and F1 of ALCE or ALiiCE under a backend."""
    judged = judge(pipeline, [backend], config).judged[0]
    lines = judged.degrees if backend.soft else judged.lines
    values = claim_values(pipeline.answers, lines, judged.recall, judged.precision, backend.soft)
    return _signed(pipeline.name, pipeline.fields, values, backend)


def autoais_measures(
    answers: Sequence[Answer], splits: Sequence[Split], fields: Mapping[str, object], backend: Backend
) -> list[Measurement]:
    """AutoAIS of CiteEval's statements under a backend. fields: what the signature says of the statements."""
    values = triple_values(answers, splits, autoais(answers, splits, backend.entails))
    return _signed("autoais", {"pipeline": "autoais", **fields}, values, backend)


def read_facts(read: ToMeasure, chat: Chat | None) -> tuple[list[AnswerFacts], dict[str, object]]:
    """The facts of every answer, made by the parser or by the chat model, and what the signature says of them."""
    options, splitter = read.scifi, read.splitter
    fields: dict[str, object] = {"pipeline": "scifi", "options": options.signature, "splitter": splitter.name}
    if read.parser is not None:
        facts = read_with_parser(read.answers, options, read.parser, splitter)
        return facts, {**fields, "facts": facts_signature(options, read.parser)}
    if read.chat is None or chat is None:
        raise ValueError("facts need a parser or a chat model")
    facts = read_with_model(read.answers, options, chat.ask, read.chat, splitter)
    made = facts_signature(options, chat=chat.settled(read.chat))
    return facts, {**fields, "facts": made, "answered_as": ", ".join(chat.models) or read.chat.model}


def scifi_measure(
    read: ToMeasure, facts: Sequence[AnswerFacts], fields: Mapping[str, object], backend: Backend
) -> Measurement:
    """Citation entailment under a backend."""
    lines = fact_lines(facts, backend.entails, read.scifi, backend.soft, read.splitter)
    lost = sum(len(lost_citing(each)) for each in facts)
    assumed = one_fact_each(lost) if lost else ""
    (measured,) = _signed("scifi", fields, {"entailment": fact_values(facts, lines)}, backend, assumed)
    return measured


def citeeval_measures(
    read: ToMeasure, asking: Asking, results: Sequence[ResponseValues], models: Sequence[str]
) -> list[Measurement]:
    """CiteEval-Auto, its rating and its edit distance, in the run's scenario."""
    fields = {
        "pipeline": "citeeval",
        "profile": "paper",
        "options": changed_options("paper", read.citeeval),
        "scenario": read.scenario,
        "splitter": "as published" if read.human.splits else read.splitter.name,
        **asked_fields(asking, models),
    }
    return _signed("citeeval", fields, citeeval_values(results, read.scenario))


def read_measures(files: Sequence[Path], answers: Sequence[Answer]) -> list[Measurement]:
    """Scores that were made elsewhere.

    Raises `UserError` as `read_score_file` does, and for two files that name the same measure.
    """
    by_id = {answer.id: answer for answer in answers}
    found: dict[str, Measurement] = {}
    for path in files:
        for measure, scores in read_score_file(path, by_id).items():
            if measure in found:
                raise UserError(f"Two files of scores name a measure {measure!r}: give it another name in one of them.")
            pinned = f"{path.name}@sha256:{sha256_file(path)[:12]}"
            fields = {"pipeline": "scores", "measure": measure, "file": pinned}
            found[measure] = Measurement(f"{FROM_FILE}{measure}", fields, score_file_values(scores))
    return list(found.values())


def _signed(
    pipeline: str,
    fields: Mapping[str, object],
    values: Mapping[str, AnswerValues],
    backend: Backend | None = None,
    assumed: str = "",
) -> list[Measurement]:
    """The measures of a pipeline, by their own names, as those of a backend; fields: of all of them."""
    behind, own, ledger = ("", {}, None) if backend is None else (f":{backend.name}", backend.fields, backend.ledger)
    return [
        Measurement(f"{pipeline}:{measure}{behind}", {**fields, "measure": measure, **own}, one, ledger, assumed)
        for measure, one in values.items()
    ]


def _lay_out(meta: MetaEvaluation) -> Layout:
    """Results and tables by level, and the ratings with every score, to be read again."""
    tables, folder = meta_sheets(meta), meta.read.run.folder
    return Layout(
        tables=tables,
        files={folder / level.unit / RATINGS: level.lines() for level in meta.levels},
        shown=brief_grids(meta, tables),
        results={level.unit: few for level, few in zip(meta.levels, meta.results, strict=True)},
        config=meta.read.run.config,
    )


META = Pipeline(
    name="meta",
    title="Meta-evaluation",
    paper="ratings of ExpertQA (arXiv 2309.07852), CiteBench (arXiv 2506.01829), or your own",
    help="""Compare citation pipelines with people's ratings.

    \b
    Examples:
      metaeval cite meta expertqa/*.jsonl --nli overlap,minilm-bertscore
      metaeval cite meta mine.jsonl --scores theirs.jsonl --pipelines alce
      metaeval cite meta test.citeeval --human test.json --pipelines citeeval \\
        --replay judge.jsonl
    """,
    options=MetaCommand,
    backends="optional",
    chat="optional",
    cutoff=None,
    asks=lambda choice, given: choice.names_model or "model" in given["asking"],
    defaults={"protocols": ("correlation", "classification"), "dataset": "ratings"},
    owners={
        "meta": MetaOptions,
        "citeeval": CiteEvalOptions,
        "asking": Asking,
        "scifi": ScifiOptions,
        "chat": ChatOptions,
    },
    read=_read,
    estimate=_estimate,
    ask=_ask,
    judge=_judge,
    lay_out=_lay_out,
)
