"""LLM judges: a chat model reads statement and citation, thinks, and gives a level (0, 1, 2) or a score in [0, 1].

The structure of the prompts is the base paper's (arXiv 2406.15264, Appendix A, Table 5): one block that starts with
"Instruction:", then "Let's think step by step.", then Statement, Citation and Prediction. The wording of the
instructions is this project's own, not the paper's. To use the paper's text, put it into a file with the places
{statement} and {citation}, and name the file in the option `prompt_file`. The paper's asks for no form of its last
line, nor do ours with `reply=cued_number`, which reads such replies (`base-paper-judges` in configs/experiments).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, Field, JsonValue, model_validator

from metaeval.core.errors import UserError
from metaeval.llm import score_parsing
from metaeval.llm.batch_files import BatchSession, open_session
from metaeval.llm.budget import Estimate, estimate
from metaeval.llm.endpoint import ENDPOINT_OPTIONS, Cause, ModelOptions
from metaeval.llm.messages import Answer, ChatRequest, Failure, Prompt, Reply, read_prompt
from metaeval.llm.reply_store import ReplyStore, replies_path
from metaeval.scoring.contract import Metric, MetricCard, MetricOptions, PairScore, Status

if TYPE_CHECKING:
    from metaeval.llm.chat_client import ChatSession

_OURS = frozenset({"model", "messages", "stream", "n", "temperature", "max_tokens", "max_completion_tokens", "seed"})


def _checked_extra(extra: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """Return the option `extra` as it is; raises ValueError if it sets a field that the judge itself controls."""
    if taken := sorted(_OURS & extra.keys()):
        raise ValueError(f"extra may not set {', '.join(taken)}, which metaeval sets itself: leave it out of extra")
    return extra


class LLMOptions(ModelOptions, MetricOptions):
    """Options of a chat model as a metric."""

    runtime: ClassVar[frozenset[str]] = ENDPOINT_OPTIONS | {"prompt_file"}

    prompt_file: Path | None = None
    """Prompt of one's own, with {statement} and {citation}; its content is in the identity."""
    temperature: Annotated[float, Field(ge=0, le=2)] | None = 0.0
    """Temperature of sampling (null: none is sent, for models that take none)."""
    samples: Annotated[int, Field(ge=1, le=100)] = 1
    """Replies per pair, each asked for on its own; the score is the mean of those that hold one."""
    seed: int | None = None
    """Seed of sampling, sent as seed + sample number (default: none is sent)."""
    max_tokens: Annotated[int, Field(ge=1)] = 512
    """Most tokens of a reply, reasoning included; a reply that reaches them is unparsed."""
    max_tokens_name: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    """Name under which max_tokens is sent; some models know only max_completion_tokens."""
    mode: Literal["reply", "logprob"] = "reply"
    """reply reads the verdict, the whole last line; logprob replaces it by its expectation over the model's
    probabilities."""
    output: Literal["text", "json_schema"] = "text"
    """text, or json_schema for a server with structured output; one that refuses it is an error, never a silent
    change."""
    reply: Literal["last_line", "cued_number", "json"] | None = None
    """Rule for reading a reply: last_line (the default: a verdict and nothing else), cued_number (free text: the number
    behind a word such as prediction, score, answer or rating; where two differ the reply is unparsed), or json."""
    role: Literal["user", "system"] = "user"
    """Role of the one message that is sent."""
    extra: Annotated[dict[str, JsonValue], AfterValidator(_checked_extra)] = Field(default_factory=dict)
    """Further fields of the request's body, such as top_p."""
    ask_again: Literal["unparsed"] | None = None
    """Replies that are asked for once more: unparsed (those without a score; the first is kept, and both count), or
    none."""

    @model_validator(mode="after")
    def _reads_what_it_asks_for(self) -> LLMOptions:
        if self.output == "json_schema" and self.reply not in (None, "json"):
            raise ValueError(f"output=json_schema asks for JSON, which reply={self.reply} does not read: drop one")
        return self

    def score_options(self) -> dict[str, Any]:
        """Return the options that can change a score, without those that are None or empty (but for the temperature).

        They include the server's name, since different servers can have different models under one name.
        """
        named = "base_url" if self.server else "server"
        values: dict[str, Any] = self.model_dump(mode="json", exclude={*self.runtime, named})
        values["server" if self.server else "base_url"] = self.server_name
        return {name: value for name, value in values.items() if value not in (None, {}) or name == "temperature"}


class ContinuousOptions(LLMOptions):
    """The options of `LLMOptions`, but the mode is always `reply`: a score such as 0.85 is several tokens."""

    mode: Literal["reply"] = "reply"
    """The verdict, the whole last line, is read."""


_FRAME = """Instruction: {instruction}

Let's think step by step.

Statement: {statement}

Citation: {citation}

Prediction:"""

PLACES = ("statement", "citation")

_DISCRETE = (
    "Judge how far the citation supports the statement. Use the citation alone, nothing that you know from elsewhere. "
    "There are three levels. 2, full support: the citation states, or leaves no doubt about, everything that the "
    "statement says. 1, partial support: the citation backs a part of the statement, and the rest is not backed by it. "
    "0, no support: the citation backs no part of the statement, or contradicts it."
)
_CONTINUOUS = (
    "Judge how far the citation supports the statement. Use the citation alone, nothing that you know from elsewhere. "
    "The score is a number from 0 to 1. 1 means full support: the citation states, or leaves no doubt about, "
    "everything that the statement says. 0 means no support: the citation backs no part of the statement, or "
    "contradicts it. Values between them mean partial support, the higher the more of the statement is backed."
)
_DISCRETE_END = (
    " End your answer with a line that gives the level, exactly one of 0, 1 and 2, in the form Prediction: LEVEL"
)
_CONTINUOUS_END = " End your answer with a line that gives the score in the form Prediction: SCORE"

DISCRETE_PROMPT = Prompt(Prompt(_FRAME).fill(instruction=_DISCRETE + _DISCRETE_END))
CONTINUOUS_PROMPT = Prompt(Prompt(_FRAME).fill(instruction=_CONTINUOUS + _CONTINUOUS_END))
DISCRETE_FREE_PROMPT = Prompt(Prompt(_FRAME).fill(instruction=_DISCRETE))
CONTINUOUS_FREE_PROMPT = Prompt(Prompt(_FRAME).fill(instruction=_CONTINUOUS))
"""The prompts that, as the base paper's, ask for no form of the last line: those of reply=cued_number."""


_WORD = re.compile(r"\w")

_CARD: dict[str, Any] = {
    "family": "llm judge",
    "version": 2,  # the verdict is the whole last line; in version 1 the last number behind a cue, wherever it stood
    "paper": "Zhang et al. 2024, Towards Fine-Grained Citation Evaluation in Generated Text (arXiv 2406.15264), "
    "Appendix A: structure of the prompt; its wording here is our own",
    "licence": "Apache-2.0 (this code); the model's terms are its provider's",
    "low": 0.0,
    "template": "Instruction / Let's think step by step. / Statement / Citation / Prediction",
    "parameters": "the endpoint's",
    "modules": ("openai", "aiohttp"),
    "extra": "llm",
}


class _LLMJudge(Metric):
    """A chat model as a metric: stores each reply and parses it strictly; a reply without a score is UNPARSED.

    A pair with a text without words is EMPTY, without a request. A request that fails after all its tries makes its
    pair FAILED, and is sent again by the next run; one refused as too long makes it TOO_LONG, if none failed otherwise.
    """

    Options: ClassVar[type[LLMOptions]] = LLMOptions
    # Hundreds of requests run at a time; each reply is stored when it comes, whatever the block's size.
    block_tokens: ClassVar[int] = 1_000_000
    batched: ClassVar[bool] = False  # each pair is a request of its own, and is paid for
    where: ClassVar[Literal["worker", "driver"]] = "driver"  # one budget, one store of replies

    scale: ClassVar[score_parsing.Scale]
    prompt: ClassVar[Prompt]
    free_prompt: ClassVar[Prompt]

    def identity(self) -> dict[str, Any]:
        """Return the metric's identity: the options that can change a score, and the hash of the prompt's wording."""
        prompt = f"{'file' if self.options.prompt_file else 'own'}@{self._prompt.fingerprint}"
        # Readings that became stricter: scores of the earlier ones are not served.
        reading = {"reading": 2} if self.options.reply == "cued_number" or self.options.mode == "logprob" else {}
        return {**super().identity(), "options": {**self.options.score_options(), "prompt": prompt, **reading}}

    def prepare(self, sources: Sequence[str], statements: Sequence[str]) -> None:
        """Check API key, prompt, prices and budget, and open the reply store, before any request is sent."""
        _ = self._session

    def score(self, sources: Sequence[str], statements: Sequence[str]) -> list[PairScore]:
        """Score pairs; raises `UserError` when the endpoint cannot go on, or the budget is spent."""
        pairs = list(zip(sources, statements, strict=True))
        requests = self._requests(pairs)
        answers = list(zip(requests, self._replies_to(requests), strict=True))
        replies = [answer for _, answer in answers if isinstance(answer, Reply) and answer.whole]
        if self.options.mode == "logprob" and replies and not any(reply.logprobs for reply in replies):
            raise UserError(
                f"{self.options.base_url} gives {self.options.model!r} no log-probabilities: set mode=reply."
            )
        size = self.options.samples
        judged = (self._pair_score(answers[start : start + size]) for start in range(0, len(answers), size))
        return [next(judged) if _has_words(pair) else PairScore(None, Status.EMPTY) for pair in pairs]

    def estimate(self, sources: Sequence[str], statements: Sequence[str]) -> Estimate:
        """Estimate the cost of scoring these pairs; sends no request and needs no key."""
        requests = self._requests(zip(sources, statements, strict=True))
        return estimate(requests, self.options.server_name, self._store, self.options.prices)

    def requests(self, sources: Sequence[str], statements: Sequence[str]) -> Mapping[str, bytes]:
        """Return requests (second attempts too) without a stored reply: its key in hex -> body. Needs no API key."""
        requests = self._requests(zip(sources, statements, strict=True))
        if self.options.batch is not None:  # its replies are stored first
            self._replies_to(requests)
        name, kept = self.options.server_name, self._store.find
        if self.options.ask_again is not None:
            requests += [replace(request, attempt=1) for request in requests if self._lacks(kept(request.key(name)))]
        return {key.hex(): request.content for request in requests if kept(key := request.key(name)) is None}

    def replies(self, source: str, statement: str) -> list[str]:
        """Return the texts of a pair's stored replies: of each sample, then of its second attempt; [] without any."""
        return [reply.content for reply in self._kept(source, statement)]

    def cost(self, source: str, statement: str) -> float | None:
        """Return what a pair's stored replies cost in USD; None without prices, or without counts of tokens."""
        prices, kept = self.options.prices, self._kept(source, statement) if self.options.prices else []
        counted = [reply for reply in kept if reply.tokens_in is not None and reply.tokens_out is not None]
        if not prices or not kept or len(counted) < len(kept):
            return None
        return float(sum(prices.cost(reply.tokens_in or 0, reply.tokens_out or 0) for reply in counted))

    def _kept(self, source: str, statement: str) -> list[Reply]:
        if not replies_path(self.options.replies).is_file():
            return []
        first = self._requests([(source, statement)])
        attempts = [attempt for request in first for attempt in (request, replace(request, attempt=1))]
        kept = (self._store.find(attempt.key(self.options.server_name), only_usable=False) for attempt in attempts)
        return [reply for reply in kept if reply is not None]

    def note(self) -> str:
        """Return one line on requests, costs and errors of this run; "" while no session with the server is open."""
        return self._session.note() if "_session" in vars(self) else ""

    @cached_property
    def _session(self) -> ChatSession | BatchSession:
        """The session with the server, or with the batch file of the option `batch`; opened when first needed."""
        return open_session(self.options, self._store)

    @cached_property
    def _store(self) -> ReplyStore:
        return ReplyStore(replies_path(self.options.replies))

    @cached_property
    def _prompt(self) -> Prompt:
        file = self.options.prompt_file
        if file:
            return read_prompt(file, PLACES)
        return self.free_prompt if self.options.reply == "cued_number" else self.prompt

    def _requests(self, pairs: Iterable[tuple[str, str]]) -> list[ChatRequest]:
        """Return `samples` requests for each (source, statement) with words, a pair's samples side by side."""
        options, requests = self.options, []
        settings: dict[str, Any] = {"model": options.model, options.max_tokens_name: options.max_tokens}
        if options.temperature is not None:
            settings["temperature"] = options.temperature
        if options.output == "json_schema":
            settings["response_format"] = score_parsing.score_schema(self.scale)
        if options.mode == "logprob":
            settings |= {"logprobs": True, "top_logprobs": score_parsing.TOP_LOGPROBS}
        for source, statement in filter(_has_words, pairs):
            content = self._prompt.fill(statement=statement, citation=source)
            body = {**settings, **options.extra, "messages": [{"role": options.role, "content": content}]}
            for sample in range(options.samples):
                seed = {} if options.seed is None else {"seed": options.seed + sample}
                requests.append(ChatRequest({**body, **seed}, sample))
        return requests

    def _replies_to(self, requests: Sequence[ChatRequest]) -> list[Answer]:
        """Return the `Reply` or `Failure` of each request.

        With `ask_again`, a second attempt replaces a reply without a score if it has a score or got no reply.
        """
        answers = list(self._session.ask(requests))
        if self.options.ask_again is None:
            return answers
        ledger = self._session.ledger
        bad = [place for place, answer in enumerate(answers) if self._lacks(answer)]
        second = self._session.ask([replace(requests[place], attempt=1) for place in bad])
        for place, answer in zip(bad, second, strict=True):
            read = isinstance(answer, Reply) and not self._lacks(answer)
            if isinstance(answer, Failure) and answer.cause is Cause.NO_REPLY:
                answers[place] = answer  # the next run asks again: the pair has no score yet
                continue
            ledger.asked_again += 1
            ledger.read_again += read
            ledger.unparsed += read or isinstance(answer, Reply)  # the attempt that is not judged below
            answers[place] = answer if read else answers[place]
        return answers

    def _pair_score(self, samples: Sequence[tuple[ChatRequest, Answer]]) -> PairScore:
        """Return a pair's score: the mean over its replies that hold one; UNPARSED if none does.

        If any request failed there is no score: TOO_LONG if all failures are that, else FAILED, also after a reply
        that is not usable, which the next run asks for again. Tokens: the server's count, or estimated.
        """
        failures = {answer.cause for _, answer in samples if isinstance(answer, Failure)}
        replies = [answer for _, answer in samples if isinstance(answer, Reply)]
        if lost := sum(isinstance(answer, Reply) and not answer.usable(request.body) for request, answer in samples):
            self._session.ledger.unparsed += lost
            failures.add(Cause.GARBLED)
        counts = [reply.tokens_in for reply in replies if reply.tokens_in is not None]
        tokens = counts[0] if counts else samples[0][0].likely_tokens_in
        if failures:
            return PairScore(None, Status.TOO_LONG if failures == {Cause.TOO_LONG} else Status.FAILED, tokens)
        scores = [score for score in map(self._score_of_reply, replies) if score is not None]
        self._session.ledger.unparsed += len(replies) - len(scores)
        return PairScore(fmean(scores), tokens=tokens) if scores else PairScore(None, Status.UNPARSED, tokens)

    def _lacks(self, answer: Answer | None) -> bool:
        """Return whether this is a reply without a score."""
        return isinstance(answer, Reply) and self._score_of_reply(answer) is None

    def _score_of_reply(self, reply: Reply) -> float | None:
        """Return a reply's score, with mode=logprob its expectation; None if refused, cut short, or without a score."""
        if not reply.whole:
            return None
        usual = "json" if self.options.output == "json_schema" else "last_line"
        judgement = score_parsing.RULES[self.options.reply or usual](reply.content, self.scale)
        if judgement is None or self.options.mode == "reply":
            return None if judgement is None else judgement.value
        return score_parsing.expected_score(reply.content, reply.logprobs, judgement, self.scale)


def _has_words(pair: tuple[str, str]) -> bool:
    return all(_WORD.search(text) for text in pair)


class LLMDiscrete(_LLMJudge):
    """A chat model's level: 2 for full support, 1 for partial, 0 for none; a mean with several samples or logprob."""

    card = MetricCard(
        name="llm-discrete",
        summary="a chat model's level of support, 0, 1 or 2, over any OpenAI-compatible endpoint",
        high=2.0,
        **_CARD,
    )
    scale = score_parsing.DISCRETE
    prompt = DISCRETE_PROMPT
    free_prompt = DISCRETE_FREE_PROMPT


class LLMContinuous(_LLMJudge):
    """A chat model's score from 0 (no support) to 1 (full support), as it states it."""

    card = MetricCard(
        name="llm-continuous",
        summary="a chat model's score of support from 0 to 1, over any OpenAI-compatible endpoint",
        high=1.0,
        **_CARD,
    )
    Options = ContinuousOptions
    scale = score_parsing.CONTINUOUS
    prompt = CONTINUOUS_PROMPT
    free_prompt = CONTINUOUS_FREE_PROMPT
