"""SCiFi's rules, counted by hand on made answers: density, the citation of each fact, coverage.

The rules are those of arXiv 2406.06125, Sections 4 and C.3; no code was published. Density is marks over sentences,
and density (sub) the marks that another word of their sentence follows. The citation of a fact is the one nearest to
the end of its segment, of two at the same distance the one after it. Coverage is the mean entailment of the
reference's facts by the answer.
"""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from metaeval.citation.data_model import Passage
from metaeval.citation.scifi.answer_measures import citations_without_facts, coverages, densities, entailments
from metaeval.citation.scifi.data_model import PAPER, AnswerFacts
from metaeval.citation.scifi.fact_entailment import coverage_lines, fact_lines

FIVE = tuple(Passage(f"{word}.") for word in ("Alpha", "Beta", "Gamma", "Delta", "Omega"))

# (text, sentences, marks, marks that a word follows, facts: (sentence, segment, numbers cited, their distance))
ANSWERS = json.loads(Path(__file__).with_name("scifi_by_hand.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(("text", "sentences", "marks", "inside", "facts"), ANSWERS.values(), ids=ANSWERS)
def test_density_and_the_citation_of_each_fact(made, text, sentences, marks, inside, facts):
    read = made.facts_of(text, *(fact[:2] for fact in facts), passages=FIVE)
    (density,), (sub,) = densities([read]), densities([read], inside=True)
    assert (density.hits, density.total) == (marks, sentences)
    assert (sub.hits, sub.total) == (inside, sentences)
    lines = fact_lines([read], made.Scored(Alpha=1.0))
    assert [[list(line.citations), line.distance] for line in lines] == [fact[2:] for fact in facts]
    # Alpha, the first passage, entails everything, the others nothing: 1 for each fact that cites [1].
    cited = [fact[2] for fact in facts if fact[2]]
    (share,) = entailments([read], lines)
    assert (share.hits, share.total) == (sum(1 in numbers for numbers in cited), len(cited))


@pytest.mark.parametrize(
    ("text", "reference", "hits", "total"),
    [
        # The answer's text without marks is the premise; it entails what the metric finds in it.
        ("Alpha swam [1].", ("He swam.", "It rained."), 2, 2),
        ("Nobody swam [1].", ("He swam.", "It rained."), 0, 2),
        ("Nobody swam.\nAlpha ran.", ("He ran.",), 1, 1),
        # An answer without a sentence covers nothing.
        ("...", ("He swam.", "It rained.", "She ran."), 0, 3),
    ],
)
def test_coverage(made, text, reference, hits, total):
    read = made.facts_of(text, passages=FIVE)
    read = AnswerFacts(read.answer, read.sentences, (), reference=reference)
    (share,) = coverages([read], coverage_lines([read], made.Scored(Alpha=1.0)))
    assert (share.hits, share.total) == (hits, total)


@pytest.mark.parametrize(
    ("text", "segment", "cited", "unused"),
    [
        # Of marks behind the fact the first is nearest, of marks before it the last; the others have no fact.
        ("He swam [2][1][3].", "swam", (2,), (2, 3)),
        ("Old [2][1] he ran.", "he ran", (1,), (1, 2)),
        ("He swam [2][1].", "He swam.", (2,), (1, 2)),  # the full stop is no word of the fact
        ("He swam [1].", "swam", (1,), (0, 1)),
        ("He swam.", "swam", (), (0, 0)),
    ],
)
def test_in_the_paper_a_fact_has_one_citation_and_an_uncited_one_counts_0(made, text, segment, cited, unused):
    options = replace(PAPER, tokenizer="words")
    read = made.facts_of(text, (1, segment), passages=FIVE)
    (line,) = lines = fact_lines([read], made.Scored(Alpha=1.0), options)
    assert (line.citations, line.value) == (cited, float(cited == (1,)))
    (share,) = citations_without_facts([read], lines)
    assert (share.hits, share.total) == unused
    (entailed,) = entailments([read], lines, options)
    assert (entailed.hits, entailed.total) == (line.value, 1)


# Density and citation entailment of each row, as printed by arXiv 2406.06125.
TABLE_2 = [
    *((0.57, 19.57), (0.59, 29.75), (0.53, 35.30), (0.68, 39.87), (0.84, 47.00), (1.15, 58.56), (0.57, 24.03)),
    *((0.53, 30.06), (0.51, 17.87), (0.49, 21.23), (0.80, 27.48), (0.64, 30.10), (1.06, 48.99), (1.07, 49.42)),
]
TABLE_6 = [
    *((0.49, 22.68), (0.52, 25.60), (0.93, 55.14), (0.66, 38.89), (0.86, 47.25), (1.37, 64.11), (0.49, 26.71)),
    *((0.50, 31.16), (0.46, 21.48), (0.48, 24.01)),
]


@pytest.mark.parametrize(("rows", "printed"), [(TABLE_2, 0.88), (TABLE_6, 0.96)])
def test_the_papers_entailment_follows_its_density_which_says_that_uncited_facts_count(rows, printed):
    assert round(float(np.corrcoef(np.transpose(rows))[0, 1]), 2) == printed
