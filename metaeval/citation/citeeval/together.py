"""CiteEval and the baselines that the same chat model judges: everything is asked at once, and then read apart."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import partial

from metaeval.citation.chat.opening import Ask
from metaeval.citation.citeeval.asking import Asking
from metaeval.citation.citeeval.attrscore import AttrStatement, attrscore_by_model, attrscore_inquiries
from metaeval.citation.citeeval.baseline_options import BaselineOptions
from metaeval.citation.citeeval.baselines import Baseline
from metaeval.citation.citeeval.editdist import PUBLISHED, Coefficients
from metaeval.citation.citeeval.evaluate import ResponseValues, evaluate_splits
from metaeval.citation.citeeval.inquiry import Inquiry
from metaeval.citation.citeeval.judge import requests_of
from metaeval.citation.citeeval.lqac import LqacStatement, lqac, lqac_inquiries
from metaeval.citation.citeeval.options import PAPER, CiteEvalOptions
from metaeval.citation.citeeval.splitting import Split
from metaeval.citation.model import Answer as Response
from metaeval.llm.exchange import Answer, ChatRequest


@dataclass(frozen=True)
class Asked:
    """What is asked, in the order in which it is: CiteEval's requests with the places of their responses, inquiries."""

    citeeval: Sequence[tuple[int, ChatRequest]]
    lqac: Sequence[Inquiry]
    attrscore: Sequence[Inquiry]

    @property
    def requests(self) -> list[ChatRequest]:
        """All of them."""
        inquiries = [*self.lqac, *self.attrscore]
        return [*(request for _, request in self.citeeval), *(one.request for one in inquiries)]

    @property
    def responses(self) -> list[int]:
        """The place of the response that each is about."""
        return [*(index for index, _ in self.citeeval), *(one.response for one in [*self.lqac, *self.attrscore])]


@dataclass(frozen=True)
class Heard:
    """Values by CiteEval and by each baseline that was asked for (None: it was not), response by response.

    replies: what came of all requests about each response, in the order of asking.
    """

    results: Sequence[ResponseValues]
    lqac: Sequence[Sequence[LqacStatement]] | None
    attrscore: Sequence[Sequence[AttrStatement]] | None
    replies: Sequence[Sequence[Answer]]


def asked_of(
    responses: Sequence[Response],
    splits: Sequence[Split],
    asking: Asking,
    baselines: Collection[Baseline] = (),
    options: BaselineOptions | None = None,
) -> Asked:
    """What CiteEval and the baselines ask about the responses. Raises ValueError if the lengths differ."""
    make = partial(asking.request, max_tokens=(options or BaselineOptions()).baseline_max_tokens)
    return Asked(
        citeeval=[(index, request) for index, _, request in requests_of(responses, splits, asking)],
        lqac=lqac_inquiries(responses, splits, make) if "lqac" in baselines else (),
        attrscore=attrscore_inquiries(responses, splits, make) if "attrscore" in baselines else (),
    )


def evaluate_together(
    responses: Sequence[Response],
    splits: Sequence[Split],
    ask: Ask,
    asking: Asking,
    options: CiteEvalOptions = PAPER,
    baselines: Collection[Baseline] = (),
    baseline_options: BaselineOptions | None = None,
    coefficients: Coefficients = PUBLISHED,
) -> Heard:
    """Ask everything in one call of `ask`, and make values of what comes."""
    asked = asked_of(responses, splits, asking, baselines, baseline_options)
    answers = list(ask(asked.requests))
    first, second = len(asked.citeeval), len(asked.citeeval) + len(asked.lqac)
    replies: list[list[Answer]] = [[] for _ in splits]
    for index, answer in zip(asked.responses, answers, strict=True):
        replies[index].append(answer)
    own = (responses, splits)
    return Heard(
        results=evaluate_splits(*own, lambda _: answers[:first], asking, options, coefficients),
        lqac=lqac(*own, asked.lqac, answers[first:second]) if "lqac" in baselines else None,
        attrscore=attrscore_by_model(*own, asked.attrscore, answers[second:]) if "attrscore" in baselines else None,
        replies=replies,
    )
