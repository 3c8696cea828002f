"""LQAC (LongBench-Cite, arXiv 2409.02897) by a chat model: is a statement supported, is each of its citations relevant.

The questions are the paper's, the wording is this project's own. Where the released code asks for a rating in ten
tokens, up to five times and later at random, each question is asked once here, and a reply that is none stays missing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from metaeval.citation.citeeval.aggregate import Scenario
from metaeval.citation.citeeval.baselines import Open, Triple, between, known, mean, response_triple, triple
from metaeval.citation.citeeval.inquiry import (
    Choices,
    Inquiry,
    Kind,
    Make,
    State,
    citable,
    read_choices,
    shown,
    shown_passages,
)
from metaeval.citation.citeeval.splitting import Split, Statement
from metaeval.citation.model import Answer as Response
from metaeval.citation.model import Passage
from metaeval.llm.exchange import Answer

SUPPORT: Mapping[str, float] = {"full": 1.0, "partial": 0.5, "none": 0.0}
"""What the passages of a cited statement give it, and the recall that it has for that."""

RECALL = Kind("lqac_recall", "support", tuple(SUPPORT))
NEED = Kind("lqac_need", "needs_citation", ("yes", "no"), ("query", "answer", "statement"))
PRECISION = Kind("lqac_precision", "relevance", ("relevant", "irrelevant"))
KINDS = (RECALL, NEED, PRECISION)

Aggregation = Literal["statements", "response"]
"""How a response is made of its statements: as CiteEval does, or as LongCite does."""


@dataclass(frozen=True)
class LqacStatement:
    """What was said of a statement, and its values.

    said: "full", "partial" or "none" of a cited statement, "needs a citation" or "needs none" of another; None where
    it is missing. relevant: of each citation, in order; None: missing. states: what became of the questions asked.
    """

    values: Triple
    recall: Open
    relevant: tuple[bool | None, ...]
    said: str | None
    states: Counter[State] = field(default_factory=Counter)


def lqac_inquiries(responses: Sequence[Response], splits: Sequence[Split], make: Make) -> list[Inquiry]:
    """What is asked, one question a request; a response's own stand together, in the order of its statements.

    A cited statement: how far its passages together support it, and whether each is relevant. Another: whether it
    needs a citation. Not asked: of citations without a passage or with an empty one, and of responses that say that
    they found no answer. Raises ValueError if the lengths differ.
    """
    prompts = {kind.name: kind.prompt() for kind in KINDS}
    asked: list[Inquiry] = []
    for number, (response, split) in enumerate(zip(responses, splits, strict=True)):
        if split.no_answer:
            continue
        text = "\n".join(one.text for one in split.statements)
        for place, one in enumerate(split.statements):
            for kind, citation, passages in _of_cited(one, response) if one.citations else [(NEED, None, ())]:
                content = prompts[kind.name].fill(
                    query=shown(response.question),
                    answer=shown(text),
                    statement=shown(one.text),
                    passages=shown_passages(passages),
                )
                asked.append(Inquiry(kind, number, place, citation, make(content, kind.form)))
    return asked


def lqac(
    responses: Sequence[Response], splits: Sequence[Split], inquiries: Sequence[Inquiry], answers: Sequence[Answer]
) -> list[list[LqacStatement]]:
    """The values of each statement of each response; inquiries, answers: of `lqac_inquiries`, and what came of them.

    Recall: 1, 0.5 or 0 for full, partial or no support; 1 for a statement without citations that needs none, else 0.
    Precision: the share of its citations that are relevant, 0 without one. A citation that gives nothing to read
    supports nothing and is irrelevant.
    """
    choices = read_choices(inquiries, answers)
    return [
        [_statement(number, place, one, response, split, choices) for place, one in enumerate(split.statements)]
        for number, (response, split) in enumerate(zip(responses, splits, strict=True))
    ]


def lqac_response(
    statements: Sequence[LqacStatement],
    cited: Sequence[bool],
    scenario: Scenario = "full",
    aggregation: Aggregation = "statements",
) -> Triple:
    """Precision, recall and F1 of a response; cited: which of its statements have citations.

    "statements", as CiteEval: each the mean of the statements' own. "response", as LongCite: recall the mean over
    statements, precision the mean over all citations of the response (0 without one), F1 from these two.
    In the scenario "cited", statements without citations are left out, and a response of nothing else is 0.
    Raises ValueError if the lengths differ.
    """
    if aggregation == "statements" or not statements:
        return response_triple([one.values for one in statements], cited, scenario)
    used = [one for one, has in zip(statements, cited, strict=True) if has or scenario == "full"]
    if not used:
        return triple(known(0.0), known(0.0))
    relevant = [_relevance(said) for one in used for said in one.relevant]
    return triple(mean(relevant) if relevant else known(0.0), mean([one.recall for one in used]))


def _of_cited(statement: Statement, response: Response) -> list[tuple[Kind, int | None, Sequence[Passage]]]:
    """The questions about a cited statement: kind, place of the citation, passages that are shown."""
    cited = citable(statement, response)
    together: list[tuple[Kind, int | None, Sequence[Passage]]] = []
    if cited:
        together.append((RECALL, None, [passage for _, passage in cited]))
    return [*together, *((PRECISION, place, [passage]) for place, passage in cited)]


def _statement(
    number: int, place: int, statement: Statement, response: Response, split: Split, choices: Choices
) -> LqacStatement:
    key = (number, place)
    if not statement.citations:
        # A response that says that it found no answer has nothing to cite; it is not asked about.
        said, state = choices[NEED.name, *key, None] if not split.no_answer else ("no", None)
        recall = {"yes": known(0.0), "no": known(1.0), None: between(0.0, 1.0)}[said]
        words = {"yes": "needs a citation", "no": "needs none", None: None}[said]
        return LqacStatement(triple(known(0.0), recall), recall, (), words, Counter(_there([state])))
    said, state = choices.get((RECALL.name, *key, None), ("none", None))
    recall = between(0.0, 1.0) if said is None else known(SUPPORT[said])
    heard = [choices.get((PRECISION.name, *key, own), ("irrelevant", None)) for own in range(len(statement.citations))]
    relevant = tuple(None if word is None else word == "relevant" for word, _ in heard)
    precision = mean([_relevance(one) for one in relevant])
    states = Counter(_there([state, *(own for _, own in heard)]))
    return LqacStatement(triple(precision, recall), recall, relevant, said, states)


def _relevance(said: bool | None) -> Open:
    return between(0.0, 1.0) if said is None else known(float(said))


def _there(states: Sequence[State | None]) -> list[State]:
    return [state for state in states if state is not None]
