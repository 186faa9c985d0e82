"""The faults that are planted: operators of cosmic-ray that people's mistakes look like, and deletions.

Only the bodies of functions are mutated: constants and thresholds are choices, and annotations do nothing.
"""

from __future__ import annotations

import ast
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import MutationVisitor
from cosmic_ray.operators.operator import Operator
from cosmic_ray.plugins import get_operator
from parso.python.tree import Name

Position = tuple[int, int]
"""Line from 1, column from 0."""

_OPERATORS = (
    "ReplaceBinaryOperator_Add_Sub",
    "ReplaceBinaryOperator_Sub_Add",
    "ReplaceBinaryOperator_Mul_Add",
    "ReplaceBinaryOperator_Div_Mul",
    "ReplaceBinaryOperator_FloorDiv_Mul",
    "ReplaceBinaryOperator_Mod_Mul",
    "ReplaceBinaryOperator_BitOr_BitAnd",
    "ReplaceBinaryOperator_BitAnd_BitOr",
    "ReplaceComparisonOperator_Eq_NotEq",
    "ReplaceComparisonOperator_NotEq_Eq",
    "ReplaceComparisonOperator_Lt_LtE",
    "ReplaceComparisonOperator_LtE_Lt",
    "ReplaceComparisonOperator_Gt_GtE",
    "ReplaceComparisonOperator_GtE_Gt",
    "ReplaceComparisonOperator_Is_IsNot",
    "ReplaceComparisonOperator_IsNot_Is",
    "ReplaceUnaryOperator_Delete_Not",
    "ReplaceUnaryOperator_Delete_USub",
    "ReplaceUnaryOperator_Delete_Invert",
    "AddNot",
    "ReplaceTrueWithFalse",
    "ReplaceFalseWithTrue",
    "ReplaceAndWithOr",
    "ReplaceOrWithAnd",
    "ReplaceBreakWithContinue",
    "ReplaceContinueWithBreak",
    "ExceptionReplacer",
    "NumberReplacer",
    "ZeroIterationForLoop",
)
_LOGGERS = {"_log", "_logger", "logging"}


class DeleteStatement(Operator):  # type: ignore[misc]
    """Deletes a statement that has an effect: a call, an assignment to a field or item, `+=`, `raise`."""

    def mutation_positions(self, node: Any) -> Iterator[tuple[Position, Position]]:
        """One position for each such statement."""
        if node.type == "simple_stmt" and _has_effect(node.children[0]):
            yield node.children[0].start_pos, node.children[0].end_pos

    def mutate(self, node: Any, index: int) -> Any:
        """Write `pass` in its place."""
        first = node.children[0]
        node.children[0] = Name("pass", first.start_pos, prefix=first.get_first_leaf().prefix)
        return node

    @classmethod
    def examples(cls) -> tuple[Any, ...]:
        """None: only plug-ins of cosmic-ray need some."""
        return ()


def _has_effect(statement: Any) -> bool:
    if statement.type == "expr_stmt":
        target, operator = statement.children[:2]
        return target.type == "atom_expr" or getattr(operator, "value", "=").rstrip("=") != ""
    call = statement.type == "atom_expr" and statement.children[-1].children[0] == "("
    return statement.type == "raise_stmt" or (call and statement.get_first_leaf().value not in _LOGGERS)


@dataclass(frozen=True, slots=True)
class Mutant:
    """One fault: the operator applied at its `occurrence` in a module."""

    module: Path
    operator: str
    occurrence: int
    line: int

    def code(self) -> str:
        """The module's text with the fault."""
        source = self.module.read_text()
        mutated: str | None = MutationVisitor.mutate_code(source, _operator(self.operator), self.occurrence)
        assert mutated is not None
        return mutated

    def is_valid(self) -> bool:
        """Whether the text is a Python program: an operator does not know each place that it finds."""
        try:
            ast.parse(self.code())
        except SyntaxError:
            return False
        return True

    def __str__(self) -> str:
        return f"{self.module}:{self.line} {self.operator} #{self.occurrence}"


def _operator(name: str) -> Operator:
    return DeleteStatement() if name == DeleteStatement.__name__ else get_operator(f"core/{name}")()


def all_mutants(module: Path) -> list[list[Mutant]]:
    """The mutants of a module, grouped by the place that they change, in the order of the text."""
    source = module.read_text()
    bodies = list(_mutable_ranges(ast.parse(source)))
    nodes = list(ast_nodes(get_ast(source)))
    places: dict[tuple[Position, Position], list[Mutant]] = {}
    for name in (*_OPERATORS, DeleteStatement.__name__):
        operator = _operator(name)
        positions = [place for node in nodes for place in operator.mutation_positions(node)]
        for occurrence, (begin, end) in enumerate(positions):
            if any(low <= begin < high for low, high in bodies):
                mutant = Mutant(module, name, occurrence, begin[0])
                places.setdefault((begin, end), []).append(mutant)
    return [places[place] for place in sorted(places)]


def _mutable_ranges(tree: ast.Module) -> Iterator[tuple[Position, Position]]:
    """The ranges of the text that are statements of functions, without annotations of local variables."""
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            for statement in function.body:
                start = statement.value if isinstance(statement, ast.AnnAssign) else statement
                if start is not None:
                    yield _position(start), (statement.end_lineno or 0, statement.end_col_offset or 0)


def _position(node: ast.AST) -> Position:
    place: Any = node
    return place.lineno, place.col_offset


def sample_mutants(modules: Sequence[Path], size: int, seed: int) -> list[Mutant]:
    """At most `size` mutants, at most one a place, the same ones for the same seed and the same code."""
    chance = random.Random(seed)
    places = [place for module in modules for place in all_mutants(module)]
    chance.shuffle(places)
    chosen = (chance.choice(place) for place in places)
    return list(islice((mutant for mutant in chosen if mutant.is_valid()), size))
