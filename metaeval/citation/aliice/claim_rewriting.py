"""Claims that were cut out of a tree, rewritten by a chat model as whole sentences (the paper's Table 2)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from metaeval.citation.aliice.claims import AnswerClaims, has_mark, letters_of, without_marks
from metaeval.citation.chat_models import ChatOptions, chat_request
from metaeval.citation.citation_table import CitationLine, claims_of, unjudged
from metaeval.citation.human.annotator_columns import pair_agreement
from metaeval.citation.measures import AnswerShare, bounds, macro
from metaeval.llm.messages import Ask, ChatRequest, Prompt, quoted, read_answer, read_object, read_prompt, reply_form
from metaeval.stats.arrays import Ints
from metaeval.stats.estimate import Estimate
from metaeval.stats.intervals import Resampling

# The placeholders that a prompt must have; a prompt may also have {reply}, for the form of the reply.
PLACES = ("sentence", "claim")

# (name of a measure, its value with an interval if it has one, number of claims that the value is computed from).
Measured = tuple[str, Estimate, int]

_REPLY = 'Reply with one JSON object and nothing else, of this form: {"claim": "the claim as one complete sentence"}'
_TEXT_REPLY = "Reply with the claim as one complete sentence on one line, and with nothing else."
_CLAIM = reply_form("rewriting", claim={"type": "string"})
_WORD = re.compile(r"\w+")
_LABEL = re.compile(r"\s*(?:\w+ )?(?:sentence|claim|version):\s*", re.IGNORECASE)

# The rule by which replies are read with output=text; any other text is unparsed.
TEXT_RULE = "replies in plain text: their only line, without a label (Modified sentence:) and quotes around it"


@dataclass(frozen=True, slots=True)
class Rewriting:
    """A claim that was cut out of a sentence, and the chat model's rewrite of it (text).

    answer: index of the answer. number: index of the claim in the answer. sentence: the sentence without its marks.
    state: empty before the model is asked; unparsed: the reply cannot be used; failed: there is none; too long: the
    request was refused as too long. text: None unless state is "rewritten".
    """

    answer: int
    number: int
    sentence: str
    claim: str
    state: Literal["rewritten", "unparsed", "failed", "too long", ""] = ""
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
            if whole or letters_of(claim.text) != letters_of(sentence):
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
    new = {(each.answer, each.number): each.text for each in rewritings if each.text is not None}
    reworded = []
    for place, each in enumerate(read):
        numbered = enumerate(each.claims)
        claims = tuple(replace(claim, text=new.get((place, number), claim.text)) for number, claim in numbered)
        reworded.append(replace(each, claims=claims))
    return reworded


PROMPT = Path(__file__).parent / "prompts" / "rewriting.txt"

MAX_TOKENS = 512  # most tokens in a reply, where the user sets no other number


def prompt_in(file: Path | None) -> Prompt:
    """Return the prompt of a file, or our own (None); `UserError` if it is unreadable or lacks a placeholder."""
    return read_prompt(file or PROMPT, PLACES)


ClaimKey = tuple[str, int | None]  # id of an answer, and number of a claim in it, from 1, if any


def claim_key(line: CitationLine) -> ClaimKey:
    """Return the key of the claim that a citation line is of."""
    return line.answer, line.claim_number


def rejudged(
    read: Sequence[AnswerClaims],
    rewritings: Sequence[Rewriting],
    before: Sequence[CitationLine],
    after: Sequence[CitationLine],
) -> tuple[list[dict[str, Any]], set[ClaimKey]]:
    """Return a row (by column) for each claim that was sent, and the claims that cannot be compared.

    A row has the sentence, both wordings, and the joint verdict and score of each. A claim cannot be compared where the
    new wording is missing, or a verdict on either wording; one without a joint verdict before, such as one whose marks
    cite no passage, needs no new wording. before, after: the citation tables of all claims with the old and with the
    new wordings.
    """
    joints = {claim_key(old): (old, new) for old, new in zip(claims_of(before), claims_of(after), strict=True)}
    left_out = {claim_key(line) for line in unjudged([*before, *after])}
    rows: list[dict[str, Any]] = []
    for each in rewritings:
        key = read[each.answer].answer.id, each.number + 1
        old, new = joints[key]
        if each.text is None and old.joint is not None:
            left_out.add(key)
        row = {
            "answer": old.answer,
            "system": old.system,
            "group": old.group,
            "claim_number": old.claim_number,
            "citations": " ".join(map(str, read[each.answer].claims[each.number].citations)),
            "sentence": each.sentence,
            "claim": each.claim,
            "rewritten": each.text,
            "state": each.state,
            "new_words": " ".join(each.new_words),
            "joint_before": old.joint,
            "joint_after": None if each.text is None else new.joint,
            "score_before": old.score,
            "score_after": None if each.text is None else new.score,
        }
        rows.append(row)
    return rows, left_out


def reply_shares(rows: Sequence[Mapping[str, Any]]) -> list[Measured]:
    """Return shares of the claims that were sent to the model, by state, and of the rewritten ones, by wording."""
    states, done = Counter(row["state"] for row in rows), [row for row in rows if row["rewritten"] is not None]
    return [
        _share("rewritten", states["rewritten"], len(rows)),
        _share("unparsed", states["unparsed"], len(rows)),
        _share("no reply", states["failed"] + states["too long"], len(rows)),
        _share("left as it was", sum(row["rewritten"] == row["claim"] for row in done), len(done)),
        _share("with new words", sum(bool(row["new_words"]) for row in done), len(done)),
    ]


def verdict_changes(rows: Sequence[Mapping[str, Any]], group: Ints, n_groups: int, drawn: Resampling) -> list[Measured]:
    """Return how joint verdicts on old and new wordings agree and differ, over the claims that have both.

    group: (rows,) code of the group of each row's answer. n_groups: number of codes.
    """
    judged = [(row["joint_before"], row["joint_after"], of) for row, of in zip(rows, group, strict=True)]
    before, after, of = np.array([each for each in judged if None not in each], dtype=np.int64).reshape(-1, 3).T
    agreed = pair_agreement(np.stack([before, after], axis=1), 2, of, n_groups, drawn, [(0, 1)])
    both = int(before.size)
    return [
        ("same verdict", agreed["equal"], both),
        ("kappa", agreed["kappa"], both),
        _share("supported before", int(before.sum()), both),
        _share("supported after", int(after.sum()), both),
        _share("support lost", int((before > after).sum()), both),
        _share("support gained", int((before < after).sum()), both),
    ]


def rewritten_bounds(
    rows: Sequence[Mapping[str, Any]], left_out: Collection[ClaimKey], recall: Mapping[str, AnswerShare]
) -> dict[str, tuple[float | None, float | None]]:
    """Return (lowest, highest) possible "same verdict" and macro-averaged "recall after", over missing verdicts.

    left_out: the claims that cannot be compared. recall: by the answer's id, after the rewriting, of the others.
    """
    pairs = [(row["joint_before"], row["joint_after"]) for row in rows]
    known = [pair for pair in pairs if None not in pair]
    keys = [(row["answer"], row["claim_number"]) for row in rows]
    missing = sum(None in pair and key in left_out for pair, key in zip(pairs, keys, strict=True))
    same = AnswerShare(sum(old == new for old, new in known), len(known), missing)
    left = Counter(answer for answer, _ in left_out)
    shares = [AnswerShare(share.hits, share.total, left[answer]) for answer, share in recall.items()]
    return {"same verdict": bounds([same], macro), "recall after": bounds(shares, macro)}


def _share(name: str, part: int, whole: int) -> Measured:
    return name, Estimate(part / whole if whole else None), whole
