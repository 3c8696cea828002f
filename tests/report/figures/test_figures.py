"""Figures: what is drawn is what the data say, nothing overlaps, and the same input gives the same bytes."""

import hashlib
import os
import subprocess
import sys
from dataclasses import replace
from itertools import combinations, product

import pytest

matplotlib = pytest.importorskip("matplotlib")

from metaeval.core.errors import UserError  # noqa: E402
from metaeval.report.figures.bars import measure_bars, system_bars  # noqa: E402
from metaeval.report.figures.drawing import FORMATS, image, looks_of, save_figure, wrapped  # noqa: E402
from metaeval.report.figures.edit_rounds import round_lines  # noqa: E402
from metaeval.report.figures.forest import forest, records_forest  # noqa: E402
from metaeval.report.figures.rank_stability import rank_stability  # noqa: E402
from metaeval.report.figures.score_figures import (  # noqa: E402
    Bins,
    Curve,
    Histogram,
    confusion_map,
    reliability,
    roc_curves,
    score_distributions,
)
from metaeval.report.ranking_measures import Declarations, ProtocolDeclarations, abilities, headlines  # noqa: E402

NAMES = [f"metric-with-a-rather-long-name-v{number}/large_{number}" for number in range(15)]
RANKS = {name: [1 + (n + shift) % 15 for shift in (0, 0, 1, 14)] for n, name in enumerate(NAMES)}


def drawn():
    return confusion_map([[2, 1], [0, 3]], ["full", "none"], "m")


@pytest.fixture
def crowded(result):
    rows = [result.rows[0].model_copy(update={"metric": name}) for name in NAMES]
    return result.model_copy(update={"rows": rows + result.rows[2:], "columns": result.columns[:1] * 3})


def _boxes(figure, artists):
    figure.draw_without_rendering()
    return [artist.get_window_extent() for artist in artists if artist.get_text()]


def test_another_process_draws_the_same_bytes_and_no_pyplot_is_loaded():
    code = (
        "import hashlib, sys; from metaeval.report.figures.drawing import image, FORMATS;"
        "from metaeval.report.figures.score_figures import confusion_map;"
        "figure = confusion_map([[2, 1], [0, 3]], ['full', 'none'], 'm');"
        "print(*(hashlib.sha256(image(figure, kind)).hexdigest() for kind in FORMATS));"
        "print('matplotlib.pyplot' in sys.modules)"
    )
    # Another order of sets and another clock: neither may show.
    env = {**os.environ, "PYTHONHASHSEED": "7", "SOURCE_DATE_EPOCH": "86400", "TZ": "Asia/Tokyo"}
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env)
    here = [hashlib.sha256(image(drawn(), kind)).hexdigest() for kind in FORMATS]
    assert run.stdout.split() == [*here, "False"]


def test_the_programs_own_settings_stay(result):
    with matplotlib.rc_context({"font.size": 31.0}):
        before = dict(matplotlib.rcParams)
        figure = measure_bars(result)
        image(figure, "svg")
        assert dict(matplotlib.rcParams) == before
    assert figure.axes[0].xaxis.label.get_size() == 9.0


def test_files_are_png_pdf_and_svg(tmp_path):
    paths = save_figure(drawn(), tmp_path / "a.b")
    assert [path.name for path in paths] == ["a.b.png", "a.b.pdf", "a.b.svg"]
    assert [path.read_bytes()[:4] for path in paths] == [b"\x89PNG", b"%PDF", b"<?xm"]
    assert b"Date" not in paths[1].read_bytes()


def test_an_undefined_value_has_no_bar(result):
    undefined = replace(result.rows[0].values["ndcg5"], value=None, low=None, high=None)
    row = result.rows[0].model_copy(update={"values": {"ndcg5": undefined}})
    changed = result.model_copy(update={"rows": [row, result.rows[1]], "columns": result.columns[:1]})
    assert len(measure_bars(changed).axes[0].patches) == 1


@pytest.mark.parametrize("draw", [measure_bars, lambda _: rank_stability(RANKS)], ids=["bars", "ranks"])
def test_fifteen_long_names_do_not_overlap_and_stay_on_the_page(crowded, draw):
    figure = draw(crowded)
    labels = _boxes(figure, figure.axes[0].get_yticklabels())
    assert len(labels) == 15
    assert not any(one.overlaps(other) for one, other in combinations(labels, 2))
    assert min(box.x0 for box in labels) >= 0
    assert {text.get_text().replace("\n", "") for text in figure.axes[0].get_yticklabels()} == set(NAMES)


def test_a_result_of_controls_ranks_of_different_lengths_and_a_matrix_that_is_not_square_are_refused(result):
    with pytest.raises(UserError, match="has no metric to draw"):
        measure_bars(result.model_copy(update={"rows": result.rows[2:]}))
    for ranks in ({}, {"a": []}, {"a": [1], "b": [1, 2]}):
        with pytest.raises(UserError, match="a rank under every specification"):
            rank_stability(ranks)
    for counts in ([], [[1, 2]], [[1], [2]], [[1, 2], [3]]):
        with pytest.raises(UserError, match="needs 2 rows of 2 counts"):
            confusion_map(counts, ["full", "none"])


LONG = {width: "a-" * (width // 2) + "b" * (1 + width % 2) for width in (4, 24, 30, 38, 39, 44, 70, 90)}
"""Names that are one character longer than a line of so many."""


def test_every_figure_is_that_of_its_record(recorded, result, crowded, full):
    few = [result.rows[0], result.rows[1], *crowded.rows[2:4], *result.rows[2:]]
    names = [*"abc", LONG[24], "constant", "overlap", "chunk position"]
    renamed = [row.model_copy(update={"metric": name}) for row, name in zip(few, names, strict=True)]
    shown = [column.model_copy(update={"scale": 100.0}) for column in result.columns[:2]]
    many = result.model_copy(update={"rows": renamed, "columns": [*result.columns, *shown]})
    sets = [full.model_copy(update={"data": full.data.model_copy(update={"name": name})}) for name in "wxyz"]
    reading = _reading(headline="auc", chance={"auc": 0.4}, about={"auc": "how well it follows the people" + LONG[4]})
    records = [
        {"measure": measure, "metric": name, "part": part, "gain": n / 7, "low": n / 8, "high": n / 6, "note": name}
        for n, (measure, name, part) in enumerate(product(("a", "b", "c", "d"), ("m", "n"), ("all", LONG[38])))
    ]
    curves = {"full from none": [Curve("m", (0, 0.5, 1), (0, 1, 1), (0.25, 0.5)), Curve("n", (0, 1), (0, 1))]}
    levels = [Histogram(f"level {n}", (0, 0.5, 1), (0.25 * n, 1 - 0.25 * n), 0.25 * n) for n in (2, 1, 0)]
    bins = [Bins(f"{n}{LONG[39]}", (0.1, 0.0, 0.9), (0.2, 0.0, 0.7 + n / 10), (3, 0, 9)) for n in range(3)]
    four, lines = looks_of("mnop"), [Curve(name, (0, 1), (0, 1)) for name in "mnop"]
    drawn = {
        "bars": measure_bars(many),
        "forest": forest(headlines([result], reading), reading),
        "forests": forest(headlines(sets, _reading()), _reading()),
        "records": records_forest([*records, records[5] | {"high": None}], "drawn: $x$"),
        "record": records_forest(records[:1], "one"),
        "records of a part": records_forest(records[::2], "part"),
        "ranks": rank_stability({"b": [2, 2, 2, 1], "a": [1, 1, 1, 2], "c": [3, 3, 3, 3]}, LONG[70]),
        "confusion": confusion_map([[1500, 500, 0], [4, 5, 11], [0, 0, 0]], ["full", "partial", "none"], "m"),
        "curves": roc_curves(curves, looks_of("mn"), LONG[44]),
        "curves of two": roc_curves({"a": lines, "b": lines}, four, LONG[90]),
        "scores of four": score_distributions(dict.fromkeys([*"mno", LONG[30]], levels), "four"),
        "reliability": reliability({"m": bins}, "one"),
        "systems": system_bars(BARS[::2], 0.9),
        "rounds": round_lines(BARS, 0.95),
    }
    recorded.held("figures-drawn", drawn)


BARS = [
    dict(
        zip(("system", "judge", "measure", "round", "value", "low", "high"), (*named, n / 40, low, n / 30), strict=True)
    )
    for n, named in enumerate(product("ab", "jk", ("recall", "f1_of_it", "c", "d"), (0, 2)))
    for low in [None if n % 5 == 4 else n / 50]
]


def bars_of(result, names, title):
    rows = [result.rows[0].model_copy(update={"metric": name}) for name in names]
    columns = [result.columns[0].model_copy(update={"label": title})]
    data = result.data.model_copy(update={"name": title})
    return measure_bars(result.model_copy(update={"rows": rows, "columns": columns, "data": data, "title": title}))


NAMED = {
    "bars": bars_of,
    "ranks": lambda _, names, title: rank_stability({name: [1, 2] for name in names}, title),
    "confusion": lambda _, names, title: confusion_map([[1] * len(names)] * len(names), names, title),
    "reliability": lambda _, names, title: reliability({names[-1]: [Bins(names[0], [0.1], [0.2], [9])]}, title),
}


@pytest.mark.parametrize("kind", NAMED)
def test_hostile_names_are_drawn_as_they_are_and_the_file_is_sound(hostile, result, kind):
    every = list(hostile.NAMES.values())
    for first in range(0, len(every), 6):
        names = every[first : first + 6]
        hostile.check_svg(image(NAMED[kind](result, names, "".join(names)), "svg").decode("utf-8"))


@pytest.mark.parametrize("width", range(1, 9))
def test_a_dollar_sign_is_never_mathematics_wherever_a_name_is_broken(width):
    lines = wrapped(r"$\frac{$$a$\$", width)
    assert lines.count("$") == lines.count(r"\$") == 5


def test_lines_that_are_called_alike_are_all_drawn():
    # An annotator may be called as the gold is.
    values = {"gold": [0.3, 0.7], "b": [0.5]}
    records = [
        {"metric": "a", "against": name, "value": value, "low": value - 0.1, "high": value + 0.1}
        for name, own in values.items()
        for value in own
    ]
    (plot,) = records_forest(records, "made").axes
    assert [label.get_text() for label in plot.get_yticklabels()] == ["gold", "gold (2)", "b"]
    assert [line.get_xdata() for line in plot.lines][1::2] == [[0.3], [0.7], [0.5]]


def _reading(**declared):
    return Declarations({"retrieval": ProtocolDeclarations(**declared)}, oracles=("oracle",))


def test_abilities_are_drawn_where_there_are_several(result):
    able = _reading(ability={"auc": "ranks", "pearson": "follows"})
    labels = [plot.get_xlabel() for plot in forest(abilities(result, able), able).axes]
    assert labels == ["AUC full/none, %\n", "Pearson r\n"]
    assert len(abilities(result, _reading(ability={"auc": "ranks"}))) == 1
