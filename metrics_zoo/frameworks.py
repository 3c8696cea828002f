"""The judges of five evaluation frameworks as metrics: their own prompts, parsing and counting, with any chat model.

A framework is imported when it first judges, and is no dependency. All ask one model, over an OpenAI-compatible
endpoint, about the whole statement and its whole source; there is no question, and theirs is left blank.
"""

from __future__ import annotations

import ast
import asyncio
import os
from abc import abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from math import isnan
from types import SimpleNamespace
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, Field

from metaeval.errors import UserError
from metaeval.llm.endpoint import KEY_NAME, OPENAI, ModelOptions, VariableName, checked_url
from metaeval.scoring.backends.sentence_splitting import find_splitter
from metaeval.scoring.contract import MetricCard, MetricOptions
from metaeval.scoring.functions import FunctionMetric

QUIET = {
    "RAGAS_DO_NOT_TRACK": "true",
    "DEEPEVAL_TELEMETRY_OPT_OUT": "1",
    "DEEPEVAL_UPDATE_WARNING_OPT_IN": "0",
    "DEEPEVAL_DISABLE_DOTENV": "1",  # a file of the current folder that may turn the others on
    "CONFIDENT_TRACING_ENABLED": "NO",
    "LANGSMITH_TRACING_V2": "false",
    "OTEL_SDK_DISABLED": "true",
}
"""Environment variables by which the frameworks report nothing to anybody; set before one is imported."""

Ask = Callable[[str, str], Awaitable[float]]
"""Returns a framework's number for (source, statement)."""


class FrameworkOptions(MetricOptions):
    """Options of a framework's judge."""

    runtime: ClassVar[frozenset[str]] = frozenset({"api_key_env", "concurrency"})

    model: Annotated[str, Field(min_length=1)] = "gpt-4o-mini"
    """Name of the model at its endpoint."""
    base_url: Annotated[str, AfterValidator(checked_url)] = OPENAI
    """Address of the server, http://HOST:PORT/v1."""
    api_key_env: VariableName = KEY_NAME
    """Environment variable that holds the key."""
    concurrency: Annotated[int, Field(ge=1, le=1024)] = 8
    """Pairs that are judged at once."""


_CARD: dict[str, Any] = {
    "family": "framework judge",
    "paper": "none",
    "low": 0.0,
    "high": 1.0,
    "whole_pages": True,
    "parameters": "the endpoint's",
}
_ALONE = (
    "Give the framework an environment of its own, and take the scores into another by `metaeval pairs` and `metaeval "
    "evaluate`."
)


class _Framework(FunctionMetric):
    """A framework's judge, asked for one pair after the other, `concurrency` of them at a time.

    package: the distribution whose version is in the identity, since its prompts can change with each release.
    """

    Options = FrameworkOptions
    where = "driver"
    package: ClassVar[str]

    def identity(self) -> dict[str, Any]:
        """Return the metric's identity, with the version of its framework ("none" where it is not installed)."""
        try:
            installed = version(self.package)
        except PackageNotFoundError:
            installed = "none"
        return {**super().identity(), "packages": {self.package: installed}}

    def prepare(self, sources: Sequence[str], statements: Sequence[str]) -> None:
        """Check the key, and import the framework, with its reports to others switched off."""
        os.environ.update(QUIET)
        try:
            self.ask()
        except ImportError as error:
            raise UserError(
                f"Metric {self.card.name!r} cannot import its framework ({error}): type "
                f"'pip install {self.card.install}'."
            ) from error

    async def function(self, source: str, statement: str) -> float | None:
        """Return the framework's score of a pair; None for NaN."""
        score = await self.ask()(source, statement)
        return None if isnan(score) else score

    @abstractmethod
    def ask(self) -> Ask:
        """Return the function that asks the framework."""

    @property
    def server(self) -> dict[str, str]:
        """The address and the key, as OpenAI's client takes them: it wants a key for servers without one too."""
        chosen = self.options.model_dump(include={"model", "base_url", "api_key_env"})
        endpoint = ModelOptions(**chosen).endpoint()
        return {"base_url": endpoint.base_url, "api_key": endpoint.key or "none"}


class RagasFaithfulness(_Framework):
    """RAGAS's faithfulness: the share of the statement's claims that can be inferred from the source."""

    card = MetricCard(
        name="ragas:faithfulness",
        title="RAGAS",
        summary="share of the statement's claims, as a chat model lists them, that follow from the source (RAGAS)",
        licence="Apache-2.0 (RAGAS)",
        caution=f"2 calls a pair; without a claim there is no score (RAGAS gives NaN). {_ALONE}",
        modules=("ragas",),
        install="ragas 'langchain-community<0.4'",
        **_CARD,
    )
    package = "ragas"

    def ask(self) -> Ask:
        """Return `ascore` of RAGAS; its question is a blank, since it refuses an empty one."""
        from openai import AsyncOpenAI
        from ragas.llms import llm_factory
        from ragas.metrics.collections import Faithfulness

        judge = Faithfulness(llm=llm_factory(self.options.model, client=AsyncOpenAI(**self.server)))

        async def asked(source: str, statement: str) -> float:
            return (await judge.ascore(user_input=" ", response=statement, retrieved_contexts=[source])).value

        return asked


class DeepEvalFaithfulness(_Framework):
    """DeepEval's faithfulness: the share of the statement's claims that no fact of the source contradicts."""

    card = MetricCard(
        name="deepeval:faithfulness",
        title="DeepEval",
        summary="share of the statement's claims that the source does not contradict, by a chat model (DeepEval)",
        licence="Apache-2.0 (DeepEval)",
        caution=(
            "It measures non-contradiction: claims of which the source says nothing count as faithful. 3 calls a pair; "
            f"without a claim the score is 1, after 2. {_ALONE}"
        ),
        modules=("deepeval",),
        install="deepeval",
        **_CARD,
    )
    package = "deepeval"

    def ask(self) -> Ask:
        """Return `a_measure` of DeepEval, of a new metric for each pair: it keeps the pair's claims in itself."""
        from deepeval.metrics import FaithfulnessMetric
        from deepeval.models import OpenAIModel
        from deepeval.test_case import LLMTestCase

        model = OpenAIModel(model=self.options.model, temperature=0.0, **self.server)

        async def asked(source: str, statement: str) -> float:
            case = LLMTestCase(input="", actual_output=statement, retrieval_context=[source])
            judge = FaithfulnessMetric(model=model, include_reason=False, eval_mode="llm")
            return await judge.a_measure(case, _show_indicator=False)

        return asked


class PhoenixFaithfulness(_Framework):
    """Phoenix's faithfulness: 1 where a chat model calls the whole statement faithful to the source, else 0."""

    card = MetricCard(
        name="phoenix:faithfulness",
        title="Phoenix",
        summary="whether a chat model calls the whole statement faithful to the source, 1 or 0 (Arize Phoenix)",
        licence="Elastic License 2.0 (arize-phoenix-evals)",
        caution=f"1 call a pair; one verdict on the whole, without a list of claims. {_ALONE}",
        modules=("phoenix", "openai"),
        install="arize-phoenix-evals openai",
        **_CARD,
    )
    package = "arize-phoenix-evals"

    def ask(self) -> Ask:
        """Return `async_evaluate` of Phoenix, whose 5 requests a second are lifted: `concurrency` bounds them."""
        from phoenix.evals import LLM
        from phoenix.evals.metrics import FaithfulnessEvaluator

        model = LLM(provider="openai", model=self.options.model, initial_per_second_request_rate=1e4, **self.server)
        judge = FaithfulnessEvaluator(llm=model)

        async def asked(source: str, statement: str) -> float:
            (score,) = await judge.async_evaluate({"input": "", "output": statement, "context": source})
            return score.score

        return asked


class TruLensGroundedness(_Framework):
    """TruLens's groundedness: mean of a chat model's grades, 0 to 3 over 3, of the statement's sentences."""

    card = MetricCard(
        name="trulens:groundedness",
        title="TruLens",
        summary="mean grade, 0 to 1, of the statement's sentences by a chat model that reads the source (TruLens)",
        licence="MIT (TruLens)",
        caution=(
            "1 call a pair and 1 a sentence, which need the server's /v1/responses; without a sentence of substance the "
            f"score is 0; an unreadable reply, TruLens's -1, is no score. {_ALONE}"
        ),
        splitter="NLTK or rules",
        modules=("trulens",),
        install="trulens-feedback trulens-providers-openai",
        **_CARD,
    )
    package = "trulens-feedback"

    def identity(self) -> dict[str, Any]:
        """Return the metric's identity, including the sentence splitter's name."""
        return {**super().identity(), "splitter": find_splitter().name}

    def ask(self) -> Ask:
        """Return `groundedness_measure_with_cot_reasons` of TruLens, in a thread.

        TruLens downloads a tokenizer at each call, and evaluates a reply as Python code: both are replaced.
        """
        from trulens.feedback import llm_provider
        from trulens.providers.openai import OpenAI

        vars(llm_provider).update(
            nltk=SimpleNamespace(download=lambda *_, **__: True), sent_tokenize=find_splitter().split, eval=ast.literal_eval
        )
        judge = OpenAI(model_engine=self.options.model, rpm=600_000, **self.server)

        async def asked(source: str, statement: str) -> float:
            score, _ = await asyncio.to_thread(judge.groundedness_measure_with_cot_reasons, source, statement)
            return score

        return asked


class OpenEvalsGroundedness(_Framework):
    """OpenEvals's groundedness: 1 where a chat model finds that the source supports the whole statement, else 0."""

    card = MetricCard(
        name="openevals:groundedness",
        title="OpenEvals",
        summary="whether a chat model finds the whole statement grounded in the source, 1 or 0 (OpenEvals)",
        licence="MIT (OpenEvals)",
        caution=f"1 call a pair; one verdict on the whole, without a list of claims. {_ALONE}",
        modules=("openevals",),
        install="openevals",
        **_CARD,
    )
    package = "openevals"

    def ask(self) -> Ask:
        """Return the judge that OpenEvals makes of its prompt RAG_GROUNDEDNESS_PROMPT."""
        from openai import AsyncOpenAI
        from openevals.llm import create_async_llm_as_judge
        from openevals.prompts import RAG_GROUNDEDNESS_PROMPT

        client = AsyncOpenAI(**self.server)
        judge = create_async_llm_as_judge(prompt=RAG_GROUNDEDNESS_PROMPT, judge=client, model=self.options.model)

        async def asked(source: str, statement: str) -> float:
            return float((await judge(context=source, outputs=statement))["score"])

        return asked
