"""What is missing in SCiFi's numbers: facts without a value, sentences without facts, and what it could change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np

from metaeval.citation.measures import bounds as mean_bounds
from metaeval.citation.measures import macro, micro
from metaeval.citation.scifi.shares import lost_citing
from metaeval.experiment.citing.scifi.run import Assessed, Scored
from metaeval.report.grid import count, numeral, plain
from metaeval.report.result import Column

_EXAMPLES = 3
_SHOWN = 60
_PERCENT = Column(key="", label="", scale=100, digits=1)


def missing_values(one: Scored) -> str:
    """The facts without a value by reason, of answers and of references, and the first of them."""
    facts = [line for line in one.facts if line.state == "unjudged"]
    references = [line for line in one.references if line.reason and line.value is None]
    said = []
    for lines, total, noun in ((facts, len(one.facts), "fact"), (references, len(one.references), "reference fact")):
        first = [f"{plain(line.answer)}, fact {line.fact_number}: {_short(line.fact)}" for line in lines[:_EXAMPLES]]
        if lines:
            reasons = _said(Counter(line.reason for line in lines))
            said.append(f"{reasons} (of {count(total, noun)}); first: {'; '.join(first)}")
    return "; ".join(said)


def bounds(assessed: Assessed, one: Scored) -> str:
    """What citation entailment and coverage of each system could be, were all missing values 0, or 1.

    A sentence without facts is taken as one fact, and the note says so: if it holds more, the ends lie further apart.
    """
    average = micro if assessed.prepared.options.average == "facts" else macro
    said = []
    for number, system in enumerate(assessed.systems):
        ends = []
        rows = np.flatnonzero(assessed.system == number)
        for name, shares in (("citation entailment", one.entailment), ("coverage", one.coverage)):
            if any(shares[row].open for row in rows.tolist()):
                worst, best = (numeral(end, _PERCENT) for end in mean_bounds(shares, average, rows))
                unknown = _unknown(assessed, name, number)
                ends.append(f"{name} {worst} to {best}" + (f" ({one_fact_each(unknown)})" if unknown else ""))
        if ends:
            said.append(f"{plain(system)} {', '.join(ends)}" if len(assessed.systems) > 1 else ", ".join(ends))
    return "; ".join(said)


def one_fact_each(sentences: int) -> str:
    """What bounds take for granted of sentences whose facts nobody knows."""
    return f"if {'the' if sentences == 1 else 'each of'} {count(sentences, 'sentence')} without facts states one"


def _unknown(assessed: Assessed, measure: str, system: int) -> int:
    """How many sentences of a system count for a measure, and have facts that nobody knows."""
    own = [each for each, code in zip(assessed.read, assessed.system, strict=True) if code == system]
    if measure == "citation entailment":
        return sum(len(lost_citing(each)) for each in own)
    return sum(each.reference.sentences_lost for each in own if each.reference is not None)


def lost_sentences(assessed: Assessed) -> str:
    """Sentences whose facts are missing, of answers and of references; nobody knows how many facts they hold."""
    reasons = Counter(reason for own in assessed.read for reason in own.lost.values())
    sentences = sum(len(own.sentences) for own in assessed.read)
    first = next(((own.answer.id, number) for own in assessed.read for number in sorted(own.lost)), None)
    of_references = sum(own.reference.sentences_lost for own in assessed.read if own.reference is not None)
    parts = []
    if first is not None:
        where = f"{plain(first[0])}, sentence {first[1]}"
        parts.append(f"{_said(reasons)} (of {count(sentences, 'sentence')}): their facts are unknown; first: {where}")
    if of_references:
        parts.append(f"{count(of_references, 'sentence')} of references, which coverage does not ask for")
    return "; ".join(parts)


def problems_of_facts(assessed: Assessed) -> str:
    """What was wrong with facts as they were made, by kind."""
    return _said(sum((own.problems for own in assessed.read), Counter()))


def _said(counted: Mapping[str, int]) -> str:
    return ", ".join(f"{plain(name)} {number:,}" for name, number in sorted(counted.items()))


def _short(text: str) -> str:
    flat = plain(text)
    return flat if len(flat) <= _SHOWN else f"{flat[: _SHOWN - 1]}…"
