"""CiteBench's files of responses: `.citeeval`, cut into statements, and the systems' outputs before they are cut.

    [{"sample_idx", "query", "passages": [{"id", "title", "text"}], "prediction",
      "prediction_sentences_and_citations": [{"id", "sentence", "citations", "concat"}]}]
    [{"id", "query", "passages": [{"text", "title"}], "pred"}]

The field `model` or `system` names the system; without it, the published id of a statement file does
(gpt-4o_asqa_gtr_10_psgs_7: model, data set, retriever and number of passages), or else the file's name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from metaeval.citation.citeeval.splitting import NO_ANSWER, ResponseStatement, Split
from metaeval.citation.data_model import Answer, check_ids
from metaeval.citation.readers.answers_jsonl import passages_of
from metaeval.citation.readers.expertqa import write_statements
from metaeval.citation.readers.formats.answer_format import AnswerFormat, named_by, whole_file
from metaeval.corpus.data_rows import DataRow

_PUBLISHED_ID = re.compile(r"(.{1,200}?_[0-9]{1,4}_psgs)(?![A-Za-z0-9])")


def read_bench(rows: Sequence[DataRow]) -> Iterator[Answer]:
    """Yield the responses of a `.citeeval` file, each with its statements as cut and numbered in the file.

    Their offsets in the prediction are not known: the text is that of the statements (see `stating`).
    """
    for row in rows:
        sample, passages = row.identifier("sample_idx"), passages_of(row, "passages")
        published = _PUBLISHED_ID.match(sample)
        system = named_by(row, "model", "system") or (published[1] if published else "")
        answer = Answer(sample, row.text("prediction"), passages, row.text("query"), system=system)
        statements: list[ResponseStatement] = []
        for number, entry in enumerate(row.rows("prediction_sentences_and_citations"), start=1):
            text, citations = entry.text("sentence"), tuple(dict.fromkeys(entry.numbers("citations")))
            statements.append(ResponseStatement(number, text, citations, start=0, end=0, id=entry.identifier("id")))
        check_ids((statement.id for statement in statements), "statements", row.where)
        no_answer = [statement.text for statement in statements] == [NO_ANSWER]
        yield stating(answer, Split(tuple(statements), no_answer))


def stating(answer: Answer, split: Split) -> Answer:
    """Return the response with these statements, and with them and their marks as its text, in which they have offsets.

    What was left out of another text is not left out of this one.
    """
    text, places = write_statements([(statement.text, statement.citations) for statement in split.statements])
    statements = tuple(
        replace(statement, start=start, end=end)
        for statement, (start, end) in zip(split.statements, places, strict=True)
    )
    return replace(answer, text=text, split=Split(statements, split.no_answer), left_out=())


def read_system(rows: Sequence[DataRow]) -> Iterator[Answer]:
    """Yield the answers in a file of a system's outputs (fields id, query, passages, pred)."""
    for row in rows:
        passages, system = passages_of(row, "passages"), named_by(row, "model", "system")
        yield Answer(row.identifier("id"), row.text("pred"), passages, row.text("query"), system=system)


CITEBENCH = AnswerFormat(
    name="citebench",
    title="CiteBench (.citeeval): responses cut into statements",
    needs=("sample_idx", "prediction_sentences_and_citations"),
    read_file=lambda rows, _: read_bench(rows),
)
SYSTEM = whole_file(
    "citebench-system", "CiteBench: the outputs of a system", ("query", "pred", "passages"), read_system
)
