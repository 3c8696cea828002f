"""Texts that attack what shows them, and what none of them may do to a stream or a file of output."""

import csv
import io
import re
from pathlib import Path
from xml.etree import ElementTree

NAMES = {
    "clear": "a\x1b[2Jb",
    "clipboard": "a\x1b]52;c;ZXZpbA==\x07b",
    "link": "a\x1b]8;;http://evil.example\x1b\\b\x1b]8;;\x1b\\",
    "c1": "a\x9b2Jb",
    "override": "a\u202eb",
    "isolate": "a\u2066b",
    "separator": "a\u2028b",
    "nul": "a\x00b",
    "return": "good\rbad",
    "newline": "a\nforged line",
    "formula": "=cmd|' /C calc'!A0",
    "at": "@SUM(1+1)*cmd|' /C calc'!A0",
    "script": "</script><script>alert(1)</script>",
    "tex": r"\input{/etc/passwd}",
    "math": r"$\frac{$",
    "minus tex": r"-\input{/etc/passwd}",
    "markdown": "[a](javascript:alert)|`<b>",
    "surrogate": "a\ud800b",
}
# Begins as a formula; without the surrogate, which no file of input of most commands may hold.
TOGETHER = NAMES["formula"] + "".join(text for name, text in NAMES.items() if name not in ("formula", "surrogate"))

SORTING = (Path(__file__).parents[1] / "metaeval" / "report" / "sorting.js").read_text(encoding="utf-8")
UNSEEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_NUMBER = re.compile(r"[-+]?[\d.]+(e[-+]?\d+)?")


def check_stream(text):
    """Nothing that a terminal obeys, and no line that a name made."""
    assert not UNSEEN.search(text), ascii(UNSEEN.search(text)[0])
    assert "\r" not in text
    assert not any(line.startswith("forged line") for line in text.splitlines())


def check_csv(text):
    """No cell that a spreadsheet runs."""
    assert not UNSEEN.search(text)
    for row in csv.reader(io.StringIO(text, newline="")):
        for cell in row:
            assert not cell.startswith(tuple("=+-@\t\r\n")) or _NUMBER.fullmatch(cell), ascii(cell)


def check_tex(text):
    """No command of the name's, outside of comments that end where they should."""
    check_stream(text)
    assert not re.search(r"\\(input|frac)", "".join(re.sub(r"(?<!\\)%.*", "", line) for line in text.splitlines()))


def check_markdown(text):
    """No tag or link of the name's, outside of code blocks."""
    check_stream(text)
    outside = re.sub(r"(?ms)^(`{3,})text$.*?^\1$", "", text)
    assert not re.search(r"(?<!\\)<(?!ins>|/ins>|sup>|/sup>|br>)|(?<!\\)\]\(", outside)


def check_html(text):
    """No script but the page's own, and no tag of the name's."""
    check_stream(text)
    assert "<script" not in text.replace(f"<script>{SORTING}</script>", "", 1)


def check_svg(text):
    """A picture is a document of XML, and shows no outside thing."""
    ElementTree.fromstring(text)
    assert not UNSEEN.search(text)


CHECKS = {
    ".txt": check_stream, ".csv": check_csv, ".tex": check_tex, ".md": check_markdown, ".html": check_html,
    ".svg": check_svg,
}  # fmt: skip


def check_files(folder):
    """Each file that is not data, by what may stand in its format; the endings that were found."""
    found = set()
    for path in folder.rglob("*"):
        if path.is_file():
            assert not UNSEEN.search(path.name), ascii(path.name)
            found.add(path.suffix)
        if path.is_file() and path.suffix in CHECKS:
            CHECKS[path.suffix](path.read_bytes().decode("utf-8"))
    return found
