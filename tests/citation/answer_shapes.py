"""A record of each format with several citations and non-ASCII text, how many citations it has, and how it is mangled.

Shapes follow the facts in the docstrings of `metaeval/citation/readers/formats`; all texts are made up.
"""

import copy
import json

TEXT = "Café Ø 🎉 opened in 1999. Tolls ended in 2004."
FIRST, SECOND = "Café Ø 🎉 opened in 1999.", "Tolls ended in 2004."
A, B = "The café opened in 1999.", "Tolls ended in 2004."
URL = "https://a.example/x"


def units(text, start, end, encoding="utf-8", width=1):
    """Offsets of a slice in another unit."""
    return [len(text[:place].encode(encoding)) // width for place in (start, end)]


MARKED = f"{FIRST} ([a.example]({URL}?utm_source=openai)) {SECOND}"
MARK = MARKED.index("(["), MARKED.index("=openai))") + len("=openai))")
BYTES = units(TEXT, len(FIRST) + 1, len(TEXT))
UTF16 = units(TEXT, len(FIRST) + 1, len(TEXT), "utf-16-le", 2)


def annotation(start, end, url=URL):
    return {"type": "url_citation", "start_index": start, "end_index": end, "url": url, "title": "T"}


def block(text, *cited, kind="text", name="citations"):
    """A part of a message, with what it cites."""
    return {"type": kind, "text": text, name: [*cited]}


def choices(name, content, cited, kind="citations"):
    return {name: [{"message": {"content": content, kind: [cited]}}]}


FILE = {"type": "file_citation", "index": 10, "file_id": "f-1", "filename": "b.pdf"}
ANTHROPIC = [
    {"type": "char_location", "document_index": 0, "document_title": None, "cited_text": A},
    {"type": "web_search_result_location", "url": URL, "title": "W", "cited_text": "1999"},
    {"type": "search_result_location", "search_result_index": 0, "cited_text": B},
]
ASKED = [
    {"type": "document", "title": "D", "source": {"type": "text", "data": A}},
    {"type": "search_result", "source": "s", "title": "S", "content": [{"type": "text", "text": B}]},
    {"type": "text", "text": "When?"},
]
INSPECT = [
    {"type": "url", "url": URL, "cited_text": [0, len(FIRST)]},
    {"type": "document", "title": "D", "cited_text": B, "range": {"type": "page"}},
]
SUPPORTS = [
    {"segment": {"startIndex": BYTES[0], "endIndex": BYTES[1], "text": SECOND}, "groundingChunkIndices": [0, 1]},
    {"segment": {"endIndex": units(TEXT, 0, len(FIRST))[1], "text": FIRST}, "groundingChunkIndices": [0]},
]
CHUNKS = [{"web": {"uri": URL, "title": "a.example"}}, {"retrievedContext": {"text": B}}]
XAI = {"id": "1", "start_index": len(FIRST), "end_index": len(FIRST) + len(URL) + 7, "web_citation": {"url": URL}}

SHAPES = {
    "ragas": {"user_input": "When?", "response": "In 1999 [1]. Free [2].", "retrieved_contexts": [A, B]},
    "deepeval": {
        "input": "When?",
        "actualOutput": "In 1999 [1].",
        "retrievalContext": [{"source": "s", "context": A}, B],
    },
    "vectara": {
        "id": "q/1",
        "generated_answer": f"{FIRST} [1] {SECOND} [1, 2]",
        "passages": [{"id": "1", "text": A}, {"id": "2", "text": B}],
    },
    "trec": {
        "metadata": {"run_id": "r", "narrative_id": 7, "narrative": "When?"},
        "references": ["d1", "d2"],
        "answer": [
            {"text": "## Answer", "citations": []},
            {"text": FIRST, "citations": [0, "d2"]},
            {"text": SECOND, "citations": ["d3"]},
        ],
        "documents": {"d1": {"id": "d1", "title": "T", "text": A}},
        "segments": {"d2": B},
    },
    "trec-support": {
        "topic_id": "7",
        "run_id": "r",
        "sentences": [
            {"sentenceID": 0, "text": FIRST, "citations": [{"citationID": 0, "reference": "d1", "support": "2"}]},
            {"sentenceId": 1, "text": SECOND, "citations": []},
        ],
    },
    "openai": {
        "model": "m",
        "output": [
            {"type": "reasoning", "summary": []},
            {
                "type": "message",
                "content": [
                    block(MARKED, annotation(*MARK), kind="output_text", name="annotations"),
                    block(" All of it.", FILE, kind="output_text", name="annotations"),
                ],
            },
        ],
    },
    "openai-chat": choices(
        "choices", MARKED, {"type": "url_citation", "url_citation": annotation(*MARK)}, "annotations"
    ),
    "xai": choices("outputs", f"{FIRST}[[1]]({URL}) {SECOND}", XAI) | {"citations": [URL]},
    "langchain": {
        "type": "ai",
        "content": [block(TEXT, {**annotation(0, len(FIRST)), "cited_text": A}, name="annotations")],
    },
    "anthropic": {
        "request": {"messages": [{"role": "user", "content": ASKED}]},
        "response": {
            "content": [
                block(FIRST, *ANTHROPIC[:2]),
                {"type": "text", "text": " And "},
                block("tolls ended.", ANTHROPIC[2]),
            ]
        },
    },
    "inspect": {"input": "When?", "output": {"choices": [{"message": {"content": [block(TEXT, *INSPECT)]}}]}},
    "gemini": {
        "candidates": [
            {
                "content": {"parts": [{"text": f"{FIRST} "}, {"text": SECOND}]},
                "groundingMetadata": {"groundingChunks": CHUNKS, "groundingSupports": SUPPORTS},
            }
        ]
    },
    "research": {
        "id": 1,
        "prompt": "When?",
        "article": f"# Report\n\n{FIRST} [1][2] {SECOND} ([B](https://b.example))\n\nMore [3†L1].\n\nReferences\n\n"
        f"[1] {URL}#:~:text=1999 - Title\n[2] https://b.example - B\n",
    },
}

EXPECTED = {
    "ragas": "In 1999 [1]. Free [2].",
    "deepeval": "In 1999 [1].",
    "vectara": "Café Ø 🎉 opened in 1999 [1]. Tolls ended in 2004 [1][2].",
    "trec": "## Answer\nCafé Ø 🎉 opened in 1999 [1][2]. Tolls ended in 2004 [3].",
    "trec-support": "Café Ø 🎉 opened in 1999 [1]. Tolls ended in 2004.",
    "openai": "Café Ø 🎉 opened in 1999 [1]. Tolls ended in 2004. All of it [2].",
    "openai-chat": "Café Ø 🎉 opened in 1999 [1]. Tolls ended in 2004.",
    "xai": "Café Ø 🎉 opened in 1999 [1]. Tolls ended in 2004.",
    "langchain": "Café Ø 🎉 opened in 1999 [1]. Tolls ended in 2004.",
    "anthropic": "Café Ø 🎉 opened in 1999 [1][2]. And tolls ended [3].",
    "inspect": "Café Ø 🎉 opened in 1999 [1][2]. Tolls ended in 2004 [2].",
    "gemini": "Café Ø 🎉 opened in 1999 [1]. Tolls ended in 2004 [1][2].",
    "research": "# Report\n\nCafé Ø 🎉 opened in 1999 [1][2]. Tolls ended in 2004 [2].\n\nMore [3].\n",
}


def nested(value, *names):
    """The objects at a path through objects and lists; an unreadable part counts for none."""
    values = [value]
    for name in names:
        values = [each for entry in values if isinstance(entry, dict) for each in listed(entry.get(name))]
    return values


def listed(value):
    return value if isinstance(value, list) else [] if value is None else [value]


def total(value, *names):
    return len(nested(value, *names))


# Citations in a record, counted without the readers; only formats whose citations are data beside the text.
CITATIONS = {
    "trec": lambda record: sum(len(entry.get("citations") or ()) for entry in nested(record, "answer")),
    "trec-support": lambda record: total(record, "sentences", "citations"),
    "anthropic": lambda record: total(record["response"], "content", "citations"),
    "inspect": lambda record: total(record, "output", "choices", "message", "content", "citations"),
    "gemini": lambda record: total(
        record, "candidates", "groundingMetadata", "groundingSupports", "groundingChunkIndices"
    ),
    "openai": lambda record: total(record, "output", "content", "annotations"),
    "openai-chat": lambda record: total(record, "choices", "message", "annotations"),
    "xai": lambda record: total(record, "outputs", "message", "citations"),
    "langchain": lambda record: total(record, "content", "annotations"),
}

VALUES = [None, True, -1, 0, 3, 10**6, 2.5, "", "x", "Ω", "[1] 【2】 [a](http://b)", " \n"]
VALUES += [[], {}, [None], [[]], {"text": 3}]


def places(value, path=()):
    """Every place in a record."""
    yield path
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield from places(value[key], (*path, key))


def mangled(record, random):
    """The record with one to three changes: other values, offsets, texts, and parts that are gone or doubled."""
    record = copy.deepcopy(record)
    for _ in range(random.randint(1, 3)):
        path = random.choice([place for place in places(record) if place] or [None])
        if path is None:
            break
        holder = record
        for key in path[:-1]:
            holder = holder[key]
        key, value = path[-1], holder[path[-1]]
        change = random.randrange(5)
        if change == 0:
            del holder[key]
        elif change == 1 and isinstance(holder, list):
            holder.append(copy.deepcopy(value))
        elif isinstance(value, int):
            holder[key] = value + random.randint(-4, 4)
        elif isinstance(value, str) and change == 2:
            cut = random.randint(0, len(value))
            holder[key] = value[:cut] + random.choice(["é", "🎉", "[7]", "【3†x】", "\n", "", ". A"]) + value[cut:]
        else:
            holder[key] = copy.deepcopy(random.choice(VALUES))
    return json.loads(json.dumps(record))
