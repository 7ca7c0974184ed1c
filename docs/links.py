"""Check the links inside built pages, ``python docs/links.py docs/_build/html``: every target and anchor must be there."""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """The anchors of a page, and what it links to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect."""
        for name, value in attrs:
            if name == "id" and value:
                self.anchors.add(value)
            elif (tag, name) in {("a", "href"), ("link", "href"), ("img", "src"), ("script", "src")} and value:
                self.links.add(value)


def broken(root: Path) -> list[str]:
    """Links that lead nowhere, as lines for a person."""
    found = (path for path in sorted(root.rglob("*.html")) if "_static" not in path.parts)  # parts of themes
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in found}
    lines = []
    for path, page in pages.items():
        for link in sorted(page.links):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = path if not parts.path else (path.parent / unquote(parts.path)).resolve()
            target = target / "index.html" if target.is_dir() else target
            where = path.relative_to(root)
            if not target.exists():
                lines.append(f"{where}: {link} is not there")
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].anchors:
                lines.append(f"{where}: {link} has no such anchor")
    return lines


if __name__ == "__main__":
    lines = broken(Path(sys.argv[1]).resolve())
    print("\n".join(lines) if lines else "all links inside the pages lead somewhere")
    sys.exit(1 if lines else 0)
