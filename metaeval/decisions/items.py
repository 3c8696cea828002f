"""Items: the citations that people label and metrics score, read from answers, a corpus, judged pairs or a table."""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from metaeval.citation.alce.citations import PAPER, statements
from metaeval.citation.model import Answer, Passage, check_ids, group_of, writable
from metaeval.citation.readers.answers import answers_of, file_stem, read_answers
from metaeval.citation.readers.jsonl import passages_of
from metaeval.citation.table import premise
from metaeval.corpus.jsonl import UNJUDGED, read_corpus
from metaeval.corpus.loaders.rows import DataRow as Record
from metaeval.corpus.model import Citation, Corpus, Document, Statement, SupportLevel
from metaeval.corpus.pairs import PAIRS_SCHEMA
from metaeval.data_tables import TEXT_ROLES, Row, TypedTable, warn_of_swap
from metaeval.decisions.claims import TITLES, Claims, claims_of
from metaeval.errors import UserError, shown, unknown
from metaeval.files import sha256_json
from metaeval.own_tables import TABLES, read_table, table_of
from metaeval.reading import MalformedError, json_objects, parse_json
from metaeval.stats.arrays import Floats, Ints, codes_of

_log = logging.getLogger("metaeval")

ROLES: Mapping[str, Sequence[str]] = {
    "id": ("id", "item", "item_id", "citation_id", "pair_id", "citation", "key", "nr", "no", "number"),
    "statement": TEXT_ROLES["statement"],
    "source": TEXT_ROLES["source"],
    "answer": ("answer_id", "response_id", "answer", "group", "question_id", "question", "query", "prompt", "topic"),
    "system": ("system", "model", "generator"),
}
"""What the columns of a table are for, with their usual names."""

HINT = "answers in JSON or JSONL, a corpus (metaeval-corpus/1), pairs.jsonl of a job, or a table (.csv, .tsv, .xlsx)"


@dataclass(frozen=True, slots=True)
class Item:
    """One citation: a statement and what it cites. group: the answer, whose items are not independent of each other.

    level: what the file itself says of it, 2 full, 1 partial, 0 none.
    """

    id: str
    statement_id: str
    statement: str
    source: str
    group: str
    system: str = ""
    level: int | None = None


@dataclass(frozen=True)
class Items:
    """The citations of one file, in its order.

    scores: that the file holds, by column. uncited: the answers (groups) of statements without a citation. claims: of
    which a pipeline asks these items; None where they are citations. notes: how the file was read.
    """

    name: str
    rows: tuple[Item, ...]
    scores: Mapping[str, Sequence[float | None]] = field(default_factory=dict)
    uncited: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    claims: Claims | None = None

    def __post_init__(self) -> None:
        if not self.rows:
            raise UserError(f"{self.name} holds no citation to judge: give {HINT}.")
        counts = Counter(row.id for row in self.rows)
        name, times = counts.most_common(1)[0]
        if times > 1:
            raise UserError(
                f"{self.name}: {times} items have the id {shown(name)}; allowed: an id of its own for each."
            )

    @cached_property
    def numbers(self) -> Mapping[str, int]:
        """The place of each item, by id."""
        return {row.id: number for number, row in enumerate(self.rows)}

    @cached_property
    def groups(self) -> Ints:
        """(N,) codes of the answers, in the order of their names."""
        return codes_of([row.group for row in self.rows])

    @cached_property
    def clusters(self) -> tuple[str, ...]:
        """All answers in the order of the codes: those of `groups`, then those without an item."""
        named = sorted({row.group for row in self.rows})
        return (*named, *sorted({*self.uncited} - {*named}))

    @cached_property
    def singles(self) -> Ints:
        """(N,) codes of what is drawn as one, where answers are not: the items, or their claims."""
        return codes_of([row.statement_id for row in self.rows]) if self.claims else np.arange(len(self.rows))

    @property
    def what(self) -> str:
        """The word for what is drawn as one, where answers are not."""
        return "claims" if self.claims else "items"

    @property
    def with_texts(self) -> bool:
        """Whether a metric can read the items."""
        return any(row.statement for row in self.rows)

    @cached_property
    def lengths(self) -> Mapping[str, Floats]:
        """(N,) by what is counted: the words of each item's statement, and of its source; empty without texts."""
        if not self.with_texts:
            return {}
        texts = {"statement": [row.statement for row in self.rows], "source": [row.source for row in self.rows]}
        return {f"words of the {side}": np.array([float(len(one.split())) for one in texts[side]]) for side in texts}

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 over the items, in any order; not over the levels that the file holds."""
        return sha256_json(sorted([row.id, row.statement, row.source, row.group, row.system] for row in self.rows))

    @property
    def signed(self) -> str:
        """The name and the hash, as a signature has them."""
        return f"{self.name}@{self.fingerprint[:12]}"

    def as_corpus(self) -> Corpus:
        """The items as a corpus to score. Its levels say nothing: labels are read apart."""
        documents: dict[str, Document] = {}
        found: dict[str, Statement] = {}
        citations = []
        for row in self.rows:
            document = sha256_json(row.source)[:16]
            documents.setdefault(document, Document(document, row.source))
            found.setdefault(row.statement_id, Statement(row.statement_id, row.statement, row.group, row.system))
            citations.append(Citation(row.id, row.statement_id, document, SupportLevel.NONE))
        return Corpus(self.name, documents, found, tuple(citations))


def items_of(given: Any, mapping: Mapping[str, str] | None = None, pipeline: str = "") -> Items:
    """Items from a file, a corpus, a data frame, or mappings with the fields of a table.

    mapping: the column of each role (see `ROLES`), where its name does not say it. pipeline: alce or aliice, whose
    questions are the items; empty: citations are. Raises `UserError` for what is none of these, for two items of one
    id, and where a pipeline is asked for and there are no answers.
    """
    if pipeline and pipeline not in TITLES:
        raise unknown("pipeline", pipeline, TITLES)
    found = _items_of(given, mapping or {})
    if not isinstance(found, Items):
        astray = _marks_without_passage(*found)
        return _of_claims(*found, pipeline) if pipeline else _of_answers(*found, astray)
    if pipeline and (found.claims is None or found.claims.pipeline != pipeline):
        raise UserError(
            f"{found.name} holds citations without their answers; {TITLES[pipeline]} reads answers with marks ([1]) "
            "and passages: give these, or leave --pipeline out."
        )
    return found


def _items_of(given: Any, mapping: Mapping[str, str]) -> Items | tuple[Sequence[Answer], str]:
    """Items, or answers with the name of their file."""
    if isinstance(given, Items):
        return given
    if isinstance(given, Corpus):
        return _of_corpus(given)
    if not isinstance(given, str | Path):
        table = table_of("the items", given)
        first = table.rows[0].cells
        if isinstance(first.get("text"), str) and isinstance(first.get("passages"), list):
            return answers_of([row.cells for row in table.rows]), "answers"
        return _of_table(table, "items", mapping)
    path = Path(given)
    name = file_stem(path)
    if path.suffix.lower() in (*TABLES, ".parquet"):
        return _of_table(read_table(path), name, mapping)
    first = next((fields for _, fields in islice(json_objects(path, f"give {HINT}", True), 1)), {})
    if first.get("type") == "corpus":
        return _of_corpus(read_corpus(path, unjudged=True))
    if first.get("schema") == PAIRS_SCHEMA:
        return _of_pairs(path, name)
    answers = {"passages", "docs", "ctxs", "data", "answers", "documents", "response"} & first.keys()
    if not answers or (answers == {"passages"} and "text" not in first and {*_TEXTS} & first.keys()):
        return _of_table(read_table(path), name, mapping)
    return read_answers(path), name


def _of_corpus(corpus: Corpus) -> Items:
    rows = []
    for citation in corpus.citations:
        statement, document = corpus.statements[citation.statement_id], corpus.documents[citation.document_id]
        level = None if citation.meta.get(UNJUDGED) else int(citation.level)
        rows.append(
            Item(citation.id, statement.id, statement.text, document.text, statement.group, statement.system, level)
        )
    cited = {row.statement_id for row in rows}
    return Items(
        corpus.name, tuple(rows), uncited=tuple(one.group for one in corpus.statements.values() if one.id not in cited)
    )


def _marks_without_passage(answers: Sequence[Answer], name: str) -> int:
    """The number of marks that point at no passage, of which it warns with an example."""
    read = ((answer, one) for answer in answers for row in statements(answer, PAPER) for one in row.cited)
    astray = [(answer, one.mark.number or 0) for answer, one in read if one.state == "fails"]
    if astray:
        answer, number = astray[0]
        example = f"answer {shown(answer.id)} cites [{number + answer.first - 1}] of {len(answer.passages)} passages"
        _log.warning("%s: %s marks point at no passage and are left out; for example, %s.", name, len(astray), example)
    return len(astray)


def _of_answers(answers: Sequence[Answer], name: str, astray: int) -> Items:
    rows: list[Item] = []
    uncited: list[str] = []
    for answer in answers:
        for statement in statements(answer, PAPER):
            own = f"{answer.id}/{statement.number or statement.claim.sentence}"
            cited = [one for one in statement.cited if one.state == "judged" and one.place is not None]
            uncited += [group_of(answer)] * (statement.counts and not cited)
            for one in cited:
                passage = answer.passages[one.place or 0]
                text, source = map(writable, (statement.claim.text, premise([passage])))
                cited_as = writable(f"{own}[{(one.place or 0) + 1}]")
                rows.append(Item(cited_as, writable(own), text, source, group_of(answer), writable(answer.system)))
    notes = [f"read as answers with marks: {len(answers):,} answers, {len(rows):,} citations"]
    notes += [f"{astray:,} marks point at no passage, and are no items"] if astray else []
    return Items(name, tuple(rows), uncited=tuple(uncited), notes=tuple(notes))


def _of_claims(answers: Sequence[Answer], name: str, pipeline: str) -> Items:
    """What a pipeline asks of each claim: whether its passages together support it, and where needed each of them."""
    claims = claims_of(answers, pipeline)
    rows = []
    for claim in claims.claims:
        group, system = group_of(claim.answer), writable(claim.answer.system)
        for own, (source, text) in zip(claim.names, claim.items, strict=True):
            rows.append(Item(own, claim.id, writable(text), writable(source), group, system))
    asked = len({row.statement_id for row in rows})
    settled = [one.answer for one in claims.claims if one.counts and not one.items]
    uncited = tuple(group_of(one) for one in settled)
    notes = (
        f"read as answers with marks: {len(answers):,} answers, {asked:,} claims with citations as {TITLES[pipeline]} "
        f"reads them, {len(rows):,} questions",
    )
    return Items(name, tuple(rows), uncited=uncited, notes=notes, claims=claims)


def _of_pairs(path: Path, name: str) -> Items:
    """The rows of a job's pairs.jsonl, with the scores of its columns; their texts are elsewhere."""
    (_, head), *lines = json_objects(path, "give a job's pairs.jsonl as it was written")
    columns = [str(one) for one in head.get("columns", ())]
    rows, scores = [], []
    for where, one in lines:
        known = one.get("scores")
        if "statement" not in one or not isinstance(known, list) or len(known) != len(columns):
            raise UserError(
                f"{where} is no judged citation with {len(columns)} scores: give the file as it was written."
            )
        level = one.get("level")
        own = [str(one.get(name) or "") for name in ("id", "statement", "group", "system")]
        rows.append(Item(own[0], own[1], "", "", own[2] or own[1], own[3], level if level in (0, 1, 2) else None))
        scores.append(known)
    return Items(name, tuple(rows), {column: [one[n] for one in scores] for n, column in enumerate(columns)})


def _of_table(table: TypedTable, name: str, mapping: Mapping[str, str]) -> Items | tuple[Sequence[Answer], str]:
    """A row is a citation; or, where no column holds statements, an answer with marks, and its passages."""
    given = {role: heading for role, heading in mapping.items() if role in ROLES or role == "text"}
    columns = table.find({**ROLES, "text": ()}, given)
    sources, numbered = _sources(table, columns)
    if "statement" not in columns:
        named = [one for one in (columns.get("text"), *_TEXTS) if one in table.headings]
        marked = next((one for one in named if any(_MARK.search(row.text(one)) for row in table.rows)), None)
        if marked is None:
            table.find(ROLES, given, ["statement"])
        answers = [
            _answer(row, str(number), marked or "", columns, sources) for number, row in enumerate(table.rows, 1)
        ]
        check_ids((answer.id for answer in answers), "answers", table.name)
        return answers, name
    rows = []
    for number, row in enumerate(table.rows, start=1):
        statement = row.text(columns["statement"])
        if not statement:
            raise row.wrong(columns["statement"], "is blank: write the statement, or delete the row")
        texts = [premise([one]) for heading in sources for one in _passages(row, heading) if one.text.strip()]
        own = row.text(columns["id"]) if "id" in columns else str(number)
        if not own:
            raise row.wrong(columns["id"], "is blank: give each row an id")
        group = (row.text(columns["answer"]) if "answer" in columns else "") or own
        system = row.text(columns["system"]) if "system" in columns else ""
        rows.append(Item(own, sha256_json([group, statement])[:16], statement, "\n\n".join(texts), group, system))
    if len(sources) == 1:
        lengths = [(len(row.source), len(row.statement)) for row in rows if row.source]
        warn_of_swap(table.name, {**columns, "source": sources[0]}, lengths)
    used = [f"{role}: {shown(heading)}" for role, heading in columns.items()]
    used += [f"more sources: {', '.join(map(shown, numbered))}"] if numbered else []
    if "id" not in columns:
        used.append("id: the row's number, from 1")
    taken = {*columns.values(), *numbered}
    return Items(name, tuple(rows), _number_columns(table, taken), notes=(f"read as a table with {', '.join(used)}",))


_TEXTS = ("text", "answer", "response", "output", "Text", "Answer", "Response", "Output")
_MARK = re.compile(r"\[\d+\]")
_LISTED = re.compile(r"(?m)^\s*\[\d+\]\s*")
_LIST = re.compile(r"""\s*\[\s*["'{\]]""")


def _sources(table: TypedTable, columns: Mapping[str, str]) -> tuple[list[str], list[str]]:
    """The columns of sources, and which of them were found by a number behind the name of the first."""
    sources = [columns["source"]] if "source" in columns else []
    stems = (
        [sources[0].rstrip("0123456789 _-").casefold()]
        if sources
        else [one for name in ROLES["source"] for one in (name, f"{name}s")]
    )
    numbered = [
        one
        for one in table.headings
        for stem in stems
        if one not in columns.values() and one.casefold().startswith(stem) and one[len(stem) :].strip(" _-").isdigit()
    ]
    if not sources and not numbered:
        sources = [one for one in table.headings if one.casefold() in [f"{name}s" for name in ROLES["source"]]]
        if not sources:
            table.find({"source": ROLES["source"]}, {}, ["source"])
    return sources + numbered, numbered


def _answer(row: Row, number: str, text: str, columns: Mapping[str, str], sources: Sequence[str]) -> Answer:
    """The answer of a row, with the passages of all its columns of sources."""
    passages = tuple(one for heading in sources for one in _passages(row, heading, alone=len(sources) == 1))
    own = row.text(columns["id"]) if "id" in columns else number
    group = row.text(columns["answer"]) if "answer" in columns and columns["answer"] != text else ""
    system = row.text(columns["system"]) if "system" in columns else ""
    return Answer(own, row.text(text), passages, group=group or own, system=system)


def _passages(row: Row, heading: str, alone: bool = False) -> tuple[Passage, ...]:
    """The passages of a cell: a list, also as JSON, or a text. alone: [1], [2] ... may begin passages in a text."""
    value = row.value(heading)
    if isinstance(value, str) and _LIST.match(value):
        try:
            value = parse_json(value)
        except MalformedError as error:
            if alone:
                raise row.wrong(heading, f"begins as a list and is not JSON ({error}): write a JSON list") from error
    if isinstance(value, list):
        return passages_of(Record(row.place(heading), {heading: value}), heading)
    text = row.text(heading)
    listed = [one.strip() for one in _LISTED.split(text) if one.strip()] if alone else []
    return tuple(map(Passage, listed if len(listed) > 1 else [text]))


def _number_columns(table: TypedTable, taken: set[str]) -> dict[str, list[float | None]]:
    """The other columns that hold numbers alone: scores of metrics, if one is named."""
    found: dict[str, list[float | None]] = {}
    for heading in table.headings:
        values = [row.cells.get(heading) for row in table.rows] if heading not in taken else []
        numbers = [_number(value) for value in values]
        blank = [value is None for value in values]
        if any(one is not None for one in numbers) and all(
            one is not None or empty for one, empty in zip(numbers, blank, strict=True)
        ):
            found[heading] = numbers
    return found


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except ValueError:
        return None
    return number if np.isfinite(number) else None
