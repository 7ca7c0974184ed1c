"""The directive ``run``: code of a page that is run when the page is built, with what it prints and draws.

Blocks of one page share their names, as in a notebook.  Prompts (``>>>``) are held against the output that the page shows:
a page that says something else than its code does not build; ``tests/unit/test_docs.py`` runs the same blocks.
"""

from __future__ import annotations

import doctest
import io
import tempfile
import warnings
from contextlib import chdir, redirect_stdout
from pathlib import Path
from typing import Any

import matplotlib
from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.util.docutils import SphinxDirective

STYLE = Path(__file__).with_name("figures.mplstyle")


class Run(SphinxDirective):
    """Code that is run; figures that it draws stand below it."""

    has_content = True
    option_spec = {"alt": directives.unchanged, "hide": directives.flag, "width": directives.unchanged}  # noqa: RUF012

    def run(self) -> list[nodes.Node]:
        """Run the code in the names of the page."""
        import matplotlib.pyplot as plt

        spaces = self.env.temp_data.setdefault("run-spaces", {})
        space, folder = spaces.setdefault(self.env.docname, ({"__name__": "page"}, tempfile.TemporaryDirectory()))
        text = "\n".join(self.content) + "\n"
        matplotlib.use("Agg")
        plt.close("all")
        plt.style.use(["default", str(STYLE)])
        with chdir(folder.name):  # files that a page writes are gone with it
            complaint = self._run(text, space)
        if complaint:
            raise self.error(complaint)
        found: list[nodes.Node] = []
        if "hide" not in self.options:
            code = nodes.literal_block(text.rstrip(), text.rstrip())
            code["language"] = "pycon" if ">>> " in text else "python"
            found.append(code)
        found.extend(self._figures(plt))
        return found

    def _run(self, text: str, space: dict[str, Any]) -> str:
        """Run it; what went wrong, or nothing."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if ">>> " not in text:
                with redirect_stdout(io.StringIO()):
                    exec(compile(text, f"<{self.env.docname}>", "exec"), space)
                return ""
            test = doctest.DocTestParser().get_doctest(text, space, self.env.docname, None, self.lineno)
            test.globs = space
            told = io.StringIO()
            runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE, verbose=False)
            result = runner.run(test, out=told.write, clear_globs=False)
            return told.getvalue() if result.failed else ""

    def _figures(self, plt: Any) -> list[nodes.Node]:
        """The open figures, written beside the pages."""
        folder = Path(self.env.srcdir) / "drawn"
        folder.mkdir(exist_ok=True)
        images: list[nodes.Node] = []
        for place, number in enumerate(plt.get_fignums()):
            name = f"{self.env.docname.replace('/', '-')}-{self.lineno}-{place}.png"
            plt.figure(number).savefig(folder / name)
            image = nodes.image(uri=f"/drawn/{name}", alt=self.options.get("alt", "What the code above draws"))
            image["width"] = self.options.get("width", "100%")
            image["classes"].append("drawn")
            images.append(image)
        plt.close("all")
        return images


def setup(app: Any) -> dict[str, Any]:
    """Make the directive known."""
    app.add_directive("run", Run)
    return {"version": "1", "parallel_read_safe": False}
