"""What a reader sees of a page: the tags and texts of its HTML, and the edges of a scrolling box in a picture of it."""

from html.parser import HTMLParser
from io import BytesIO


def shaded_edges(page, frame="div.frame"):
    """Whether the box is shaded at its left and at its right edge: scrolled to its start, and to its end.

    An edge is shaded where none of the outermost pixels has the colour of the page, white or nearly so.
    """
    from PIL import Image

    box = page.locator(frame).first
    edges = []
    for place in ("0", "box.scrollWidth"):
        box.evaluate(f"box => {{ box.scrollLeft = {place}; }}")
        picture = Image.open(BytesIO(box.screenshot())).convert("L")
        strips = [{picture.getpixel((x, y)) for y in range(8, picture.height - 20)} for x in (1, picture.width - 2)]
        edges.append(tuple(max(strip) < 245 for strip in strips))
    return edges


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
