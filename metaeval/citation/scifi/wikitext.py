"""Paragraphs with subsentence citations from Wikipedia's wikitext, and the texts of their sources.

Needs mwparserfromhell (MIT) for wikitext and trafilatura (Apache-2.0) for HTML, of the extra 'wikipedia'.
"""

from __future__ import annotations

import bz2
import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from metaeval.citation.data_model import Passage
from metaeval.corpus.data_rows import read_rows
from metaeval.errors import UserError, install_extra
from metaeval.parsing import read_text

_PLACE = re.compile("\ue000(\\d+)\ue001")
_LISTED = re.compile("^[*#:;].*$", re.MULTILINE)
_NO_TEXT = ("file:", "image:", "category:")
_INDEX = "pages.jsonl"


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A paragraph without marks. citations: (offset, address of the source, or empty without one), in text order."""

    page: str
    section: str
    text: str
    citations: tuple[tuple[int, str], ...]


@contextmanager
def extra_needed() -> Iterator[None]:
    """Turn a failed import in the block into a `UserError` that says how to install the library."""
    try:
        yield
    except ModuleNotFoundError as error:
        install = install_extra("wikipedia")
        raise UserError(f"This needs {error.name}, which is not installed: type {install}.") from error


def read_articles(path: Path) -> Iterator[tuple[str, str]]:
    """Yield title and wikitext of each article.

    path: a folder of files TITLE.wikitext (or .wiki), or an XML dump of MediaWiki (.xml, .xml.bz2), of which pages
    outside the namespace of articles and redirects are left out.
    """
    if path.is_dir():
        files = sorted(file for file in path.iterdir() if file.suffix in (".wikitext", ".wiki"))
        if not files:
            raise UserError(f"{path} holds no file TITLE.wikitext or TITLE.wiki: give a folder of articles, or a dump.")
        yield from ((file.stem.replace("_", " "), read_text(file)) for file in files)
        return
    if not path.name.endswith((".xml", ".xml.bz2")) or not path.is_file():
        raise UserError(f"{path} is neither a folder of .wikitext files nor an XML dump (.xml, .xml.bz2): give either.")
    yield from _dumped(path)


def _dumped(path: Path) -> Iterator[tuple[str, str]]:
    with bz2.open(path) if path.suffix == ".bz2" else path.open("rb") as stream:
        try:
            for _, element in ElementTree.iterparse(stream):
                if element.tag.rpartition("}")[2] != "page":
                    continue
                texts = {part.tag.rpartition("}")[2]: part.text or "" for part in element.iter()}
                if texts.get("ns", "0") == "0" and "redirect" not in texts:
                    yield texts.get("title", ""), texts.get("text", "")
                element.clear()
        except (ElementTree.ParseError, OSError, EOFError) as error:
            raise UserError(f"{path} is not a readable MediaWiki XML dump ({error}): download it again.") from error


def paragraphs_of(page: str, wikitext: str) -> list[Paragraph]:
    """Return the paragraphs of an article, in order, without lists, tables, templates and pictures. page: its title.

    A citation is a `ref` tag, or its name used again; its address is that of its template (`url`) or its first link.
    """
    with extra_needed():
        import mwparserfromhell
    code = mwparserfromhell.parse(_LISTED.sub("", wikitext))
    refs = [tag for tag in code.ifilter_tags() if str(tag.tag).strip().lower() == "ref"]
    named = {name: address for ref in refs if (name := _name(ref)) and (address := _address(ref))}
    addresses = [_address(ref) or named.get(_name(ref), "") for ref in refs]
    for number, ref in enumerate(refs):
        code.replace(ref, f"\ue000{number}\ue001")
    unread = [tag for tag in code.ifilter_tags(recursive=False) if str(tag.tag).strip().lower() in ("table", "gallery")]
    unread += [link for link in code.ifilter_wikilinks() if str(link.title).strip().lower().startswith(_NO_TEXT)]
    for node in unread:
        if code.contains(node):
            code.remove(node)
    return [
        paragraph
        for section in code.get_sections(flat=True, include_lead=True)
        for paragraph in _in_section(page, section, addresses)
    ]


def _in_section(page: str, section: Any, addresses: Sequence[str]) -> Iterator[Paragraph]:
    headings = section.filter_headings()
    title = " ".join(headings[0].title.strip_code().split()) if headings else ""
    for heading in headings:
        section.remove(heading)
    for block in re.split(r"\n[ \t]*\n", section.strip_code(normalize=True, collapse=False)):
        text = re.sub("\\s+(?=\ue000)", "", " ".join(block.split()))
        clean, citations = "", list[tuple[int, str]]()
        for place, part in enumerate(_PLACE.split(text)):
            if place % 2:
                citations.append((len(clean), addresses[int(part)]))
            else:
                clean += part if clean else part.lstrip()
        if clean.strip():
            yield Paragraph(
                page, title, clean.rstrip(), tuple((min(at, len(clean.rstrip())), to) for at, to in citations)
            )


def _name(ref: Any) -> str:
    return str(ref.get("name").value).strip().strip("\"'") if ref.has("name") else ""


def _address(ref: Any) -> str:
    if ref.contents is None:
        return ""
    for template in ref.contents.ifilter_templates():
        for name in ("url", "archive-url"):
            if template.has(name, ignore_empty=True):
                return str(template.get(name).value).strip()
    return next((str(link.url).strip() for link in ref.contents.ifilter_external_links()), "")


def key_of(address: str) -> str:
    """Return an address without its scheme, its fragment and a slash at its end, by which sources are found."""
    return re.sub(r"^https?://", "", address.partition("#")[0].strip()).rstrip("/")


def read_pages(folder: Path) -> dict[str, Passage]:
    """Return the texts of fetched pages by `key_of` their addresses; pages without a text are left out.

    The folder holds pages.jsonl with {"url": ..., "file": ...} (and optional "title"), and these files: HTML, whose
    main text is extracted, or .txt.
    """
    index = folder / _INDEX
    if not index.is_file():
        raise UserError(f'{folder} lacks {_INDEX}: write it, a line {{"url": ADDRESS, "file": NAME}} for each page.')
    pages: dict[str, Passage] = {}
    for row in read_rows(index):
        row.only(("url", "file", "title"))
        path = folder / row.text("file")
        if not path.resolve().is_relative_to(folder.resolve()) or not path.is_file():
            raise row.error("file", f"the name of a file in {folder}")
        title, text = ("", read_text(path)) if path.suffix == ".txt" else _extracted(path)
        if text.strip():
            pages[key_of(row.text("url"))] = Passage(text.strip(), row.optional_text("title") or title, row.text("url"))
    return pages


def _extracted(path: Path) -> tuple[str, str]:
    with extra_needed():
        import trafilatura
    logging.getLogger("trafilatura").setLevel(logging.CRITICAL)  # pages without a text are counted by their citations
    page = path.read_bytes()
    about = trafilatura.extract_metadata(page)
    return (about.title or "") if about else "", trafilatura.extract(page, include_comments=False) or ""


def sources_of(paragraphs: Sequence[Paragraph], pages: Mapping[str, Passage]) -> dict[str, Passage]:
    """Return the sources that paragraphs cite and `pages` has, by `key_of`, in the order of their first citations."""
    keys = dict.fromkeys(key_of(address) for paragraph in paragraphs for _, address in paragraph.citations)
    return {key: pages[key] for key in keys if key in pages}
