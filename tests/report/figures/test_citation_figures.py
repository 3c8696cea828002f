"""Figures of citation pipelines: bars at the tables' values, and claims at the words that they are made of."""

import json

import pytest

pytest.importorskip("matplotlib")

from metaeval.citation.pipelines.tree_figure import ClaimTree, Highlighted, claim_tree
from metaeval.errors import UserError
from metaeval.report.figures.bars import SystemBar, system_bars
from metaeval.report.figures.drawing import image
from metaeval.report.figures.edit_rounds import round_lines
from metaeval.report.result import Column

# "Cups are glass[1] or plastic[2]": the rules give claim 2 the words before the first citation.
TREE = ClaimTree(
    tokens=("Cups", "are", "glass", "or", "plastic"),
    labels=("nsubj", "ROOT", "attr", "cc", "conj"),
    heads=(1, 1, 1, 2, 2),
    claims=(Highlighted("[1]", 2, (0, 1, 2)), Highlighted("[2]", 4, (0, 1, 4))),
)


def test_a_claims_bars_stand_under_its_words():
    (plot,) = claim_tree(TREE).axes
    words = {text.get_text(): text.get_position() for text in plot.texts if text.get_position()[1] < -1.2}
    bars = [line for line in plot.lines if line.get_linewidth() == 6]
    assert len(bars) == 3, "one run of words, and two"
    first, left, right = (sorted(bar.get_xdata()) for bar in bars)
    assert first[0] < words["Cups"][0] < words["glass"][0] < first[1] < words["or"][0]
    assert left[1] < words["glass"][0]
    assert right[0] < words["plastic"][0] < right[1]
    assert {"claim 1 [1]", "claim 2 [2]"} <= {text.get_text() for text in plot.texts}


def test_the_line_below_a_node_ends_above_the_words():
    figure = claim_tree(TREE)
    figure.draw_without_rendering()
    (plot,) = figure.axes
    lines = [line.get_window_extent() for line in plot.lines if line.get_zorder() == 0]
    words = [text.get_window_extent() for text in plot.texts if text.get_text() in TREE.tokens]
    assert (len(lines), len(words)) == (5, 10)
    assert not any(line.overlaps(word) for line in lines for word in words)


def test_a_word_stands_below_its_head():
    (plot,) = claim_tree(TREE).axes
    top = {}
    for text in plot.texts:
        if text.get_text() in TREE.tokens:
            top[text.get_text()] = max(text.get_position()[1], top.get(text.get_text(), -9))
    assert top["are"] > top["glass"] > top["plastic"] == top["or"]
    assert [text.get_fontweight() for text in plot.texts].count("bold") == 2


def test_hostile_words_are_drawn_as_they_are(hostile, nasty):
    tree = ClaimTree((nasty, "x"), ("ROOT", nasty), (0, 0), (Highlighted("[1]", 1, (0, 1)),), nasty)
    hostile.check_svg(image(claim_tree(tree), "svg").decode("utf-8"))
    with pytest.raises(UserError, match="no word"):
        claim_tree(ClaimTree((), (), (), ()))


def test_bars_and_lines_stand_at_the_values():
    column = Column(key="recall", label="recall", scale=100)
    bars = [SystemBar("a", "ALCE: m", "recall", 0.5, 0.4, 0.7), SystemBar("a", "ALiiCE: m", "recall", 0.25)]
    (plot,) = system_bars(bars, [column], 0.95).axes
    assert [bar.get_width() for bar in plot.patches] == [50.0, 50.0, 25.0, 25.0]
    assert {tuple(line.get_xdata()) for line in plot.lines} == {(40.0, 70.0)}
    assert plot.get_xlabel() == "recall, %"
    with pytest.raises(UserError, match="no system has one"):
        system_bars([], [column], 0.95)


def test_lines_over_rounds_stand_at_the_values():
    column = Column(key="auto", label="CiteEval-Auto")
    turns = [SystemBar("a", "CiteEval", "auto", 0.5, 0.25, 0.75, 0), SystemBar("a", "CiteEval", "auto", 0.75, round=1)]
    (plot,) = round_lines(turns, [column], 0.95).axes
    line, whisker = plot.lines
    assert (line.get_xdata().tolist(), line.get_ydata().tolist()) == ([0.0, 1.0], [0.5, 0.75])
    assert (list(whisker.get_xdata()), list(whisker.get_ydata())) == ([0.0, 0.0], [0.25, 0.75])
    assert plot.get_ylabel() == "CiteEval-Auto"


@pytest.fixture
def answers(tmp_path):
    passages = [{"title": "A", "text": "Cups are of glass."}, {"title": "B", "text": "Cups are of plastic."}]
    path = tmp_path / "answers.json"
    item = {"id": "1", "question": "?", "output": "Cups are of glass [1] or of plastic [2].", "docs": passages}
    path.write_text(json.dumps([item]), encoding="utf-8")
    return path


def test_jobs_of_pipelines_are_drawn_together(tmp_path, answers, monkeypatch):
    pytest.importorskip("spacy")
    import metaeval
    from metaeval.citation.pipelines.figures import bars_of, citation_figures

    found = [metaeval.cite(name, [answers], nli=["overlap"], results=tmp_path) for name in ("alce", "aliice")]
    for one in found:
        one.write()
    folders = [one.folder for one in found]
    bars, columns, level = bars_of(folders)
    told = {
        (f"{title}: overlap", one["measure"]): one["value"]
        for title, result in zip(("ALCE", "ALiiCE"), found, strict=True)
        for one in result.estimates
        if one.get("backend")
    }
    assert {(bar.judged, bar.measure): bar.value for bar in bars} == told
    assert ([one.key for one in columns], level) == (["recall", "precision", "f1"], 0.95)
    drawn = citation_figures(folders)
    assert list(drawn) == ["figure-pipelines", f"tree-{folders[1].name}-1"]


@pytest.mark.parametrize("profile", ["paper", "released"])
def test_a_claims_words_are_its_text(profile):
    pytest.importorskip("spacy")
    from metaeval.citation.aliice.claim_options import aliice_profile
    from metaeval.citation.aliice.claims import read_sentences
    from metaeval.citation.parsers.dependency_parsers import find_parser
    from metaeval.citation.pipelines.figures import tree_of

    sentence = "Queen Victoria became Queen of the United Kingdom on 20 June 1837[1] and died in 1901[2]."
    chosen = aliice_profile(profile)
    (read,) = read_sentences([sentence], find_parser("small", chosen.one_root), chosen)
    tree = tree_of(sentence, "small", profile)
    texts = [" ".join(tree.tokens[place] for place in claim.places) for claim in tree.claims]
    assert texts == [claim.text.replace(",", " ,") if profile != "released" else claim.text for claim in read.claims]
    assert [tree.tokens[claim.node] for claim in tree.claims] == ["1837", "1901"]
