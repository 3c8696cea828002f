from collections import Counter, defaultdict

import pytest

from metaeval.core.errors import UserError
from metaeval.corpus.loaders.factcheck_gpt import DATASET


def row(claim, evidence, stance):
    return {"claim": claim, "evidence": evidence, "stance": stance}


ROWS = [
    row("A.", "p", "completely-support"),
    row("A.", "p", "partially-support"),
    row("A.", "q", "refute"),
    row("A.", "r", "irrelevant"),
    row("B.", "p", "irrelevant"),
]


def test_claims_and_passages_are_shared_and_judgements_numbered(made):
    corpus = made(DATASET, ROWS)
    assert [(c.id, c.level.label) for c in corpus.citations] == [
        ("claim-001:1", "full"),
        ("claim-001:2", "partial"),
        ("claim-001:3", "none"),
        ("claim-001:4", "none"),
        ("claim-002:1", "none"),
    ]
    assert [len(corpus.documents), len(corpus.statements)] == [3, 2]
    assert corpus.statements["claim-001"].group == "claim-001"
    corpus = made(DATASET, ROWS, refute="drop")
    # The other judgements keep the ids that they have without the option.
    assert [c.id for c in corpus.citations] == ["claim-001:1", "claim-001:2", "claim-001:4", "claim-002:1"]
    assert corpus.dropped == {"passage refutes the claim (refute=drop)": 1}


def test_faulty_rows_are_told(refuses_each_field, made):
    refuses_each_field(DATASET, ROWS[0], ["claim", "evidence", "stance"])
    with pytest.raises(UserError, match='"support"; allowed: "completely-support", "partially-support", "irrelevant"'):
        made(DATASET, [row("A.", "p", "support")])


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
