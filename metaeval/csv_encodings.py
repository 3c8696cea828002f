"""The text of CSV files, which spreadsheets also write in other encodings than UTF-8."""

from __future__ import annotations

import codecs
import logging
import re
from pathlib import Path

from metaeval.errors import UserError, shown
from metaeval.files import read_bytes
from metaeval.parsing import MalformedError, gunzipped

_log = logging.getLogger("metaeval")

_MARKS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
_USUAL = "cp1252 cp1250 cp1251 cp1253 cp1254 cp1255 cp1256 cp932 gb18030 big5 cp949 mac_roman".split()
_SAMPLE = 1 << 16
_WORD = re.compile(rb"[^\x00-\x2c;\x7f]*[\x80-\xff][^\x00-\x2c;\x7f]*")
_SAVE = "save it as UTF-8 (in a spreadsheet: CSV UTF-8), or name its encoding with --set encoding=NAME"


def decoded(path: Path, encoding: str = "") -> str:
    """Return the text of a file, decompressed if gzipped, without a byte-order mark.

    encoding: of the file; empty: that of its byte-order mark, else UTF-8, else what its bytes look like, and a warning.
    Raises `UserError` for a file that cannot be read, an unknown encoding, and bytes that are not text in it.
    """
    try:
        content = gunzipped(read_bytes(path, _SAVE))
    except MalformedError as error:
        raise UserError(f"Cannot read {path}: {error}; {_SAVE}.") from error
    marked = next((name for mark, name in _MARKS.items() if content.startswith(mark)), "utf-8")
    try:
        return _text(content, encoding or marked)
    except LookupError as error:
        raise UserError(f"--set encoding={shown(encoding)} is unknown; allowed: Python's, such as cp1252.") from error
    except UnicodeError as error:
        place = f"byte {error.start}" if isinstance(error, UnicodeDecodeError) else str(error)
        likely, others = ("", []) if encoding else _likely(content)
        if not likely:
            raise UserError(f"{path} is not {encoding or 'UTF-8'} text ({place}): {_SAVE}.") from error
    word = _WORD.search(content)
    example = f" ({shown(word[0][:40].decode(likely, 'replace'))})" if word else ""
    also = f", and could be {' or '.join(others)}" if others else ""
    _log.warning("%s is not UTF-8: it is read as %s%s%s; --set encoding=NAME decides.", path, likely, example, also)
    return _text(content, likely)


def _text(content: bytes, encoding: str) -> str:
    return content.decode(encoding).removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def _likely(content: bytes) -> tuple[str, list[str]]:
    """Return the encoding that bytes look like ("" if none fits), and the others that fit as well.

    Lines that are not ASCII decide. Encodings that fit equally come in the order of `_USUAL`, the most used first.
    """
    from charset_normalizer import from_bytes  # most files are UTF-8 and spared its start

    lines = [line for line in content.split(b"\n") if not line.isascii()]
    matches = from_bytes(b"\n".join(lines)[:_SAMPLE], cp_isolation=_USUAL)
    best = matches.best()
    if best is None:
        return "", []
    alike = [match for match in matches if (match.chaos, match.coherence) == (best.chaos, best.coherence)]
    names = [min(match.could_be_from_charset, key=_USUAL.index) for match in alike]
    fitting = [name for name in sorted(names, key=_USUAL.index) if _decodes(content, name)]
    return (fitting[0], fitting[1:]) if fitting else ("", [])


def _decodes(content: bytes, encoding: str) -> bool:
    try:
        content.decode(encoding)
    except UnicodeError:
        return False
    return True
