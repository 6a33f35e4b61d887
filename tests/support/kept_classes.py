"""Analysis of syntax trees for saved positions: the code that makes positions, and the classes restored from them."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Final

from tests.repository.test_layers import nodes_of
from tests.service.test_sockets_and_children import full_name, imported_in

POSITIONS: Final = frozenset(
    {"navlin.model.records.Position", "navlin.index.journal.export_positions.ExportPosition"}
)
Function = ast.FunctionDef | ast.AsyncFunctionDef


def positions_made(module: str, tree: ast.Module) -> Iterator[str]:
    """Yield the source text of the key of each position that a module makes; "**" if the key is not written out."""
    known = _known(module, tree)
    for node in nodes_of(tree):
        if isinstance(node, ast.Call) and full_name(node.func, known) in POSITIONS:
            keys = [*node.args, *(each.value for each in node.keywords if each.arg == "key")]
            yield ast.unparse(keys[0]) if keys else "**"


def classes_restored(trees: Mapping[str, ast.Module]) -> Iterator[str]:
    """Yield the full names of classes that are built from parsed JSON by unpacking or by a literal key.

    Only saved data, which is trusted, may be read this way. Other data is read with ``get``, because a key may be
    missing.
    """
    defined = {
        f"{name}.{each.name}"
        for name, tree in trees.items()
        for each in tree.body
        if isinstance(each, ast.ClassDef)
    }
    for name, tree in trees.items():
        known = _known(name, tree)
        for function in (each for each in nodes_of(tree) if isinstance(each, Function)):
            for node in ast.walk(function):
                if isinstance(node, ast.Call) and any(_is_of_json(each) for each in _arguments(node)):
                    own = isinstance(node.func, ast.Name) and node.func.id == "cls"
                    made = _owner(name, tree, function) if own else full_name(node.func, known)
                    if made in defined:
                        yield made


def _known(module: str, tree: ast.Module) -> dict[str, str]:
    own = {each.name: f"{module}.{each.name}" for each in tree.body if isinstance(each, ast.ClassDef)}
    return {**dict(imported_in(tree)), **own}


def _owner(module: str, tree: ast.Module, function: Function) -> str:
    owners = (each for each in tree.body if isinstance(each, ast.ClassDef) and function in each.body)
    return next((f"{module}.{each.name}" for each in owners), "")


def _arguments(call: ast.Call) -> Iterator[ast.AST]:
    yield from call.args
    yield from (ast.Starred(each.value) if each.arg is None else each.value for each in call.keywords)


def _is_of_json(argument: ast.AST) -> bool:
    match argument:
        case ast.Starred(value=ast.Name() | ast.Subscript() | ast.Dict()):
            return True
        case ast.Starred(value=ast.Call(func=ast.Attribute(attr="get"))):
            return True
    return any(
        isinstance(node, ast.Subscript)
        and isinstance(node.slice, ast.Constant)
        and isinstance(node.slice.value, str)
        for node in ast.walk(argument)
    )
