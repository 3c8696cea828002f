"""Answers in a file, and a backend whose verdicts are stored."""

import json
import re

import pytest


@pytest.fixture(scope="session")
def rated_row():
    """Make a row of an answer whose sentences are its rated statements; ratings: those of each sentence."""

    def made(text, ratings, **fields):
        ends = [match.end() for match in re.finditer(r"\.(?=\s|$)", text)]
        starts = [0, *(end + 1 for end in ends[:-1])]
        spans = zip(starts, ends, ratings, strict=True)
        statements = [{"start": start, "end": end, "ratings": list(own)} for start, end, own in spans]
        return {"text": text, "statements": statements, **fields}

    return made


@pytest.fixture
def write(request, tmp_path):
    """Write answers in the project's own format: by default the test module's ANSWERS, each with its PASSAGES."""

    def made(rows=None, name="answers.jsonl"):
        path, own = tmp_path / name, request.module
        rows = own.ANSWERS if rows is None else rows
        path.write_text("".join(json.dumps({"passages": own.PASSAGES, **row}) + "\n" for row in rows))
        return path

    return made


@pytest.fixture
def stored_backend():
    """A backend that gives stored scores, and None as a failure; without a threshold its verdicts are soft."""
    from metaeval.citation.data_model import Verdict
    from metaeval.citation.pipelines.metric_verdicts import Backend
    from metaeval.runs.metrics import Cutoff

    def made(scores, threshold, name, **identity):
        def entails(pairs):
            return [
                Verdict(None, None, "failed")
                if scores[pair] is None
                else Verdict(None if threshold is None else scores[pair] >= threshold, scores[pair])
                for pair in pairs
            ]

        return Backend(name, Cutoff(threshold, "as given"), {"backend": name, **identity}, entails, {})

    return made


@pytest.fixture
def hold(recorded):
    """Hold tables as they are printed, their notes and signatures, and what they are made of, against their record."""

    def held(name, tables, **more):
        signed = dict.fromkeys(line for table in tables for line in table.signatures)
        # Without digests and versions.
        told = [re.sub(r"[0-9a-f]{12}|\|parser:[^|]*|\|metaeval:.*", "#", line).split("|") for line in signed]
        told = told[:1] + [[field for field in own if field not in told[0]] for own in told[1:]]
        tables = [table for table in tables if table.name != "replies"]
        more |= {"signed": told, "data": [*tables[0].data][3:7]}
        recorded.held(name, {table.name: recorded.sheet(table) for table in tables} | more)

    return held


@pytest.fixture(scope="session")
def told(recorded):
    """All that a result tells: records, what is printed, notes by their numbers, and the rows of answers and marks."""

    def of(result, kinds=("answers", "sentences", "citations")):
        tables = {name: [table.title, *recorded.sheet(table)] for name, table in result.items()}
        notes = [[note.label, note.text, note.items] for note in (*result.notes, *result.missing)]
        shown = {name: table for name, table in result.rows.items() if name.split(":")[0] in kinds}
        rows = {name: [[*row.values()] for row in table.records] for name, table in shown.items()}
        return recorded.plain([tables, notes, rows])

    return of
