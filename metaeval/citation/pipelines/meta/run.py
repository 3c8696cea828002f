"""The pipeline `meta`: compare citation pipelines with human ratings of the same statements and answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from metaeval.citation.alce.citations import PROFILES, read_alce
from metaeval.citation.aliice.citation_lines import read_aliice
from metaeval.citation.aliice.claim_options import aliice_profile
from metaeval.citation.chat_models import Chat, ChatOptions, estimate_for
from metaeval.citation.citation_table import find_profile
from metaeval.citation.citeeval.baselines import KINDS, LABEL, MODES, TRIPLE, Baseline, Open, autoais, prompts_of
from metaeval.citation.citeeval.evaluate_responses import ResponseValues, ask_baselines, evaluate, inquiries_of
from metaeval.citation.citeeval.judge import Asking, asked_fields, load_prompts, questions_of
from metaeval.citation.citeeval.options_and_values import (
    BaselineOptions,
    CiteEvalOptions,
    baseline_options,
    changed_options,
    citeeval_options,
)
from metaeval.citation.citeeval.splitting import Split, split_response
from metaeval.citation.data_model import Answer
from metaeval.citation.human import rated_statements as human_model
from metaeval.citation.human.automatic_values import (
    baseline_values,
    citeeval_values,
    claim_values,
    fact_values,
    score_file_values,
)
from metaeval.citation.human.rated_statements import NO_VALUE, Alignment, AnswerValues, Level, MetaOptions, Valued
from metaeval.citation.human.rating_files import read_human_set, read_score_file
from metaeval.citation.marks_and_sentences import find_sentence_splitter
from metaeval.citation.parsers.dependency_parsers import find_parser
from metaeval.citation.pipelines.meta.data_model import (
    BY_CHAT,
    BY_METRIC,
    PIPELINES,
    USUAL,
    Measurement,
    MetaCommand,
    MetaEvaluation,
    ToMeasure,
)
from metaeval.citation.pipelines.meta.tables import brief_grids, meta_sheets
from metaeval.citation.pipelines.metric_verdicts import Backend
from metaeval.citation.pipelines.pipeline import Layout, MakeBackends, Pipeline, Run, chat_options
from metaeval.citation.pipelines.run_pipeline import find_cutoffs
from metaeval.citation.pipelines.scifi import estimate_facts, fact_cutoff, one_fact_each
from metaeval.citation.scifi.answer_measures import lost_citing
from metaeval.citation.scifi.data_model import AnswerFacts, ScifiOptions
from metaeval.citation.scifi.fact_entailment import counter, fact_lines
from metaeval.citation.scifi.facts import facts_signature, read_with_model, read_with_parser
from metaeval.citation.stated_answers import StatedAnswers
from metaeval.display_text import count
from metaeval.errors import UserError, unknown
from metaeval.files import sha256_file
from metaeval.report.result import Result
from metaeval.runs.evaluation import find_protocols
from metaeval.runs.prepared_run import RatedSet
from metaeval.runs.run import evaluate_columns
from metaeval.runs.score_columns import column_of

RATINGS = "ratings.jsonl"
"""File of the ratings and all scores, which `metaeval evaluate -d ratings --data FILE` reads."""


def _read(run: Run) -> ToMeasure:
    """Return the ratings, answers and scores of the run, with checked options; no model is asked, nothing is scored."""
    command: MetaCommand = run.options
    names, options = command.names, MetaOptions(**run.set_options["meta"])
    if wrong := next((name for name in names if name not in PIPELINES), None):
        raise unknown("pipeline", wrong, PIPELINES)
    find_protocols(run.config)
    rules = {**options.rules, "scenario": command.scenario}
    run = replace(run, config=run.config.model_copy(update={"dataset_options": rules}))
    scifi = ScifiOptions(**run.set_options["scifi"])
    asking, chat = _chat(names, run, scifi)
    profile = options.profile if options.profile in ("paper", "released") else "paper"
    by_decision = {*names} & {*BY_METRIC} - {"scifi"}
    decides = "AutoAIS needs decisions" if "autoais" in names else ""
    by_metric = run.metrics, command.threshold, command.calibration
    cutoffs = find_cutoffs(*by_metric, decides) if by_decision else {}
    parser = find_parser(options.parser) if "scifi" in names and scifi.facts == "parser" else None
    if "scifi" in names and (maker := parser or chat):
        # Unreadable prompts and missing tokenizers are errors here, before anything is asked.
        facts_signature(scifi, maker), counter(scifi.tokenizer)
    graded = find_cutoffs(*by_metric, find=fact_cutoff) if "scifi" in names else {}
    human = read_human_set(command.files, command.format, command.human)
    human = human_model.cited_alone(human) if command.scenario == "cited" else human
    answers = [rated.answer for rated in human.answers]
    if names and not any(answer.passages for answer in answers):
        raise UserError(f"No answer in {run.name} has passages to judge its citations by: give answers with passages.")
    citeeval = citeeval_options(profile, **run.set_options["citeeval"])
    splitter = find_sentence_splitter(options.splitter)
    splits = [human.splits[answer.id] for answer in answers] if human.splits else []
    if not splits and {"autoais", *BY_CHAT} & {*names}:
        splits = [split_response(answer, citeeval, splitter) for answer in answers]
    # SCiFi's option `uncited` holds for ALCE too.
    uncited = run.set_options["scifi"].get("uncited")
    claims = {
        "alce": lambda: read_alce(answers, find_profile(PROFILES, options.profile, uncited=uncited), splitter),
        "aliice": lambda: read_aliice(answers, aliice_profile(options.profile), splitter, options.parser),
    }
    return ToMeasure(
        names=names,
        options=options,
        scenario="cited" if command.scenario == "cited" else "full",
        citeeval=citeeval,
        baselines=baseline_options(profile, **run.set_options["baselines"]),
        asking=asking,
        chat=chat,
        scifi=scifi,
        run=run,
        parser=parser,
        splitter=splitter,
        human=human,
        splits=splits,
        pipelines=[claims[name]() for name in names if name in USUAL],
        cutoffs=cutoffs,
        graded=graded,
        outside_scores=read_measures(command.scores, answers),
    )


def _chat(names: Sequence[str], run: Run, scifi: ScifiOptions) -> tuple[Asking | None, ChatOptions | None]:
    """Return the options of CiteEval's requests and of the chat model; (None, None) where no pipeline asks one.

    names: the pipelines. scifi: options of SCiFi. Raises `UserError` for a model that no pipeline asks, and where none
    is named.
    """
    if not {*BY_CHAT} & {*names} and not ("scifi" in names and scifi.facts == "model"):
        if run.chat is not None or run.choice.idle:
            raise UserError(
                f"None of these pipelines uses a chat model: add {', '.join(BY_CHAT[:-1])} or {BY_CHAT[-1]} to "
                "--pipelines, or set facts=model with scifi, or leave the model out."
            )
        return None, None
    # Options that CiteEval's judge and SCiFi's model share were sorted to the judge.
    shared = {name: value for name, value in run.set_options["asking"].items() if name in ChatOptions.model_fields}
    chat = chat_options(ChatOptions, run.choice, {**run.set_options["chat"], **shared}, run.config.budget)
    asking = Asking(**{**run.set_options["asking"], "model": chat.model})
    load_prompts(asking)
    return asking, chat


def _estimate(read: ToMeasure) -> str:
    """Return the estimated cost for each pipeline that asks a chat model; nothing is sent, and no key is needed.

    SCiFi's later requests depend on the replies to its first ones, which alone are estimated.
    """
    chat = read.chat
    if chat is None:
        return "No pipeline here asks a chat model: nothing is sent, and nothing is paid."
    if read.run.choice.replay is not None:
        return f"The replies are in {read.run.choice.replay}: no chat model is asked, and nothing is paid."
    lines = []
    if "citeeval" in read.names and read.asking is not None:
        requests = [question.request for question in questions_of(read.answers, read.splits, read.asking)]
        lines.append(f"citeeval, {count(len(read.answers), 'answer')} to judge: {estimate_for(requests, chat)}")
    if read.by_model and read.asking is not None:
        of_baselines = inquiries_of(read.answers, read.splits, read.asking, read.by_model, read.baselines)
        estimated = estimate_for([inquiry.request for inquiry in of_baselines], chat)
        lines.append(f"{' and '.join(read.by_model)}: {estimated}")
    if "scifi" in read.names and read.scifi.facts == "model":
        lines.append(f"scifi, {estimate_facts(read.answers, read.scifi, chat, read.splitter)}")
    return "\n".join(lines)


_Heard = tuple[ToMeasure, Sequence[ResponseValues], Sequence[Measurement], Sequence[AnswerFacts], Mapping[str, object]]
"""The input, CiteEval's judgements and measures, and SCiFi's facts with the fields of their signature."""


def _ask(read: ToMeasure, chat: Chat | None) -> _Heard:
    """Ask CiteEval's judge and its baselines, make SCiFi's facts, and return all with the input.

    Raises `UserError` first where no level of ratings can be evaluated.
    """
    _rated(read, read.outside_scores)
    rated: Sequence[ResponseValues] = ()
    measured: list[Measurement] = []
    if "citeeval" in read.names and chat is not None and read.asking is not None:
        rated = evaluate(read.answers, read.splits, chat.ask, read.asking, read.citeeval).results
        measured = citeeval_measures(read, read.asking, rated, chat.models)
    if read.by_model and chat is not None and read.asking is not None:
        values = ask_baselines(read.answers, read.splits, chat.ask, read.asking, read.by_model, read.baselines)
        measured += [
            each
            for name in read.by_model
            for each in chat_baseline_measures(read, read.asking, name, values[name], chat.models)
        ]
    facts, fields = read_facts(read, chat) if "scifi" in read.names else ([], {})
    return read, rated, measured, facts, fields


def _judge(heard: _Heard, make: MakeBackends) -> MetaEvaluation:
    """Compare every measure of every pipeline with the ratings. make: makes the backends, which give the verdicts."""
    read, rated, of_citeeval, facts, fields = heard
    of_claims = [measurement for pipeline in read.pipelines for measurement in claim_measures(pipeline)]
    measured = [*read.outside_scores, *of_citeeval, *of_claims]
    backends: list[tuple[str, Backend]] = []
    progress, asking = read.run.progress, ""

    def report(metric: str, done: int, total: int) -> None:
        if progress is not None:
            progress(f"{asking}, {metric}", done, total)

    premise = "max over chunks" if read.options.premise == "chunks" else "joint"
    for backend in make(read.cutoffs, premise, report if progress else None):
        backends.append(("", backend))
        for pipeline in read.pipelines:
            asking = pipeline.name
            measured += citation_measures(pipeline, backend)
        if "autoais" in read.names:
            asking = "autoais"
            how = {"splitter": "as published" if read.human.splits else read.splitter.name}
            measured += autoais_measures(read.answers, read.splits, how, backend)
    for backend in make(read.graded, "joint", report if progress else None):
        backends.append(("scifi", backend))
        asking = "scifi"
        measured.append(scifi_measure(read, facts, fields, backend))
    # Pipelines in the order of their list, then the scores of other tools; the sort is stable.
    order = {name: place for place, name in enumerate(PIPELINES)}
    measured.sort(key=lambda measurement: order.get(measurement.name.partition(":")[0], len(PIPELINES)))
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
    """Return the aligned measures, the levels with ratings and values, and (level, reason) for those left out."""
    return human_model.rated_levels(
        read.run.name, read.human, {measurement.name: measurement.values for measurement in measured}, read.options
    )


def _results(read: ToMeasure, level: Level, measured: Sequence[Measurement]) -> list[Result]:
    """Return the results of each protocol for all measures; only those of `tested` are tested for significance."""
    rated, tested = RatedSet(read.run.config, read.run.name, level.unit, level.ratings), read.tested(measured)
    columns = [
        column_of(
            measurement.name,
            [human_model.score_of(value) for value in level.values[measurement.name]],
            measurement.fields,
            measurement.ledger,
        )
        for measurement in measured
        if measurement.name in level.values
    ]
    results = evaluate_columns(rated, columns, tested=tested).results
    # Ratings are not levels.
    return [
        result.model_copy(update={"title": result.title.replace("human levels", "human ratings")}) for result in results
    ]


def citation_measures(pipeline: StatedAnswers, backend: Backend) -> list[Measurement]:
    """Return recall, precision and F1 of ALCE or ALiiCE with a backend: values of each sentence and each answer.

    pipeline: the answers as ALCE or ALiiCE reads them.
    """
    _, lines = pipeline.judge(backend.entails, backend.soft)
    values = claim_values(pipeline.answers, lines, *pipeline.shares(lines), backend.soft)
    return _measurements(pipeline.name, pipeline.fields, values, backend)


def claim_measures(pipeline: StatedAnswers) -> list[Measurement]:
    """Return ALiiCE's measure of answers that needs no verdict, CVCP."""
    if "cvcp" not in pipeline.statistics:
        return []
    by_answer = {
        answer.id: NO_VALUE if value is None else Valued(value)
        for answer, value in zip(pipeline.answers, pipeline.statistics["cvcp"].alone, strict=True)
    }
    return _measurements(pipeline.name, pipeline.fields, {"cvcp": AnswerValues({}, by_answer)})


def autoais_measures(
    answers: Sequence[Answer], splits: Sequence[Split], fields: Mapping[str, object], backend: Backend
) -> list[Measurement]:
    """Return AutoAIS of CiteEval's statements with a backend. fields: fields of the statements' signature."""
    values = baseline_values(answers, splits, autoais(answers, splits, backend.entails))
    return _measurements("autoais", {"pipeline": "autoais", **fields}, values, backend)


def chat_baseline_measures(
    read: ToMeasure,
    asking: Asking,
    name: Baseline,
    values: Sequence[Sequence[Mapping[str, Open]]],
    models: Sequence[str],
) -> list[Measurement]:
    """Return the measures of a baseline that the chat model judged. values: of each statement of each answer."""
    kinds, columns = ([LABEL], MODES) if name == "attrscore" else (KINDS, TRIPLE)
    fields = {
        "pipeline": name,
        **({"otherwise": read.baselines.otherwise} if name == "attrscore" else {}),
        "splitter": "as published" if read.human.splits else read.splitter.name,
        **asked_fields(asking, models, prompts_of(kinds), max_tokens=read.baselines.baseline_max_tokens),
    }
    return _measurements(name, fields, baseline_values(read.answers, read.splits, values, columns))


def read_facts(read: ToMeasure, chat: Chat | None) -> tuple[list[AnswerFacts], dict[str, object]]:
    """Return the facts of every answer, from the parser or the chat model, and the fields of their signature."""
    options, splitter = read.scifi, read.splitter
    fields: dict[str, object] = {"pipeline": "scifi", "options": options.signature, "splitter": splitter.name}
    if read.parser is not None:
        facts = read_with_parser(read.answers, read.parser, splitter)
        return facts, {**fields, "facts": facts_signature(options, read.parser)}
    if read.chat is None or chat is None:
        raise ValueError("facts need a parser or a chat model")
    facts = read_with_model(read.answers, options, chat.ask, read.chat, splitter)
    facts_text = facts_signature(options, chat.settled(read.chat))
    return facts, {**fields, "facts": facts_text, "answered_as": ", ".join(chat.models) or read.chat.model}


def scifi_measure(
    read: ToMeasure, facts: Sequence[AnswerFacts], fields: Mapping[str, object], backend: Backend
) -> Measurement:
    """Return SCiFi's citation entailment with a backend. facts, fields: as `read_facts` returns them."""
    lines = fact_lines(facts, backend.entails, read.scifi, backend.soft, read.splitter)
    lost = sum(len(lost_citing(each, read.scifi)) for each in facts)
    assumed = one_fact_each(lost) if lost else ""
    (measured,) = _measurements(
        "scifi", fields, {"entailment": fact_values(facts, lines, read.scifi)}, backend, assumed
    )
    return measured


def citeeval_measures(
    read: ToMeasure, asking: Asking, results: Sequence[ResponseValues], models: Sequence[str]
) -> list[Measurement]:
    """Return CiteEval-Auto, the rating and the edit distance as measurements, in the run's scenario."""
    fields = {
        "pipeline": "citeeval",
        "profile": "paper",
        "options": changed_options("paper", read.citeeval),
        "scenario": read.scenario,
        "splitter": "as published" if read.human.splits else read.splitter.name,
        **asked_fields(asking, models),
    }
    return _measurements("citeeval", fields, citeeval_values(results, read.scenario))


def read_measures(files: Sequence[Path], answers: Sequence[Answer]) -> list[Measurement]:
    """Read the files of other tools' scores; return a measurement for each of their measures.

    Raises `UserError` as `read_score_file` does, and for two files that name the same measure.
    """
    by_id = {answer.id: answer for answer in answers}
    measurements: dict[str, Measurement] = {}
    for path in files:
        for measure, scores in read_score_file(path, by_id).items():
            if measure in measurements:
                raise UserError(f"Two files of scores have a measure {measure!r}: rename it in one of them.")
            pinned = f"{path.name}@sha256:{sha256_file(path)[:12]}"
            fields = {"pipeline": "scores", "measure": measure, "file": pinned}
            measurements[measure] = Measurement(f"{human_model.FROM_FILE}{measure}", fields, score_file_values(scores))
    return list(measurements.values())


def _measurements(
    pipeline: str,
    fields: Mapping[str, object],
    values: Mapping[str, AnswerValues],
    backend: Backend | None = None,
    assumed: str = "",
) -> list[Measurement]:
    """Return a measurement of each measure in `values`, by a backend if there is one. fields: those that all share."""
    suffix, signed, ledger = ("", {}, None) if backend is None else (f":{backend.name}", backend.fields, backend.ledger)
    return [
        Measurement(
            f"{pipeline}:{name}{suffix}",
            {**fields, "measure": name, **signed},
            of_answers,
            ledger,
            assumed,
            lone=len(values) == 1,
        )
        for name, of_answers in values.items()
    ]


def _lay_out(meta: MetaEvaluation) -> Layout:
    """Return results and tables by level, and a file of the ratings with all scores, which can be evaluated again."""
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
    help="""Compare citation pipelines with human ratings.

    Correlates every measure of the pipelines, and scores of other tools, with
    people's ratings of the same statements and responses, and tests which
    measures agree significantly better.

    \b
    Examples:
      metaeval cite meta expertqa/*.jsonl --nli overlap,minilm-bertscore
      metaeval cite meta mine.jsonl --scores theirs.jsonl --pipelines alce
      metaeval cite meta test.citeeval --human test.json \\
        --pipelines autoais,attrscore,lqac,citeeval --replay judge.jsonl
    """,
    options=MetaCommand,
    backends="optional",
    chat="optional",
    cutoff=None,
    asks=lambda choice, set_options: choice.names_model or "model" in set_options["asking"],
    defaults={"protocols": ("correlation", "classification"), "dataset": "ratings"},
    owners={
        "meta": MetaOptions,
        "citeeval": CiteEvalOptions,
        "asking": Asking,
        "baselines": BaselineOptions,
        "scifi": ScifiOptions,
        "chat": ChatOptions,
    },
    read=_read,
    estimate=_estimate,
    ask=_ask,
    judge=_judge,
    lay_out=_lay_out,
)
