"""Figures of citation pipelines: bars at the tables' values, and claims at the words that they are made of."""

import json

import pytest

pytest.importorskip("matplotlib")

from metaeval.citation.parsers.dependency_parsers import Parse
from metaeval.citation.pipelines.tree_figure import claim_tree
from metaeval.core.errors import UserError
from metaeval.report.figures.drawing import image

# "Cups are glass[1] or plastic[2]": the rules give claim 2 the words before the first citation.
TREE = Parse(
    tokens=("Cups", "are", "glass", "or", "plastic"),
    labels=("nsubj", "ROOT", "attr", "cc", "conj"),
    heads=(1, 1, 1, 2, 2),
)
CLAIMS = [("[1]", 2, (0, 1, 2)), ("[2]", 4, (0, 1, 4))]


def test_a_claims_bars_stand_under_its_words(recorded):
    figure = claim_tree(TREE, CLAIMS)
    recorded.held("figures-claims", {"tree": figure})
    (plot,) = figure.axes
    words = {text.get_text(): text.get_position() for text in plot.texts if text.get_position()[1] < -1.2}
    bars = [line for line in plot.lines if line.get_linewidth() == 6]
    assert len(bars) == 3, "one run of words, and two"
    first, left, right = (sorted(bar.get_xdata()) for bar in bars)
    assert first[0] < words["Cups"][0] < words["glass"][0] < first[1] < words["or"][0]
    assert left[1] < words["glass"][0]
    assert right[0] < words["plastic"][0] < right[1]
    assert {"claim 1 [1]", "claim 2 [2]"} <= {text.get_text() for text in plot.texts}


def test_a_word_stands_below_its_head():
    (plot,) = claim_tree(TREE, CLAIMS, "a " * 99).axes
    assert plot.get_title(loc="left").count("\n") == 3
    top = {}
    for text in plot.texts:
        if text.get_text() in TREE.tokens:
            top[text.get_text()] = max(text.get_position()[1], top.get(text.get_text(), -9))
    assert top["are"] > top["glass"] > top["plastic"] == top["or"]
    assert [text.get_fontweight() for text in plot.texts].count("bold") == 2


def test_hostile_words_are_drawn_as_they_are(hostile, nasty):
    drawn = claim_tree(Parse((nasty, "x"), ("ROOT", nasty), (0, 0)), [("[1]", 1, (0, 1))], nasty)
    hostile.check_svg(image(drawn, "svg").decode("utf-8"))
    with pytest.raises(UserError, match="no word"):
        claim_tree(Parse((), (), ()), [])


@pytest.fixture
def answers(tmp_path):
    passages = [{"title": "A", "text": "Cups are of glass."}, {"title": "B", "text": "Cups are of plastic."}]
    path = tmp_path / "answers.json"
    # A sentence that is too long to parse has no tree.
    text = f"Cups {'and cups ' * 200}are of glass [1]. Cups are of tin [2]. Cups are of glass [1] or of plastic [2]."
    item = {"id": "1", "question": "?", "output": " ".join([text] * 7), "docs": passages}
    path.write_text(json.dumps([item]), encoding="utf-8")
    return path


def test_jobs_of_pipelines_are_drawn_together(tmp_path, answers, recorded):
    pytest.importorskip("spacy")
    import metaeval
    from metaeval.citation.pipelines.figures import bars_of, citation_figures, sentence_tree, trees_of

    found = [metaeval.cite(name, [answers], nli=["overlap"], results=tmp_path) for name in ("alce", "aliice")]
    folders = [one.write() for one in found]
    bars, level = bars_of(folders)
    told = {
        (f"{name}: overlap", one["measure"]): one["value"]
        for name, result in zip(("alce", "aliice"), found, strict=True)
        for one in result.estimates
        if one.get("backend")
    }
    assert {(bar["judge"], bar["measure"]): bar["value"] for bar in bars} == told
    assert ({bar["measure"] for bar in bars}, level) == ({"recall", "precision", "f1"}, 0.95)
    drawn = citation_figures(folders)
    assert list(drawn) == ["figure-pipelines", *(f"tree-{folders[1].name}-{number}" for number in range(1, 7))]
    (parse, claims, _), *_ = trees_of(folders[1])
    _, _, lines = sentence_tree("Cups are of glass [1], or in [2] of plastic[3][4].", "small")
    recorded.held("aliice-figures", {"bars": bars, "tree": [parse, claims], "lines": lines}, whole=True)


@pytest.mark.parametrize("profile", ["paper", "released"])
def test_a_claims_words_are_its_text(profile):
    pytest.importorskip("spacy")
    from metaeval.citation.aliice.claim_options import aliice_profile
    from metaeval.citation.aliice.claims import read_sentences
    from metaeval.citation.parsers.dependency_parsers import find_parser
    from metaeval.citation.pipelines.figures import tree_of

    sentence = "Queen Victoria became Queen of the United Kingdom on 20 June 1837[1] and died in 1901[1]."
    chosen = aliice_profile(profile)
    (read,) = read_sentences([sentence], find_parser("small", chosen.one_root), chosen)
    parse, claims, _ = tree_of(sentence, "small", profile)
    texts = [" ".join(parse.tokens[place] for place in places) for _, _, places in claims]
    assert texts == [claim.text.replace(",", " ,") if profile != "released" else claim.text for claim in read.claims]
    assert [parse.tokens[node] for _, node, _ in claims] == ["1837", "1901"]
