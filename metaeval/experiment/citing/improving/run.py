"""CiteEval's application: a judge's edits done to the answers, and the answers judged again, round after round.

The judge that proposes the edits also rates what comes of them: how much better the citations are for anybody else,
the other pipelines can tell from the file of answers.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from metaeval.citation.chat.opening import Ask, Chat, Spent, cost_of, open_chat, spent_on, why_unread
from metaeval.citation.citeeval.evaluate import ResponseValues, evaluate
from metaeval.citation.citeeval.improving import Improved, improved
from metaeval.citation.citeeval.judge import questions_of
from metaeval.citation.citeeval.splitting import Split, split_response
from metaeval.citation.model import Answer
from metaeval.errors import UserError
from metaeval.experiment.citing.improving.prepare import Prepared
from metaeval.experiment.citing.settings import ChatChoice
from metaeval.experiment.scoring import MetricProgress

T = TypeVar("T")

_log = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class Round:
    """All answers as they stand in a round, and what the judge says of them; round 0 is before any edit.

    edits: what the judge's edits make of each answer: those of the next round, where that comes. changed: numbers of
    the answers that are not as they were in the round before. recut: those whose statements read otherwise than
    before, since a mark that came or went moved the end of a sentence.
    """

    answers: Sequence[Answer]
    splits: Sequence[Split]
    results: Sequence[ResponseValues]
    edits: Sequence[Improved]
    changed: frozenset[int] = frozenset()
    recut: frozenset[int] = frozenset()

    @property
    def moving(self) -> frozenset[int]:
        """Numbers of the answers whose text the edits change."""
        pairs = enumerate(zip(self.answers, self.edits, strict=True))
        return frozenset(number for number, (old, new) in pairs if new.answer.text != old.text)


@dataclass(frozen=True, eq=False)
class Bettered:
    """The rounds, the last of them with the answers that are written.

    circling: numbers of the answers that an edit would have brought back to an earlier text, and that were left.
    spent, models: of all replies, each counted once.
    """

    prepared: Prepared
    rounds: Sequence[Round]
    circling: frozenset[int]
    spent: Spent
    models: Sequence[str]

    @property
    def answers(self) -> list[Answer]:
        """The answers of the last round; `system` says that they were improved, and by which model."""
        model = self.prepared.asking.model
        return [replace(one, system=f"{one.system} improved by {model}") for one in self.rounds[-1].answers]

    @property
    def money(self) -> float | None:
        """USD of the replies when they were asked for; None where prices, or counts of tokens, are not known."""
        return cost_of(self.spent, self.prepared.chat)


def improve(prepared: Prepared, choice: ChatChoice, progress: MetricProgress | None = None) -> Bettered:
    """Judge, edit and judge again, until no edit changes an answer, or for so many rounds.

    Nothing is written but the reply store and the file of `choice.record`. An answer that no edit changed is not asked
    about again. Raises `UserError` when the endpoint cannot go on, the budget is spent, or nothing can be
    read of what the judge says of the citations; every reply is kept.
    """
    with open_chat(prepared.chat, choice.record, choice.replay, progress) as chat:
        heard: dict[bytes, Any] = {}
        ask = _hearing(chat.ask, heard)
        rounds = [_round(prepared, prepared.answers, prepared.splits, ask)]
        _check_any(prepared, rounds[0], chat)
        seen = [{answer.text} for answer in prepared.answers]
        circling: set[int] = set()
        while True:
            last = rounds[-1]
            circling |= {number for number in last.moving if last.edits[number].answer.text in seen[number]}
            moving = sorted(last.moving - circling)
            if not moving or len(rounds) > prepared.rounds:
                break
            for number in moving:
                seen[number].add(last.edits[number].answer.text)
            rounds.append(_next(prepared, last, moving, ask))
        _log.info("%s: %s", prepared.asking.model, chat.note())
        return Bettered(prepared, rounds, frozenset(circling), spent_on(heard.values()), chat.models)


def _hearing(ask: Ask, heard: dict[bytes, Any]) -> Ask:
    """Ask, and keep what came of each request once: later rounds ask some of the same."""

    def asked(requests: Sequence[Any]) -> Sequence[Any]:
        answers = ask(requests)
        heard.update((request.key(""), answer) for request, answer in zip(requests, answers, strict=True))
        return answers

    return asked


def _round(prepared: Prepared, answers: Sequence[Answer], splits: Sequence[Split], ask: Ask) -> Round:
    """Some answers, judged."""
    results = evaluate(answers, splits, ask, prepared.asking, prepared.options).results
    edits = [
        improved(answer, split, result.judged.edits, prepared.options)
        for answer, split, result in zip(answers, splits, results, strict=True)
    ]
    return Round(answers, splits, results, edits)


def _check_any(prepared: Prepared, first: Round, chat: Chat) -> None:
    """Refuse to file answers as improved where nothing that the judge said of their citations can be read."""
    if any(result.judged.edits for result in first.results):
        return
    asked = questions_of(prepared.answers, prepared.splits, prepared.asking)
    said = [own for one, own in zip(asked, chat.heard, strict=True) if one.module == "editing"]
    if said:
        raise UserError(
            f"None of {len(prepared.answers):,} answers was judged, and nothing is written: of {len(said):,} requests "
            f"about their citations {why_unread(said, prepared.asking.max_tokens)}."
        )


def _next(prepared: Prepared, last: Round, moving: Sequence[int], ask: Ask) -> Round:
    """The round after: the answers that move are judged anew, all others stay with what was said of them."""
    moved = [last.edits[number].answer for number in moving]
    again = _round(prepared, moved, [split_response(one, prepared.options, prepared.splitter) for one in moved], ask)
    recut = [
        number
        for number, split in zip(moving, again.splits, strict=True)
        if [one.text for one in split.statements] != [one.text for one in last.splits[number].statements]
    ]
    return Round(
        _replaced(last.answers, moving, again.answers),
        _replaced(last.splits, moving, again.splits),
        _replaced(last.results, moving, again.results),
        _replaced(last.edits, moving, again.edits),
        frozenset(moving),
        frozenset(recut),
    )


def _replaced(old: Sequence[T], numbers: Sequence[int], new: Sequence[T]) -> list[T]:
    values = dict(zip(numbers, new, strict=True))
    return [values.get(number, one) for number, one in enumerate(old)]
