"""A CiteEval run as it is asked for: settings, files and backends, checked and read before anything is sent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from metaeval.citation.chat.options import ChatOptions
from metaeval.citation.citeeval.asking import Asking
from metaeval.citation.citeeval.baseline_options import BaselineOptions, baseline_options
from metaeval.citation.citeeval.editing import PUBLISHED, Coefficients, read_coefficients
from metaeval.citation.citeeval.options import CiteEvalOptions, citeeval_options
from metaeval.citation.citeeval.splitting import Split, split_response
from metaeval.citation.citeeval.values import Scenario
from metaeval.citation.model import Answer
from metaeval.citation.sentences import find_sentence_splitter
from metaeval.config import RunConfig, load_run
from metaeval.errors import UserError
from metaeval.experiment.citing.citeeval.baselines import Wanted, decisive_cutoffs, wanted
from metaeval.experiment.citing.citeeval.settings import citeeval_settings, judge_of, scenario_of
from metaeval.experiment.citing.run import gather
from metaeval.experiment.citing.settings import Asked, ChatChoice
from metaeval.experiment.cutoffs import Cutoff


@dataclass(frozen=True, eq=False)
class Plan:
    """A run that is checked and read, and of which nothing is asked yet."""

    config: RunConfig
    scenario: Scenario
    asking: Asking
    options: CiteEvalOptions
    coefficients: Coefficients
    baseline_options: BaselineOptions
    wanted: Wanted
    cutoffs: Mapping[str, Cutoff]
    chat: ChatOptions
    splitter: str
    answers: Sequence[Answer]
    splits: Sequence[Split]


def plan_citeeval(
    asked: Asked,
    choice: ChatChoice,
    scenario: str,
    settings: Mapping[str, Any],
    overrides: Sequence[str],
    baselines: Sequence[str],
    coefficients: Path | None = None,
) -> Plan:
    """The run; `UserError` for whatever is wrong in what is asked and in the files."""
    given = citeeval_settings(overrides)
    names = tuple(dict.fromkeys(asked.nli))
    config = load_run(None, {**settings, **({"metrics": names} if names else {})}, given.run)
    known = scenario_of(scenario)
    options = citeeval_options(asked.profile, **given.options)
    asking, endpoint = judge_of(choice, given.asking, given.chat, config.budget)
    cutter = find_sentence_splitter(asked.splitter)
    cutoffs = decisive_cutoffs(names, config, asked.threshold, asked.calibrations)
    own = wanted(baselines, config)
    answers = gather(asked.files, asked.form)
    if not any(answer.passages for answer in answers):
        raise UserError(f"No answer of {asked.name} comes with passages: there is nothing that its citations point at.")
    return Plan(
        config=config,
        scenario=known,
        asking=asking,
        options=options,
        coefficients=PUBLISHED if coefficients is None else read_coefficients(coefficients, options.index_shift),
        baseline_options=baseline_options(asked.profile, **given.baselines),
        wanted=own,
        cutoffs=cutoffs,
        chat=endpoint,
        splitter=cutter.name,
        answers=answers,
        splits=[split_response(answer, options, cutter) for answer in answers],
    )
