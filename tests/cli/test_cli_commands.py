"""Every command as it is meant to be used."""

import re

import pytest

from metaeval import __version__
from tests.cli.samples import every_command

LISTED = {"": 16, "cite": 14, "data": 6, "gate": 2, "metrics": 3, "results": 7, **dict.fromkeys(every_command(), 0)}


@pytest.mark.parametrize("columns", [80, 120])
def test_help_fits_and_shows_an_example(cli, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    for command, count in LISTED.items():
        ended = cli(*command.split(), "--help")
        assert (ended.code, ended.err, len(re.findall("(?m)^  [a-z]+  ", ended.out))) == (0, "", count), command
        assert "..." not in ended.out.partition("Commands:")[2], f"{command}: a summary is cut"
        described, *examples = re.split(r"\n *Examples?:", ended.out)
        assert max(map(len, described.splitlines())) <= columns, command
        if not count:
            assert f"  metaeval {command}" in examples[0]
        assert len(ended.out.splitlines()) <= 52, command


def test_version(cli):
    assert cli("--version").out == f"metaeval {__version__}\n"


@pytest.mark.parametrize(
    ("command", "names"),
    [
        ("data", {"mini", "jsonl", "wice", "gensearch-strict", "wice-dev"}),
        ("metrics", {"overlap", "minilm-bertscore", "rouge-1", "minilm-bertscore-256"}),
    ],
)
def test_a_list_in_a_pipe_has_one_line_an_entry(cli, monkeypatch, command, names):
    monkeypatch.delenv("COLUMNS", raising=False)

    ended = cli(command, "list")

    heading, *lines = ended.out.splitlines()
    assert heading.startswith("name ")
    assert names <= {line.split()[0] for line in lines}
    assert [line for line in lines if line.startswith(" ") or line.endswith(" ")] == []


def test_verify_counts_what_is_missing_and_says_how_to_get_it(cli, tmp_path):
    (tmp_path / "dev.jsonl").write_text("{}")

    ended = cli("data", "verify", "wice", "--data", tmp_path)

    assert (ended.code, cli("data", "verify", "mini").code) == (2, 0)
    assert [line.split()[0] for line in ended.out.splitlines()] == ["status", "differs", "missing"]
    assert "2 of 2 files are missing or differ" in ended.err
    assert "metaeval data fetch wice" in ended.err


@pytest.mark.parametrize("suffix", ["txt", "md", "tex", "csv"])
def test_table_prints_what_export_writes(ran, small, tmp_path, suffix):
    form = {"txt": "terminal", "md": "markdown", "tex": "latex", "csv": "csv"}[suffix]
    ran("run", "-m", "overlap", "-p", "retrieval", *small, "-q")
    folder = tmp_path / "results/latest"

    shown = ran("results", "show", folder / "retrieval.json", "--format", form)
    ran("results", "export", "--format", form.replace("terminal", "text"))
    written = (folder / f"retrieval.{suffix}").read_text(encoding="utf-8")
    assert [line.rstrip() for line in shown.out.splitlines()] == [line.rstrip() for line in written.splitlines()]


@pytest.mark.parametrize("columns", ["0", "1", "junk", "\N{SUPERSCRIPT TWO}", "9" * 5000])
def test_a_width_that_is_none_ends_a_run_as_any_width_does(ran, small, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", columns)
    letters = "".join(ran("run", "-m", "overlap", "-p", "correlation", *small).out.split())
    assert ("overlap" in letters, "(0more" in letters) == (True, False)


def test_a_quiet_run_prints_where_the_results_are_and_nothing_else(cli, small):
    ended = cli("run", "-m", "overlap", *small, "-q")

    assert ended.err == ""
    assert re.match(
        r"Written: results/small-all-chunk-[0-9a-f]{8}/ \(report.html; classification, correlation, retrieval: ",
        ended.out,
    )
    assert len(ended.out.splitlines()) == 1
