"""What a meta-evaluation of citation pipelines is asked for, checked before anything is sent or scored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from metaeval.citation.chat.options import ChatOptions
from metaeval.citation.citeeval.asking import Asking, load_prompts
from metaeval.citation.citeeval.options import CiteEvalOptions, citeeval_options
from metaeval.citation.citeeval.values import Scenario
from metaeval.citation.human.model import HumanSet, cited_alone
from metaeval.citation.human.readers import read_human_set
from metaeval.citation.model import Answer
from metaeval.citation.parsers.find import find_parser
from metaeval.citation.parsers.parse import Parser
from metaeval.citation.scifi.chunks import counter
from metaeval.citation.scifi.options import ScifiOptions
from metaeval.citation.scifi.with_model import facts_signature
from metaeval.citation.scifi.with_parser import PROFILE
from metaeval.citation.sentences import SentenceSplitter, find_sentence_splitter
from metaeval.config import RunConfig, load_run
from metaeval.errors import UserError, unknown
from metaeval.experiment.citing.claims import Reading, read_claims
from metaeval.experiment.citing.meta.external_scores import read_measures
from metaeval.experiment.citing.meta.ratings import MetaOptions
from metaeval.experiment.citing.meta.values import Measured
from metaeval.experiment.citing.run import DEFAULT_BACKEND, find_cutoffs
from metaeval.experiment.citing.settings import ChatChoice, chat_options, sort_settings
from metaeval.experiment.cutoffs import Cutoff, find_cutoff, read_thresholds
from metaeval.experiment.evaluation import find_protocols
from metaeval.experiment.verdicts import load_judge

BY_METRIC = ("alce", "aliice", "scifi", "autoais")
PIPELINES = (*BY_METRIC, "citeeval")
USUAL = ("alce", "aliice")
_OWNERS: Mapping[str, type] = {
    "meta": MetaOptions,
    "citeeval": CiteEvalOptions,
    "asking": Asking,
    "scifi": ScifiOptions,
    "chat": ChatOptions,
}


@dataclass(frozen=True)
class MetaAsked:
    """What a user asks for. human: CiteBench's file of judgements. scores: files of scores that were made elsewhere."""

    files: Sequence[Path]
    human: Path | None = None
    form: str = "auto"
    pipelines: Sequence[str] = ()
    nli: Sequence[str] = ()
    threshold: str | None = None
    calibrations: Sequence[Path] = ()
    scenario: str = "full"
    scores: Sequence[Path] = ()

    @property
    def name(self) -> str:
        """The files' names, without folders and endings."""
        return "+".join(path.name.split(".")[0] or path.name for path in self.files)


@dataclass(frozen=True, eq=False)
class MetaPrepared:
    """Everything that is known before a model is asked, and no measure has a value but those that were given.

    pipelines: those that read sentences and claims. cutoffs, graded: of each backend, as a decision and as SCiFi takes
    it. asking, chat: None where no chat model is asked. parser: of SCiFi's facts; None where a model makes them.
    """

    asked: MetaAsked
    choice: ChatChoice
    config: RunConfig
    names: Sequence[str]
    options: MetaOptions
    scenario: Scenario
    citeeval: CiteEvalOptions
    asking: Asking | None
    scifi: ScifiOptions
    chat: ChatOptions | None
    parser: Parser | None
    splitter: SentenceSplitter
    human: HumanSet
    pipelines: Sequence[Reading]
    cutoffs: Mapping[str, Cutoff]
    graded: Mapping[str, Cutoff]
    given: Sequence[Measured]

    @property
    def answers(self) -> list[Answer]:
        """The rated answers, in order."""
        return [own.answer for own in self.human.answers]


def prepare_meta(
    asked: MetaAsked, choice: ChatChoice, settings: Mapping[str, Any], overrides: Sequence[str] = ()
) -> MetaPrepared:
    """Read ratings, answers and scores, and check all that is asked; no model is asked, nothing is scored.

    overrides: options of `MetaOptions`, of CiteEval, SCiFi and the chat model by their bare names, and of a run.
    Raises `UserError` for whatever is wrong in what is asked, in the files and in the backends.
    """
    given, of_run = sort_settings(overrides, _OWNERS)
    options = MetaOptions(**given["meta"])
    names = _pipelines(asked)
    by_metric = [name for name in names if name in BY_METRIC]
    nli = (tuple(dict.fromkeys(asked.nli)) or (DEFAULT_BACKEND,)) if by_metric else ()
    usual = {"protocols": ("correlation", "classification"), "dataset": "ratings"}
    config = load_run(None, {**usual, **settings, **({"metrics": nli} if nli else {})}, of_run)
    find_protocols(config)
    if asked.scenario not in get_args(Scenario):
        raise unknown("scenario", asked.scenario, get_args(Scenario))
    scifi = ScifiOptions(**given["scifi"])
    asking, chat = _chat(names, choice, given, scifi, config.budget)
    profile = options.profile if options.profile in ("paper", "released") else "paper"
    citeeval = citeeval_options(profile, **given["citeeval"])
    cutoffs = find_cutoffs(nli, config, asked.threshold, asked.calibrations) if set(by_metric) - {"scifi"} else {}
    if "autoais" in names and (soft := [name for name, cutoff in cutoffs.items() if cutoff.value is None]):
        raise UserError(f"AutoAIS is made of decisions, and {soft[0]!r} is asked for soft scores: give a threshold.")
    parser = find_parser(options.parser, PROFILE.one_root) if "scifi" in names and scifi.facts == "parser" else None
    if "scifi" in names:
        # A prompt that cannot be read, and a tokenizer that cannot be loaded, are refused here.
        facts_signature(scifi, parser, None if parser else chat), counter(scifi.window_unit)
    graded = {name: _graded(name, asked, config, scifi) for name in nli} if "scifi" in names else {}
    human = read_human_set(asked.files, asked.form, asked.human)
    if asked.scenario == "cited":
        human = cited_alone(human)
    answers = [own.answer for own in human.answers]
    if names and not any(answer.passages for answer in answers):
        raise UserError(f"No answer of {asked.name} comes with passages: there is nothing that its citations point at.")
    return MetaPrepared(
        asked=asked,
        choice=choice,
        config=config.model_copy(update={"dataset_options": {**options.rules, "scenario": asked.scenario}}),
        names=names,
        options=options,
        scenario="cited" if asked.scenario == "cited" else "full",
        citeeval=citeeval,
        asking=asking,
        scifi=scifi,
        chat=chat,
        parser=parser,
        splitter=find_sentence_splitter(options.splitter),
        human=human,
        pipelines=[
            read_claims(name, answers, options.profile, options.parser, options.splitter, measures=("length",))
            for name in names
            if name in USUAL
        ],
        cutoffs=cutoffs,
        graded=graded,
        given=read_measures(asked.scores, answers),
    )


def _pipelines(asked: MetaAsked) -> tuple[str, ...]:
    for name in asked.pipelines:
        if name not in PIPELINES:
            raise unknown("pipeline", name, PIPELINES)
    return tuple(dict.fromkeys(asked.pipelines)) or (() if asked.scores else USUAL)


def _chat(
    names: Sequence[str], choice: ChatChoice, given: Mapping[str, Mapping[str, Any]], scifi: ScifiOptions, budget: Any
) -> tuple[Asking | None, ChatOptions | None]:
    """What the chat model is asked with; `UserError` for a model that nobody asks, and for nobody who answers."""
    by_model = "scifi" in names and scifi.facts == "model"
    if "citeeval" not in names and not by_model:
        if choice.given or choice.base_url or choice.record:
            raise UserError(
                "No pipeline here asks a chat model: add citeeval to --pipelines, or set facts=model with scifi, or "
                "leave the model out."
            )
        return None, None
    shared = {name: value for name, value in given["asking"].items() if name in ChatOptions.model_fields}
    chat = chat_options(ChatOptions, choice, {**given["chat"], **shared}, budget)
    asking = Asking(**{**given["asking"], "model": chat.model})
    load_prompts(asking)
    return asking, chat


def _graded(name: str, asked: MetaAsked, config: RunConfig, options: ScifiOptions) -> Cutoff:
    """SCiFi's reading of a backend: its scores as they are, where they run from 0 to 1 and no threshold is given."""
    metric, given = load_judge(name, config), read_thresholds(asked.threshold, asked.nli or (name,))
    card = metric.card
    graded = (card.low, card.high, card.direction) == (0.0, 1.0, 1) and options.entailment != "binary"
    if graded and name not in given and not asked.calibrations:
        return Cutoff(None, "as it is")
    return find_cutoff(name, metric, given, asked.calibrations)
