"""A record of each format with several citations and non-ASCII text, how many citations it has, and how it is mangled.

Shapes follow the facts in the docstrings of `metaeval/citation/readers/formats`; all texts are made up.
"""

import copy
import json
from pathlib import Path

TEXT = "Café Ø 🎉 opened in 1999. Tolls ended in 2004."
FIRST, SECOND = "Café Ø 🎉 opened in 1999.", "Tolls ended in 2004."
A, B = "The café opened in 1999.", "Tolls ended in 2004."
URL = "https://a.example/x"
# Where the second sentence begins and ends, in other units.
BYTES, UTF16 = [30, 50], [26, 46]
MADE = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
SHAPES = {form: made["record"] for form, made in MADE.items()}
EXPECTED = {form: made["text"] for form, made in MADE.items()}

# Where a record holds its citations, for formats whose citations are data beside the text.
CITATIONS = {
    "trec": "answer citations",
    "trec-support": "sentences citations",
    "anthropic": "response content citations",
    "inspect": "output choices message content citations",
    "gemini": "candidates groundingMetadata groundingSupports groundingChunkIndices",
    "openai": "output content annotations",
    "openai-chat": "choices message annotations",
    "xai": "outputs message citations",
    "langchain": "content annotations",
}

VALUES = [None, True, -1, 0, 3, 10**6, 2.5, "", "x", "Ω", "[1] 【2】 [a](http://b)", " \n", [], {}, [None], [[]]]


def annotation(start, end, url=URL):
    return {"type": "url_citation", "start_index": start, "end_index": end, "url": url, "title": "T"}


def citations_in(form, record):
    """The number of citations in a record, counted without the readers; an unreadable part counts for none."""
    kinds, values = (list, dict) if form == "trec" else list, [record]  # TREC's may be weights by id
    for name in CITATIONS[form].split():
        held = [entry.get(name) for entry in values if isinstance(entry, dict)]
        listed = [[*value] if isinstance(value, kinds) else [value] for value in held if value is not None]
        values = [each for entries in listed for each in entries]
    return len(values)


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
