"""Every relative link in the documentation leads to a file, and to a heading where it names one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
LINK = re.compile(r"\]\(([^)\s]+)\)")
CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.MULTILINE | re.DOTALL)


def headings(page: Path) -> set[str]:
    """The headings of a page as GitHub's addresses name them."""
    titles = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_has_a_target(page: Path) -> None:
    for link in LINK.findall(CODE.sub("", page.read_text())):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, heading = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{page.name} links to {link}"
        assert target.is_relative_to(ROOT), f"{page.name} links out of the project: {link}"
        assert not heading or heading in headings(target), f"{page.name}: no such heading, {link}"


def test_every_page_is_linked_from_the_readme() -> None:
    reached, waiting = set[Path](), [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        if page in reached or page.suffix != ".md":
            continue
        reached.add(page)
        links = (link.partition("#")[0] for link in LINK.findall(page.read_text()) if ":" not in link)
        waiting += [(page.parent / link).resolve() for link in links if link]
    unreached = {page for page in PAGES if page not in reached and "decisions" not in page.parts}
    assert unreached == {ROOT / "CHANGELOG.md"}  # found by its conventional name


PATH = re.compile(r"`((?:cli|core|detectors|ingest|server|ui|alembic|tests|benchmarks|docs)/[\w./-]*)`")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_path_of_the_project_that_a_page_names_exists(page: Path) -> None:
    if page.name == "CHANGELOG.md":  # names files of older versions
        return
    missing = [
        path for path in PATH.findall(page.read_text()) if "NAME" not in path and not (ROOT / path).exists()
    ]
    assert not missing


SHORT_NAME = re.compile(r"`([\w./-]+\.(?:py|js|html|css|sbatch|service))`")
OF_OTHER_PROJECTS = {
    *("utils.py", "llama.py", "training.py", "logging.py", "model.py", "modeling_mpt.py"),
    *("train.py", "run_clm.py", "autoencoder.py", "transformer.py"),
}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_file_that_a_page_names_without_its_folder_exists(page: Path, file_paths: list[str]) -> None:
    named = {name for name in SHORT_NAME.findall(page.read_text()) if "NAME" not in name}
    own = {name for name in named if name.rpartition("/")[2] not in OF_OTHER_PROJECTS}
    assert {name for name in own if not any(path.endswith(f"/{name}") for path in file_paths)} == set()


@pytest.fixture(scope="module")
def file_paths() -> list[str]:
    """The paths of the project's files, with a slash at the beginning."""
    folders = ("cli", "core", "detectors", "ingest", "server", "ui", "alembic", "tests", "benchmarks", "docs")
    paths = [
        path for folder in folders for path in (ROOT / folder).rglob("*") if "node_modules" not in path.parts
    ]
    return [f"/{path.relative_to(ROOT)}" for path in [*paths, *ROOT.glob("*")]]
