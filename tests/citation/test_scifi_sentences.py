"""SCiFi's sentences, segments, chunks and assignment: hand-made texts, offsets and sizes counted by hand."""

import json
import os
import random
import re
import subprocess
import sys
import threading
from collections import Counter
from difflib import SequenceMatcher
from http.server import BaseHTTPRequestHandler, HTTPServer
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaeval.citation.data_model import UNKNOWN_TEXT, Answer, Passage
from metaeval.citation.marks_and_sentences import find_marks
from metaeval.citation.scifi import data_model
from metaeval.citation.scifi.data_model import (
    ScifiOptions,
    find_segment,
    most_similar_run,
    read_sentences,
    reference_texts,
    unread_marks,
    without_marks,
)
from metaeval.citation.scifi.fact_entailment import chunks_of, counter, windows
from metaeval.citation.scifi.text_statistics import citation_counts, shares_of


@given(st.lists(st.sampled_from(["Cups", "are", ".", "? ", "\n", " ", "[1]", "[2, 3]", "[", "]", "[x1]", "é", "1."])))
def test_every_mark_is_in_a_group_or_reported_and_no_plain_mark_is_twice(pieces):
    answer = Answer("a", "".join(pieces), ())
    sentences = read_sentences(answer)
    marks = [mark for one in sentences for group in one.groups for mark in group.marks]
    every = Counter((mark.start, mark.number) for mark in find_marks(answer.text))
    found = Counter((mark.start, mark.number) for mark in (*marks, *unread_marks(answer, sentences)))
    assert every <= found
    assert max(Counter((mark.start, mark.number) for mark in marks).values(), default=1) == 1
    for one in sentences:
        places = [group.at for group in one.groups]
        assert places == sorted(places)
        assert all(0 <= place <= len(one.text) for place in places)
        assert 0 <= one.start < one.end <= len(answer.text)


def test_sentences_of_texts_with_marks(recorded):
    """The texts are those of the record marks-read: what stands without its marks, where, and what is counted."""
    texts = [*json.loads((recorded.FOLDER / "marks-read.json").read_text(encoding="utf-8"))]
    held = {}
    for text in texts:
        answer = Answer("a", text, (), first=len(text) % 2, reference={"answer": text})
        sentences = read_sentences(answer)
        found = [f"{one.number} {one.start}-{one.end} {one.text} {group_texts(one.groups)}" for one in sentences]
        lost = [f"{mark.start}-{mark.end}:{mark.number}" for mark in unread_marks(answer, sentences)]
        counted = [*citation_counts([answer]).values(), *shares_of(citation_counts([answer] * 2)).values()]
        held[text] = [found, lost, without_marks(text), reference_texts(answer), counted]
    recorded.held("scifi-sentences", held, whole=True)


def group_texts(groups):
    return " ".join(
        f"{of.at}:" + ",".join(f"{mark.start}-{mark.end}:{mark.number}" for mark in of.marks) for of in groups
    )


def test_segments_are_found_as_far_as_they_go(recorded):
    """The keys of the record are sentences with what was said of them."""
    pairs = [
        key.split(" | ") for key in json.loads((recorded.FOLDER / "scifi-segments.json").read_text(encoding="utf-8"))
    ]
    held = {}
    for sentence, said in pairs:
        likest = [most_similar_run(sentence, said.strip(), likeness) for likeness in (0.3, 0.6, 1.0)]
        segment = find_segment(sentence, said)
        held[f"{sentence} | {said}"] = [segment[2], sentence[slice(*segment[:2])], segment[:2], likest]
    recorded.held("scifi-segments", held, whole=True)


def test_the_walk_goes_back_by_half_and_always_on(recorded):
    sizes = [[3] * 4, [1] * 8, [2, 9, 2], [2, 2, 4], [1, 1, 1, 1, 3], [0, 0], [], [5]]
    sizes += [[1, 2, 3, 4, 5, 4, 3, 2, 1], [4, 4, 1]]
    held = {f"{of}": [windows(of, window) for window in (1, 2, 4, 5, 6, 9, 40)] for of in sizes}
    answers = [Answer("a", "", (), reference=of) for of in REFERENCES]
    recorded.held("scifi-windows", {**held, "references": list(map(reference_texts, answers))}, whole=True)


REFERENCES = [
    {"claims": ["It rained.", "1. ", "It poured [1]."], "answer": "Not this."},
    {"claims": ("--",), "answer": "It rained [1] hard [2]. 1. It poured. [3]"},
    {"claims": ["It rained.", 3], "answer": ["It rained."]},
    {"claims": "It rained.", "answer": "42 [1]. It fell."},
    {"answer": " "},
]


WORDS = "The old bridge over the river, which a Dane had built of steel in 1999 (or so), carries Straßen-cars".split()


def every_run(sentence, text, likeness):
    """The definition: all runs of about as many words, each compared."""
    spans = [match.span() for match in re.finditer(r"\w+(?:[^\w\s]+\w+)*", sentence)]
    words = len(text.split())
    ranked = []
    for size in range(max(1, words - max(1, words // 4)), words + max(1, words // 4) + 1):
        for first in range(len(spans) - size + 1):
            start, end = spans[first][0], spans[first + size - 1][1]
            ratio = SequenceMatcher(None, sentence[start:end].casefold(), text.casefold(), autojunk=False).ratio()
            ranked.append((ratio, start - end, -start, (start, end)))
    best = max(ranked, default=(0.0,))
    return best[3] if best[0] >= likeness and ranked else None


@pytest.mark.parametrize("seed", range(4))
def test_the_likest_of_all_runs_is_found(seed):
    draws = random.Random(seed)
    sentence = " ".join(draws.choices(WORDS, k=draws.randrange(1, 30)))
    said = sentence.split()[draws.randrange(3) :][: draws.randrange(1, 12)] or ["river"]
    for _ in range(draws.randrange(3)):  # words swapped, changed, left out
        one, other = draws.randrange(len(said)), draws.randrange(len(said))
        said[one], said[other] = said[other], draws.choice([said[one], said[one][1:] + "x", "STRASSEN"])
    for likeness in (0.3, 0.6, 0.8):
        text = " ".join(said)
        assert most_similar_run(sentence, text, likeness) == every_run(sentence, text, likeness)
    # What has no words is like nothing, not even where any likeness is enough.
    nothing = [("...", "a b", 0.1), ("", "a", 0.1), ("a b c", "--", 0.1), ("", "a", 0), ("...", "a", 0)]
    assert [most_similar_run(*one) for one in nothing] == [None] * 5


class Counted(SequenceMatcher):
    compared = 0

    def ratio(self):
        Counted.compared += len(self.a) * len(self.b)
        return super().ratio()


def test_in_long_sentences_what_is_compared_has_a_bound(monkeypatch):
    # 400 words and 100 of them in another order, by letters as like as any others: all runs together would be
    # 51 lengths x some 300 places x some 700 x 700 characters, more than 7,000,000,000.
    draws = random.Random(0)
    words = ["".join(draws.choices("abcdefgh", k=6)) for _ in range(400)]
    shuffled = draws.sample(words[50:150], 100)
    monkeypatch.setattr(data_model, "SequenceMatcher", Counted)
    assert most_similar_run(" ".join(words), " ".join(shuffled), 0.8) is None
    assert 0 < Counted.compared <= data_model._WORK
    # What was said with some words wrong is found first, because it shares most words.
    said = [word if number % 20 else "zzz" for number, word in enumerate(words[50:150])]
    start, end = most_similar_run(" ".join(words), " ".join(said), 0.8)
    assert {*words[51:150]} <= {*" ".join(words)[start:end].split()}
    # A run is compared as long as there is work left for it; a text too long for once is not looked for by likeness.
    assert data_model._WORK == 800 * 750
    assert [most_similar_run("x" * size, "x" * 750, 0.9) for size in (800, 801)] == [(0, 800), None]
    assert most_similar_run(" ".join(words), " ".join([*words[:200], "zzz"]), 0.8) is None


@given(st.lists(st.integers(0, 12), max_size=40), st.integers(1, 20))
def test_chunks_hold_every_sentence_fit_and_read_on(sizes, window):
    found = windows(sizes, window)
    assert sorted({place for start, end in found for place in range(start, end)}) == list(range(len(sizes)))
    for start, end in found:
        assert sum(sizes[start:end]) <= window or end == start + 1
    for before, after in pairwise(found):
        assert before[0] < after[0] <= before[1] < after[1]


BRIDGE = Passage("A Dane built it. It is long. It is of steel.", "Bridge")  # 4, 3 and 4 words
RIVER = Passage("It flows north.", "")  # 3 words


def test_every_chunk_opens_with_its_title_which_is_not_counted():
    one, other = "Title: Bridge\nA Dane built it. It is long.", "Title: Bridge\nIt is long. It is of steel."
    assert chunks_of([(4, BRIDGE)], ScifiOptions(window=7)) == [(one, 4), (other, 4)]
    # Several passages are one text that says whose each part is.
    several = chunks_of([(0, BRIDGE), (2, RIVER)], ScifiOptions(window=10))
    assert several == [(one, 0), (f"{other}\nIt flows north.", None)]
    # A passage without text is one chunk that is not judged, and no passage is none.
    assert chunks_of([(1, Passage(" ", "Bridge")), (0, BRIDGE)], ScifiOptions(window=99))[1:] == [(UNKNOWN_TEXT, 1)]
    assert (chunks_of([(1, Passage("  "))]), chunks_of([])) == ([(UNKNOWN_TEXT, 1)], [])


def test_a_window_can_be_measured_in_tokens(letters):
    count = counter(letters)
    assert [count(text) for text in ("It is long.", "", "of steel")] == [9, 0, 7]
    # "A Dane built it." has 13 tokens, "It is long." 9, "It is of steel." 12.
    chunks = chunks_of([(0, BRIDGE)], ScifiOptions(window=22), count)
    assert [text.partition("\n")[2] for text, _ in chunks] == [
        "A Dane built it. It is long.",
        "It is long. It is of steel.",
    ]


def test_a_wrong_hub_id_is_refused_after_one_request_and_without_a_hub(tmp_path):
    pytest.importorskip("transformers", reason="needs the extra 'models'")
    # The hub's address is read once in a process: another one.
    code = "from metaeval.citation.scifi.fact_entailment import counter; counter('nobody/nothing')"
    own = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    own.pop("HF_HUB_OFFLINE", None)
    asked = []

    class Empty(BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            self.send_error(404)

        do_HEAD = do_GET  # noqa: N815

    with HTTPServer(("127.0.0.1", 0), Empty) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        environment = {**own, "HF_ENDPOINT": f"http://127.0.0.1:{server.server_port}", "HF_HOME": str(tmp_path)}
        for hub_is_there in (True, False):
            ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
            assert "UserError: tokenizer=nobody/nothing cannot be loaded (" in ended.stderr
            if hub_is_there:
                server.shutdown()
                server.server_close()
    # (The hub's client has questions of its own, too.)
    assert [path for path in asked if "nothing" in path] == ["/api/models/nobody/nothing"]
