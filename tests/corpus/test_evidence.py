"""Evidence alignment: indices as given, copied text by Jaccard."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaeval.corpus.model import Evidence
from metaeval.corpus.pair_table import EvidenceAlignment, align_evidence, word_set

PAGE = [word_set(text) for text in ("the rain fell", "a river rose fast", "the rain fell", "", "nobody came")]


def align(*texts, threshold=0.5, sentences=(), page=PAGE):
    return align_evidence(Evidence(sentences, texts), page, threshold)


def test_words_are_compared_and_indices_stand():
    assert word_set("It’s the ÉTÉ, the 3.5-fold été!") == {"it", "s", "the", "été", "3", "5", "fold"}
    assert align(sentences=(3, 1, 1)) == EvidenceAlignment(frozenset({1, 3}), given=2, unmatched=0)
    assert align("Nobody came.", sentences=(1,)) == EvidenceAlignment(frozenset({1, 4}), given=2, unmatched=0)
    # The first and the last are found, the second shares no word with the page.
    result = align("Rain fell.\n\n— !\n\nUnheard of! A river rose fast.", "Elsewhere, maybe.", threshold=0.5)
    assert result == EvidenceAlignment(frozenset({0, 1}), given=4, unmatched=2)
    assert align("Elsewhere.", threshold=0.0) == EvidenceAlignment(frozenset(), given=1, unmatched=1)
    assert align("Elsewhere.", page=[]) == EvidenceAlignment(frozenset(), given=1, unmatched=1)


@pytest.mark.parametrize("texts", [(), ("",), (" \n ",), ("...", "— !")])
def test_texts_without_words_are_no_evidence(texts):
    assert align(*texts) == EvidenceAlignment(frozenset(), given=0, unmatched=0)


WORDS = st.frozensets(st.sampled_from("abcdefgh"), max_size=6)


@given(st.lists(WORDS, max_size=6), st.lists(WORDS, max_size=4), st.sampled_from([0.2, 1 / 3, 0.5, 2 / 3, 1.0]))
def test_equals_a_plain_search_over_all_pairs(page, evidence, threshold):
    texts = [" ".join(sorted(words)) for words in evidence]
    placed, given_, unmatched = set(), 0, 0
    for words in filter(None, evidence):
        given_ += 1
        similarities = [len(words & other) / len(words | other) for other in page]
        best = max(similarities, default=0.0)
        if best > 0 and best >= threshold:
            placed.add(similarities.index(best))
        else:
            unmatched += 1
    assert align(*texts, threshold=threshold, page=page) == EvidenceAlignment(frozenset(placed), given_, unmatched)
