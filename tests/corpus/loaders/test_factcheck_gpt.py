from collections import Counter, defaultdict

from metaeval.corpus.loaders.factcheck_gpt import DATASET


def test_real_counts(real):
    # The list of development data, row factcheck_gpt.
    corpus = real(DATASET)
    assert len(corpus.statements) == 661
    assert len(corpus.citations) == 661 * 5
    stances = Counter(citation.meta["stance"] for citation in corpus.citations)
    assert stances == {"completely-support": 696, "partially-support": 391, "irrelevant": 2057, "refute": 161}
    assert corpus.level_counts() == {"full": 696, "partial": 391, "none": 2057 + 161}
    assert real(DATASET, refute="drop").level_counts()["none"] == 2057
    # The same row: 378 claims have at least two of the three levels.
    levels = defaultdict(set)
    for citation in real(DATASET).citations:
        levels[citation.statement_id].add(citation.level)
    assert sum(len(found) > 1 for found in levels.values()) == 378
