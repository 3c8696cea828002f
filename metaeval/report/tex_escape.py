"""Any text as LaTeX that pdfLaTeX prints as it is, with no package and no font encoding asked for."""

from __future__ import annotations

import re
import unicodedata

_ASCII = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "`": r"\`{}",
    '"': r"{\char34}",
    # Behind the \\ that ends a table row these two would be read as its arguments.
    "[": "{[}",
    "]": "{]}",
    "*": "{*}",
}
_OTHERS = {
    "–": "--",
    "—": "---",
    "‐": "-",
    "‑": "-",
    "−": "$-$",
    "†": r"\dag{}",
    "‡": r"\ddag{}",
    "§": r"\S{}",
    "…": r"\dots{}",
    "‘": r"\textquoteleft{}",
    "’": r"\textquoteright{}",
    "“": r"\textquotedblleft{}",
    "”": r"\textquotedblright{}",
    "×": r"$\times$",
    "·": r"$\cdot$",
    "±": r"$\pm$",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "≠": r"$\neq$",
    "≈": r"$\approx$",
    "→": r"$\to$",
    "∞": r"$\infty$",
    "°": r"$^{\circ}$",
    "²": r"$^{2}$",
    "³": r"$^{3}$",
    "Δ": r"$\Delta$",
    "Σ": r"$\Sigma$",
    "\u00a0": "~",
    "ß": r"\ss{}",
    "æ": r"\ae{}",
    "Æ": r"\AE{}",
    "œ": r"\oe{}",
    "Œ": r"\OE{}",
    "ø": r"\o{}",
    "Ø": r"\O{}",
    "ł": r"\l{}",
    "Ł": r"\L{}",
}
_GREEK = {
    chr(code): rf"$\{name}$"
    for code, name in zip(
        range(0x3B1, 0x3CA),
        "alpha beta gamma delta varepsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho varsigma sigma tau "
        "upsilon varphi chi psi omega".split(),
        strict=True,
    )
    if name != "omicron"
} | {"ο": "o"}
_ACCENTS = {
    "\u0300": "`",
    "\u0301": "'",
    "\u0302": "^",
    "\u0303": "~",
    "\u0304": "=",
    "\u0306": "u",
    "\u0307": ".",
    "\u0308": '"',
    "\u030a": "r",
    "\u030b": "H",
    "\u030c": "v",
    "\u0327": "c",
}
_KNOWN = _ASCII | _OTHERS | _GREEK


def escape(text: str) -> str:
    """Escape text for a paragraph or a table cell; a character with no LaTeX spelling becomes its code, [U+4E2D]."""
    # Two hyphens in a name are two hyphens; LaTeX would join them to a dash.
    apart = re.split("(?<=-)(?=-)", text)
    return "{}".join("".join(_spelling(char) for char in part) for part in apart)


def _spelling(char: str) -> str:
    if char in _KNOWN:
        return _KNOWN[char]
    if char.isascii():
        return char
    parts = unicodedata.normalize("NFD", char)
    base, accent = parts[:1], _ACCENTS.get(parts[1:])
    if base.isascii() and accent:
        dotless = rf"\{base}" if base in "ij" else base
        return rf"\{accent}{{{dotless}}}"
    return f"{{[}}U+{ord(char):04X}{{]}}"
