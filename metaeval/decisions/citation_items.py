"""Reads items: citations that people label and metrics score, from answers, a corpus, a job's pairs or a table."""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from metaeval.citation.alce.citations import PAPER, statements
from metaeval.citation.citation_table import premise
from metaeval.citation.data_model import Answer, group_of, writable
from metaeval.citation.readers.answer_files import (
    add_source_texts,
    answers_of,
    answers_of_table,
    file_stem,
    in_other_format,
    is_answer,
    is_table_row,
    read_answers,
)
from metaeval.citation.readers.answer_tables import answers_in, cited_columns, passages_in
from metaeval.citation.readers.formats.vectara import vectara_rows
from metaeval.citation.stated_answers import TITLES
from metaeval.citation.support.citation_judging import support_statements
from metaeval.citation.support.level_readings import FIELD
from metaeval.core.cells import is_finite
from metaeval.core.errors import UserError, count, shown, unknown
from metaeval.core.files import sha256_json
from metaeval.core.headings import LABELS, RATINGS
from metaeval.core.parsing import json_objects
from metaeval.core.tables import TABLES, UserTable, read_table, table_of, warn_of_swap
from metaeval.corpus.corpus_file import UNJUDGED, read_corpus
from metaeval.corpus.model import Citation, Corpus, Document, Statement, SupportLevel
from metaeval.corpus.pair_table import PAIRS_SCHEMA
from metaeval.decisions.claim_questions import Claims, claims_of
from metaeval.stats.arrays import Floats, Ints, codes_of

_log = logging.getLogger("metaeval")
_WORD = re.compile(r"[^\W\d_]")

HINT = "answers in JSON or JSONL, a corpus (metaeval-corpus/1), pairs.jsonl of a job, or a table (.csv, .tsv, .xlsx)"


@dataclass(frozen=True, slots=True)
class Item:
    """One citation: a statement and the text that it cites (source). group: the answer; its items are dependent.

    level: human level in the file: 2 full, 1 partial, 0 none, or None. What annotators also read: question, the one
    that was answered; answer: the whole answer; before, after: the sentences beside the statement; each empty where it
    is not known.
    """

    id: str
    statement_id: str
    statement: str
    source: str
    group: str
    system: str = ""
    level: int | None = None
    question: str = ""
    answer: str = ""
    before: str = ""
    after: str = ""


@dataclass(frozen=True)
class CitationItems:
    """The citations of one file, in its order.

    scores: the file's columns of scores, by heading. uncited: the group of each statement without a citation. claims:
    the claims that the items are questions about; None where the items are citations. notes: how the file was read.
    unread: by heading, the error of a column that is not all numbers, raised when it is named as a metric. table: of
    which the items are rows. unnamed: number of groups that are items without a named answer.
    """

    name: str
    rows: tuple[Item, ...]
    scores: Mapping[str, Sequence[float | None]] = field(default_factory=dict)
    uncited: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    claims: Claims | None = None
    unread: Mapping[str, UserError] = field(default_factory=dict)
    table: UserTable | None = field(default=None, repr=False, compare=False)
    unnamed: int = 0

    def __post_init__(self) -> None:
        if not self.rows:
            raise UserError(f"{self.name} holds no citation to judge: give {HINT}.")
        counts = Counter(row.id for row in self.rows)
        name, times = max(counts.items(), key=lambda counted: counted[1])
        if times > 1:
            raise UserError(f"{self.name}: {times} items have the id {shown(name)}; give each its own id.")

    @cached_property
    def numbers(self) -> Mapping[str, int]:
        """The index of each item, by id."""
        return {row.id: number for number, row in enumerate(self.rows)}

    @cached_property
    def groups(self) -> Ints:
        """The code of each item's group, (N,), from 0 in the sorted order of the groups' names."""
        return codes_of([row.group for row in self.rows])

    @cached_property
    def clusters(self) -> tuple[str, ...]:
        """The names of all groups in the order of their codes: those in `groups`, then those without items."""
        named = sorted({row.group for row in self.rows})
        return (*named, *sorted({*self.uncited} - {*named}))

    @cached_property
    def singles(self) -> Ints:
        """The code of each item's sampling unit if answers are not drawn whole, (N,): of the item, or of its claim."""
        return codes_of([row.statement_id for row in self.rows]) if self.claims else np.arange(len(self.rows))

    @property
    def what(self) -> str:
        """The word for the units of `singles`: "items" or "claims"."""
        return "claims" if self.claims else "items"

    @property
    def counted(self) -> str:
        """The number of citations in words, and of their answers where they are known."""
        named = len({row.group for row in self.rows}) - self.unnamed
        answers = [count(named, "answer")] * (named > 0) + ["answers that are not named"] * (self.unnamed > 0)
        return f"{count(len(self.rows), 'citation')} of {' and of '.join(answers)}"

    @property
    def with_texts(self) -> bool:
        """Whether any item has a statement, so that a metric can score the items."""
        return any(row.statement for row in self.rows)

    @cached_property
    def lengths(self) -> Mapping[str, Floats]:
        """The numbers of words of each item's statement and source, (N,) each, by name; empty without texts."""
        if not self.with_texts:
            return {}
        return {
            f"words of the {side}": np.array([float(len(getattr(row, side).split())) for row in self.rows])
            for side in ("statement", "source")
        }

    @cached_property
    def fingerprint(self) -> str:
        """The SHA-256 of the items without their levels, independent of their order."""
        return sha256_json(sorted([row.id, row.statement, row.source, row.group, row.system] for row in self.rows))

    @property
    def signed(self) -> str:
        """The name and the hash of the items (NAME@HASH), for a signature."""
        return f"{self.name}@{self.fingerprint[:12]}"

    def as_corpus(self) -> Corpus:
        """Return the items as a corpus to score; its levels are placeholders (none), not those of the items."""
        documents: dict[str, Document] = {}
        cited: dict[str, Statement] = {}
        citations = []
        for row in self.rows:
            document = sha256_json(row.source)
            documents.setdefault(document, Document(document, row.source))
            cited.setdefault(row.statement_id, Statement(row.statement_id, row.statement, row.group, row.system))
            citations.append(Citation(row.id, row.statement_id, document, SupportLevel.NONE))
        return Corpus(self.name, documents, cited, tuple(citations))


def items_of(
    answers: Any, mapping: Mapping[str, str] | None = None, pipeline: str = "", sources: Path | None = None
) -> CitationItems:
    """Return the items in a file, a corpus, a data frame, or mappings with the fields of a table.

    mapping: the heading of each role (see `metaeval.core.headings`) that has an unusual one. pipeline: alce or aliice,
    whose questions become the items; empty: the items are citations. sources: file or folder with texts of cited
    sources. Raises `UserError` for another input, for duplicate ids, for a pipeline where the input holds no answers,
    and for sources where the input has citations.
    """
    if pipeline and pipeline not in TITLES:
        raise unknown("pipeline", pipeline, TITLES)
    content = _items_of(answers, mapping or {}, sources)
    if not isinstance(content, CitationItems):
        astray = _marks_without_passage(*content)
        return _of_claims(*content, pipeline) if pipeline else _of_answers(*content, astray)
    if sources:
        raise UserError(f"{content.name} holds citations with their sources: leave --sources out.")
    if pipeline and (content.claims is None or content.claims.pipeline != pipeline):
        why = f"{content.name} holds citations without their answers, which {TITLES[pipeline]} reads"
        raise UserError(f"{why}: give answers with marks ([1]) and passages, or leave --pipeline out.")
    return content


def _items_of(
    content: Any, mapping: Mapping[str, str], sources: Path | None = None
) -> CitationItems | tuple[Sequence[Answer], str]:
    if isinstance(content, CitationItems):
        return content
    if isinstance(content, Corpus):
        return _of_corpus(content)
    if not isinstance(content, str | Path):
        if isinstance(content, list) and any(map(in_other_format, content[:1])):
            return answers_of(content, sources), "answers"
        table = table_of("the items", content)
        first = table.rows[0].cells
        if isinstance(first.get("text"), str) and isinstance(first.get("passages"), list):
            return answers_of([row.cells for row in table.rows], sources), "answers"
        return _of_table(table, "items", mapping, sources)
    path = Path(content)
    name = file_stem(path)
    if path.suffix.lower() == ".md":
        return read_answers(path, sources=sources), name
    if path.suffix.lower() in (*TABLES, ".parquet"):
        return _of_table(read_table(path), name, mapping, sources)
    first = next((fields for _, fields in json_objects(path, f"give {HINT}", True)), {})
    if first.get("type") == "corpus":
        return _of_corpus(read_corpus(path, unjudged=True))
    if first.get("schema") == PAIRS_SCHEMA:
        return _of_pairs(path, name)
    of_answers = {"passages", "docs", "ctxs", "data", "answers", "documents", "response"} & first.keys()
    is_table = not of_answers or (of_answers == {"passages"} and is_table_row(first))
    if is_table and not is_answer(first):
        return _of_table(read_table(path), name, mapping, sources)
    return read_answers(path, sources=sources), name


def _of_corpus(corpus: Corpus) -> CitationItems:
    rows = []
    for citation in corpus.citations:
        claim, source = corpus.statements[citation.statement_id], corpus.documents[citation.document_id].text
        level = None if citation.meta.get(UNJUDGED) else int(citation.level)
        rows.append(Item(citation.id, claim.id, claim.text, source, claim.group, claim.system, level))
    cited = {row.statement_id for row in rows}
    uncited = tuple(claim.group for claim in corpus.statements.values() if claim.id not in cited)
    return CitationItems(corpus.name, tuple(rows), uncited=uncited)


def _marks_without_passage(answers: Sequence[Answer], name: str) -> list[str]:
    """Return a note, in a list, on citation marks that cite no passage, and log it with an example; else []."""
    read = ((answer, citation) for answer in answers for row in statements(answer, PAPER) for citation in row.cited)
    astray = [(answer, citation.mark.number or 0) for answer, citation in read if citation.state == "fails"]
    if not astray:
        return []
    (answer, number), *more = astray
    note = f"left out: {count(len(astray), 'mark')} that point{'' if more else 's'} at no passage"
    example = f"answer {shown(answer.id)} cites [{number + answer.first - 1}] of {len(answer.passages)} passages"
    _log.warning("%s: %s; for example, %s.", name, note, example)
    return [note]


def _of_answers(answers: Sequence[Answer], name: str, astray: Sequence[str]) -> CitationItems:
    rows: list[Item] = []
    uncited: list[str] = []
    blank = 0
    for answer in answers:
        system = writable(answer.system)
        if FIELD in answer.reference:
            listed = list(_labelled_items(answer))
            rows += (item for item in listed if item.source)
            blank += sum(not item.source for item in listed)
            uncited += [group_of(answer)] * sum(not row.cited for row in support_statements(answer))
            continue
        parts = list(statements(answer, PAPER))
        texts = ["", *(writable(part.claim.text) if _WORD.search(part.claim.text) else "" for part in parts), ""]
        for statement, before, after in zip(parts, texts, texts[2:], strict=False):
            around = writable(answer.question), writable(answer.text), before, after
            statement_id = f"{answer.id}/{statement.number or statement.claim.sentence}"
            marks = [mark for mark in statement.cited if mark.state == "judged"]
            places = [mark.place for mark in marks if mark.place is not None]
            without_text = [place for place in places if not answer.passages[place].text.strip()]
            blank += len(without_text)
            uncited += [group_of(answer)] * (statement.counts and not places)
            for place in (place for place in places if place not in without_text):
                item_id = writable(f"{statement_id}[{place + 1}]")
                text, source = map(writable, (statement.claim.text, premise([answer.passages[place]])))
                rows.append(
                    Item(item_id, writable(statement_id), text, source, group_of(answer), system, None, *around)
                )
    notes = [f"read as answers with marks: {count(len(answers), 'answer')}, {count(len(rows), 'citation')}"]
    notes += astray
    notes += [f"left out: {count(blank, 'citation')} of sources without a text"] if blank else []
    return CitationItems(name, tuple(rows), uncited=tuple(uncited), notes=tuple(notes))


def _labelled_items(answer: Answer) -> Iterator[Item]:
    """Yield the citations of an answer whose file has levels, with these as human levels; `source` may be empty."""
    group, system = group_of(answer), writable(answer.system)
    for row in support_statements(answer):
        statement_id = writable(f"{answer.id}/{row.claim.sentence}")
        for number, (cited, weight) in enumerate(zip(row.cited, row.levels.levels, strict=True), start=1):
            passages = [] if cited.place is None else [answer.passages[cited.place]]
            source = writable(premise([passage for passage in passages if passage.text.strip()]))
            item_id, level = f"{statement_id}[{number}]", None if weight is None else int(2 * weight)
            text, around = writable(row.claim.text), map(writable, (answer.question, answer.text))
            yield Item(item_id, statement_id, text, source, group, system, level, *around)


def _of_claims(answers: Sequence[Answer], name: str, pipeline: str) -> CitationItems:
    """Return the questions of a pipeline as items: do all of a claim's passages, one, or all but one support it?"""
    claims = claims_of(answers, pipeline)
    rows = []
    for claim in claims.claims:
        group, system = group_of(claim.answer), writable(claim.answer.system)
        for item_id, (source, text) in zip(claim.names, claim.items, strict=True):
            around = map(writable, (claim.answer.question, claim.answer.text))
            rows.append(Item(item_id, claim.id, writable(text), writable(source), group, system, None, *around))
    uncited = tuple(group_of(claim.answer) for claim in claims.claims if claim.counts and not claim.items)
    note = (
        f"read as answers with marks: {count(len(answers), 'answer')}, "
        f"{count(len({row.statement_id for row in rows}), 'claim')} with citations as {TITLES[pipeline]} reads them, "
        f"{count(len(rows), 'question')}"
    )
    return CitationItems(name, tuple(rows), uncited=uncited, notes=(note,), claims=claims)


def _of_pairs(path: Path, name: str) -> CitationItems:
    """Read the rows of a job's pairs.jsonl with their scores; the file has no texts."""
    (_, head), *lines = json_objects(path, "give a job's pairs.jsonl as it was written")
    columns = [str(column) for column in head.get("columns", ())]
    rows, scores = [], []
    for where, row in lines:
        known = row.get("scores")
        if "statement" not in row or not isinstance(known, list) or len(known) != len(columns):
            raise UserError(f"{where} should hold a citation with {len(columns)} scores: give the whole file.")
        level = row.get("level")
        item_id, statement, group, system = (str(row.get(key) or "") for key in ("id", "statement", "group", "system"))
        level = level if level in (0, 1, 2) else None
        rows.append(Item(item_id, statement, "", "", group or statement, system, level))
        scores.append(known)
    by_column = {column: [values[place] for values in scores] for place, column in enumerate(columns)}
    unnamed = len({row["statement"] for _, row in lines if not row.get("group")})
    return CitationItems(name, tuple(rows), by_column, unnamed=unnamed)


def _of_table(
    table: UserTable, name: str, mapping: Mapping[str, str], sources: Path | None
) -> CitationItems | tuple[Sequence[Answer], str]:
    """Return the rows of a table as items; if the table has no statements, (answers with marks and passages, name)."""
    if not mapping and vectara_rows(table):
        return answers_of_table(table, sources), name
    columns = cited_columns(table, mapping)
    if columns.text:
        return add_source_texts(answers_in(table, columns), table.name, sources), name
    roles, rows, unnamed = columns.roles, [], 0
    for number, row in enumerate(table.rows, start=1):
        cells = {role: row.text(heading) for role, heading in roles.items() if role != "source"}
        if not cells["statement"]:
            raise row.wrong(roles["statement"], "is blank: write the statement, or delete the row")
        passages = [passage for heading in columns.sources for passage in passages_in(row, heading)]
        source = "\n\n".join(premise([passage]) for passage in passages if passage.text.strip())
        item_id = cells.get("id", str(number))
        if not item_id:
            raise row.wrong(roles["id"], "is blank: give each row an id")
        answer, statement = row.text(columns.group) if columns.group else "", cells["statement"]
        group, unnamed = answer or item_id, unnamed + (not answer)
        statement_id = sha256_json([group, statement])[:16]
        system, question = cells.get("system", ""), cells.get("question", "")
        rows.append(Item(item_id, statement_id, statement, source, group, system, question=question))
    if len(columns.sources) == 1:
        lengths = [(len(row.source), len(row.statement)) for row in rows if row.source]
        warn_of_swap(table.name, {**roles, "source": columns.sources[0]}, lengths)
    used = [f"{role}: {words}" for role, words in columns.named.items()]
    used += [] if "id" in roles else ["id: the row's number, from 1"]
    taken = {*roles.values(), *columns.sources}
    scores, unread = _number_columns(table, taken)
    if not columns.group and len(rows) > 1:
        likely = [*table.like(RATINGS["group"]), *(heading for heading in table.headings if heading not in scores)]
        others = taken.union(mapping.values(), *(table.like(headings) for headings in LABELS.values()))
        cure = table.group_cure(heading for heading in dict.fromkeys(likely) if heading not in others)
        _log.warning("%s has no column 'group': each row counts as independent of the others. %s", table.name, cure)
    notes = (f"read as a table with {', '.join(used)}",)
    return CitationItems(name, tuple(rows), scores, (), notes, None, unread, table, unnamed=unnamed)


def _number_columns(table: UserTable, taken: set[str]) -> tuple[dict[str, list[float | None]], dict[str, UserError]]:
    """Return, by heading, the scores in columns of numbers, and the errors of such columns that have another cell too.

    taken: headings to leave out. A blank cell has the score None; columns of blanks and of texts are left out.
    """
    scores: dict[str, list[float | None]] = {}
    unread: dict[str, UserError] = {}
    for heading in (heading for heading in table.headings if heading not in taken):
        try:
            checked = table.checked([heading], is_finite)
        except UserError as error:
            unread[heading] = error
            continue
        if checked.is_numbers(heading):
            scores[heading] = [None if cell != cell else cell for cell in checked.plain(heading).tolist()]
    return scores, unread
