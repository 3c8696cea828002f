"""What a reader sees of a page: the tags and texts of its HTML."""

from html.parser import HTMLParser


class Reader(HTMLParser):
    """What a browser would see: texts under their tag, open tags that never close, attributes."""

    def __init__(self):
        super().__init__()
        self.open = []
        self.texts = []
        self.attributes = []

    def handle_starttag(self, tag, attrs):
        self.attributes += [(tag, name, value) for name, value in attrs]
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.attributes += [(tag, name, value) for name, value in attrs]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open:
            self.texts.append((self.open[-1], data))


def read_html(text):
    """What a browser would see; fails where a tag does not close."""
    reader = Reader()
    reader.feed(text)
    reader.close()
    assert reader.open == []
    return reader
