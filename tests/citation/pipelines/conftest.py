"""Answers in a file, and a backend whose verdicts are stored."""

import json

import pytest


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
    from metaeval.citation.model import Verdict
    from metaeval.citation.pipelines.verdicts import Backend
    from metaeval.runs.cutoffs import Cutoff

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
