"""The modules of the pages as one script and one style sheet, joined by the server."""

from __future__ import annotations

import re

import httpx
import pytest

from holter.server.api.page_bundle import BundleError, bundle_modules, bundled_index
from holter.server.api.static_files import FOLDER, PageFileCache


def test_imports_become_constants_and_modules_come_after_those_they_need() -> None:
    script = bundle_modules(
        {
            "main.js": 'import { b as c } from "./lib/two.js";\nimport * as one from "./one.js";\n',
            "one.js": "/** A documented constant. */\nexport const a = 1;\n",
            "lib/two.js": 'import {\n  a,\n} from "../one.js";\nexport function b() {\n  return a;\n}\n',
        },
        "main.js",
    )
    assert "const { a } = m0;" in script
    assert "const { b: c } = m1;" in script
    assert "const one = m0;" in script
    assert "return { a };" in script
    assert "documented" not in script
    assert not re.search(r"^(import|export)\b", script, re.MULTILINE)


@pytest.mark.parametrize(
    ("modules", "reason"),
    [
        ({"a.js": 'import { b } from "./b.js";', "b.js": 'import { a } from "./a.js";'}, "import each other"),
        ({"a.js": 'import { b } from "./b.js";'}, "no module b.js"),
        ({"a.js": "export default 1;"}, "export default 1"),
    ],
)
def test_modules_that_cannot_be_joined_are_reported(modules: dict[str, str], reason: str) -> None:
    with pytest.raises(BundleError, match=reason):
        bundle_modules(modules, "a.js")


def test_the_pages_are_one_script_and_one_style_sheet_within_the_limit_of_bytes() -> None:
    files = PageFileCache().files().by_path
    index = files["index.html"].content.decode()
    assert re.findall(r'src="([^"]+\.js)"', index) == ["{{static}}/lib/initial_theme.js", "{{static}}/all.js"]
    assert re.findall(r'<link rel="stylesheet" href="([^"]+)"', index) == ["{{static}}/styles/all.css"]
    assert len(files["all.js"].zipped) + len(files["styles/all.css"].zipped) < 250_000
    source = (FOLDER / "index.html").read_text()
    assert all(name in files for name in re.findall(r'"\{\{static\}\}/(styles/[^"]+)"', source))
    with pytest.raises(BundleError, match=r"expected main\.js"):
        bundled_index("<html></html>")


def test_the_bundle_is_served_and_cached_like_other_files(client: httpx.Client) -> None:
    address = re.search(r'"(/static/[^/"]+/all\.js)"', client.get("/").text)
    assert address is not None
    answer = client.get(address[1])
    assert "immutable" in answer.headers["cache-control"]
    assert answer.headers["content-type"] == "text/javascript; charset=utf-8"
