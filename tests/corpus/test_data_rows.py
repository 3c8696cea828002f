"""Reading published rows: JSON lines, JSON lists and gzip, told from the content; each field checked; what is built."""

import gzip
import json
import math
from pathlib import Path

import pytest

from metaeval.core.errors import UserError
from metaeval.corpus.data_rows import CorpusDraft, DataRow, finite, finite_or_none, read_rows, strip_marks
from metaeval.corpus.level_words import WORDS, own_words, plain_word
from metaeval.corpus.model import Corpus, Document, Statement, SupportLevel

VALUES = json.loads(Path(__file__).with_name("values.json").read_text(encoding="utf-8"))
ROW = DataRow("f line 7", {f"x{n}": value for n, value in enumerate([*VALUES["fields"], math.nan, math.inf])})
DOCUMENTS = Document("d", "One word.", "T"), Document("e", "One")


def test_a_field_tells_its_value_or_what_is_wrong(recorded):
    methods = (
        *"text optional_text number identifier texts numbers lists row rows value".split(),
        finite,
        finite_or_none,
    )
    found = {}
    for method in methods:
        use = getattr(ROW, method) if isinstance(method, str) else lambda name, use=method: use(ROW, name)
        told = [recorded.told(use, name) for name in (*ROW.fields, "gone")]
        found[str(getattr(method, "__name__", method))] = told
    allowed = {"yes": 2, "no": None, None: 0, 1: "one", 1.5: "x"}
    found["choice"] = [recorded.told(ROW.choice, name, allowed) for name in ROW.fields]
    found["only"] = [recorded.told(DataRow("f", {"ab": 1}).only, known) for known in (["ab"], ["abc"], ["z"])]
    found["error"] = [str(ROW.error("x", "y" * size))[-164:] for size in (159, 160, 161)]
    found["marks"] = [strip_marks(text) for text in VALUES["marks"]]
    recorded.held("corpus-rows", found)


def test_words_for_levels(recorded):
    chosen = [
        {"full": "Good, 3", "none": " bad ,"},
        {"full": "a", "none": "A "},
        {"partial": None},
        {"other": "x"},
        {"full": "x,x"},
    ]
    found = {
        "words": WORDS,
        "plain": [plain_word(value) for value in (*VALUES["fields"], *VALUES["words"])],
        "own": [recorded.told(own_words, words) for words in chosen],
    }
    recorded.held("corpus-level-words", found)


@pytest.mark.parametrize(
    "content", [b'{"a": "\xff"}', gzip.compress(b'{"a": 1}\n' * 99, mtime=0)[:-20], b"\x1f\x8bno gzip"]
)
def test_faults_name_the_file(tmp_path, content):
    path = tmp_path / "x.jsonl"
    path.write_bytes(content)
    with pytest.raises(UserError, match=r"x\.jsonl"):
        list(read_rows(path))


def test_a_draft_holds_each_text_once_and_counts_what_is_left_out(recorded):
    draft = CorpusDraft("x")
    ids = [draft.document("a", url="u"), draft.document("a", url="v"), draft.document("b", url="u", title="T", note=1)]
    ids += [draft.document(url="u"), draft.document(url="v"), draft.document(), draft.document(sentences=("a",))]
    statements = [
        recorded.told(draft.statement, Statement("s", text, group)) for text, group in ("ag", "ag", "bg", "ah")
    ]
    numbered = [draft.next_id(name) for name in "sst"]
    empty = recorded.told(draft.corpus)
    draft.drop("odd")
    dropped = [draft.corpus(), recorded.told(CorpusDraft("y").corpus)]
    draft.cite(numbered[1], "s", ids[0], SupportLevel.PARTIAL, note="n")
    draft.drop("odd", 3)
    corpus = draft.corpus({"m": {numbered[1]: 0.5}})
    held = [
        repr(one) for one in (corpus, Document("d", "One word.", "T"), Document("e", "One"), Corpus("c", {}, {}, ()))
    ]
    told = {"ids": ids, "statements": statements, "numbered": numbered, "empty": empty, "dropped": dropped}
    recorded.held("corpus-draft", {**told, "corpus": corpus, "levels": corpus.level_counts(), "shown": held})
