"""LaTeX: escaped, balanced, and complete, as far as that can be seen without LaTeX."""

import re
import shutil
import subprocess
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaeval.display_text import Shown
from metaeval.report.latex import escape, table_of
from metaeval.report.result import Column
from metaeval.report.result_tables import lay_out
from metaeval.report.table import ColumnGroup, Note
from metaeval.report.table_files import table_text

BODY = r"""    \toprule
    metric & \multicolumn{2}{c}{NDCG@5} & \multicolumn{2}{c}{AUC full/none} & \multicolumn{2}{c}{Pearson r} \\
    \midrule
"""
MINILM = (
    r"    minilm-bertscore & 0.713 & \,{\scriptsize [0.683, 0.742]}"
    r" & 91.55 & \,{\scriptsize [90.21, 92.88]}"
    r" & 0.042 & \,{\scriptsize [$-$0.021, 0.104]}\textsuperscript{\dag{}} \\"
)
CONSTANT = (
    r"    constant & 0.444 & \,{\scriptsize [0.430, 0.459]}\textsuperscript{\ddag{}}"
    r" & 50.00 & \,{\scriptsize [50.00, 50.00]} & -- & \textsuperscript{1} \\"
)


def _code(text: str) -> str:
    """The text without comments and escaped characters: what is left acts."""
    without = re.sub(r"\\[\\&%$#_{}~^]", "", text)
    return re.sub(r"%.*", "", without)


def _check_balance(text: str) -> None:
    code = _code(text)
    depth = 0
    for char in code:
        depth += {"{": 1, "}": -1}.get(char, 0)
        assert depth >= 0
    assert depth == 0
    assert code.count("$") % 2 == 0
    open_ = []
    for kind, name in re.findall(r"\\(begin|end)\{(\w+)\}", code):
        if kind == "begin":
            open_.append(name)
        else:
            assert open_.pop() == name
    assert open_ == []


def test_rows_are_spelled_out(result):
    text = table_of(lay_out(result), controls=True)
    assert BODY in text
    assert MINILM in text.splitlines()
    assert CONSTANT in text.splitlines()


def test_the_environment_is_complete(same_rows):
    text = table_text(lay_out(same_rows), "latex")
    _check_balance(text)
    assert r"\caption{Retrieval of supporting chunks (x\_y\%{[}wice{]}, test, chunk pairs). Bold: highest" in text
    assert r"\label{tab:retrieval-x-y-wice-test-chunk}" in text
    assert "\n% truncation: minilm-bertscore: did not see 1.2 % of tokens in 3.4 % of pairs\n" in text
    assert r"\textsuperscript{\dag{}} not significantly better than a control\par" in text


def test_signatures_are_comments_above_the_tabular(result):
    above, _, below = table_text(lay_out(result), "latex").partition(r"\begin{tabular}")
    for row in result.rows[:2]:
        assert f"\n% signature: {row.signature}\n" in above
        assert row.signature not in below


def test_more_than_three_measures_put_the_interval_below_the_number(same_rows):
    columns = [*same_rows.columns, Column(key="auc", label="Overall", scale=100.0, digits=1)]
    text = table_of(lay_out(same_rows.model_copy(update={"columns": columns})), controls=True)
    _check_balance(text)
    assert r"    oracle & 1.000 & 100.00 & 1.000 & 100.0 \\" in text.splitlines()
    assert r"\begin{tabular}{lrrrr}" in text
    assert r"\textbf{0.740}\rlap{\textsuperscript{\dag{}\ddag{}\S{}}} & " in text
    assert re.search(r"\\caption\{.* In brackets: 95 \\% [a-z -]+ intervals\.\}", text)


def test_controls_are_left_out_unless_asked_for(result):
    text = table_text(lay_out(result), "latex")
    assert "controls" not in text.partition(r"\begin{tabular}")[2].partition(r"\end{tabular}")[0]
    assert "oracle &" not in text
    assert r"\textsuperscript{1}" not in text, "a mark of a control alone"
    only = result.model_copy(update={"rows": result.rows[2:]})
    assert "oracle &" in table_text(lay_out(only), "latex"), "there is nothing else"


def _with(result, columns):
    return lay_out(result.model_copy(update={"columns": result.columns[:1] * columns}))


def test_a_narrow_table_takes_a_column_a_wider_one_two_and_a_wide_one_is_parted(result):
    found = {number: re.findall(r"\\begin\{(table\*?)\}", table_of(_with(result, number))) for number in (1, 3, 9)}
    assert found == {1: ["table"], 3: ["table*"], 9: ["table*", "table*"]}


def test_each_part_explains_its_marks(result):
    parts = table_of(_with(result, 9)).split("% Needs ")[1:]
    assert len(parts) == 2
    for part in parts:
        used = set(re.findall(r"\\(dag|ddag|S)\{\}", part.partition(r"\end{tabular}")[0]))
        explained = set(re.findall(r"\\textsuperscript\{\\(\w+)\{\}\}", part.partition(r"\end{tabular}")[2]))
        assert used == explained != set()
    assert "signature" not in parts[0]


def test_what_is_missing_is_printed_and_how_numbers_were_made_is_not(result):
    notes = (Note("could be", "were all against:", (("a", "recall 1 to 2"),)), Note("verdicts", "from 0.5 on"))
    grid = replace(lay_out(result), footer=notes)
    above, _, below = table_of(grid).partition(r"\begin{tabular}")
    assert r"\emph{could be:} were all against: a: recall 1 to 2\par" in below
    assert "\n% verdicts: from 0.5 on\n" in above
    assert "verdicts" not in below


def _named(result):
    """The same result with a metric, a block and column groups of long names."""
    name = Shown("longfn:" + "share_of_trigrams_in_the_cited_text_" * 2)
    rows = [result.rows[0].model_copy(update={"metric": name}), *result.rows[1:]]
    grid = _with(result.model_copy(update={"rows": rows}), 4)
    blocks = tuple(replace(block, title=Shown(f"{name}: chance of full or partial")) for block in grid.blocks)
    groups = tuple(ColumnGroup(Shown(f"Demo data, all, of the {unit} pairs"), 2) for unit in ("chunk", "citation"))
    return [replace(grid, blocks=blocks), replace(grid, groups=groups), replace(grid, blocks=blocks, groups=groups)]


@pytest.mark.slow
def test_an_acl_page_takes_every_table_without_an_overfull_box(result, full, tmp_path):
    """The size of an ACL page: columns of 7.7 cm, 0.6 cm apart, 11 points; Computer Modern is wider than Times."""
    if shutil.which("pdflatex") is None:
        pytest.skip("pdflatex is not installed")
    tables = [table_of(_with(result, number), controls) for number in (1, 2, 3, 5, 9) for controls in (False, True)]
    tables += map(table_of, _named(result))
    page = r"\documentclass[11pt,a4paper,twocolumn]{article}\usepackage[margin=2.5cm]{geometry}\usepackage{booktabs}"
    text = "\n".join([page, r"\columnsep=0.6cm\begin{document}x", *tables, table_of(lay_out(full)), r"\end{document}"])
    (tmp_path / "page.tex").write_text(text, encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "page.tex"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stdout[-2000:]
    assert r"Overfull \hbox" not in ended.stdout


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a&b%c$d#e_f", r"a\&b\%c\$d\#e\_f"),
        ("{x}", r"\{x\}"),
        ("~^\\", r"\textasciitilde{}\textasciicircum{}\textbackslash{}"),
        ("[1]*", "{[}1{]}{*}"),
        ("a<b>c|d", r"a\textless{}b\textgreater{}c\textbar{}d"),
        ("0.1–0.2 — −3 †‡§", r"0.1--0.2 --- $-$3 \dag{}\ddag{}\S{}"),
        ("a--b---c", "a-{}-b-{}-{}-c"),
        ("Spearman ρ", r"Spearman $\rho$"),
        ("é ñ ç î", r"\'{e} \~{n} \c{c} \^{\i}"),
        ("中", "{[}U+4E2D{]}"),
    ],
)
def test_escapes(text, expected):
    assert escape(text) == expected


@given(st.text(max_size=30))
def test_any_text_is_ascii_with_nothing_that_acts(text):
    escaped = escape(text.replace("\u00a0", " "))
    assert escaped.isascii()
    _check_balance(escaped)
    assert not re.search(r"[&#_^~]", re.sub(r"\$\^\{\\?\w+\}\$|\\[~^]", "", _code(escaped)))


@given(st.text(max_size=20))
def test_any_name_leaves_the_table_whole(result, name):
    rows = [result.rows[0].model_copy(update={"metric": name, "signature": name}), *result.rows[1:]]
    text = table_text(lay_out(result.model_copy(update={"rows": rows, "title": name})), "latex")
    _check_balance(text)
    body = text.partition(r"\begin{tabular}")[2].partition(r"\end{tabular}")[0]
    # Six cells a row after the name: an ampersand in a name must not make a seventh.
    assert {len(re.findall(r"(?<!\\)&", line)) for line in body.splitlines() if "scriptsize" in line} == {6}
    assert len(text.splitlines()) == len(table_text(lay_out(result), "latex").splitlines())


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        # A name of n characters takes 5n + 8 points at \small, a value beside its interval 5 * 5 + 4 * 13 + 8 = 85, one
        # above it what its heading takes, 5 * 13 + 8 = 73: two columns of 219 points hold n = 8 and n = 13.
        (2, {1: "table small beside", 9: "table footnotesize beside", 11: "table scriptsize beside"}),
        (2, {12: "table scriptsize beside", 13: "table small below", 14: "table footnotesize below"}),
        (2, {18: "table scriptsize below", 22: "table scriptsize below", 23: "table* small beside"}),
        (2, {55: "table* small beside", 56: "table* footnotesize beside", 63: "table* scriptsize beside"}),
        (2, {71: "table* scriptsize beside", 72: "table* scriptsize below"}),
        # The headings of more than three measures would be too wide beside.
        (3, {38: "table* small beside", 39: "table* footnotesize beside", 52: "table* footnotesize below"}),
        (4, {1: "table* small below", 31: "table* small below", 32: "table* footnotesize below"}),
    ],
)
def test_a_table_takes_the_narrower_width_then_intervals_beside_then_the_larger_size(result, columns, expected):
    chosen = {}
    for length in expected:
        rows = [result.rows[0].model_copy(update={"metric": "m" * length})]
        text = table_of(lay_out(result.model_copy(update={"rows": rows, "columns": result.columns[1:2] * columns})))
        (environment,), (size,) = re.findall(r"\\begin\{(table\*?)\}", text), re.findall(r"(?m)^  \\(\w+)$", text)[1:]
        chosen[length] = f"{environment} {size} {'beside' if 'r@{}l' in text else 'below'}"
    assert chosen == expected


def test_a_column_without_intervals_takes_one_column_of_the_seven_that_are_too_many(result):
    value = result.rows[0].values["auc"]
    alone = value.model_copy(update={"low": None, "high": None})
    rows = [result.rows[0].model_copy(update={"metric": "m" * 20, "values": {"auc": value, "ndcg5": alone}})]
    for plain, beside in ((0, True), (1, False)):
        columns = [*result.columns[1:2] * 3, *result.columns[:1] * plain]
        assert ("r@{}l" in table_of(lay_out(result.model_copy(update={"rows": rows, "columns": columns})))) is beside


def test_a_long_name_is_broken_in_a_column_of_its_own(result):
    """A name of 108 characters would push the values beyond the page; it stays whole where it is short."""
    name = "our_lab/" + "very-long-checkpoint-name" * 4
    rows = [row.model_copy(update={"metric": name}) if number == 0 else row for number, row in enumerate(result.rows)]
    text = table_of(lay_out(result.model_copy(update={"rows": rows})))
    (width,) = re.findall(r"tabular}\{p\{(\d+)pt\}r", text)
    assert width == "162", "36 characters of 4.5 points, which keeps the columns in one table"
    assert r"\raggedright our\_\allowbreak{}lab/\allowbreak{}very-\allowbreak{}" in text
    assert r"\begin{tabular}{l" in table_of(lay_out(result))
    _check_balance(text)
