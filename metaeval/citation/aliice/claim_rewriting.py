"""Claims that were cut out of a tree, rewritten by a chat model as whole sentences (the paper's Table 2)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np

from metaeval.citation.aliice.claims import AnswerClaims, has_mark, without_marks
from metaeval.citation.chat_models import ChatOptions, chat_request
from metaeval.citation.citation_table import CitationLine, claims_of, unjudged
from metaeval.citation.human.annotator_columns import pair_agreement
from metaeval.citation.measures import AnswerShare, bounds, citation_shares, macro
from metaeval.llm.messages import Ask, ChatRequest, Prompt, quoted, read_answer, read_object, read_prompt, reply_form
from metaeval.stats.arrays import Ints
from metaeval.stats.estimate import Estimate
from metaeval.stats.intervals import Resampling

RewritingState = Literal["rewritten", "unparsed", "failed", "too long"]
"""State of a claim. unparsed: the reply cannot be used; failed: there is none; too long: the request was refused as
too long."""

PLACES = ("sentence", "claim")
"""The placeholders that a prompt must have; a prompt may also have {reply}, for the form of the reply."""

Measured = tuple[str, Estimate, int]
"""(name of a measure, its value with an interval if it has one, number of claims that the value is computed from)."""

_REPLY = 'Reply with one JSON object and nothing else, of this form: {"claim": "the claim as one complete sentence"}'
_TEXT_REPLY = "Reply with the claim as one complete sentence on one line, and with nothing else."
_CLAIM = reply_form("rewriting", claim={"type": "string"})
_WORD = re.compile(r"\w+")
_LABEL = re.compile(r"\s*(?:\w+ )?(?:sentence|claim|version):\s*", re.IGNORECASE)

TEXT_RULE = "replies in plain text: their only line, without a label (Modified sentence:) and quotes around it"
"""The rule by which replies are read with output=text; any other text is unparsed."""


@dataclass(frozen=True, slots=True)
class Rewriting:
    """A claim that was cut out of a sentence, and the chat model's rewrite of it (text).

    answer: index of the answer. number: index of the claim in the answer. sentence: the sentence without its marks.
    state: empty before the model is asked. text: None unless state is "rewritten".
    """

    answer: int
    number: int
    sentence: str
    claim: str
    state: RewritingState | Literal[""] = ""
    text: str | None = None

    @property
    def new_words(self) -> tuple[str, ...]:
        """The distinct case-folded words, in order, that only the new wording has, not the sentence or the old one."""
        old = _WORD.findall(f"{self.sentence} {self.claim}".casefold())
        return tuple(dict.fromkeys(word for word in _WORD.findall((self.text or "").casefold()) if word not in old))


def fragments(read: Sequence[AnswerClaims], whole: bool = False) -> list[Rewriting]:
    """Return the claims that were made by the parse tree and omit a part of their sentence, in order.

    whole: also those that omit nothing (of sentences with one citation group).
    """
    cut = []
    for place, each in enumerate(read):
        for number, claim in enumerate(each.claims):
            if claim.made_by != "tree":
                continue
            sentence = without_marks(each.sentences[claim.sentence - 1].sentence)
            if whole or _letters(claim.text) != _letters(sentence):
                cut.append(Rewriting(place, number, sentence, claim.text))
    return cut


def request_for(cut: Rewriting, prompt: Prompt, chat: ChatOptions) -> ChatRequest:
    """Return the request to rewrite one claim."""
    texts = {place: quoted(getattr(cut, place)) for place in PLACES}
    reply = _TEXT_REPLY if chat.output == "text" else _REPLY
    return chat_request(chat, prompt.fill(reply=reply, **texts), _CLAIM)


def rewrite(cut: Sequence[Rewriting], ask: Ask, prompt: Prompt, chat: ChatOptions) -> list[Rewriting]:
    """Return the model's rewriting of each claim, in order, from one call of `ask`, also where a reply is missing."""
    answers = ask([request_for(each, prompt, chat) for each in cut])
    read = [read_answer(answer, read_line if chat.output == "text" else read_claim) for answer in answers]
    return [
        replace(each, state="rewritten" if state == "read" else state, text=claim)
        for each, (claim, state) in zip(cut, read, strict=True)
    ]


def read_claim(text: str) -> str | None:
    """Return the claim in a reply of exactly the requested form; None for every other text.

    A claim is one line with words and without citation marks.
    """
    body = read_object(text, _CLAIM)
    return _checked(body["claim"] if body else "")


def read_line(text: str) -> str | None:
    """Return the claim in a reply of plain text, by `TEXT_RULE`; None for every other text."""
    line = _LABEL.sub("", text.strip(), count=1) if _LABEL.match(text) else text.strip()
    quoted_line = len(line) > 1 and (line[0], line[-1]) in (('"', '"'), ("\u201c", "\u201d"))
    return _checked(line[1:-1] if quoted_line else line)


def _checked(claim: str) -> str | None:
    if len(claim.strip().splitlines()) != 1 or not _WORD.search(claim) or has_mark(claim):
        return None
    return claim.strip()


def with_rewritings(read: Sequence[AnswerClaims], rewritings: Sequence[Rewriting]) -> list[AnswerClaims]:
    """Return the answers with the new wordings as the texts of their claims; a claim without one stays as it is."""
    new = {
        (rewriting.answer, rewriting.number): rewriting.text for rewriting in rewritings if rewriting.text is not None
    }
    return [
        replace(
            each,
            claims=tuple(
                replace(claim, text=new.get((place, number), claim.text)) for number, claim in enumerate(each.claims)
            ),
        )
        for place, each in enumerate(read)
    ]


def _letters(text: str) -> str:
    """Return the case-folded letters and digits of a text, which cleaning and spacing do not change."""
    return re.sub(r"[\W_]+", "", text).casefold()


PROMPT = Path(__file__).parent / "prompts" / "rewriting.txt"
"""The project's own prompt."""

MAX_TOKENS = 512
"""Most tokens in a reply, where the user sets no other number."""


def prompt_in(file: Path | None) -> Prompt:
    """Return the prompt of a file, or our own (None); `UserError` if it is unreadable or lacks a placeholder."""
    return read_prompt(file or PROMPT, PLACES)


ClaimKey = tuple[str, int]
"""Id of an answer, and number of a claim in it, from 1."""


@dataclass(frozen=True, eq=False)
class Rejudged:
    """Claims judged in their old and in their new wordings. read: the answers with their claims, as first worded.

    rewritings: of the claims that were sent to the model. before, after: the citation tables of all claims with the old
    and with the new wordings. by_group: see `citation_shares`.
    """

    read: Sequence[AnswerClaims]
    rewritings: Sequence[Rewriting]
    before: Sequence[CitationLine]
    after: Sequence[CitationLine]
    by_group: bool

    def key(self, rewriting: Rewriting) -> ClaimKey:
        """Return the key in the citation tables of the claim that was rewritten."""
        return self.read[rewriting.answer].answer.id, rewriting.number + 1

    @cached_property
    def joints(self) -> Mapping[ClaimKey, tuple[CitationLine, CitationLine]]:
        """Return the first citation line of each claim (before, after rewriting), by the claim's key."""
        pairs = zip(claims_of(self.before), claims_of(self.after), strict=True)
        return {_key(old): (old, new) for old, new in pairs}

    @cached_property
    def left_out(self) -> frozenset[ClaimKey]:
        """Return the claims that cannot be compared: the new wording is missing, or a verdict on either wording.

        A claim without a joint verdict before, such as one whose marks cite no passage, needs no new wording.
        """
        not_rewritten = {self.key(rewriting) for rewriting in self.rewritings if rewriting.text is None}
        missing = {key for key in not_rewritten if self.joints[key][0].joint is not None}
        return frozenset(missing | {_key(line) for line in unjudged([*self.before, *self.after])})

    def verdicts(self, rewriting: Rewriting) -> tuple[bool | None, bool | None]:
        """Return whether the claim's passages together entail (its old wording, its new wording); None if unknown."""
        old, new = self.joints[self.key(rewriting)]
        return old.joint, None if rewriting.text is None else new.joint

    def shares(self, lines: Sequence[CitationLine]) -> tuple[list[AnswerShare], list[AnswerShare]]:
        """Return (recall, precision) of each answer over the lines of claims that can be compared (not `left_out`)."""
        kept = [line for line in lines if _key(line) not in self.left_out]
        return citation_shares([each.answer for each in self.read], kept, self.by_group)

    def row(self, rewriting: Rewriting) -> dict[str, Any]:
        """Return a table row (by column) of a claim: its sentence, both wordings, joint verdict and score of each."""
        claim = self.read[rewriting.answer].claims[rewriting.number]
        old, new = self.joints[self.key(rewriting)]
        joint_before, joint_after = self.verdicts(rewriting)
        return {
            "answer": old.answer,
            "system": old.system,
            "group": old.group,
            "claim_number": old.claim_number,
            "citations": " ".join(map(str, claim.citations)),
            "sentence": rewriting.sentence,
            "claim": rewriting.claim,
            "rewritten": rewriting.text,
            "state": rewriting.state,
            "new_words": " ".join(rewriting.new_words),
            "joint_before": joint_before,
            "joint_after": joint_after,
            "score_before": old.score,
            "score_after": None if rewriting.text is None else new.score,
        }

    def reply_shares(self) -> list[Measured]:
        """Return shares of the claims that were sent to the model, by state, and of the rewritten ones, by wording."""
        states, sent = Counter(rewriting.state for rewriting in self.rewritings), len(self.rewritings)
        done = [rewriting for rewriting in self.rewritings if rewriting.text is not None]
        unchanged = sum(rewriting.text == rewriting.claim for rewriting in done)
        return [
            _share("rewritten", states["rewritten"], sent),
            _share("unparsed", states["unparsed"], sent),
            _share("no reply", states["failed"] + states["too long"], sent),
            _share("left as it was", unchanged, len(done)),
            _share("with new words", sum(bool(rewriting.new_words) for rewriting in done), len(done)),
        ]

    def verdict_changes(self, group: Ints, n_groups: int, resampling: Resampling) -> list[Measured]:
        """Return how joint verdicts on old and new wordings agree and differ, over the claims that have both.

        group: (n,) code of each answer's group. n_groups: number of codes.
        """
        rows = [(*self.verdicts(rewriting), group[rewriting.answer]) for rewriting in self.rewritings]
        before, after, of = np.array([row for row in rows if None not in row], dtype=np.int64).reshape(-1, 3).T
        verdicts = np.stack([before, after], axis=1)
        agreed = pair_agreement(verdicts, 2, of, n_groups, resampling, [(0, 1)])
        both = int(before.size)
        supported = [float(each.mean()) if both else None for each in (before, after)]
        return [
            ("same verdict", agreed["equal"], both),
            ("kappa", agreed["kappa"], both),
            ("supported before", Estimate(supported[0]), both),
            ("supported after", Estimate(supported[1]), both),
            _share("support lost", int((before > after).sum()), both),
            _share("support gained", int((before < after).sum()), both),
        ]

    def bounds(self) -> dict[str, tuple[float | None, float | None]]:
        """Return (lowest, highest) possible "same verdict" and macro-averaged "recall after", over missing verdicts."""
        left = Counter(answer for answer, _ in self.left_out)
        verdicts = [self.verdicts(rewriting) for rewriting in self.rewritings]
        known = [pair for pair in verdicts if None not in pair]
        open_ = sum(
            None in pair and self.key(rewriting) in self.left_out
            for rewriting, pair in zip(self.rewritings, verdicts, strict=True)
        )
        same = AnswerShare(sum(old == new for old, new in known), len(known), open_)
        recall = [
            AnswerShare(share.hits, share.total, left[each.answer.id])
            for each, share in zip(self.read, self.shares(self.after)[0], strict=True)
        ]
        return {"same verdict": bounds([same], macro), "recall after": bounds(recall, macro)}


def _key(line: CitationLine) -> ClaimKey:
    return line.answer, line.claim_number or 0


def _share(name: str, part: int, whole: int) -> Measured:
    return name, Estimate(part / whole if whole else None), whole
