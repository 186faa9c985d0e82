"""The state of a text has the notes of all its dialects: each key is that of one module or shared by intent.

Frameworks' texts have plain lines, tables and reports, too, whose parsers keep their notes in the same state.
"""

from __future__ import annotations

import ast
import importlib
import inspect
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest

from holter.ingest.console import dialects
from holter.ingest.console.dialect import ConsoleDialect
from tests.support.log_runs import read_log, steps_of

_PACKAGE = dialects.__name__
_SHARED = {
    "class columns": {"class_report", "class_tables"},  # the heading of a report ends the table before
    "results": {"evaluation_results", "plain_lines", "recurring_lines"},  # a list has settings among them
    "iteration": {"caffe", "voc_results"},  # results are at the iteration of the solver
    "step": {"deepspeed", "megatron", "megatron_times"},  # one training, whoever prints its step
    "bar": {"hf_metrics", "hf_trainer"},  # results are at the last step of the Trainer
    "loss at": {"hf_metrics", "hf_trainer"},  # likewise
    "opening": {"bars", "hf_trainer"},  # set by the reader
    "is near": {"class_report", "class_tables", "names_above"},  # likewise
}
"""Keys that several modules use for one thing."""


@cache
def _imported(module: ModuleType) -> frozenset[str]:
    """The modules of dialects that a module uses, and those that these use."""
    tree = ast.parse(inspect.getsource(module))
    names = {
        f"{node.module}.{alias.name}" if node.module == _PACKAGE else node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(_PACKAGE)
        for alias in node.names
    }
    found = {module.__name__, *names}
    return frozenset(found.union(*(_imported(importlib.import_module(name)) for name in names if name)))


@cache
def _keys(module: str) -> frozenset[str]:
    """The keys of a text's state that a module uses: `state["bar"]`, `state.get("bar")`, `"bar" in state`."""
    keys: set[str] = set()
    for node in ast.walk(ast.parse(inspect.getsource(importlib.import_module(module)))):
        match node:
            case ast.Subscript(value=ast.Name(id="state"), slice=ast.Constant(value=str(key))):
                keys.add(key)
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id="state")), args=[ast.Constant(value=str(key)), *_]
            ):
                keys.add(key)
            case ast.Compare(left=ast.Constant(value=str(key)), comparators=[ast.Name(id="state")]):
                keys.add(key)
    return frozenset(keys)


def _modules(dialect: ConsoleDialect) -> set[str]:
    kinds = (*dialect.kinds, *dialects.PLAIN_LINES.kinds)
    return {
        name
        for kind in kinds
        if kind.parse.__module__.startswith(_PACKAGE)
        for name in _imported(importlib.import_module(kind.parse.__module__))
    }


@pytest.mark.parametrize("dialect", [*dialects.FRAMEWORKS, *dialects.GENERIC], ids=lambda each: each.name)
def test_a_key_of_the_state_belongs_to_one_module(dialect: ConsoleDialect) -> None:
    owners: dict[str, set[str]] = {}
    for module in _modules(dialect):
        for key in _keys(module):
            owners.setdefault(key, set()).add(module.rpartition(".")[2])
    collisions = {
        key: modules
        for key, modules in owners.items()
        if len(modules) > 1 and not modules <= _SHARED.get(key, set())
    }
    assert not collisions


def test_rows_of_classes_below_those_of_all(tmp_path: Path) -> None:
    text = "".join(
        f"      Epoch    GPU_mem   box_loss   cls_loss  Instances       Size\n"
        f"      {n}/9      2.5G      1.2{n}      3.4         16        640: 100%|██████████| 4/4\n"
        f"                 Class     Images  Instances      Box(P          R      mAP50  mAP50-95): 100%\n"
        f"                   all          4         17      0.5{n}0      0.600      0.700      0.400\n"
        f"                   ant          4         17      0.5{n}0      0.600      0.700      0.400\n"
        for n in range(1, 4)
    )
    run = read_log(tmp_path, text)
    assert steps_of(run)["val/mAP50"] == [1, 2, 3]
    assert not run.unreadable
