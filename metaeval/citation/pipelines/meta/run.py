"""The analysis `cite meta`: compare citation pipelines with human ratings of the same statements and answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from metaeval import config as groups
from metaeval.analyses.analysis import Analysis, Done, Progress
from metaeval.citation.alce.citations import PROFILES, read_alce
from metaeval.citation.aliice.citation_lines import read_aliice
from metaeval.citation.aliice.claim_options import aliice_profile
from metaeval.citation.chat_models import Chat, ChatOptions, estimate_for, open_chat
from metaeval.citation.citation_table import find_profile
from metaeval.citation.citeeval.baselines import BASELINES, KINDS, LABEL, autoais, prompts_of
from metaeval.citation.citeeval.evaluate_responses import (
    BASELINE_TOKENS,
    Rated,
    evaluate,
    inquiries_of,
    judged_baselines,
)
from metaeval.citation.citeeval.judge import Asking, asked_fields, load_prompts, questions_of
from metaeval.citation.citeeval.options_and_values import PROFILES as CITEEVAL_PROFILES
from metaeval.citation.citeeval.options_and_values import SCENARIOS, CitedScenario
from metaeval.citation.citeeval.splitting import split_response
from metaeval.citation.human.rated_statements import Aligned, Gaps, HumanSet, Level, cited_alone, rated_levels
from metaeval.citation.human.rating_files import read_human_set
from metaeval.citation.marks_and_sentences import find_sentence_splitter
from metaeval.citation.parsers.dependency_parsers import find_parser
from metaeval.citation.pipelines import options as shared
from metaeval.citation.pipelines.cited import CitedSheets
from metaeval.citation.pipelines.meta.measured import (
    Measurement,
    baseline_values,
    citeeval_values,
    claim_values,
    fact_values,
    measurements,
    measures_of_files,
    whole_values,
)
from metaeval.citation.pipelines.meta.tables import meta_sheets
from metaeval.citation.pipelines.metric_verdicts import Backend, Judges
from metaeval.citation.pipelines.scifi import estimate_facts, fact_cutoff
from metaeval.citation.scifi.data_model import AnswerFacts, ScifiOptions
from metaeval.citation.scifi.fact_entailment import counter, fact_lines
from metaeval.citation.scifi.facts import facts_signature, read_with_model, read_with_parser
from metaeval.config import RunConfig
from metaeval.declared import Flag
from metaeval.display_text import count
from metaeval.errors import UserError, unknown
from metaeval.files import write_texts
from metaeval.report.cautions import cautions
from metaeval.report.findings import findings
from metaeval.report.first_table import first_table
from metaeval.report.result import save_result
from metaeval.runs.evaluation import declarations_of, find_protocols
from metaeval.runs.prepared_run import RatedSet
from metaeval.runs.run import EvaluatedRun, evaluate_columns
from metaeval.runs.score_columns import AlignedColumn
from metaeval.setting_types import one_of

BY_METRIC = ("alce", "aliice", "scifi", "autoais")
BY_CHAT = ("attrscore", "lqac", "citeeval")
PIPELINES = (*BY_METRIC, *BY_CHAT)
USUAL = ("alce", "aliice")

PARSER = "small"
"""Parser of ALiiCE's sentences and of SCiFi's facts."""


class MetaOptions(
    shared.AsksChat,
    shared.JudgedByMetrics,
    groups.StatisticsSettings,
    groups.ProtocolOptionSettings,
    groups.ControlSettings,
    shared.CiteOptions,
):
    """Options of `cite meta`."""

    untyped = frozenset({"gaps", "profile", "facts", "splitter"})

    files: shared.FilesToRead = Field(description="Files of answers with human ratings.")
    human: Annotated[Path | None, Flag("FILE")] = Field(
        default=None, description="CiteBench's file of human judgements, for answers in a .citeeval file."
    )
    pipelines: shared.NameList = Field(
        default=(), description=f"Pipelines: {', '.join(PIPELINES)} (default: alce,aliice). Repeatable."
    )
    scores: shared.Files = Field(
        default=(),
        description="Scores of other tools (answer, start, end, value), or per-statements.jsonl of 'cite citeeval'.",
    )
    scenario: Annotated[shared.ScenarioName, one_of("scenario", SCENARIOS)] = "full"
    gaps: Gaps = Field(
        default="left out",
        description="Value of a statement without one, on either side: left out, response (its response's), or full "
        "marks (also 1 for a response without any).",
    )
    profile: Literal["paper", "released", "aliice"] = Field(
        default="paper", description="Definition of the pipelines: paper, released, or aliice (ALCE in ALiiCE's paper)."
    )
    facts: Literal["parser", "model"] = Field(
        default="parser", description="What makes SCiFi's facts: parser, or model (the chat model)."
    )
    splitter: shared.Splitter = "auto"

    @property
    def names(self) -> tuple[str, ...]:
        """The pipelines that are compared with the ratings."""
        return tuple(dict.fromkeys(self.pipelines)) or (() if self.scores else USUAL)


@dataclass(frozen=True, eq=False)
class Compared:
    """Every measure compared with human ratings.

    aligned: what the measures say of the statements. levels: statements, then responses, each with its results; a level
    that cannot be evaluated is in `left_out`, with the reason. backends: each with the pipeline that uses it (empty:
    several do). rated: the judgements of CiteEval's judge; None where it was not asked.
    """

    options: MetaOptions
    config: RunConfig
    name: str
    human: HumanSet
    measured: Sequence[Measurement]
    aligned: Aligned
    levels: Mapping[Level, EvaluatedRun]
    left_out: Sequence[tuple[str, str]]
    backends: Sequence[tuple[str, Backend]] = ()
    rated: Rated | None = None


class Comparison:
    """The rated answers, and everything else that is known before a model is asked.

    Raises `UserError` for whatever is wrong in the options and files, and where no level of ratings can be evaluated.
    """

    def __init__(self, options: MetaOptions, progress: Progress = None) -> None:
        self.options, self.names, self.progress = options, options.names, progress
        if wrong := next((name for name in self.names if name not in PIPELINES), None):
            raise unknown("pipeline", wrong, PIPELINES)
        self.scenario: CitedScenario = "cited" if options.scenario == "cited" else "full"
        self.config = options.run(
            metrics=(),
            dataset="ratings",
            protocols=("correlation", "classification"),
            dataset_options={"gaps": options.gaps, "scenario": self.scenario},
        )
        find_protocols(self.config)
        self.facts = ScifiOptions(facts=options.facts)
        self.asking, self.chat = self._chat()
        self.running = ""  # the pipeline whose verdicts are asked for
        by_decision = {*self.names} & {*BY_METRIC} - {"scifi"}
        decides = "AutoAIS needs decisions" if "autoais" in self.names else ""
        self.judges = Judges(options, self._report(), decides=decides) if by_decision else ()
        self.graders = Judges(options, self._report(), find=fact_cutoff) if "scifi" in self.names else ()
        self.parser = find_parser(PARSER) if "scifi" in self.names and options.facts == "parser" else None
        if "scifi" in self.names and (maker := self.parser or self.chat):
            # Unreadable prompts and missing tokenizers are errors here, before anything is asked.
            facts_signature(self.facts, maker), counter(self.facts.tokenizer)
        self.name = shared.name_of_data(options.files)
        with shared.as_files(options.files) as (files, _):
            human = read_human_set(files, human=options.human)
        self.human = cited_alone(human) if self.scenario == "cited" else human
        self.answers = [rated.answer for rated in self.human.answers]
        if self.names and not any(answer.passages for answer in self.answers):
            raise UserError(
                f"No answer in {self.name} has passages to judge its citations by: give answers with passages."
            )
        self.profile = "paper" if options.profile == "aliice" else options.profile
        self.citeeval = CITEEVAL_PROFILES[self.profile]
        self.splitter = find_sentence_splitter(options.splitter)
        self.split = "as published" if human.splits else self.splitter.name
        splits = {answer.id: split_response(answer, self.citeeval, self.splitter) for answer in self.answers}
        self.splits = [(human.splits or splits)[answer.id] for answer in self.answers]
        read = {
            "alce": lambda: read_alce(self.answers, find_profile(PROFILES, options.profile), self.splitter),
            "aliice": lambda: read_aliice(self.answers, aliice_profile(self.profile), self.splitter, PARSER),
        }
        self.readings = [read[name]() for name in self.names if name in USUAL]
        self.outside = measures_of_files(options.scores, self.answers)
        self._levels(self.outside)

    def _report(self) -> Progress:
        def report(metric: str, done: int, total: int) -> None:
            if self.progress is not None:
                self.progress(f"{self.running}, {metric}", done, total)

        return report if self.progress else None

    def _chat(self) -> tuple[Asking | None, ChatOptions | None]:
        """Return the options of CiteEval's requests and of the chat model; (None, None) where no pipeline asks one."""
        options = self.options
        if not {*BY_CHAT} & {*self.names} and not ("scifi" in self.names and options.facts == "model"):
            if options.names_model or options.idle:
                raise UserError(
                    f"None of these pipelines uses a chat model: add {', '.join(BY_CHAT[:-1])} or {BY_CHAT[-1]} to "
                    "--pipelines, or set facts=model with scifi, or leave the model out."
                )
            return None, None
        # CiteEval's judge has options of its own beside those of the chat model, and other defaults.
        own = Asking.model_fields.keys() - ChatOptions.model_fields.keys()
        general = {name: value for name, value in options.chat.items() if name not in own}
        asking = shared.chat_options(Asking, options)
        load_prompts(asking)
        return asking, shared.chat_options(ChatOptions, options.model_copy(update={"chat": general}))

    def cost(self) -> str:
        """Return the estimated cost for each pipeline that asks a chat model; nothing is sent, and no key is needed.

        SCiFi's later requests depend on the replies to its first ones, which alone are estimated.
        """
        chat, asking = self.chat, self.asking
        if chat is None or asking is None:
            return "No pipeline here asks a chat model: nothing is sent, and nothing is paid."
        if self.options.replay is not None:
            return f"The replies are in {self.options.replay}: no chat model is asked, and nothing is paid."
        lines = []
        if "citeeval" in self.names:
            requests = [question.request for question in questions_of(self.answers, self.splits, asking)]
            lines.append(f"citeeval, {count(len(self.answers), 'answer')} to judge: {estimate_for(requests, chat)}")
        if by_model := [name for name in BASELINES if name in self.names]:
            inquiries = inquiries_of(self.answers, self.splits, asking, by_model)
            estimated = estimate_for([inquiry.request for inquiry in inquiries], chat)
            lines.append(f"{' and '.join(by_model)}: {estimated}")
        if "scifi" in self.names and self.facts.facts == "model":
            lines.append(f"scifi, {estimate_facts(self.answers, self.facts, chat, self.splitter)}")
        return "\n".join(lines)

    def compare(self) -> Compared:
        """Ask the chat model, if any, then the metrics, and compare every measure with the ratings."""
        options, measured = self.options, [*self.outside]
        rated: Rated | None = None
        facts: tuple[list[AnswerFacts], dict[str, object]] = ([], {})
        if self.chat is None:
            facts = self.facts_by_parser() if self.parser else facts
        else:
            with open_chat(self.chat, options.record, options.replay, self.progress, options.requests) as chat:
                rated, by_chat = self.asked(chat)
                measured += by_chat
                if "scifi" in self.names:
                    facts = self.facts_by_parser() if self.parser else self.facts_by_model(chat)
        for reading in self.readings:
            if "cvcp" in reading.statistics:
                cvcp = whole_values(self.answers, reading.statistics["cvcp"].alone)
                measured += measurements(reading.name, reading.fields, {"cvcp": cvcp})
        backends: list[tuple[str, Backend]] = []
        for backend in self.judges:
            backends.append(("", backend))
            for reading in self.readings:
                self.running = reading.name
                _, lines = reading.judge(backend.entails, backend.soft)
                values = claim_values(self.answers, lines, *reading.shares(lines), backend.soft)
                measured += measurements(reading.name, reading.fields, values, backend)
            if "autoais" in self.names:
                self.running = "autoais"
                values = baseline_values(self.answers, self.splits, autoais(self.answers, self.splits, backend.entails))
                measured += measurements("autoais", {"pipeline": "autoais", "splitter": self.split}, values, backend)
        for backend in self.graders:
            backends.append(("scifi", backend))
            self.running = "scifi"
            measured += self.entailment(*facts, backend)
        # Pipelines in the order of their list, then the scores of other tools; the sort is stable.
        order = {name: place for place, name in enumerate(PIPELINES)}
        measured.sort(key=lambda each: order.get(each.name.partition(":")[0], len(PIPELINES)))
        aligned, levels, left_out = self._levels(measured)
        results: dict[Level, EvaluatedRun] = {}
        for level in levels:
            try:
                results[level] = self._evaluated(level, measured)
            except UserError as error:  # all ratings of a level are the same
                left_out.append((level.unit, str(error)))
        if not results:
            raise UserError(left_out[-1][1])
        compared = options, self.config, self.name, self.human, measured, aligned, results, left_out, backends, rated
        return Compared(*compared)

    def asked(self, chat: Chat) -> tuple[Rated | None, list[Measurement]]:
        """Return the judgements of CiteEval's judge, and its measures and those of the baselines."""
        asking, rated, measured = self.asking, None, []
        assert asking is not None
        if "citeeval" in self.names:
            rated = evaluate(self.answers, self.splits, chat.ask, asking, self.citeeval)
            fields = {
                "pipeline": "citeeval",
                "profile": self.profile,
                "scenario": self.scenario,
                "splitter": self.split,
                **asked_fields(asking, chat.models),
            }
            measured += measurements("citeeval", fields, citeeval_values(rated, self.scenario))
        if by_model := [name for name in BASELINES if name in self.names]:
            inquiries = inquiries_of(self.answers, self.splits, asking, by_model)
            heard = [*zip(inquiries, chat.ask([inquiry.request for inquiry in inquiries]), strict=True)]
            found = judged_baselines(self.answers, self.splits, heard, asking, self.citeeval, by_model)
            for name in by_model:
                prompts = prompts_of([LABEL] if name == "attrscore" else KINDS)
                fields = {"pipeline": name, "profile": self.profile, "splitter": self.split}
                fields |= asked_fields(asking, chat.models, prompts, max_tokens=BASELINE_TOKENS)
                values = baseline_values(self.answers, self.splits, found[name].values)
                measured += measurements(name, fields, values)
        return rated, measured

    def facts_by_parser(self) -> tuple[list[AnswerFacts], dict[str, object]]:
        """Return the facts of every answer by the parser, and the fields of their signature."""
        assert self.parser is not None
        facts = read_with_parser(self.answers, self.parser, self.splitter)
        return facts, {"facts": facts_signature(self.facts, self.parser)}

    def facts_by_model(self, chat: Chat) -> tuple[list[AnswerFacts], dict[str, object]]:
        """Return the facts of every answer by the chat model, and the fields of their signature."""
        assert self.chat is not None
        facts = read_with_model(self.answers, self.facts, chat.ask, self.chat, self.splitter)
        text = facts_signature(self.facts, chat.settled(self.chat))
        return facts, {"facts": text, "answered_as": ", ".join(chat.models) or self.chat.model}

    def entailment(
        self, facts: Sequence[AnswerFacts], fields: Mapping[str, object], backend: Backend
    ) -> list[Measurement]:
        """Return SCiFi's citation entailment with a backend. facts, fields: with those of their signature."""
        lines = fact_lines(facts, backend.entails, self.facts, backend.soft, self.splitter)
        signed = {"pipeline": "scifi", "options": self.facts.signature, "splitter": self.splitter.name, **fields}
        values = {"entailment": fact_values(facts, lines, self.facts)}
        return measurements("scifi", signed, values, backend)

    def _levels(self, measured: Sequence[Measurement]) -> tuple[Aligned, list[Level], list[tuple[str, str]]]:
        values = {each.name: each.values for each in measured}
        return rated_levels(self.name, self.human, values, self.options.gaps)

    def _evaluated(self, level: Level, measured: Sequence[Measurement]) -> EvaluatedRun:
        """Return the results of each protocol for all measures; only the `tested` ones are tested for significance."""
        columns = [
            AlignedColumn(each.name, "metric", score, level.statuses(each.name), each.fields, each.ledger)
            for each in measured
            if each.name in level.values
            for score in [level.values[each.name]["value"].to_numpy()]
        ]
        rated = RatedSet(self.config, self.name, level.unit, level.ratings)
        run = evaluate_columns(rated, columns, tested=frozenset(each.name for each in measured if each.tested))
        titles = [each.title.replace("human levels", "human ratings") for each in run.results]  # ratings are no levels
        results = [each.model_copy(update={"title": t}) for each, t in zip(run.results, titles, strict=True)]
        return replace(run, results=results)


def _write_levels(compared: Compared, folder: Path) -> list[Path]:
    """Write the results of each level, and its ratings with all scores, which `metaeval evaluate` reads."""
    written = []
    for level, run in compared.levels.items():
        written += write_texts({folder / level.unit / "ratings.jsonl": level.lines()})
        for result in run.results:
            written.append(folder / level.unit / f"{result.protocol}.json")
            save_result(result, written[-1])
    return written


def _run(options: MetaOptions, progress: Progress) -> Done:
    comparison = Comparison(options, progress)
    if options.dry_run:
        return shared.estimated(comparison.config, comparison.cost())
    compared = comparison.compare()
    sheets, shown, sentences, warnings = meta_sheets(compared), [], [], []
    for level, run in compared.levels.items():
        declarations = declarations_of(run.protocols.values())
        correlation = [result for result in run.results if result.protocol == "correlation"] or run.results
        shown.append(first_table(correlation, declarations))
        sentences += [f"{level.unit}: {text}" for text in findings(correlation, declarations)]
        warnings += cautions(correlation)
    return Done(
        config=comparison.config,
        data=[result.data for run in compared.levels.values() for result in run.results],
        sheets=sheets,
        files=[partial(_write_levels, compared)],
        read=[file for file in options.files if isinstance(file, Path)],
        shown=[*shown, *(sheet for sheet in sheets if not sheet.name.endswith("within-systems"))],
        sentences=sentences,
        cautions=list(dict.fromkeys(warnings)),
        value=CitedSheets(sheets),
    )


META = Analysis(
    name="cite meta",
    summary="Compare citation pipelines with human ratings.",
    about="""Correlates every measure of the pipelines, and scores of other tools, with people's ratings of the same
statements and responses, and tests which measures agree significantly better. Ratings: ExpertQA (arXiv 2309.07852),
CiteBench (2506.01829), or your own.""",
    examples=[
        "cite meta expertqa/*.jsonl --nli overlap,minilm-bertscore",
        "cite meta mine.jsonl --scores theirs.jsonl --pipelines alce",
        "cite meta test.citeeval --human test.json --pipelines autoais,attrscore,lqac,citeeval --replay judge.jsonl",
    ],
    options=MetaOptions,
    run=_run,
    folder="cite/meta",
    again=shared.with_kept_replies,
    figures=shared.draw,
)
