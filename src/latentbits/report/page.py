"""The page: a frame of HTML, its style and its script, and the content as data.

Everything that comes from the table travels as JSON inside the page and is put on it as text by the script, so that no name
can become markup.
"""

from __future__ import annotations

import html
import json
import re
from importlib import resources
from typing import Any

from .bundle import bundled

# The page asks for nothing from anywhere; a browser that would is told not to.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"


def page_of(content: dict[str, Any]) -> str:
    """The whole page.

    Parameters
    ----------
    content : dict
        As :func:`~latentbits.exploring.page_content.content_of` makes it.

    Returns
    -------
    str
    """
    files = resources.files(__package__) / "files"
    frame, style = ((files / name).read_text(encoding="utf-8") for name in ("page.html", "page.css"))
    parts = {
        "policy": POLICY,
        "title": html.escape(str(content["name"])),
        "style": style,
        "script": bundled(files / "js"),  # type: ignore[arg-type]
        "content": embedded(content),
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], frame)


def embedded(content: dict[str, Any]) -> str:
    """JSON that can stand inside a script element: nothing in it can end the element or begin a comment."""
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text
