"""Files that metaeval reads, sound and broken in many ways: a table of readers, and the faults."""

from __future__ import annotations

import gzip
import json
import os
import random
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

SOUND_FILES = {path.name: path.read_text(encoding="utf-8") for path in Path(__file__).with_name("sound").iterdir()}


class Reader(NamedTuple):
    """A way in. free: fields that may hold anything. halves: of characters may be in texts. empty: file is allowed."""

    file: str
    read: Callable[[Path], Any]
    free: tuple[str, ...] = ()
    halves: bool = False
    empty: bool = False

    @property
    def content(self) -> Any:
        """The value of a JSON file, a list for JSON lines; None for another file."""
        text, kind = SOUND_FILES[self.file], Path(self.file).suffix
        if kind == ".jsonl":
            return [json.loads(row) for row in text.splitlines()]
        return json.loads(text) if kind == ".json" else None

    @property
    def sound(self) -> bytes:
        """The bytes of the file without a fault."""
        content = self.content
        return SOUND_FILES[self.file].encode() if content is None else self.written(content)

    def written(self, value: Any) -> bytes:
        """A value as this file; texts that begin with RAW are written without quotes."""
        rows = value if self.file.endswith(".jsonl") else [value]
        text = "".join(f"{json.dumps(row)}\n" for row in rows)
        return re.sub(rf'"{RAW}([^"]*)"', r"\1", text).encode()


RAW = "@raw@"  # stands before text that JSON has no value for


def readers() -> list[Reader]:
    """Every way in."""
    from metaeval.citation.chat_models import Replay
    from metaeval.citation.citeeval.citation_edits import read_coefficients
    from metaeval.citation.data_model import Answer
    from metaeval.citation.human.rating_files import read_human, read_human_set, read_score_file
    from metaeval.citation.parsers.dependency_parsers import read_parses
    from metaeval.citation.readers.answer_files import gather, read_answers
    from metaeval.core.config import load_run
    from metaeval.core.config_files import metric_variant
    from metaeval.corpus.corpus_file import read_corpus
    from metaeval.corpus.loaders import expertqa, gensearch, wice
    from metaeval.corpus.loaders.ratings import read_ratings
    from metaeval.llm.messages import ChatRequest, Reply, read_prompt
    from metaeval.report.result import load_result
    from metaeval.report.table_files import load_table
    from metaeval.scoring.score_files import read_scores

    def loader(module: Any, split: str) -> Callable[[Path], Any]:
        options = {name: option.default for name, option in module.DATASET.options.items()}
        return lambda path: module.DATASET.load(split, {path.name: path}, options)

    def replies(path: Path) -> list[Any]:
        requests = [row["request"] for row in next(one for one in every if one.file == path.name).content]
        found = Replay(path).ask([ChatRequest(request, 0) for request in requests])
        return [replace(one, raw="") if isinstance(one, Reply) else one for one in found]

    rated = {"a1": Answer("a1", "It is long [1]. It is red.", ())}
    every = [
        Reader("corpus.jsonl", read_corpus, ("meta",)),
        Reader("ratings.jsonl", read_ratings),
        Reader("wice.jsonl", loader(wice, "test"), ("supporting_sentences",)),
        Reader("expertqa.jsonl", loader(expertqa, "all"), ("answer_string",)),
        Reader("judgements.jsonl", loader(gensearch, "dev")),
        Reader("scores.jsonl", read_scores),
        Reader("alce.json", read_answers, ("args", "answer"), halves=True),
        Reader("answers.jsonl", lambda path: gather([path]), ("answer",), halves=True),
        Reader("scifi.jsonl", read_answers, halves=True),
        Reader("scholarqa.json", read_answers, ("text",), halves=True),
        Reader("expertqa.jsonl", lambda path: read_answers(path, "expertqa"), halves=True),
        Reader("rated.jsonl", lambda path: read_human_set([path])),
        Reader("given.jsonl", lambda path: [read_score_file(path, rated)]),
        Reader("bench.json", read_human, ("edits",)),
        Reader("parses.json", read_parses),
        Reader("recording.jsonl", replies, ("request", "messages"), halves=True),
        Reader("calibration.json", load_table, ("settings", "records")),
        Reader("result.json", load_result, ("settings",)),
        Reader("coefficients.json", read_coefficients, ("made",)),
        Reader("prompt.txt", lambda path: read_prompt(path, ("statement", "source"))),
        Reader("run.yaml", lambda path: load_run(path, {}), empty=True),
        Reader("variant.yaml", metric_variant),
    ]
    return every


class Case(NamedTuple):
    """One fault. place: the file's bytes, or what makes it. may_be: contents that may be read as this; None: any."""

    label: str
    place: bytes | Callable[[Path], object]
    may_be: tuple[bytes, ...] | None = ()


DEEP = 100_000
BOMB = gzip.compress(bytes(20_000_000), mtime=0)


def of_bytes(reader: Reader) -> Iterator[Case]:
    """Nothing that can be read, or bytes that are not the text, or not all of it."""
    sound, middle = reader.sound, len(reader.sound) // 2
    whatever, some = None if reader.empty else (), None if reader.content is None else ()
    yield Case("missing", lambda path: None)
    yield Case("folder", lambda path: path.mkdir())
    yield Case("device without end", lambda path: path.symlink_to("/dev/urandom"))
    yield Case("pipe without a writer", os.mkfifo)
    yield Case("no permission", lambda path: path.symlink_to("/proc/self/mem"))  # root may read every other file
    yield Case("empty", b"", whatever)
    yield Case("HTML", b"<!doctype html>\n<title>404</title>\n", whatever)
    yield Case("PNG", b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 8)
    yield Case("cut", sound[:middle], some)
    yield Case("the first half is missing", sound[middle:], some)
    yield Case("Latin-1", sound[:middle] + b"\xe9" + sound[middle:])
    yield Case("UTF-16", sound.decode().encode("utf-16"))
    packed = gzip.compress(sound, mtime=0)
    yield Case("byte-order mark", b"\xef\xbb\xbf" + sound, (sound,))
    yield Case("CRLF", sound.replace(b"\n", b"\r\n"), (sound,))
    yield Case("gzip", packed, (sound,))
    yield Case("gzip, cut", packed[:-12])
    yield Case("gzip, of another text", packed[:-8] + bytes(8))
    yield Case("gzip bomb", BOMB)
    if reader.content is not None:
        for text in ("3", "null", "[1]", "{'a': 1}", "[" * DEEP, '{"a":' * DEEP + "1" + "}" * DEEP):
            yield Case(f"another value: {text[:9]}", text.encode())
        yield Case("comma at the end", sound.rstrip()[:-1] + b",}")
    if reader.file.endswith(".yaml"):
        for text in ("- a", "1: 2", "a: 1\n---\nb: 2", "a: &a [x]\nb: *a", "a: !!python/object/apply:os.system [ls]"):
            yield Case(f"doubtful YAML: {text}", text.encode())
        for number, line in enumerate(lines := sound.decode().splitlines()):
            name, value = line.partition(":")[0], ODD_YAML[number % len(ODD_YAML)]
            for text in (f"{line}\n{line}", f"{line}\nzz{name}: 1", f"{name}: {value}"):
                yield Case(f"YAML: {text[:60]}", "\n".join([*lines[:number], text, *lines[number + 1 :]]).encode())


ODD_YAML = (*("010", "1e999", ".nan", "9" * 6000, "[" * DEEP, "[1", '"a\\0b"'), '"\\ud83d"', "&x [*x]", "*nothing")
ODD: tuple[Any, ...] = (None, True, 17, -1, 1.5, "qq", "", [], {}, [[1]], {"a": [1]}, f"{RAW}1e999", f"{RAW}NaN")
NULL_SAYS = frozenset(("m", "ratings", "types", "value", "low", "high", "ties"))  # that there is none
EITHER = frozenset(("id", "source_id", "output"))  # a number or a text; a text or a list of texts


def of_fields(reader: Reader) -> Iterator[Case]:
    """A field that is missing, appears twice, or holds something else than it should."""
    for number, path in enumerate(paths_of(reader.content, reader.file.endswith(".jsonl"))):
        was = reader.content
        for name in path:
            was = was[name]
        free, where, gone = not {*reader.free}.isdisjoint(path), ".".join(map(str, path)), put(reader.content, path)
        if isinstance(path[-1], str):
            yield Case(f"{where} is missing", reader.written(gone), None)
            twice = re.sub(rb'("%s": )' % re.escape(path[-1].encode()), rb"\1null, \1", reader.sound, count=1)
            yield Case(f"{where} appears twice", twice)
        if isinstance(was, str):
            half = reader.written(put(reader.content, path, f"{was}HALF")).replace(b"HALF", b"\\ud83d")
            yield Case(f"{where}: half of a character", half, None if reader.halves else ())
            yield Case(f"{where}: huge text", reader.written(put(reader.content, path, "x" * DEEP)), None)
        for value in (ODD[number % len(ODD)], ODD[(number + 5) % len(ODD)]):
            numbers = type(value) in (int, float) and type(was) in (int, float)
            if (type(value) is type(was) and not str(value).startswith(RAW)) or numbers:
                continue
            says = was is None or (value is None and not NULL_SAYS.isdisjoint(path)) or path[-1] in EITHER
            right = free or (says and value is not True and not isinstance(value, list | dict))
            like = [gone, *(put(reader.content, path, one) for one in (str(value), [], {}, "", value or was))]
            may_be = None if right else (reader.sound, *map(reader.written, like[: 5 if value in (None, "") else 2]))
            yield Case(f"{where}: {value}", reader.written(put(reader.content, path, value)), may_be)


def paths_of(value: Any, lines: bool) -> list[tuple[str | int, ...]]:
    """The places of all values in a JSON value, of each list the first one; of all lines of a file."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    inner = [(name, one) for name, one in items if lines or isinstance(value, dict) or name == 0]
    found = [(name, *path) for name, one in inner for path in [*([] if lines else [()]), *paths_of(one, False)]]
    return [path for path in found if path]


def put(content: Any, path: Sequence[str | int], *value: Any) -> Any:
    """A JSON value with another value at a place; with none if none is given."""
    if not path:
        return value[0]
    items = dict(content.items() if isinstance(content, dict) else enumerate(content))
    if not value and not path[1:]:
        del items[path[0]]
    else:
        items[path[0]] = put(items[path[0]], path[1:], *value)
    return items if isinstance(content, dict) else [*items.values()]


def of_chance(reader: Reader, seed: int, times: int) -> Iterator[Case]:
    """Random changes of the bytes: cut out, said again, replaced by what parsers stumble over."""
    rng = random.Random(f"{seed} {reader.file}")
    spice = [*(bytes([one]) for one in b'"{}[],:\\\n\0\xff'), b"null", b"-1", b"1e999"]
    for number in range(times):
        content = bytearray(reader.sound)
        for _ in range(rng.randint(1, 4)):
            start = rng.randrange(len(content) + 1)
            end = min(len(content), start + rng.randint(0, 12))
            content[start:end] = rng.choice([b"", bytes(content[start:end]) * 2, rng.choice(spice), rng.randbytes(2)])
        yield Case(f"chance {number}", bytes(content), None)
