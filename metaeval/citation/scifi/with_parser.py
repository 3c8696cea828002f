"""Facts without a model: ALiiCE's claims, one for each citation group of a sentence.

Of ALiiCE's profiles the expanded one makes them: its claims stand alone ("Cups can be made of plastic"), where the
paper's rules leave phrases. A sentence with one citation group or none is one fact, and is not parsed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from metaeval.citation.aliice.claims import Draft, draft
from metaeval.citation.model import Answer
from metaeval.citation.parsers.parse import Parse, Parser
from metaeval.citation.scifi.model import DUPLICATE, AnswerFacts, Fact, ReferenceFacts, Segment, Sentence
from metaeval.citation.scifi.options import ScifiOptions
from metaeval.citation.scifi.references import given_facts, reference_sentences
from metaeval.citation.scifi.sentences import has_letter, read_sentences
from metaeval.citation.scifi.tree_claims import PROFILE, Made, claims_in, with_groups
from metaeval.citation.sentences import RULES, SentenceSplitter

__all__ = ["PROFILE", "read_with_parser"]


def read_with_parser(
    answers: Sequence[Answer], options: ScifiOptions, parser: Parser, splitter: SentenceSplitter = RULES
) -> list[AnswerFacts]:
    """The sentences and facts of every answer, and the facts of its reference; the parser is called once.

    parser: made with `PROFILE.one_root`, as in `find_parser("small", PROFILE.one_root)`.
    """
    sentences = [read_sentences(answer, options, splitter) for answer in answers]
    drafts = {
        (place, one.number): draft(with_groups(one).text, PROFILE)
        for place, own in enumerate(sentences)
        for one in own
        if len(one.groups) > 1 and has_letter(one.text)
    }
    texts = list(dict.fromkeys(each.text for each in drafts.values() if each.text is not None))
    parses = dict(zip(texts, parser.parse(texts) if texts else [], strict=True))
    return [
        _answer_facts(
            answer,
            own,
            {one.number: _stated(one, drafts.get((place, one.number)), parses) for one in own},
            options,
            splitter,
        )
        for place, (answer, own) in enumerate(zip(answers, sentences, strict=True))
    ]


def _answer_facts(
    answer: Answer,
    sentences: tuple[Sentence, ...],
    made: Mapping[int, Sequence[Made]],
    options: ScifiOptions,
    splitter: SentenceSplitter,
) -> AnswerFacts:
    facts: list[Fact] = []
    problems: Counter[str] = Counter()
    for number, found in made.items():
        seen: dict[str, int] = {}
        for text, segment, rule, own in found:
            if text.casefold() in seen:
                # A fact is judged once; which groups it was cut out for is not forgotten.
                problems[DUPLICATE] += 1
                place = seen[text.casefold()]
                facts[place] = replace(facts[place], own=tuple(sorted({*facts[place].own, *own})))
            elif has_letter(text):
                seen[text.casefold()] = len(facts)
                facts.append(Fact(len(facts) + 1, text, number, segment, rule, own=own))
    reference = given_facts(answer) or reference_sentences(answer, options, splitter)
    return AnswerFacts(
        answer,
        sentences,
        tuple(facts),
        reference=None if reference is None else ReferenceFacts(reference),
        problems=problems,
    )


def _stated(sentence: Sentence, ready: Draft | None, parses: Mapping[str, Parse]) -> list[Made]:
    if ready is None or ready.text is None:
        own = tuple(group.at for group in sentence.groups) if len(sentence.groups) == 1 else ()
        return [(sentence.text, Segment(0, len(sentence.text), "verbatim"), "sentence", own)]
    return claims_in(sentence, ready, parses[ready.text])
