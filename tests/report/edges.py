"""What a reader sees at the edges of a scrolling box, in a picture of it."""

from io import BytesIO

from PIL import Image


def shaded_edges(page, frame="div.frame"):
    """Whether the box is shaded at its left and at its right edge: scrolled to its start, and to its end.

    An edge is shaded where none of the outermost pixels has the colour of the page, white or nearly so.
    """
    box = page.locator(frame).first
    edges = []
    for place in ("0", "box.scrollWidth"):
        box.evaluate(f"box => {{ box.scrollLeft = {place}; }}")
        picture = Image.open(BytesIO(box.screenshot())).convert("L")
        strips = [{picture.getpixel((x, y)) for y in range(8, picture.height - 20)} for x in (1, picture.width - 2)]
        edges.append(tuple(max(strip) < 245 for strip in strips))
    return edges
