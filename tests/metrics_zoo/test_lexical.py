"""The lexical metrics against hand-worked values and the packages that define them."""

import json
import random
from pathlib import Path

import pytest

from metaeval.scoring.engine import score_pairs
from metrics_zoo.bm25 import BM25, BM25Options
from metrics_zoo.overlap import Overlap
from metrics_zoo.rouge import Rouge, RougeOptions

WIDE = json.loads(Path(__file__).with_name("wide_pairs.json").read_text(encoding="utf-8"))
WORDS = "river stone bridge council built flood repair the of and 1873 engineer winter cost money open not".split()


def texts(seed, count=40):
    rng = random.Random(seed)
    return [" ".join(rng.choices(WORDS, k=rng.randrange(3, 30))) for _ in range(count)]


def outputs(metric):
    """Scores, counts and spans of the wide pairs."""
    sources, statements = zip(*WIDE, strict=True)
    metric.prepare(sorted({*sources}), sorted({*statements}))
    answers = [[answer.score, answer.status, answer.tokens] for answer in metric.score(sources, statements)]
    spans = [
        [f"{side[1]}{start}-{end}:{weight:.4g}/{link}" for side, start, end, weight, link in metric.explain(*pair)]
        for pair in (*WIDE[:8], *WIDE[17:20], *WIDE[24:])
    ]
    return {"identity": metric.identity()["options"], "answers": answers, "spans": spans}


def test_wide_pairs_are_scored_and_explained_as_recorded(recorded):
    kinds = {
        Overlap: [{}, {"content_only": False}, {"language": "de"}, {"language": "hi"}],
        Rouge: [{}, {"language": "hi"}, {"variant": "rouge1"}, {"variant": "rouge2", "side": "recall"}, {"stem": True}],
        BM25: [{}, {"k1": 0.9, "b": 0.4}],
    }
    ways = {f"{kind.card.name} {given}": kind(kind.Options(**given)) for kind, own in kinds.items() for given in own}
    recorded.held("zoo-lexical", {name.replace(" ", ""): outputs(metric) for name, metric in ways.items()})


@pytest.mark.parametrize("variant", ["rouge1", "rouge2", "rougeL"])
@pytest.mark.parametrize("side", ["precision", "recall", "fmeasure"])
@pytest.mark.parametrize("stem", [False, True])
def test_rouge_is_the_packages_value_with_the_source_as_reference(variant, side, stem):
    from rouge_score.rouge_scorer import RougeScorer

    sources = [*texts(1), "", "river", "İzmir's WORDS_of 1873", "a b a"]
    statements = [*texts(2), "a b", "river", "izmir S words of", "a a b a"]
    ours = Rouge(RougeOptions(variant=variant, side=side, stem=stem)).score(sources, statements)
    scorer = RougeScorer([variant], use_stemmer=stem)
    theirs = [
        getattr(scorer.score(target=source, prediction=statement)[variant], side)
        for source, statement in zip(sources, statements, strict=True)
    ]
    assert [answer.score for answer in ours] == theirs


@pytest.mark.parametrize(("k1", "b"), [(1.5, 0.75), (0.9, 0.4), (2.0, 0.0)])
def test_bm25_is_bm25s_in_its_default_variant(k1, b):
    import bm25s

    sources, statements = sorted(set(texts(3))), texts(4)
    pairs = [(source, statement) for statement in statements for source in sources]
    ours = score_pairs(BM25(BM25Options(k1=k1, b=b)), pairs)
    index = bm25s.BM25(k1=k1, b=b, dtype="float64")
    index.index([source.split() for source in sources], show_progress=False)
    theirs = [score for statement in statements for score in index.get_scores(statement.split())]
    assert [answer.score for answer in ours.answers] == pytest.approx(theirs, abs=1e-9)
    (lone,) = score_pairs(BM25(BM25Options(k1=k1, b=b)), [("river stone", "river")]).answers
    assert lone.score * (1 + k1) == pytest.approx(0.287682072)  # ln 4/3: the only source is as long as the mean
