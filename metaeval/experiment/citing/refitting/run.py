"""Coefficients of CiteEval's edit distance, fitted to people's ratings of what another judge edits."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from metaeval.citation.chat.opening import Chat, estimate_for, open_chat, why_unread
from metaeval.citation.chat.options import ChatOptions
from metaeval.citation.citeeval.asking import Asking, load_prompts
from metaeval.citation.citeeval.editing import coefficients_text
from metaeval.citation.citeeval.evaluate import ResponseValues, evaluate
from metaeval.citation.citeeval.judge import questions_of
from metaeval.citation.citeeval.options import CiteEvalOptions, citeeval_options
from metaeval.citation.citeeval.splitting import Split, split_response
from metaeval.citation.human.model import HumanAnswer
from metaeval.citation.human.readers import read_human_set
from metaeval.citation.human.refitting import Refit, edited_statements, fit
from metaeval.citation.measures import Interval, group_codes
from metaeval.citation.model import Answer
from metaeval.citation.sentences import find_sentence_splitter
from metaeval.config import RunConfig, load_run
from metaeval.errors import UserError
from metaeval.experiment.citing.citeeval.fields import changed_options
from metaeval.experiment.citing.citeeval.settings import judge_of
from metaeval.experiment.citing.provenance import fingerprint
from metaeval.experiment.citing.refitting.agreement import agreement
from metaeval.experiment.citing.settings import ChatChoice, sort_settings
from metaeval.experiment.scoring import MetricProgress
from metaeval.files import sha256_json

_log = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class ToRefit:
    """What is known before the judge is asked: the rated answers, their statements, and what is asked of whom."""

    name: str
    config: RunConfig
    asking: Asking
    profile: str
    options: CiteEvalOptions
    chat: ChatOptions
    splitter: str
    people: Sequence[HumanAnswer]
    splits: Sequence[Split]
    dropped: Counter[str]

    @property
    def answers(self) -> list[Answer]:
        """The answers, in order."""
        return [one.answer for one in self.people]

    @property
    def fingerprint(self) -> str:
        """A hash of the answers and of what people say of them."""
        ratings = [[[one.start, one.end, list(one.ratings)] for one in own.statements] for own in self.people]
        return sha256_json([fingerprint(self.answers), ratings])


@dataclass(frozen=True, eq=False)
class Refitted:
    """The fit, and how far old and new coefficients agree with people. models: the names that replies came under.

    agreement: see there.
    """

    plan: ToRefit
    models: Sequence[str]
    fit: Refit
    agreement: Mapping[str, Mapping[str, Interval]]

    @property
    def text(self) -> str:
        """The file of coefficients."""
        plan = self.plan
        made = {
            "answers": f"{plan.name}@{plan.fingerprint[:12]}",
            "judge": ", ".join(self.models) or plan.asking.model,
            "prompt": f"editing@{load_prompts(plan.asking)['editing'].fingerprint}",
            "profile": plan.profile,
            "options": changed_options(plan.profile, plan.options),
            "index_shift": plan.options.index_shift,
            "statements": len(self.fit.statements),
            "groups": len(set(self.fit.group.tolist())),
        }
        return coefficients_text(self.fit.coefficients, made)


def prepare_refit(
    files: Sequence[Path],
    form: str,
    human: Path | None,
    choice: ChatChoice,
    profile: str,
    splitter: str,
    settings: Mapping[str, Any],
    overrides: Sequence[str] = (),
) -> ToRefit:
    """Read the rated answers and check all that is asked; nothing is sent.

    Raises `UserError` for what is wrong in files and settings, and where no model is named.
    """
    given, of_run = sort_settings(overrides, {"asking": Asking, "options": CiteEvalOptions, "chat": ChatOptions})
    config = load_run(None, settings, of_run)
    options = citeeval_options(profile, **given["options"])
    # What a statement rests on has no part in what its edits are worth.
    asking, chat = judge_of(choice, {"contexts": "never", **given["asking"]}, given["chat"], config.budget)
    cutter = find_sentence_splitter(splitter)
    found = read_human_set(files, form, human)
    splits = [found.splits.get(one.answer.id) or split_response(one.answer, options, cutter) for one in found.answers]
    name = "+".join(path.name.split(".")[0] or path.name for path in files)
    return ToRefit(name, config, asking, profile, options, chat, cutter.name, found.answers, splits, found.dropped)


def estimate_refit(plan: ToRefit) -> str:
    """One line on what asking the judge would still cost; sends nothing, and needs no key."""
    requests = [one.request for one in questions_of(plan.answers, plan.splits, plan.asking)]
    return f"{len(plan.people):,} answers to be edited: {estimate_for(requests, plan.chat)}"


def run_refit(plan: ToRefit, choice: ChatChoice, progress: MetricProgress | None = None) -> Refitted:
    """Have the citations edited, and fit; nothing is written but the reply store and the file of `choice.record`.

    Raises `UserError` when the endpoint cannot go on, and where too little is left to learn from.
    """
    with open_chat(plan.chat, choice.record, choice.replay, progress) as chat:
        results = evaluate(plan.answers, plan.splits, chat.ask, plan.asking, plan.options).results
        _log.info("%s: %s", plan.asking.model, chat.note())
    _check_any(plan, results, chat)
    group, _ = group_codes(plan.answers)
    interval = plan.config.interval
    statements, left_out = edited_statements(plan.people, results, group, plan.options)
    try:
        found = fit(statements, left_out, plan.options, interval.seed)
    except UserError as error:
        raise UserError(f"{error} {_left_out(left_out, results)}") from error
    return Refitted(
        plan=plan,
        models=chat.models,
        fit=found,
        agreement=agreement(found, interval),
    )


def _check_any(plan: ToRefit, results: Sequence[ResponseValues], chat: Chat) -> None:
    """Say so where nothing that the judge said of citations can be read: no ratings would mend that."""
    if any(result.judged.edits for result in results):
        return
    asked = questions_of(plan.answers, plan.splits, plan.asking)
    said = [own for one, own in zip(asked, chat.heard, strict=True) if one.module == "editing"]
    if said:
        raise UserError(
            f"No statement of {len(plan.people):,} answers was edited: of {len(said):,} requests "
            f"{why_unread(said, plan.asking.max_tokens)}."
        )


def _left_out(reasons: Mapping[str, int], results: Sequence[ResponseValues]) -> str:
    """Statements with citations that are not learnt from, and requests that nothing came of, by reason."""
    ended = sum((result.judged.states for result in results), Counter[str]())
    lost = {f"requests {state}": times for state, times in ended.items() if state not in ("read", "not asked")}
    statements = {f"statements {reason}": times for reason, times in reasons.items()}
    counted = [f"{name} {times:,}" for name, times in sorted({**statements, **lost}.items())]
    return f"Left out: {', '.join(counted) or 'none'}."
