"""What the documentation promises of installations without extras: which packages each part needs."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

RESTRICTED = """
import sys
from importlib.machinery import PathFinder

class AllowedPackages(PathFinder):
    '''Finds packages of Python and allowed ones only.'''

    @classmethod
    def find_spec(cls, name, path=None, target=None):
        top = name.partition(".")[0]
        if top in sys.stdlib_module_names or top in ALLOWED or top.startswith("_sysconfigdata"):
            return super().find_spec(name, path, target)
        return None

sys.meta_path = [AllowedPackages if finder is PathFinder else finder for finder in sys.meta_path]
"""


def run_with(packages: set[str], program: str) -> subprocess.CompletedProcess[str]:
    """Run a program in a Python that has only these packages."""
    code = f"ALLOWED = {packages | {'holter'}!r}\n{RESTRICTED}\n{textwrap.dedent(program)}"
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False
    )


def test_the_client_needs_no_package() -> None:
    done = run_with(
        set(),
        """
        import tempfile
        import holter
        run = holter.init(run="a", server="http://127.0.0.1:9", spool=tempfile.mkdtemp())
        run.log({"loss": 2.3}, step=1)
        run.finish(timeout=0)
        print("logged")
        """,
    )
    assert done.stdout == "logged\n", done.stderr
    assert "ModuleNotFoundError" not in done.stderr


@pytest.mark.slow
def test_the_detectors_need_numpy_and_scipy() -> None:
    program = """
        import holter
        loss = [2 + (i % 7) / 100 + 3 * (1500 <= i < 1520) for i in range(3000)]
        (finding,) = holter.analyze(list(range(3000)), loss)
        print(finding.kind)
        """
    done = run_with({"numpy", "scipy"}, program)
    assert done.stdout == "spike_fast\n", done.stderr
    missing = run_with(set(), program)
    assert "pip install 'holter[detect]'" in missing.stderr


def test_commands_name_the_extra_that_they_need() -> None:
    done = run_with(set(), "import holter.cli.main as m, sys; sys.exit(m.main(['agent', '--help']))")
    assert done.returncode == 2
    assert "pip install 'holter[server]'" in done.stderr
