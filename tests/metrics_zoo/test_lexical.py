"""The lexical metrics against hand-worked values and the packages that define them."""

import math
import random

import pytest

from metaeval.scoring.contract import Status
from metaeval.scoring.engine import score_pairs
from metrics_zoo.bm25 import BM25, BM25Options
from metrics_zoo.overlap import Overlap, OverlapOptions
from metrics_zoo.rouge import Rouge, RougeOptions

WORDS = "river stone bridge council built flood repair the of and 1873 engineer winter cost money open not".split()


def texts(seed, count=40):
    rng = random.Random(seed)
    return [" ".join(rng.choices(WORDS, k=rng.randrange(3, 30))) for _ in range(count)]


@pytest.mark.parametrize(
    ("source", "statement", "score"),
    [
        # content words of the statement: bridge, built, 1873; bridge and built stand in the source
        ("The old bridge was built of stone", "The bridge was built in 1873", 2 / 3),
        # without content words all words count: it, was; one of two
        ("was", "It was", 1 / 2),
        ("", "A bridge", 0.0),
        ("BRIDGE, bridge!", "bridge bridge Bridge", 1.0),
    ],
)
def test_overlap_is_the_share_of_distinct_content_words(source, statement, score):
    assert Overlap().score([source], [statement])[0].score == score


def test_overlap_can_count_function_words_too():
    # the, bridge, was, built, in, 1873: the, bridge, was, built are there
    metric = Overlap(OverlapOptions(content_only=False))
    assert metric.score(["The old bridge was built of stone"], ["The bridge was built in 1873"])[0].score == 4 / 6


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


def test_rouge_without_a_latin_token_has_nothing_to_judge():
    assert Rouge().score(["東京は日本の首都"], ["東京"])[0].status is Status.EMPTY


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


def shown(metric, source, statement):
    """What a metric explains, as (side, words, weight, link)."""
    texts = {"source": source, "statement": statement}
    return [
        (span.side, texts[span.side][span.start : span.end], span.weight, span.link)
        for span in metric.explain(source, statement)
    ]


def test_overlap_explains_each_word_that_counts():
    found = shown(Overlap(), "İ BRIDGE of stone; the bridge stood.", "The Bridge was built of stone")
    links = {words.lower(): link for side, words, _, link in found if side == "statement"}
    expected = {"statement": [("Bridge", 1), ("built", 0), ("stone", 1)]}
    expected["source"] = [("BRIDGE", 1), ("bridge", 1), ("stone", 1)]
    assert sorted(found) == sorted(
        (side, word, weight, links[word.lower()]) for side, words in expected.items() for word, weight in words
    )


def test_bm25_explains_each_word_by_its_part_of_the_sum():
    # Of the two sources, the first has both words; "bridge" stands in both of them and counts less.
    metric = BM25()
    sources = ["bridge stone", "bridge water"]
    metric.prepare(sources, ["bridge stone"])
    parts = {words: weight for side, words, weight, _ in shown(metric, sources[0], "bridge stone") if side == "source"}
    rarity = {"bridge": math.log(1 + 0.5 / 2.5), "stone": math.log(1 + 1.5 / 1.5)}
    # Both sources have the mean length: tf / (tf + k1) = 1 / 2.5.
    assert parts == pytest.approx({word: rarity[word] / 2.5 / rarity["stone"] for word in parts})
    assert metric.score([sources[0]], ["bridge stone"])[0].score == pytest.approx(sum(rarity.values()) / 2.5)


@pytest.mark.parametrize("variant", ["rouge1", "rougeL"])
@pytest.mark.parametrize("stem", [False, True])
def test_rouge_explains_as_many_words_as_it_counts(variant, stem):
    # Precision is the matched share of the statement's words, so the spans of weight 1 are that share of its spans.
    metric = Rouge(RougeOptions(variant=variant, stem=stem))
    for source, statement in zip(texts(3), texts(4), strict=True):
        found = shown(metric, source, statement)
        own = [weight for side, _, weight, _ in found if side == "statement"]
        assert sum(own) / len(own) == metric.score([source], [statement])[0].score
        matched = {link: words for side, words, weight, link in found if side == "statement" and weight}
        assert {link for side, _, _, link in found if side == "source"} == set(matched)
        if not stem:
            assert all(matched[link] == words for side, words, _, link in found if side == "source")


def test_rouge_2_explains_the_words_of_shared_pairs():
    found = shown(Rouge(RougeOptions(variant="rouge2")), "the old bridge, the old stone", "an old bridge the stone")
    # (old, bridge) and (bridge, the) stand in both.
    own = {words: weight for side, words, weight, _ in found if side == "statement"}
    assert own == {"an": 0, "old": 1, "bridge": 1, "the": 1, "stone": 0}
