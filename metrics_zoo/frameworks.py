"""The judges of five evaluation frameworks as metrics: their own prompts, parsing and counting, with any chat model.

A framework is imported when it first judges: none is installed with this package. All ask one model, over an
OpenAI-compatible endpoint, about the whole statement and its whole source; the question that some want is left blank.
"""

from __future__ import annotations

import ast
import asyncio
import os
from abc import abstractmethod
from dataclasses import replace
from functools import cached_property, partial
from math import isnan
from types import SimpleNamespace
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, Field

from metaeval.core.errors import UserError
from metaeval.llm.endpoint import KEY_NAME, OPENAI, ModelOptions, VariableName, checked_url
from metaeval.scoring.backends.sentence_splitting import find_splitter
from metaeval.scoring.contract import MetricCard, MetricOptions
from metaeval.scoring.functions import FunctionMetric, metric

QUIET = {  # environment variables by which the frameworks report nothing to anybody; set before one is imported
    "RAGAS_DO_NOT_TRACK": "true",
    "DEEPEVAL_TELEMETRY_OPT_OUT": "1",
    "DEEPEVAL_UPDATE_WARNING_OPT_IN": "0",
    "DEEPEVAL_DISABLE_DOTENV": "1",  # a file of the current folder that may turn the others on
    "CONFIDENT_TRACING_ENABLED": "NO",
    "LANGSMITH_TRACING_V2": "false",
}


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


_PACKAGES = {  # title, licence, and what pip installs, the package of the prompts first
    "ragas:faithfulness": ("RAGAS", "Apache-2.0", "ragas 'langchain-community<0.4'"),
    "deepeval:faithfulness": ("DeepEval", "Apache-2.0", "deepeval"),
    "phoenix:faithfulness": ("Phoenix", "Elastic License 2.0", "arize-phoenix-evals openai"),
    "trulens:groundedness": ("TruLens", "MIT", "trulens-feedback trulens-providers-openai"),
    "openevals:groundedness": ("OpenEvals", "MIT", "openevals"),
}


def _card(name: str, caution: str) -> MetricCard:
    """Return the card of a framework's judge, but for the summary, which is in the docstring of its class."""
    title, licence, install = _PACKAGES[name]
    where = " Install it where it likes: `metaeval score` there writes files that `metaeval evaluate` reads elsewhere."
    packages = tuple(package for package in install.split() if "<" not in package)
    texts: dict[str, Any] = {"summary": "", "licence": f"{licence} ({title})", "paper": "none"}
    texts |= {"modules": packages, "install": install, "parameters": "the endpoint's", "caution": caution + where}
    return MetricCard(name=name, family="llm judge", title=title, low=0.0, high=1.0, whole_pages=True, **texts)


class _Framework(FunctionMetric):
    """A framework's judge: `function` asks `judge`, which `made` makes of the framework when it is first used."""

    Options = FrameworkOptions
    where = "driver"
    lists = False
    in_loop = True

    def __init_subclass__(cls) -> None:
        summary = (cls.__doc__ or "").partition(": ")[2].rstrip(".")
        cls.card = replace(cls.card, summary=f"{summary} ({cls.card.title})")
        metric(packages=cls.card.modules[:1])(cls.function)  # with a release its prompts can change

    def __init__(self, options: MetricOptions | None = None) -> None:
        super().__init__(options)
        vars(self)["concurrency"] = self.options.concurrency

    @abstractmethod
    def made(self, **server: Any) -> Any:
        """Return the judge of the framework, which is imported here. server: base_url and api_key."""

    @cached_property
    def judge(self) -> Any:
        """The judge, made after the framework's reports to others are switched off."""
        os.environ.update(QUIET)
        server = ModelOptions(**self.options.model_dump(exclude={"concurrency"})).endpoint()
        try:
            return self.made(base_url=server.base_url, api_key=server.key or "none")
        except ImportError as error:
            command = f'type "pip install {self.card.install}"'
            raise UserError(f"{self.card.name!r} cannot import its framework ({error}): {command}.") from error


class RagasFaithfulness(_Framework):
    """RAGAS: share of the statement's claims, as a chat model lists them, that follow from the source."""

    card = _card("ragas:faithfulness", "2 calls a pair; without a claim no score, after 1 (RAGAS gives NaN).")

    def made(self, **server: Any) -> Any:
        """Return RAGAS's metric."""
        from openai import AsyncOpenAI
        from ragas.llms import llm_factory
        from ragas.metrics.collections import Faithfulness

        return Faithfulness(llm=llm_factory(self.options.model, client=AsyncOpenAI(**server)))

    async def function(self, source: str, statement: str) -> Any:
        """Return RAGAS's score; its question is a blank, since it refuses an empty one."""
        judged = await self.judge.ascore(user_input=" ", response=statement, retrieved_contexts=[source])
        return None if isnan(judged.value) else judged.value


class DeepEvalFaithfulness(_Framework):
    """DeepEval: share of the statement's claims that the source does not contradict, by a chat model."""

    card = _card(
        "deepeval:faithfulness",
        "It measures non-contradiction: a claim of which the source says nothing counts as faithful. 3 calls "
        "a pair; without a claim 1, after 2.",
    )

    def made(self, **server: Any) -> Any:
        """Return a function that makes DeepEval's metric anew for each pair, whose claims it keeps in itself."""
        from deepeval.metrics import FaithfulnessMetric
        from deepeval.models import OpenAIModel
        from deepeval.test_case import LLMTestCase

        model = OpenAIModel(model=self.options.model, temperature=0.0, **server)
        anew = partial(FaithfulnessMetric, model=model, include_reason=False, eval_mode="llm")
        return lambda **texts: anew().a_measure(LLMTestCase(input="", **texts), _show_indicator=False)

    async def function(self, source: str, statement: str) -> Any:
        """Return DeepEval's score."""
        return await self.judge(actual_output=statement, retrieval_context=[source])


class PhoenixFaithfulness(_Framework):
    """Phoenix: whether a chat model calls the whole statement faithful to the source, 1 or 0."""

    card = _card("phoenix:faithfulness", "1 call a pair: one verdict on the whole, without a list of claims.")

    def made(self, **server: Any) -> Any:
        """Return Phoenix's evaluator; its bound of 5 requests a second is lifted, since `concurrency` bounds them."""
        from phoenix.evals import LLM
        from phoenix.evals.metrics import FaithfulnessEvaluator

        model = LLM(provider="openai", model=self.options.model, initial_per_second_request_rate=1e4, **server)
        return FaithfulnessEvaluator(llm=model)

    async def function(self, source: str, statement: str) -> Any:
        """Return Phoenix's score."""
        (judged,) = await self.judge.async_evaluate({"input": "", "output": statement, "context": source})
        return judged.score


class TruLensGroundedness(_Framework):
    """TruLens: mean grade, 0 to 1, of the statement's sentences by a chat model that reads the source."""

    card = _card(
        "trulens:groundedness",
        "1 call a pair and 1 a sentence, for which the server needs /v1/responses; without a sentence of "
        "substance 0, after 1; for unreadable replies no score (TruLens gives -1).",
    )

    def identity(self) -> dict[str, Any]:
        """Return the metric's identity, including the sentence splitter's name."""
        return {**super().identity(), "splitter": find_splitter().name}

    def made(self, **server: Any) -> Any:
        """Return TruLens's function. It would download a tokenizer at each call, and run a reply as Python code."""
        from trulens.feedback import llm_provider
        from trulens.providers.openai import OpenAI

        no_download = SimpleNamespace(download=lambda *_, **__: True)
        vars(llm_provider).update(nltk=no_download, sent_tokenize=find_splitter().split, eval=ast.literal_eval)
        return OpenAI(model_engine=self.options.model, rpm=600_000, **server).groundedness_measure_with_cot_reasons

    async def function(self, source: str, statement: str) -> Any:
        """Return TruLens's score."""
        return (await asyncio.to_thread(self.judge, source, statement))[0]


class OpenEvalsGroundedness(_Framework):
    """OpenEvals: whether a chat model finds the whole statement grounded in the source, 1 or 0."""

    card = _card("openevals:groundedness", "1 call a pair: one verdict on the whole, without a list of claims.")

    def made(self, **server: Any) -> Any:
        """Return the judge that OpenEvals makes of its prompt RAG_GROUNDEDNESS_PROMPT."""
        from openai import AsyncOpenAI
        from openevals.llm import create_async_llm_as_judge
        from openevals.prompts import RAG_GROUNDEDNESS_PROMPT

        client = AsyncOpenAI(**server)
        return create_async_llm_as_judge(prompt=RAG_GROUNDEDNESS_PROMPT, judge=client, model=self.options.model)

    async def function(self, source: str, statement: str) -> Any:
        """Return OpenEvals's verdict."""
        return (await self.judge(context=source, outputs=statement))["score"]
