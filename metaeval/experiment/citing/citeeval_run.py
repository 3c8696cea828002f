"""The pipeline `citeeval`: its options, the questions to the chat model, and how the model rates every answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from metaeval.citation.chat import Chat, ChatOptions, Spent, estimate_for, spent_on, why_unread
from metaeval.citation.citeeval.baselines import BASELINES, Baseline
from metaeval.citation.citeeval.editing import PUBLISHED, Coefficients, read_coefficients
from metaeval.citation.citeeval.evaluate import SCENARIOS, Evaluated, ResponseValues, evaluate, questions
from metaeval.citation.citeeval.judge import Asking, load_prompts, questions_of
from metaeval.citation.citeeval.splitting import Split, split_response
from metaeval.citation.citeeval.values import (
    BaselineOptions,
    CiteEvalOptions,
    Scenario,
    baseline_options,
    changed_options,
    citeeval_options,
)
from metaeval.citation.model import Answer
from metaeval.config import Flag
from metaeval.errors import UserError, unknown
from metaeval.experiment.citing.pipeline import AsksChat, JudgedByMetrics, Names, Profile, ReadsAnswers, Run, one_of
from metaeval.experiment.citing.pipeline import Scenario as ScenarioName
from metaeval.experiment.verdicts import load_judge

OWNERS: Mapping[str, type] = {
    "asking": Asking,
    "options": CiteEvalOptions,
    "baselines": BaselineOptions,
    "chat": ChatOptions,
}
"""The classes whose fields --set takes by name."""


class CiteEvalCommand(ReadsAnswers, AsksChat, JudgedByMetrics):
    """Options of CiteEval."""

    nli: Names = Field(default=(), description="Metrics for AutoAIS of the same statements. Repeatable.")
    profile: Profile = "paper"
    scenario: Annotated[ScenarioName, one_of("scenario", SCENARIOS)] = "full"
    coefficients: Annotated[Path | None, Flag("FILE")] = Field(
        default=None, description="For the edit distance, from 'cite refit'."
    )
    baselines: Annotated[Names, Flag("NAMES", multiple=True)] = Field(
        default=(), description="Of the same statements: lqac, attrscore (chat model), attrscore:METRIC."
    )


@dataclass(frozen=True, eq=False)
class Judge:
    """CiteEval's judge: what is asked of which model, and how its words become numbers."""

    profile: str
    options: CiteEvalOptions
    asking: Asking
    chat: ChatOptions

    @property
    def changed(self) -> str:
        """Options of the profile, only where they were changed."""
        return changed_options(self.profile, self.options)


@dataclass(frozen=True, eq=False)
class Reading:
    """The answers cut into statements, and the baselines that were asked for.

    by_model: the baselines that the chat model judges. labellers: the metrics that give AttrScore's labels.
    """

    run: Run
    judge: Judge
    splits: Sequence[Split]
    coefficients: Coefficients
    baseline_options: BaselineOptions
    by_model: Sequence[Baseline]
    labellers: Sequence[str]

    @property
    def scenario(self) -> Scenario:
        """The run's scenario."""
        scenario: Scenario = self.run.options.scenario
        return scenario


@dataclass(frozen=True, eq=False)
class Rated:
    """Answers as the judge rated them. models: the names that the replies came under."""

    reading: Reading
    found: Evaluated
    models: Sequence[str]

    @property
    def answered_as(self) -> str:
        """The model as the replies name it, and as it was asked where no reply came."""
        return ", ".join(self.models) or self.reading.judge.asking.model

    def cited(self, number: int) -> list[bool]:
        """Which statements of an answer have citations."""
        return [bool(one.citations) for one in self.reading.splits[number].statements]

    def spent(self, number: int) -> Spent:
        """What the replies about an answer took."""
        return spent_on(self.found.replies[number])


def read_judge(run: Run, **defaults: Any) -> Judge:
    """The judge of a run. defaults: of fields of `Asking`, where the pipeline has its own.

    Raises `UserError` for a wrong option, and for a prompt file that cannot be used.
    """
    options = citeeval_options(run.options.profile, **run.given["options"])
    chat: Any = run.chat  # every pipeline of CiteEval asks a chat model
    asking = Asking(**{**defaults, **run.given["asking"], "model": chat.model, "ask_again": chat.ask_again})
    load_prompts(asking)
    return Judge(run.options.profile, options, asking, chat)


def check_edited(
    answers: Sequence[Answer],
    splits: Sequence[Split],
    judge: Judge,
    chat: Chat,
    results: Sequence[ResponseValues],
    refusal: str,
) -> None:
    """Raise `UserError` where nothing that the judge said of the citations can be read. refusal: how it begins."""
    if any(result.judged.edits for result in results):
        return
    asked = questions_of(answers, splits, judge.asking)
    said = [own for one, own in zip(asked, chat.heard, strict=True) if one.module == "editing"]
    if said:
        why = why_unread(said, judge.asking.max_tokens)
        raise UserError(f"{refusal}: of {len(said):,} requests about their citations {why}.")


def read_citeeval(run: Run) -> Reading:
    """The answers cut into statements; `UserError` for a wrong option, baseline, or file of coefficients."""
    judge = read_judge(run)
    by_model, labellers = _baselines(run)
    file = run.options.coefficients
    return Reading(
        run=run,
        judge=judge,
        splits=[split_response(answer, judge.options, run.splitter) for answer in run.answers],
        coefficients=PUBLISHED if file is None else read_coefficients(file, judge.options.index_shift),
        baseline_options=baseline_options(judge.profile, **run.given["baselines"]),
        by_model=by_model,
        labellers=labellers,
    )


def estimate_citeeval(reading: Reading) -> str:
    """One line on what asking would still cost."""
    judge = reading.judge
    asked = questions(reading.run.answers, reading.splits, judge.asking, reading.by_model, reading.baseline_options)
    return str(estimate_for([one.request for one in asked], judge.chat))


def ask_citeeval(reading: Reading, chat: Chat) -> Rated:
    """Ask the chat model, and rate the answers."""
    found = evaluate(
        reading.run.answers,
        reading.splits,
        chat.ask,
        reading.judge.asking,
        reading.judge.options,
        reading.by_model,
        reading.baseline_options,
        reading.coefficients,
    )
    return Rated(reading, found, chat.models)


def _baselines(run: Run) -> tuple[list[Baseline], list[str]]:
    """The baselines by name: lqac and attrscore by the chat model, attrscore:METRIC by a metric.

    Raises `UserError` for an unknown name, and for a metric that cannot be loaded or gives no three classes.
    """
    labellers: dict[str, None] = {}
    for name in run.options.baselines:
        base, colon, metric = name.partition(":")
        if name in BASELINES:
            continue
        if base != "attrscore" or not colon:
            raise unknown("baseline", name, [*BASELINES, "attrscore:METRIC"])
        if not load_judge(metric, run.config).card.three_way:
            raise UserError(
                f"AttrScore needs three classes, and {metric!r} gives one score: name a metric with three (attrscore, "
                "nli), or leave the labels to the chat model (--baselines attrscore)."
            )
        labellers[metric] = None
    return [one for one in BASELINES if one in run.options.baselines], list(labellers)
