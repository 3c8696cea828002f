"""LaTeX: escaped, balanced, and complete, as far as that can be seen without LaTeX; compiled where it is installed."""

import re
import shutil
import subprocess
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaeval.core.errors import Shown
from metaeval.report.latex import escape, table_of
from metaeval.report.result_tables import lay_out
from metaeval.report.table import ColumnGroup, Note
from metaeval.report.table_files import table_text


def _check_balance(text):
    code = re.sub(r"%.*", "", re.sub(r"\\[\\&%$#_{}~^]", "", text))  # what is left acts
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


def _body(text):
    return text.partition(r"\begin{tabular}")[2].partition(r"\end{tabular}")[0]


def test_the_environment_is_complete(same_rows):
    text = table_text(lay_out(same_rows), "latex")
    _check_balance(text)
    assert r"\caption{Retrieval of supporting chunks (x\_y\%{[}wice{]}, test, chunk pairs). Bold: highest" in text
    assert r"In brackets: 95 \% CI, clustered by group.}" in text
    assert r"\label{tab:retrieval-x-y-wice-test-chunk}" in text
    # The best and the second of what is shown.
    ranks = dict(re.findall(r"\\(textbf|underline)\{(0[\d.]+)\}", _body(text)))
    assert ranks == {"underline": "0.042", "textbf": "0.542"}


READ = "not judged,could be,left out,not read,without facts,blank,ceiling,published,reading".split(",")


@pytest.mark.parametrize(("labels", "printed"), [(READ, True), (["warnings", "not run", "data", "settings"], False)])
def test_notes_on_what_is_missing_and_on_cells_are_printed_and_the_others_are_comments(same_rows, labels, printed):
    footer = tuple(Note(Shown(label), Shown(f"text {number}.")) for number, label in enumerate(labels))
    above, _, below = table_of(replace(lay_out(same_rows), footer=footer)).partition(r"\begin{tabular}")
    where = below if printed else above
    assert [f"text {number}." in where for number, _ in enumerate(labels)] == [True] * len(labels)


def test_where_there_are_controls_alone_they_are_rows(result):
    assert "oracle &" in table_text(lay_out(result.model_copy(update={"rows": result.rows[2:]})), "latex")


def _with(result, columns):
    return lay_out(result.model_copy(update={"columns": result.columns[:1] * columns}))


@pytest.mark.parametrize("controls", [False, True])
def test_every_mark_has_its_note_below_the_same_part_and_no_note_lacks_its_mark(full, controls):
    parts = table_of(_with(full, 12), controls).split("% Needs ")[1:]
    assert len(parts) == 2
    for part in parts:
        used = set(re.findall(r"\\(dag|ddag|S)\{\}", _body(part)))
        explained = set(re.findall(r"\\textsuperscript\{\\(\w+)\{\}\}", part.partition(r"\end{tabular}")[2]))
        assert used == explained


def _named(result):
    """The same result with a metric, a block and column groups of long names."""
    name = Shown("longfn:" + "share_of_trigrams_in_the_cited_text_" * 2)
    rows = [result.rows[0].model_copy(update={"metric": name}), *result.rows[1:]]
    grid = _with(result.model_copy(update={"rows": rows}), 4)
    groups = tuple(ColumnGroup(Shown(f"Demo data, all, of the {unit} pairs"), 2) for unit in ("chunk", "citation"))
    return [grid, replace(grid, groups=groups)]


def test_a_long_name_may_be_broken_behind_its_punctuation(result):
    text = table_of(_named(result)[0])
    assert r"\begin{tabular}{p{.25\linewidth}rrrr}" in text
    assert r"\raggedright longfn:\allowbreak{}share\_\allowbreak{}of" in text
    _check_balance(text)


@pytest.mark.slow
def test_an_acl_page_takes_every_table_without_an_overfull_box(result, full, tmp_path):
    """The size of an ACL page: columns of 7.7 cm, 0.6 cm apart, 11 points; Computer Modern is wider than Times."""
    if shutil.which("pdflatex") is None:
        pytest.skip("pdflatex is not installed")
    tables = [table_of(_with(result, number), controls) for number in (1, 2, 3, 5, 8) for controls in (False, True)]
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
        ("中ή", "{[}U+4E2D{]}{[}U+03AE{]}"),
    ],
)
def test_escapes(text, expected):
    assert escape(text) == expected


@given(st.text(max_size=30))
def test_any_text_is_ascii_with_nothing_that_acts(text):
    escaped = escape(text.replace("\u00a0", " "))
    assert escaped.isascii()
    _check_balance(escaped)
    code = re.sub(r"%.*", "", re.sub(r"\\[\\&%$#_{}~^]", "", escaped))
    assert not re.search(r"[&#_^~]", re.sub(r"\$\^\{\\?\w+\}\$|\\[~^]", "", code))


@given(st.text(max_size=20))
def test_any_name_leaves_the_table_whole(result, name):
    rows = [result.rows[0].model_copy(update={"metric": name, "signature": name}), *result.rows[1:]]
    text = table_text(lay_out(result.model_copy(update={"rows": rows, "title": name})), "latex")
    _check_balance(text)
    # Three cells a row after the name: an ampersand in a name must not make a fourth.
    assert {len(re.findall(r"(?<!\\)&", line)) for line in _body(text).splitlines() if "&" in line} == {3}
    assert len(text.splitlines()) == len(table_text(lay_out(result), "latex").splitlines())
