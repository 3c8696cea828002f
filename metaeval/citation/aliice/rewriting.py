"""Claims that were cut out of a tree, written again by a chat model as whole sentences (the paper's Table 2)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from metaeval.citation.alce.labels import Labels, agreement
from metaeval.citation.aliice.claims import AnswerClaims, has_mark, without_marks
from metaeval.citation.chat import ChatOptions, estimate_for
from metaeval.citation.measures import AnswerShare, ValueInterval, bounds, citation_shares, macro
from metaeval.citation.panel import SystemPanel
from metaeval.citation.table import CitationLine, claims_of, unjudged
from metaeval.llm.budget import Estimate
from metaeval.llm.exchange import Ask, ChatRequest, Prompt, quoted, read_answer, read_object, read_prompt, reply_form

State = Literal["rewritten", "unparsed", "failed", "too long"]
"""What became of a claim: written again; no use in the reply; no reply; refused as too long."""

PLACES = ("sentence", "claim")
"""What a prompt must have a place for; {reply}, the form of the reply, may stand in it too."""

Measured = tuple[str, ValueInterval, int]
"""A measure, its value, and the number of claims that it is of."""

_REPLY = 'Reply with one JSON object and nothing else, of this form: {"claim": "the claim as one complete sentence"}'
_CLAIM = reply_form("rewriting", claim={"type": "string"})
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Fragment:
    """A claim that the tree gave. answer, number: its places among the answers, and among its answer's claims, from 0.

    sentence: without its marks.
    """

    answer: int
    number: int
    sentence: str
    claim: str


@dataclass(frozen=True, slots=True)
class Rewriting:
    """A claim and what the model made of it; text is None where the state is another than "rewritten"."""

    fragment: Fragment
    state: State
    text: str | None = None

    @property
    def new_words(self) -> tuple[str, ...]:
        """Words of the new claim that stand neither in the sentence nor in the old claim, in lower case, in order."""
        old = _WORD.findall(f"{self.fragment.sentence} {self.fragment.claim}".casefold())
        return tuple(dict.fromkeys(word for word in _WORD.findall((self.text or "").casefold()) if word not in old))


def fragments(read: Sequence[AnswerClaims], whole: bool = False) -> list[Fragment]:
    """The claims that were cut out of their sentences, in order: those made by the tree that lack some of the sentence.

    whole: those that the tree left whole as well, as it does where a sentence has one citation group.
    """
    found = []
    for place, each in enumerate(read):
        for number, claim in enumerate(each.claims):
            if claim.made_by != "tree":
                continue
            sentence = without_marks(each.sentences[claim.sentence - 1].sentence)
            if whole or _letters(claim.text) != _letters(sentence):
                found.append(Fragment(place, number, sentence, claim.text))
    return found


def request_for(fragment: Fragment, prompt: Prompt, chat: ChatOptions) -> ChatRequest:
    """The question about one claim."""
    texts = {place: quoted(getattr(fragment, place)) for place in PLACES}
    return chat.request(prompt.fill(reply=_REPLY, **texts), _CLAIM)


def rewrite(cut: Sequence[Fragment], ask: Ask, prompt: Prompt, chat: ChatOptions) -> list[Rewriting]:
    """What the model makes of each claim; everything is asked in one call of `ask`."""
    answers = ask([request_for(each, prompt, chat) for each in cut])
    read = [read_answer(answer, read_claim) for answer in answers]
    return [
        Rewriting(each, "rewritten" if state == "read" else state, claim)
        for each, (claim, state) in zip(cut, read, strict=True)
    ]


def read_claim(text: str) -> str | None:
    """The claim in a reply of the form that was asked for to the letter; None for every other text.

    A claim is one line with words and without citation marks.
    """
    body = read_object(text, _CLAIM)
    claim: str = body["claim"] if body else ""
    if len(claim.strip().splitlines()) != 1 or not _WORD.search(claim) or has_mark(claim):
        return None
    return claim.strip()


def with_rewritings(read: Sequence[AnswerClaims], rewritings: Sequence[Rewriting]) -> list[AnswerClaims]:
    """The answers with the new claims in place of the old; where there is none, the claim stays as it is."""
    new = {(one.fragment.answer, one.fragment.number): one.text for one in rewritings if one.text is not None}
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
    """What cleaning and spacing leave as it is."""
    return re.sub(r"[\W_]+", "", text).casefold()


class RewriteOptions(ChatOptions):
    """What is asked of the model that rewrites claims."""

    prompt_file: Path | None = None
    """A prompt of your own that asks for a claim as a whole sentence, with {sentence} and {claim}, and {reply} for
    the form of the reply if wanted."""
    max_tokens: Annotated[int, Field(ge=1)] = 512
    """Most tokens in a reply, reasoning included; a reply that reaches it is unparsed."""

    def identity(self) -> dict[str, Any]:
        """The options that can change a claim and are in use, and which wording of the prompt."""
        wording = f"{'file' if self.prompt_file else 'own'}@{prompt_of(self).fingerprint}"
        used = {name: value for name, value in super().identity().items() if name != "prompt_file"}
        return {**used, "prompt": wording}


PROMPT = Path(__file__).parent / "prompts" / "rewriting.txt"
"""The project's own prompt."""


def prompt_of(options: RewriteOptions) -> Prompt:
    """The project's own prompt, or the file that was named; `UserError` when it cannot be read or lacks a place."""
    return read_prompt(options.prompt_file or PROMPT, PLACES)


def estimated(cut: Sequence[Fragment], options: RewriteOptions) -> Estimate:
    """What having these claims written again would still cost; sends nothing, and needs no key."""
    prompt = prompt_of(options)
    return estimate_for([request_for(each, prompt, options) for each in cut], options)


Key = tuple[str, int]
"""Id of an answer, and number of a claim in it, from 1."""

ROW = (
    *("answer", "system", "group", "claim_number", "citations", "sentence", "claim", "rewritten", "state"),
    *("new_words", "joint_before", "joint_after", "score_before", "score_after"),
)


@dataclass(frozen=True, eq=False)
class Rejudged:
    """Claims judged as they were and as they were written again.

    before, after: the citation table of the old and of the new wordings, whole. by_group: see `citation_shares`.
    """

    read: Sequence[AnswerClaims]
    rewritings: Sequence[Rewriting]
    before: Sequence[CitationLine]
    after: Sequence[CitationLine]
    by_group: bool

    def key(self, one: Rewriting) -> Key:
        """What the lines of a claim are found by."""
        return self.read[one.fragment.answer].answer.id, one.fragment.number + 1

    @cached_property
    def joints(self) -> Mapping[Key, tuple[CitationLine, CitationLine]]:
        """The first line of each claim before and after."""
        pairs = zip(claims_of(self.before), claims_of(self.after), strict=True)
        return {_key(old): (old, new) for old, new in pairs}

    @cached_property
    def left_out(self) -> frozenset[Key]:
        """Claims that cannot be compared: the new wording is missing, or a verdict on the old or the new one is.

        A claim that is settled without a verdict, since its marks point nowhere, needs no wording.
        """
        missing = {self.key(one) for one in self.rewritings if one.text is None}
        asked = {key for key in missing if self.joints[key][0].joint is not None}
        return frozenset(asked | {_key(line) for line in unjudged([*self.before, *self.after])})

    def verdicts(self, one: Rewriting) -> tuple[bool | None, bool | None]:
        """Whether the claim's passages together entail its old wording, and its new one; None: unknown."""
        old, new = self.joints[self.key(one)]
        return old.joint, None if one.text is None else new.joint

    def shares(self, lines: Sequence[CitationLine]) -> tuple[list[AnswerShare], list[AnswerShare]]:
        """Recall and precision of each answer over the claims that can be compared."""
        kept = [line for line in lines if _key(line) not in self.left_out]
        return citation_shares([each.answer for each in self.read], kept, self.by_group)

    def row(self, one: Rewriting) -> dict[str, Any]:
        """A claim with its sentence, both wordings, and the verdicts and scores of its passages together on each."""
        claim = self.read[one.fragment.answer].claims[one.fragment.number]
        old, new = self.joints[self.key(one)]
        values = (
            *(old.answer, old.system, old.group, old.claim_number, " ".join(map(str, claim.citations))),
            *(one.fragment.sentence, one.fragment.claim, one.text, one.state, " ".join(one.new_words)),
            *(*self.verdicts(one), old.score, None if one.text is None else new.score),
        )
        return dict(zip(ROW, values, strict=True))

    def wordings(self) -> list[Measured]:
        """What became of the claims that were sent."""
        done = [one for one in self.rewritings if one.text is not None]
        states, sent = Counter(one.state for one in self.rewritings), len(self.rewritings)
        return [
            ("rewritten", _share(states["rewritten"], sent), sent),
            ("unparsed", _share(states["unparsed"], sent), sent),
            ("no reply", _share(states["failed"] + states["too long"], sent), sent),
            ("left as it was", _share(sum(one.text == one.fragment.claim for one in done), len(done)), len(done)),
            ("with new words", _share(sum(bool(one.new_words) for one in done), len(done)), len(done)),
        ]

    def compared(self, panel: SystemPanel) -> list[Measured]:
        """What became of the verdicts on the claims that have both."""
        pairs = [(*self.verdicts(one), int(panel.group[one.fragment.answer])) for one in self.rewritings]
        before, after, group = np.array([each for each in pairs if None not in each], dtype=np.int64).reshape(-1, 3).T
        # Verdicts on the claims that have both: those before stand as the human labels.
        (agreed,) = agreement(Labels(before, group, {"after": after}), panel.n_groups, panel.resampling)
        both = int(before.size)
        return [
            ("same verdict", agreed.accuracy, both),
            ("kappa", agreed.kappa, both),
            ("supported before", ValueInterval(agreed.supported[0]), both),
            ("supported after", ValueInterval(agreed.supported[1]), both),
            ("support lost", _share(int((before > after).sum()), both), both),
            ("support gained", _share(int((before < after).sum()), both), both),
        ]

    def bounds(self) -> dict[str, tuple[float | None, float | None]]:
        """What the shares could be, were all that is missing in them against the new wordings, or for them."""
        left = Counter(answer for answer, _ in self.left_out)
        verdicts = [self.verdicts(one) for one in self.rewritings]
        known = [own for own in verdicts if None not in own]
        open_ = sum(
            None in own and self.key(one) in self.left_out for one, own in zip(self.rewritings, verdicts, strict=True)
        )
        same = AnswerShare(sum(old == new for old, new in known), len(known), open_)
        recall = [
            AnswerShare(own.hits, own.total, left[each.answer.id])
            for each, own in zip(self.read, self.shares(self.after)[0], strict=True)
        ]
        return {"same verdict": bounds([same], macro), "recall after": bounds(recall, macro)}


def _key(line: CitationLine) -> Key:
    return line.answer, line.claim_number or 0


def _share(part: int, whole: int) -> ValueInterval:
    return ValueInterval(part / whole if whole else None)
