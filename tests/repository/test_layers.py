"""Allowed imports: the layers are ordered, and no module imports from a higher layer."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

MAY_IMPORT = {
    "navlin.shipped": set[str](),
    "navlin.files": set[str](),
    "navlin.causes": set[str](),
    "navlin.urls": set[str](),
    "navlin.bounded_http": set[str](),
    "navlin.port_listener": set[str](),
    "navlin.java": set[str](),
    "navlin.own_environment": set[str](),
    "navlin.own_packages": set[str](),
    "navlin.java_child": set[str](),
    "navlin.model": set[str](),
    "navlin.kerberos": {"navlin.java", "navlin.java_child"},
    "extractors": {
        "navlin.model",
        "navlin.sql",
        "navlin.java",
        "navlin.java_child",
        "navlin.causes",
        "navlin.urls",
        "navlin.bounded_http",
        "navlin.kerberos",
    },
    "navlin.index.solr.connection": {
        "navlin.causes",
        "navlin.urls",
        "navlin.bounded_http",
        "navlin.port_listener",
        "navlin.kerberos",
    },
    "navlin.solr_server": {"navlin.index.solr.connection", "navlin.java", "navlin.shipped", "navlin.files"},
    "navlin.index": {"navlin.model", "navlin.index.solr.connection"},
    "navlin.sql": set[str](),
    "linker": {"navlin.model", "navlin.index", "navlin.sql"},
    "navlin.query": {"navlin.model", "navlin.index"},
    "navlin.edit": {"navlin.model", "navlin.index"},
    "navlin.questions.declare.parameters": {"navlin.model"},
    "navlin.export": {
        "navlin.model",
        "navlin.questions.declare.parameters",
        "navlin.index",
        "navlin.query",
        "navlin.kerberos",
        "navlin.causes",
        "navlin.urls",
        "navlin.bounded_http",
        "navlin.files",
    },
    "navlin.access": {"navlin.files"},
    "navlin.forward": {"navlin.model", "navlin.files"},
    "navlin.render": {"navlin.model", "navlin.index", "navlin.query", "navlin.edit"},
    "navlin.questions": {
        "navlin.model",
        "navlin.questions.declare.parameters",
        "navlin.access",
        "navlin.index",
        "navlin.query",
        "navlin.edit",
        "navlin.render",
    },
    "navlin.api": {
        "navlin.model",
        "navlin.forward",
        "navlin.questions",
        "navlin.questions.declare.parameters",
        "navlin.access",
        "navlin.export",
        "navlin.query",
        "navlin.edit",
        "navlin.index",
        "navlin.render",
        "navlin.files",
    },
    "navlin.console": {
        "navlin.model",
        "navlin.questions",
        "navlin.questions.declare.parameters",
        "navlin.access",
        "navlin.query",
        "navlin.edit",
        "navlin.index",
        "navlin.render",
        "navlin.api",
    },
    "navlin.pipeline": {
        "navlin.model",
        "navlin.index",
        "navlin.java",
        "navlin.own_environment",
        "navlin.urls",
        "linker",
    },
    "navlin.service": {
        "navlin.model",
        "navlin.forward",
        "navlin.index",
        "navlin.solr_server",
        "linker",
        "navlin.query",
        "navlin.edit",
        "navlin.export",
        "navlin.pipeline",
        "navlin.access",
        "navlin.api",
        "navlin.console",
        "navlin.java",
        "navlin.kerberos",
        "navlin.shipped",
        "navlin.files",
        "navlin.urls",
    },
}
"""Layer → the layers that it may import. Modules not listed here (the command line, the demo) are at the top and may
import all layers.
"""

ON_TOP = ("navlin.cli", "navlin.demo", "navlin.__main__")


_LATE = re.compile(r"navlin[\w.]*:[\w.]+")
"""Matches ``module:name``, with which a module names a function that it imports only when needed."""


def layer_of(module: str) -> str | None:
    """The layer of a navlin module; None for a third-party module."""
    for layer in (*MAY_IMPORT, *ON_TOP):
        if module == layer or module.startswith(layer + "."):
            return layer
    return "navlin" if module.split(".")[0] == "navlin" else None


def modules() -> Iterator[tuple[str, Path]]:
    for package in ("navlin", "extractors", "linker"):
        for file in sorted((ROOT / package).rglob("*.py")):
            name = ".".join(file.relative_to(ROOT).with_suffix("").parts)
            yield name.removesuffix(".__init__"), file


@cache
def tree_of(file: Path) -> ast.Module:
    return ast.parse(file.read_text())


@cache
def nodes_of(tree: ast.Module) -> tuple[ast.AST, ...]:
    """All nodes of a tree. To walk all modules takes seconds, and several tests need their nodes."""
    return tuple(ast.walk(tree))


@cache
def imported(file: Path) -> tuple[str, ...]:
    """All modules that a file imports anywhere, and all packages named in its importlib calls."""
    return tuple(imports_in(tree_of(file)))


def imports_in(tree: ast.Module) -> Iterator[str]:
    for node in nodes_of(tree):
        match node:
            case ast.Import():
                yield from (alias.name for alias in node.names)
            case ast.ImportFrom(module=str(module)):
                yield from (f"{module}.{alias.name}" for alias in node.names)
            case ast.Call(func=ast.Attribute(attr="import_module"), args=[ast.Constant(value=str(name)), *_]):
                yield name
            case ast.Constant(value=str(name)) if _LATE.fullmatch(name):
                yield name.replace(":", ".")


@pytest.mark.parametrize("layer", MAY_IMPORT)
def test_a_layer_imports_only_lower_layers(layer: str) -> None:
    allowed = MAY_IMPORT[layer] | {layer}
    upward = [
        f"{name} imports {other}"
        for name, file in modules()
        if layer_of(name) == layer
        for other in imported(file)
        if (below := layer_of(other)) is not None and below not in allowed
        if not (layer == "navlin.service" and other == "extractors")
    ]

    assert upward == []


ROOMS = {
    "navlin.index": ("solr", "schema", "graph", "journal", "write", "search", "people", "usage", "admin"),
    "navlin.service": ("settings", "", "maintenance", "daemon"),
}
"""The folders of a package, from the lowest to the highest; "" means the modules next to the folders."""


def room_of(package: str, module: str) -> str | None:
    """The folder of a module, or of a name in it; None outside of the package, and for what the package itself defines."""
    inside = module.removeprefix(f"{package}.")
    folder = ROOT / package.replace(".", "/")
    if inside == module:
        return None
    first = inside.split(".")[0]
    if (folder / first).is_dir():
        return first
    return "" if (folder / f"{first}.py").exists() else None


def arrows_up(package: str, trees: Iterable[tuple[str, ast.Module]]) -> list[str]:
    """The imports from a higher folder of the package. A folder without a place in `ROOMS` is an error."""
    place = ROOMS[package].index
    return [
        f"{name} imports {other}"
        for name, tree in trees
        if (own := room_of(package, name)) is not None
        for other in imports_in(tree)
        if (room := room_of(package, other)) is not None and place(room) > place(own)
    ]


@pytest.mark.parametrize("package", ROOMS)
def test_a_folder_of_a_package_imports_only_lower_ones(package: str) -> None:
    assert arrows_up(package, ((name, tree_of(file)) for name, file in modules())) == []


@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("navlin.index.graph.graph", "from navlin.index.write.rewriting import rewrite"),
        ("navlin.index.solr.solr", "from navlin.index.schema import fields"),
        ("navlin.service.settings.configuration", "from navlin.service import loader"),
        ("navlin.service.jobs", "def late():\n    from navlin.service.daemon.schedule import Schedule"),
    ],
)
def test_an_import_from_a_higher_folder_is_found(module: str, line: str) -> None:
    package = ".".join(module.split(".")[:2])

    assert len(arrows_up(package, [(module, ast.parse(line))])) == 1


def test_every_module_belongs_to_a_layer() -> None:
    homeless = [name for name, _ in modules() if layer_of(name) == "navlin" and name != "navlin"]

    assert homeless == []


def test_only_the_loader_imports_extractors() -> None:
    naming = [
        name
        for name, file in modules()
        if not name.startswith(("extractors", "navlin.demo"))
        for other in imported(file)
        if other.split(".")[0] == "extractors"
    ]

    assert naming == ["navlin.service.loader"]


def test_only_pipeline_service_demo_and_linker_import_spark() -> None:
    importing = {
        layer_of(name)
        for name, file in modules()
        for other in imported(file)
        if other.split(".")[0] in ("pyspark", "py4j")
    }

    assert importing <= {"navlin.pipeline", "navlin.service", "navlin.demo", "linker"}


def reads_documents(node: ast.AST) -> bool:
    """Whether code makes an entity or relation from a document, or takes the document out of one."""
    match node:
        case ast.Attribute(value=ast.Name(id="StoredEntity" | "StoredRelation"), attr="of" | "each_of"):
            return True
        case ast.Attribute(attr="document"):
            return True
    return False


def test_doors_read_entities_and_relations_not_documents() -> None:
    doors = ("query", "questions", "edit", "render", "export", "api", "console", "cli")
    reading = {
        name
        for name, file in modules()
        if name.startswith(tuple(f"navlin.{door}." for door in doors))
        and any(map(reads_documents, nodes_of(tree_of(file))))
    }

    # The answer to a search has the documents as its JSON, and an export of annotations reads the fields in use.
    assert reading == {"navlin.query.search", "navlin.edit.annotations"}


def loaded_by(statement: str) -> set[str]:
    """The top-level packages loaded in a new process after it executes ``statement``."""
    code = f"import sys\n{statement}\nprint(*{{name.split('.')[0] for name in sys.modules}})"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines()[-1].split())


def test_the_model_imports_only_the_standard_library() -> None:
    loaded = loaded_by(
        "import pkgutil, importlib, navlin.model as m\n"
        "for each in pkgutil.iter_modules(m.__path__): importlib.import_module(f'navlin.model.{each.name}')"
    )

    assert loaded <= {
        "navlin",
        *sys.stdlib_module_names,
        "__main__",
        "_virtualenv",
        *site_packages_at_start(),
    }


def site_packages_at_start() -> set[str]:
    return loaded_by("pass")


def test_extractors_load_without_spark_and_without_solr() -> None:
    # Extractors may need Arrow, but import it only at the first read.
    loaded = loaded_by(
        "import pkgutil, importlib, extractors\n"
        "for each in pkgutil.iter_modules(extractors.__path__): importlib.import_module(f'extractors.{each.name}')"
    )

    assert loaded.isdisjoint({"pyspark", "py4j", "pandas", "pyarrow", "pysolr"})


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["search", "--help"], ["status", "--help"]])
def test_help_imports_only_the_command_line_parser(arguments: list[str]) -> None:
    loaded = loaded_by(f"import navlin.cli\nnavlin.cli.main({arguments!r}, standalone_mode=False)")

    assert loaded <= {"navlin", "click", "__main__", *sys.stdlib_module_names, *site_packages_at_start()}


REACHED_OTHERWISE = {
    "navlin.shipped.SYSTEMD": "where the units are that an installation copies",
    "navlin.index.schema.fields.STAMPS": "what may differ between two indexes made of the same inputs",
    "navlin.sql.child.main": "named in the command line of a process",
}
"""Definitions that the product's code does not use → the reason for their existence."""


def names_of(tree: ast.Module) -> Iterator[tuple[str, ast.stmt]]:
    """Yield (name, statement) of the definitions in a module, except those found otherwise, such as through a
    decorator.
    """
    for node in tree.body:
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                registered = {ast.unparse(each).partition("(")[0] for each in node.decorator_list}
                if registered.isdisjoint({"extractor", "click.command", "click.group", "command.command"}):
                    yield name, node
            case ast.Assign(value=ast.Call(func=ast.Name(id="Question"))):
                # All questions in `navlin.questions` are found through that module.
                pass
            case ast.Assign(targets=[ast.Name(id="command")]):
                # The command of a module in `navlin.cli` is found through the module's name.
                pass
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                yield name, node


def attributes_of_modules(tree: ast.Module) -> Iterator[str]:
    """Yield the full names of the attributes of other modules that a module uses, with aliases resolved."""
    called: dict[str, str] = {}
    for node in nodes_of(tree):
        if isinstance(node, ast.ImportFrom):
            called |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
    for node in nodes_of(tree):
        match node:
            case ast.Attribute(value=ast.Name(id=name), attr=attribute) if name in called:
                yield f"{called[name]}.{attribute}"


def loads_in(nodes: Iterable[ast.AST]) -> Counter[str]:
    names = (node for node in nodes if isinstance(node, ast.Name))
    return Counter(node.id for node in names if isinstance(node.ctx, ast.Load))


def test_every_definition_is_used_by_the_product() -> None:
    trees = {name: tree_of(file) for name, file in modules()}
    named = {other for _, file in modules() for other in imported(file)}
    loads = {name: loads_in(nodes_of(tree)) for name, tree in trees.items()}
    named |= {other for tree in trees.values() for other in attributes_of_modules(tree)}
    unused = {
        f"{module}.{name}"
        for module, tree in trees.items()
        for name, node in names_of(tree)
        if not name.startswith("__")
        and f"{module}.{name}" not in named
        and loads[module][name] == loads_in(ast.walk(node))[name]
    }

    assert unused == set(REACHED_OTHERWISE)
