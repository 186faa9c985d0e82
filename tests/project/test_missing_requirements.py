"""What this machine lacks is listed loudly at the end of a test run; where CI is set, it fails."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.requirements import MISSING, skip_missing

ROOT = Path(__file__).parents[2]
CONFTEST = """
from tests.support.requirements import list_missing

def pytest_terminal_summary(terminalreporter):
    list_missing(terminalreporter)
"""
SUITE = """
import pytest
from tests.support.requirements import skip_missing

@pytest.fixture(scope="session")
def browser():
    skip_missing("chromium: apt-get install chromium")

def test_page(browser): ...
def test_other_page(browser): ...
def test_permission(): skip_missing("permission to mount", fails_in_ci=False)
"""


@pytest.mark.parametrize("value", ["1", "yes", "true", "false", "0"])
def test_with_ci_set_to_anything_a_missing_requirement_fails(
    value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CI", value)
    with pytest.raises(pytest.fail.Exception, match="missing on this machine: chromium"):
        skip_missing("chromium")
    with pytest.raises(pytest.skip.Exception):
        skip_missing("permission to mount", fails_in_ci=False)


@pytest.mark.parametrize("value", [None, ""])
def test_without_ci_it_is_skipped_with_the_reason(value: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)
    if value is not None:
        monkeypatch.setenv("CI", value)
    with pytest.raises(pytest.skip.Exception, match=f"^{MISSING}chromium$"):
        skip_missing("chromium")


@pytest.mark.slow
def test_the_run_ends_with_what_was_not_tested_and_fails_in_ci(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_pages.py").write_text(SUITE)

    def run(*options: str, **environment: str) -> subprocess.CompletedProcess[str]:
        program = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:schemathesis"]
        without_ci = {name: value for name, value in os.environ.items() if name != "CI"}
        return subprocess.run(
            [*program, "--rootdir", str(tmp_path), *options, str(tmp_path)],
            env=without_ci | {"PYTHONPATH": str(ROOT)} | environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    done = run("-n", "1")  # as `make test` runs it
    assert done.returncode == 0, done.stdout
    assert f"*** 2 tests {MISSING}chromium: apt-get install chromium ***" in done.stdout
    assert f"*** 1 tests {MISSING}permission to mount ***" in done.stdout
    done = run(CI="yes")
    assert done.returncode == 1, done.stdout
    assert "missing on this machine: chromium: apt-get install chromium" in done.stdout
    assert f"*** 1 tests {MISSING}permission to mount ***" in done.stdout
