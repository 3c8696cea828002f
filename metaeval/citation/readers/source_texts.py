"""SourceTexts of sources that answers cite and do not hold, from a file or folder of texts by id, url, or index."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from metaeval.citation.data_model import Passage
from metaeval.citation.readers.cited_text import CitedSource
from metaeval.core.errors import UserError
from metaeval.core.parsing import json_objects, parquet_rows, read_text
from metaeval.core.tables import TABLES, read_table

_IDS = ("id", "docid", "doc_id", "_id", "segment_id", "chunk_id", "docno", "reference", "file_id")
_URLS = ("url", "uri", "link", "source_url")
_INDICES = ("index", "chunk", "chunk_index", "number")
_TEXTS = ("text", "segment", "contents", "content", "passage", "body", "page_content", "snippet")
_ANSWERS = ("answer", "answer_id", "response_id")
_HINT = f"a file of sources has rows with {', '.join(_IDS[:2])}, url or index, and text"


def plain_url(url: str) -> str:
    """Return an address without scheme, `www.`, fragment, closing slash and parameters of tracking (utm_source)."""
    try:
        split = urlsplit(url.strip())
        host = (split.hostname or "").removeprefix("www.")
        port = f":{split.port}" if split.port else ""
    except ValueError:
        return url.strip()
    pairs = [pair for pair in parse_qsl(split.query, keep_blank_values=True) if not pair[0].lower().startswith("utm_")]
    query = f"?{urlencode(pairs)}" if pairs else ""
    return f"{host}{port}{split.path.rstrip('/')}{query}" if host else url.strip()


# Texts of sources by the keys that `names_of` gives: ("id", ID), ("url", plain URL) or ("index", ANSWER/INDEX).
SourceTexts = dict[tuple[str, str], Passage]


def read_texts(path: Path, wanted: Collection[tuple[str, str]]) -> SourceTexts:
    """Return the texts with these keys of a file (JSON lines, a table), or of a folder of text files named by ids.

    Raises `UserError` for an unreadable file, a row without text or key, and two different texts of a wanted source.
    """
    texts: SourceTexts = {}
    for where, fields in _rows(path):
        names = _TEXTS, _IDS, _URLS, _INDICES, _ANSWERS, ("title",)
        text, name, url, index, answer, title = (_first(fields, each) for each in names)
        places = ("id", name), ("url", url and plain_url(url)), ("index", index and f"{answer or ''}/{index}")
        keys = [(kind, value) for kind, value in places if value]
        if text is None or not keys:
            lacking = "names no source" if text is not None else "has no text"
            raise UserError(f"{where} {lacking} (it has {', '.join(map(str, fields)) or 'nothing'}): {_HINT}.")
        for key in keys:
            if key in wanted and texts.setdefault(key, Passage(text, title or "")).text != text:
                named = f"{key[0]} {key[1][:80]!r}"
                raise UserError(f"{where}: the source with {named} has two different texts; keep one.")
    return texts


def names_of(source: CitedSource, answer: str, place: int) -> list[tuple[str, str]]:
    """Return the keys of a source, the most particular first. answer: its id. place: the source's index, from 0."""
    url = plain_url(source.url) if source.url else ""
    indices = [("index", f"{answer}/{place}"), ("index", f"/{place}")]
    return [*(key for key in (("id", source.id), ("url", url), ("id", url)) if key[1]), *indices]


def _first(fields: Mapping[str, Any], names: Iterable[str]) -> str | None:
    values = (fields.get(name) for name in names)
    return next((str(value) for value in values if isinstance(value, str | int) and not isinstance(value, bool)), None)


def _rows(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    if path.is_dir():
        files = sorted(entry for entry in path.iterdir() if entry.is_file() and not entry.name.startswith("."))
        if not files:
            raise UserError(f"The folder {path} holds no file: give text files named by the ids of sources.")
        for file in files:
            yield str(file), {"id": file.stem if file.suffix in (".txt", ".md") else file.name, "text": read_text(file)}
    elif path.suffix.lower() == ".parquet":
        yield from ((f"{path} row {number}", row) for number, row in enumerate(parquet_rows(path), start=1))
    elif path.suffix.lower() in TABLES:
        table = read_table(path)
        for row in table.rows:
            yield row.where, {heading.strip().lower(): row.text(heading) for heading in table.headings}
    else:
        yield from json_objects(path, _HINT, lone_surrogates=True)
