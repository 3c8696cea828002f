"""Citation marks in running text: [1], [1][2], [1, 2], [^1^]."""

from __future__ import annotations

import re

_MARKS = re.compile(r"(?:\s*\[\^?\d+\^?(?:\s*,\s*\d+)*\])+(?P<next>\w)?")


def strip_marks(text: str) -> str:
    """The text without its marks and without the space before them; all else stays, and the ends are stripped.

    "rose [1][2]." becomes "rose.", "rose[3] and" becomes "rose and", "rose[3]and" becomes "rose and".
    """
    return _MARKS.sub(lambda match: f" {match['next']}" if match["next"] else "", text).strip()
