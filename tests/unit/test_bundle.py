"""One script from modules: their order, and what is refused."""

from __future__ import annotations

import re
from importlib import resources

import pytest

from latentbits.report.bundle import bundled

REAL = resources.files("latentbits.report") / "files" / "js"


@pytest.fixture
def bundle_of(tmp_path):
    """The script of modules given as name="text"."""

    def build(**modules):
        for name, text in modules.items():
            (tmp_path / f"{name}.js").write_text(text, encoding="utf-8")
        return bundled(tmp_path)

    return build


def test_modules_come_after_what_they_import(bundle_of):
    script = bundle_of(
        main='import { b } from "./b.js";\nimport { a } from "./a.js";\nb(a);\n',
        a="export const a = 1;\n",
        b='import {\n  a,\n} from "./a.js";\nexport function b(x) { return a + x; }\n',
        unused="no script at all",
    )
    parts = [
        "// a.js\nconst from_a = (function () {\nconst a = 1;\nreturn { a };\n})();\n",
        "// b.js\nconst from_b = (function () {\nconst { a } = from_a;\n"
        "function b(x) { return a + x; }\nreturn { b };\n})();\n",
        "// main.js\nconst { b } = from_b;\nconst { a } = from_a;\nb(a);\n",
    ]
    assert script == "\n".join(['(function () {\n"use strict";\n', *parts, "})();"])


def test_names_of_modules_do_not_meet(bundle_of):
    script = bundle_of(
        main='import { a } from "./a.js";\nconst same = 2, more = 3;\nconsole.log(a + same + more);\n',
        a="const same = 1;\nexport const a = same;\n",
    )
    assert script.count("const same") == 2 and "return { a };" in script


def test_all_declarations_can_be_exported(bundle_of):
    names = "one, three, four, five, six"
    script = bundle_of(
        main=f"import {{ {names} }} from './m.js';\n[{names}];\n",
        m="export const one = 1;\nexport class three {}\nexport function four() {}\n"
        "export async function five() {}\nexport function* six() {}\n",
    )
    assert "export" not in script and "async function five" in script


@pytest.mark.parametrize(
    ("modules", "message"),
    [
        (
            {"main": 'import { a } from "./a.js";', "a": "const a = 1;"},
            "main.js imports a from a.js, which does not export",
        ),
        ({"main": 'import { a } from "./a.js";'}, "main.js: there is no module a.js"),
        ({}, "there is no module main.js"),
        (
            {
                "main": 'import { a } from "./a.js";',
                "a": 'import { b } from "./b.js";\nexport const a = b;',
                "b": 'import { a } from "./a.js";\nexport const b = a;',
            },
            "circle: a.js → b.js → a.js",
        ),
        ({"main": 'import { a as b } from "./a.js";'}, "cannot import 'a as b'"),
        ({"main": 'import a from "./a.js";'}, "main.js: cannot put 'import a from"),
        ({"main": 'import * as a from "./a.js";'}, "cannot put"),
        ({"main": 'import "./a.js";'}, "cannot put"),
        ({"main": 'import { a } from "elsewhere";'}, "cannot put"),
        ({"main": 'import { a } from "../a.js";'}, "cannot put"),
        ({"main": 'const a = await import("./a.js");'}, "cannot put"),
        ({"main": "export default function a() {}"}, "main.js: cannot put 'export default"),
        ({"main": "const a = 1;\nexport { a };"}, "cannot put"),
        ({"main": 'export { a } from "./a.js";'}, "cannot put"),
        ({"main": "export const { a, b } = c;"}, "cannot put"),
        ({"main": "export let a = 1;"}, "cannot put 'export let"),
        ({"main": 'const a = "</SCRIPT>";'}, "cannot contain '</script'"),
        ({"main": 'const a = "<!--";'}, "cannot contain '<!--'"),
    ],
)
def test_what_cannot_be_one_script_is_refused(bundle_of, modules, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        bundle_of(**modules)


def test_of_the_modules_of_the_page_nothing_is_left_of_import_and_export():
    script = bundled(REAL)
    assert bundled(REAL) is script
    assert not re.search(r"^\s*(import|export)\b", script, re.MULTILINE)
    assert "</script" not in script.lower() and script.startswith('(function () {\n"use strict";')
    assert script.rindex("// main.js") > script.index("// dom.js")
