"""Rules that find the score in a chat model's reply, as text or JSON, and its expectation by the log-probabilities."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import exp, isfinite
from typing import Any

from metaeval.core.parsing import MalformedError, parse_json
from metaeval.llm.messages import keeps, object_schema, reply_form, token_bytes

# A line that is a verdict: a number, alone or behind "Prediction:" or "Score:". It may name its scale (0.8/1).
_VERDICT = re.compile(
    r"(?:(?:prediction|score)[*_`]*\s*[:=][*_`\s]*)?(?P<value>(?:0|[1-9][0-9]*)(?:\.[0-9]+)?|\.[0-9]+)"
    r"(?:(?:\s*/\s*|\s+out\s+of\s+)(?P<top>[0-9]+(?:\.[0-9]+)?))?[*_`]*\.?",
    re.ASCII | re.IGNORECASE,
)


@dataclass(frozen=True)
class Scale:
    """The scores that a prompt allows: all numbers from 0 to `top`, or only those in `only`."""

    top: float
    only: tuple[float, ...] = ()

    def accepts(self, value: float) -> bool:
        """Return whether a number is a score on this scale."""
        return value in self.only if self.only else isfinite(value) and 0 <= value <= self.top


DISCRETE = Scale(2, only=(0, 1, 2))
CONTINUOUS = Scale(1)


@dataclass(frozen=True)
class FoundScore:
    """A score found in a reply, and the offsets of its number in the text (start and end, in characters)."""

    value: float
    start: int
    end: int


def find_score(text: str, scale: Scale) -> FoundScore | None:
    """Return the score that a text gives; None if it gives none that can be trusted.

    The last line that is not blank must be a verdict and nothing else: a number, alone or after "Prediction:" or
    "Score:", perhaps with its scale ("1/2", "1 out of 2"), a full stop and Markdown's emphasis. No other line may be
    one: a text with two verdicts, as a quotation of a forged one can make it, gives no score. The number must be a
    score of the scale as it is; a fraction of another scale is not. A verdict inside a sentence is never read.
    """
    verdicts = [_verdict(line, start) for line, start in _lines(text) if line.strip()]
    complete = [verdict for verdict in verdicts if verdict is not None]
    if len(complete) != 1 or verdicts[-1] is None:
        return None
    return _score_of(*complete[0], scale)


def _score_of(match: re.Match[str], offset: int, scale: Scale) -> FoundScore | None:
    """Return the score in a match; None for a number off the scale. offset: of the searched text in the reply."""
    value = float(match["value"])
    if not scale.accepts(value) or (match["top"] and float(match["top"]) != scale.top):
        return None
    return FoundScore(value, offset + match.start("value"), offset + match.end("value"))


def _verdict(line: str, start: int) -> tuple[re.Match[str], int] | None:
    """Return (match, offset in the text) of a line that is a verdict; None for others. start: the line's offset."""
    bare = line.strip().strip("*_` \t")
    match = _VERDICT.fullmatch(bare) if len(bare) <= 80 else None  # characters; no verdict is longer
    return (match, start + line.index(bare)) if match else None


# Between a cue and its number stand link words, a scale in brackets, Markdown and LaTeX's box only; what follows makes
# no range or share. The number is the clause's last word ("named"): what else would follow is a noun, a unit or a
# condition. A rate of something, "answer [2]" and "to score 2" (the statement, not the judge) are no cues.
_CUED = re.compile(
    r"\b(?:predict(?:ion|ed)?|(?<!\bto )score|score(?=\s+(?:it|this|the)\b)|(?:(?<=\bis )|(?<=\bbe ))scored"
    r"|answer(?!\s+(?:[\[(]|[0-9.]+[^\n.]))|rate(?!\s+(?:is|was|of|at|to|would|should)\b)|rated|rating)\b"
    r"(?:\([^()\n]*\)(?=[\s*_]*[:=][\s*_]*[0-9.])|[\s*_`\"'(\[{:=\]|\uff1a]|\$(?=[^$\n]*\$)|[-\u2013\u2014]\s|\\boxed"
    r"|(?<=\w)>(?=\s*[0-9])|\b(?:is|was|be|would|should|of|as|at|to|a|an|the|this|that|it|its|with|for|pair|citation"
    r"|statement|given|provided|therefore|thus|final|level|value|(?:fully|partially|partly|not)\s+supported"
    r"|(?:full|partial|no)\s+support)\b)*+"
    r"(?P<value>(?:0|[1-9][0-9]*)(?:\.[0-9]+)?|\.[0-9]+)(?![\w%]|\.[0-9]|\s*(?:,|-|\u2013|to|or|and)\s*[0-9])"
    r"(?:(?:\s*/\s*|\s+out\s+of\s+)(?P<top>[0-9]+(?:\.[0-9]+)?))?"
    r"(?P<named>(?![ \t,;:(*_`\u2014-]*\b(?:if|unless|provided|assuming|were|had|or)\b)[*_`\"'$]*+"
    r"(?:[^\S\n]*+(?:\|[^\S\n]*+)?(?:\n|\Z)|[.,;:!)\]}][.,;:!)\]}*_`\"'$]*+(?=\s|\Z)|\s*</|[\u2014\u3002]"
    r"|\s+(?:[(\[|\u2013\u2014\u2192]|-(?!>)|(?:fully|partially|partly|not|full|partial|no)\s+support)|\s*[\u2713-\u2718\u2705\u274c\U0001f44d\U0001f44e]"
    r"|\s+(?:because|since|due\s+to|rather\s+than|instead\s+of|given\s+that"
    r"|as\s+(?:the|it|there|this|only|no|not|none|nothing|some|half|all|most))\b))?",
    re.ASCII | re.IGNORECASE,
)
# What makes a number behind a cue no verdict: a condition before it in the sentence, a negation in the clause, and
# words such as "could be", "for a" or "says" directly before the cue.
_SENTENCE = re.compile(r"[.!?][*_`\"')\]]*\s|\n|\b(?:so|thus|hence|therefore)\b", re.IGNORECASE)
_OTHERWISE = re.compile(
    r"(?i)\b(?:if|unless|otherwise|assuming|suppose|supposing|provided\s+that)\b|^\W*(?:had|were|should|without)\b"
    r"|(?:n['\u2019]t|\b(?:not|no|never|neither|nor|cannot|hardly|rather\s+than|instead\s+of|far\s+from|short\s+of))\b"
    r"(?:(?!\b(?:and|but|which)\b)[^,;:()\u2013\u2014-])*\Z"
    r"|\b(?:to\s+be|for\s+an?|have\s+been|(?:could|might|may)(?:\s+\w+)?)\s+\Z"
    r"|\b(?:says?|said|(?:tells?|asks?|instructs?)\s+\w+)[\s:]+(?:(?:that|to|the|its)\s+|[\"'\u201c\u2018])*\Z"
)


def find_cued_score(text: str, scale: Scale) -> FoundScore | None:
    """Return the score that free text names behind a cue; None if it names none, or two that differ.

    Cues are the words prediction, score, answer and rating in their usual forms, perhaps followed by words such as
    "is" or "of". The clause ends behind the number (at a stop, a bracket, a dash, the line's end, or "because"), and
    has no negation or condition: "2 goals", "not rated 2" and "rated 2 if" name no score. A first or last line that is
    nothing but a verdict, as of `find_score`, counts as cued: it goes on from the prompt's "Prediction:". Each number
    behind a cue, named or not, must be a score of the scale, on its own scale where it names one, and all must agree;
    the last one that is named is returned. A range (0 to 1, 0, 1 or 2) and a percentage are no score.
    """
    cued = []  # (score, None for one off the scale; whether its clause names it)
    for match in _CUED.finditer(text):
        before = _SENTENCE.split(text[max(0, match.start() - 200) : match.start()])[-1]
        cued.append((_score_of(match, 0, scale), match["named"] is not None and not _OTHERWISE.search(before)))
    lines = [(line, start) for line, start in _lines(text) if line.strip()]
    verdicts = (_verdict(line, start) for line, start in dict.fromkeys(lines[:1] + lines[-1:]))
    cued += [(_score_of(*verdict, scale), True) for verdict in verdicts if verdict]
    named = [score for score, is_named in cued if score and is_named]
    agreed = named and len({score and score.value for score, _ in cued}) == 1
    return max(named, key=lambda score: score.start) if agreed else None


def _lines(text: str) -> list[tuple[str, int]]:
    """Return (line, offset in characters) for each line of a text."""
    lines = text.splitlines(keepends=True)
    return list(zip(lines, accumulate(map(len, lines), initial=0), strict=False))


_FENCED = re.compile(r"\s*```(?:json)?\s*(?P<body>\{.*\})\s*```\s*", re.DOTALL | re.IGNORECASE)


def find_json_score(text: str, scale: Scale) -> FoundScore | None:
    """Return the score in a JSON text {"reasoning": string, "score": number}, bare or fenced by three backticks.

    None for further fields, and for a score off the scale. An object that names a field twice is malformed: it is
    unclear which score counts.
    """
    fenced = _FENCED.fullmatch(text)
    start, end = fenced.span("body") if fenced else (0, len(text))
    try:
        judgement = parse_json(text[start:end], lone_surrogates=True)
    except MalformedError:
        return None
    if not keeps(judgement, object_schema(reasoning={"type": "string"}, score={"type": "number"})):
        return None
    # Inside a string the field's quotes would be escaped: it stands in the text once.
    number = re.compile(r'"score"\s*:\s*([-+.0-9eE]+)').search(text, start, end)
    score = number and FoundScore(float(judgement["score"]), *number.span(1))
    return score if score and scale.accepts(score.value) else None


RULES = {"last_line": find_score, "cued_number": find_cued_score, "json": find_json_score}  # by the option `reply`


def score_schema(scale: Scale) -> dict[str, Any]:
    """Return the `response_format` of a request for {"reasoning": string, "score": number}, reasoning first."""
    levels = {"type": "integer", "enum": [int(value) for value in scale.only]}
    score = levels if scale.only else {"type": "number"}
    return reply_form("judgement", reasoning={"type": "string"}, score=score)


TOP_LOGPROBS = 20  # alternatives asked for at each position: the most that OpenAI's interface allows


def expected_score(content: str, tokens: Sequence[Mapping[str, Any]], score: FoundScore, scale: Scale) -> float | None:
    """Return the expected score at the token that holds it: sum of p * score over sum of p, over score tokens.

    `tokens` are the reply's output tokens with their alternatives (`Reply.logprobs`), `score` is the location of the
    text's own score. Score tokens are the alternatives at that position which, without blanks, are one of the scale's
    scores; the probability that the model gives to other tokens is left out of both sums. None for a continuous scale,
    or if the tokens do not make up the text, or the score is not a token of its own.
    """
    pieces = token_bytes(tokens)
    offset = b"".join(pieces).find(content.encode("utf-8", "replace"))
    start = offset + len(content[: score.start].encode("utf-8", "replace"))
    ends = accumulate(map(len, pieces))
    position = next((token for token, end in zip(tokens, ends, strict=True) if end > start), None)
    if offset < 0 or position is None:
        return None
    chances = {other["token"]: exp(other["logprob"]) for other in position.get("top_logprobs") or ()}
    chances.setdefault(position["token"], exp(position["logprob"]))
    values = {f"{value:g}": value for value in scale.only}
    scores = {token: values[token.strip()] for token in chances if token.strip() in values}
    mass = sum(chances[token] for token in scores)
    if position["token"] not in scores or mass <= 0:
        return None
    return sum(chances[token] * score for token, score in scores.items()) / mass
