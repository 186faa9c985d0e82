"""docs/library.md is a notebook whose outputs are those that its code gives.

`python tests/library/test_library_page.py` writes them anew.
"""

from __future__ import annotations

import ast
import contextlib
import io
import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "library.md"
CELL = re.compile(r"```python\n(?P<code>.*?)```\n(?:\n```text\n(?P<output>.*?)```\n)?", re.DOTALL)


def output_of(code: str, names: dict[str, object]) -> str:
    """What a notebook would show: what is printed, and the last expression unless it is None."""
    module = ast.parse(code)
    last = module.body.pop() if isinstance(module.body[-1], ast.Expr) else None
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(module, str(PAGE), "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), str(PAGE), "eval"), names)
            if value is not None:
                printed.write(f"{value}\n")
    return "".join(f"{line.rstrip()}\n" for line in printed.getvalue().splitlines())


def rewritten(page: str) -> str:
    """The page with the outputs that its code gives now."""
    names: dict[str, object] = {}

    def cell(found: re.Match[str]) -> str:
        output = output_of(found["code"], names)
        shown = f"\n```text\n{output}```\n" if found["output"] is not None else ""
        return f"```python\n{found['code']}```\n{shown}"

    return CELL.sub(cell, page)


def test_the_outputs_of_the_page_are_those_that_its_code_gives() -> None:
    page = PAGE.read_text()
    assert rewritten(page) == page


if __name__ == "__main__":
    PAGE.write_text(rewritten(PAGE.read_text()))
