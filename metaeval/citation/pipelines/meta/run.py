"""The analysis `cite meta`: compare citation pipelines with human ratings of the same statements and answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from metaeval.analyses.analysis import Analysis, Done, Progress
from metaeval.analyses.analysis_job import write_result
from metaeval.citation.alce.citations import PROFILES, read_alce
from metaeval.citation.aliice.citation_lines import read_aliice
from metaeval.citation.aliice.claim_options import aliice_profile
from metaeval.citation.chat_models import Chat, ChatOptions, estimate_for
from metaeval.citation.citation_table import find_profile
from metaeval.citation.citeeval.baselines import (
    BASELINES,
    KINDS,
    LABEL,
    Baseline,
    JudgedStatements,
    autoais,
    prompts_of,
)
from metaeval.citation.citeeval.evaluate_responses import (
    BASELINE_TOKENS,
    Rated,
    evaluate,
    inquiries_of,
    judged_baselines,
)
from metaeval.citation.citeeval.judge import Asking, asked_fields, load_prompts, questions_of
from metaeval.citation.citeeval.options_and_values import PROFILES as CITEEVAL
from metaeval.citation.citeeval.splitting import split_responses
from metaeval.citation.human.rated_statements import Aligned, Gaps, Level, cited_alone, rated_levels
from metaeval.citation.human.rating_files import read_human_set
from metaeval.citation.marks_and_sentences import find_sentence_splitter
from metaeval.citation.parsers.dependency_parsers import find_parser
from metaeval.citation.pipelines import options as shared
from metaeval.citation.pipelines.cited import CitedSheets
from metaeval.citation.pipelines.citeeval import Scenario
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
from metaeval.citation.pipelines.scifi import estimate, fact_cutoff, make_facts
from metaeval.citation.scifi.data_model import AnswerFacts, ScifiOptions
from metaeval.citation.scifi.fact_entailment import counter, fact_lines
from metaeval.citation.scifi.facts import facts_signature
from metaeval.core.config import ControlSettings, ProtocolOptionSettings, StatisticsSettings
from metaeval.core.declared import Flag
from metaeval.core.errors import UserError, count, unknown
from metaeval.core.files import write_texts
from metaeval.report.cautions import cautions
from metaeval.report.findings import findings
from metaeval.report.first_table import first_table
from metaeval.report.table import Scalar
from metaeval.runs.data import RatedSet
from metaeval.runs.evaluate import EvaluatedRun, declarations_of, evaluate_columns, find_protocols
from metaeval.runs.score import AlignedColumn

PIPELINES = ("alce", "aliice", "scifi", "autoais", "attrscore", "lqac", "citeeval")
USUAL = ("alce", "aliice")

PARSER = "small"  # parser of ALiiCE's sentences and of SCiFi's facts


class MetaOptions(shared.AsksChat, shared.JudgedByMetrics, StatisticsSettings, ProtocolOptionSettings, ControlSettings):
    """Options of `cite meta`."""

    untyped = frozenset({"gaps", "profile", "facts", "splitter"})

    files: shared.FilesToRead = Field(description="Files of answers with human ratings.")
    human: Annotated[Path | None, Flag("FILE")] = None
    """CiteBench's file of human judgements, for answers in a .citeeval file."""
    pipelines: shared.NameList = Field(
        default=(), description=f"Pipelines: {', '.join(PIPELINES)} (default: alce,aliice). Repeatable."
    )
    scores: shared.Files = ()
    """Scores of other tools (answer, start, end, value), or per-statements.jsonl of 'cite citeeval'."""
    scenario: Scenario = "full"
    gaps: Gaps = "left out"
    """Value of a statement without one, on either side: left out, response (its response's), or full marks (also 1 for
    a response without any)."""
    profile: Literal["paper", "released", "aliice"] = "paper"
    """Definition of the pipelines: paper, released, or aliice (ALCE in ALiiCE's paper). SCiFi's stays that of 'cite
    scifi' without a profile."""
    facts: Literal["parser", "model"] = "parser"
    """What makes SCiFi's facts: parser, or model (the chat model)."""
    splitter: shared.Splitter = "auto"


class MetaEvaluation:
    """Rated answers that are read, with all that is known before a model is asked; `compare` adds what follows.

    measured: every measure, those of score files first. backends: the metrics that judged, each with the pipeline that
    uses it alone (else empty). rated: what CiteEval's judge says, if it is asked. aligned: what the measures say of the
    statements. levels: statements, then responses, each with its results; left_out: (level, reason) of the others.

    Raises `UserError` for whatever is wrong in the options and files, and where no level of ratings can be evaluated.
    """

    def __init__(self, options: MetaOptions, progress: Progress = None) -> None:
        self.options, self.progress = options, progress
        self.names = tuple(dict.fromkeys(options.pipelines)) or (() if options.scores else USUAL)
        if wrong := next((name for name in self.names if name not in PIPELINES), None):
            raise unknown("pipeline", wrong, PIPELINES)
        self.config = options.run(
            metrics=(),
            dataset="ratings",
            protocols=("correlation", "classification"),
            dataset_options={"gaps": options.gaps, "scenario": options.scenario},
        )
        find_protocols(self.config)
        self.facts, has_facts = ScifiOptions(facts=options.facts), "scifi" in self.names
        self.by_model = [name for name in BASELINES if name in self.names]
        self.asking = self.chat = None
        if self.by_model or "citeeval" in self.names or (has_facts and options.facts == "model"):
            self.asking = shared.chat_options(Asking, options)
            if "citeeval" in self.names:
                load_prompts(self.asking)
            elif self.by_model and self.asking.output == "text":
                raise UserError(f"The prompt of {self.by_model[0]} asks for JSON: leave chat.output=text out.")
            # SCiFi's model has other defaults than CiteEval's judge.
            named = self.asking.model_fields_set & ChatOptions.model_fields.keys()
            self.chat = ChatOptions(**self.asking.model_dump(include=named))
        elif options.names_model or options.idle:
            raise UserError(
                "None of these pipelines uses a chat model: leave --model out or add citeeval, lqac, attrscore."
            )
        decides = "AutoAIS needs decisions" if "autoais" in self.names else ""
        decided = {"alce", "aliice", "autoais"} & {*self.names}
        self.judges = Judges(options, progress, decides=decides) if decided else ()
        self.graders = Judges(options, progress, find=fact_cutoff) if has_facts else ()
        self.maker = (find_parser(PARSER) if options.facts == "parser" else self.chat) if has_facts else None
        if self.maker is not None:
            # Unreadable prompts and missing tokenizers are errors here, before anything is asked.
            facts_signature(self.facts, self.maker), counter(self.facts.tokenizer)
        self.name = shared.name_of_data(options.files)
        with shared.as_files(options.files) as (files, _):
            self.human = read_human_set(files, human=options.human)
        if options.scenario == "cited":
            self.human = cited_alone(self.human)
        self.answers = [rated.answer for rated in self.human.answers]
        if self.names and not any(answer.passages for answer in self.answers):
            raise UserError(f"No answer in {self.name} has passages to judge by: give answers with passages.")
        self.profile = "paper" if options.profile == "aliice" else options.profile
        self.citeeval, self.splitter = CITEEVAL[self.profile], find_sentence_splitter(options.splitter)
        self.splits, self.split = split_responses(self.answers, self.citeeval, self.splitter)
        self.readings = []
        if "alce" in self.names:
            self.readings.append(read_alce(self.answers, find_profile(PROFILES, options.profile), self.splitter))
        if "aliice" in self.names:
            self.readings.append(read_aliice(self.answers, aliice_profile(self.profile), self.splitter, PARSER))
        self.measured = measures_of_files(options.scores, self.answers)
        self.backends: list[tuple[str, Backend]] = []
        self.rated: Rated | None = None
        self.levels: dict[Level, EvaluatedRun] = {}
        self.aligned, _, self.left_out = self._levels()

    def _levels(self) -> tuple[Aligned, list[Level], list[tuple[str, str]]]:
        values = {each.name: each.values for each in self.measured}
        return rated_levels(self.name, self.human, values, self.options.gaps)

    def cost(self) -> str:
        """Return the estimated cost for each pipeline that asks a chat model; nothing is sent, and no key is needed.

        SCiFi's later requests depend on the replies to its first ones, which alone are estimated.
        """
        if self.chat is None or self.asking is None:
            return "No pipeline here asks a chat model: nothing is sent, and nothing is paid."
        if self.options.replay is not None:
            return f"The replies are in {self.options.replay}: no chat model is asked, and nothing is paid."
        requests = {}
        if "citeeval" in self.names:
            judged = f"citeeval, {count(len(self.answers), 'answer')} to judge"
            requests[judged] = [each.request for each in questions_of(self.answers, self.splits, self.asking)]
        if self.by_model:
            inquiries = inquiries_of(self.answers, self.splits, self.asking, self.by_model)
            requests[" and ".join(self.by_model)] = [each.request for each in inquiries]
        lines = [f"{name}: {estimate_for(of_name, self.chat)}" for name, of_name in requests.items()]
        if self.maker is self.chat:
            lines.append(f"scifi, {estimate(self.answers, self.facts, self.chat, self.splitter)}")
        return "\n".join(lines)

    def compare(self) -> MetaEvaluation:
        """Ask the chat model, if any, then the metrics, and compare every measure with the ratings; return itself."""
        facts: tuple[list[AnswerFacts], dict[str, Scalar]] = ([], {})
        with nullcontext() if self.chat is None else self.options.opened(self.chat, self.progress) as chat:
            if chat is not None and self.asking is not None:
                self._ask(chat, self.asking)
            if self.maker is not None:
                facts = make_facts(self.answers, self.facts, self.maker, self.splitter, chat)
        for reading in self.readings:
            if "cvcp" in reading.statistics:
                cvcp = whole_values(self.answers, reading.statistics["cvcp"].alone)
                self.measured += measurements(reading.name, reading.fields, {"cvcp": cvcp})
        for backend in self.judges:
            self.backends.append(("", backend))
            for reading in self.readings:
                _, lines = reading.judge(backend.entails, backend.soft)
                values = claim_values(self.answers, lines, *reading.shares(lines), backend.soft)
                self.measured += measurements(reading.name, reading.fields, values, backend)
            if "autoais" in self.names:
                values = baseline_values(self.answers, self.splits, autoais(self.answers, self.splits, backend.entails))
                fields = {"pipeline": "autoais", "profile": self.profile, "splitter": self.split}
                self.measured += measurements("autoais", fields, values, backend)
        for backend in self.graders:
            self.backends.append(("scifi", backend))
            self.measured += self.entailment(*facts, backend)
        # Pipelines in the order of their list, then the scores of other tools; the sort is stable.
        order = {name: place for place, name in enumerate(PIPELINES)}
        self.measured.sort(key=lambda each: order.get(each.name.partition(":")[0], len(PIPELINES)))
        self.aligned, levels, self.left_out = self._levels()
        tested = frozenset(each.name for each in self.measured if each.tested)
        for level in levels:
            try:
                columns = [
                    AlignedColumn(each.name, "metric", score, level.statuses(each.name), each.fields, each.ledger)
                    for each in self.measured
                    if each.name in level.values
                    for score in [level.values[each.name]["value"].to_numpy()]
                ]
                rated = RatedSet(self.config, self.name, level.unit, level.ratings)
                # Of all measures only the `tested` ones are tested for significance.
                self.levels[level] = evaluate_columns(rated, columns, tested=tested)
            except UserError as error:  # all ratings of a level are the same
                self.left_out.append((level.unit, str(error)))
        if not self.levels:
            raise UserError(self.left_out[-1][1])
        return self

    def _ask(self, chat: Chat, asking: Asking) -> None:
        """Add the measures of CiteEval's judge, and of the baselines."""
        how, signed = (self.answers, self.splits), partial(asked_fields, asking, chat.models)
        baselines: Mapping[Baseline, JudgedStatements] = {}
        if "citeeval" in self.names:
            self.rated = evaluate(*how, chat.ask, asking, self.citeeval, self.by_model)
            baselines = self.rated.baselines
            fields = {"pipeline": "citeeval", "profile": self.profile, "scenario": self.options.scenario}
            fields |= {"splitter": self.split, **signed()}
            self.measured += measurements("citeeval", fields, citeeval_values(self.rated, self.options.scenario))
        elif self.by_model:
            inquiries = inquiries_of(*how, asking, self.by_model)
            heard = [*zip(inquiries, chat.ask([inquiry.request for inquiry in inquiries]), strict=True)]
            baselines = judged_baselines(*how, heard, asking, self.citeeval, self.by_model)
        for name, judged in baselines.items():
            prompts = prompts_of([LABEL] if name == "attrscore" else KINDS)
            fields = {"pipeline": name, "profile": self.profile, "splitter": self.split}
            fields |= signed(prompts, max_tokens=BASELINE_TOKENS)
            self.measured += measurements(name, fields, baseline_values(*how, judged.values))

    def entailment(
        self, facts: Sequence[AnswerFacts], fields: Mapping[str, object], backend: Backend
    ) -> list[Measurement]:
        """Return SCiFi's citation entailment with a backend. facts, fields: as `make_facts` returns them."""
        lines = fact_lines(facts, backend.entails, self.facts, backend.soft, self.splitter)
        signed = {"pipeline": "scifi", "options": self.facts.signature, "splitter": self.splitter.name, **fields}
        return measurements("scifi", signed, {"entailment": fact_values(facts, lines, self.facts)}, backend)

    def write(self, folder: Path) -> list[Path]:
        """Write the results of each level, and its ratings with all scores, which `metaeval evaluate` reads."""
        written = []
        for level, run in self.levels.items():
            written += write_texts({folder / level.unit / "ratings.jsonl": level.lines()})
            for result in run.results:
                written += write_result(result, folder / level.unit)
        return written


def _run(options: MetaOptions, progress: Progress) -> Done:
    meta = MetaEvaluation(options, progress)
    if options.dry_run:
        return shared.estimated(meta.config, meta.cost())
    sheets, first, sentences, warnings = meta_sheets(meta.compare()), [], [], []
    for level, run in meta.levels.items():
        declarations = declarations_of(run.protocols.values())
        shown = [result for result in run.results if result.protocol == "correlation"] or run.results
        first.append(first_table(shown, declarations))
        sentences += [f"{level.unit}: {text}" for text in findings(shown, declarations)]
        warnings += cautions(shown)
    return Done(
        config=meta.config,
        data=[result.data for run in meta.levels.values() for result in run.results],
        sheets=sheets,
        files=[meta.write],
        read=[file for file in options.files if isinstance(file, Path)],
        shown=[*first, *(sheet for sheet in sheets if not sheet.name.endswith("within-systems"))],
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
