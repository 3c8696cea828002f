"""SCiFi's chunks: the walk on made sizes, texts and titles, and windows in tokens of a tokenizer made here."""

import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from itertools import pairwise
from typing import ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaeval.citation.data_model import UNKNOWN_TEXT, Passage
from metaeval.citation.scifi.data_model import ScifiOptions
from metaeval.citation.scifi.fact_entailment import chunks_of, count_words, counter, windows
from metaeval.errors import UserError


@pytest.mark.parametrize(
    ("sizes", "window", "chunks"),
    [
        # Two sentences fit; half of two is one back.
        ([3, 3, 3, 3], 6, [(0, 2), (1, 3), (2, 4)]),
        # Five fit; half of five, rounded down, is two back: the next starts at 3.
        ([1] * 8, 5, [(0, 5), (3, 8)]),
        # One that is longer than the window is a chunk of its own; nothing goes back over a chunk of one.
        ([2, 9, 2], 4, [(0, 1), (1, 2), (2, 3)]),
        # Going back by one would leave no room for the next sentence (2 + 4 > 4).
        ([2, 2, 4], 4, [(0, 2), (2, 3)]),
        # Half of four is two back, where the last one would not fit (1 + 1 + 3 > 4); from one back it does.
        ([1, 1, 1, 1, 3], 4, [(0, 4), (3, 5)]),
        ([4], 4, [(0, 1)]),
        ([0, 0], 1, [(0, 2)]),
        ([], 4, []),
    ],
)
def test_the_walk_goes_back_by_half_and_always_on(sizes, window, chunks):
    assert windows(sizes, window) == chunks


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
    assert chunks_of([(4, BRIDGE)], ScifiOptions(window=7)) == [
        ("Title: Bridge\nA Dane built it. It is long.", 4),
        ("Title: Bridge\nIt is long. It is of steel.", 4),
    ]


def test_several_passages_are_one_text_that_says_whose_each_part_is():
    assert chunks_of([(0, BRIDGE), (2, RIVER)], ScifiOptions(window=10)) == [
        ("Title: Bridge\nA Dane built it. It is long.", 0),
        ("Title: Bridge\nIt is long. It is of steel.\nIt flows north.", None),
    ]


def test_a_passage_without_text_is_one_chunk_that_is_not_judged_and_no_passage_is_none():
    assert chunks_of([(1, Passage(" ", "Bridge")), (0, BRIDGE)], ScifiOptions(window=99))[1:] == [(UNKNOWN_TEXT, 1)]
    assert chunks_of([(1, Passage("  "))]) == [(UNKNOWN_TEXT, 1)]
    assert chunks_of([]) == []


def test_a_window_can_be_measured_in_tokens(letters):
    count = counter(letters)
    assert [count(text) for text in ("It is long.", "", "of steel")] == [9, 0, 7]
    # "A Dane built it." has 13 tokens, "It is long." 9, "It is of steel." 12.
    chunks = chunks_of([(0, BRIDGE)], ScifiOptions(window=22), count)
    assert [text.partition("\n")[2] for text, _ in chunks] == [
        "A Dane built it. It is long.",
        "It is long. It is of steel.",
    ]


def test_a_tokenizer_that_cannot_be_loaded_is_named(tmp_path):
    pytest.importorskip("transformers", reason="needs the extra 'models'")
    assert counter("words") is count_words
    with pytest.raises(UserError, match=r"^tokenizer=.* cannot be loaded \(.*tokenizer=words\.$"):
        counter(str(tmp_path))


class _Empty(BaseHTTPRequestHandler):
    """A hub that holds nothing, and counts who asks."""

    asked: ClassVar[list[str]] = []

    def do_GET(self):
        self.asked.append(self.path)
        self.send_error(404)

    do_HEAD = do_GET  # noqa: N815

    def log_message(self, *_):
        """Nothing on the terminal."""


def test_a_wrong_hub_id_is_refused_after_one_request_and_without_a_hub(tmp_path):
    pytest.importorskip("transformers", reason="needs the extra 'models'")
    # The hub's address is read once in a process: another one, which asks again once the hub has gone.
    code = """
import sys
from metaeval.citation.scifi.fact_entailment import counter
from metaeval.errors import UserError
for _ in sys.stdin:
    try:
        counter("nobody/nothing")
    except UserError as error:
        print(error, flush=True)
"""
    own = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    own.pop("HF_HUB_OFFLINE", None)
    refusal = "tokenizer=nobody/nothing cannot be loaded ("
    with HTTPServer(("127.0.0.1", 0), _Empty) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        environment = {**own, "HF_ENDPOINT": f"http://127.0.0.1:{server.server_port}", "HF_HOME": str(tmp_path)}
        _Empty.asked.clear()
        asking = subprocess.Popen(
            [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )
        asking.stdin.write("\n")
        asking.stdin.flush()
        assert asking.stdout.readline().startswith(refusal)
        server.shutdown()
    out, _ = asking.communicate("\n", timeout=300)
    assert out.startswith(refusal)
    # (The hub's client has questions of its own, too.)
    assert [path for path in _Empty.asked if "nothing" in path] == ["/api/models/nobody/nothing"]
