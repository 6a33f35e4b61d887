"""Every socket, request, child process and listener of the product has a row in a table here. The syntax trees are
searched for them."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from typing import Final

import pytest

from tests.repository.test_layers import modules, nodes_of, tree_of
from tests.service.test_peers import PEERS

SPEAKING: Final = (
    "socket", "ssl", "socketserver", "select.epoll", "asyncio", "http.client", "http.server", "urllib.request", "xmlrpc",
    "ftplib", "smtplib", "imaplib", "poplib", "telnetlib", "subprocess", "multiprocessing", "pty",
    "concurrent.futures.ProcessPoolExecutor", "concurrent.futures.process", "requests", "urllib3", "pysolr",
    "thrift.transport", "uvicorn", "py4j", "pyspark.conf", "pyspark.core", "pyspark.daemon", "pyspark.java_gateway",
    "pyspark.sql.SparkSession", "navlin.java_child.JavaChild", "os.fork", "os.forkpty", "os.system", "os.popen", "os.exec",
    "os.spawn", "os.posix_spawn", "botocore.session",
)  # fmt: skip
"""Modules, or single names in modules, that connect to another process or start one."""
SILENT: Final = re.compile(
    r"socket\.(AF|SO|SOL|SOCK|IPPROTO)_?\w*|socket\.gethostname|ssl\.(\w+Error|create_default_context)"
    r"|subprocess\.(PIPE|DEVNULL|STDOUT|TimeoutExpired)|requests\.(exceptions\.\w+|RequestException|codes\.\w+)"
    r"|http\.client\.HTTPException|requests\.auth\.(AuthBase|HTTPBasicAuth)|requests\.adapters\.BaseAdapter|asyncio\.get_running_loop"
    r"|thrift\.transport\.TTransport\.\w+(\.[A-Z_]+)?|pyspark\.core\.context\.SparkContext\._(gateway|jvm)"
)
"""Names in these modules that open nothing: constants, errors, wrappers of open connections."""

OWN: Final = "a child of navlin's own code, over pipes"
ROWS: Final[dict[tuple[str, str], str]] = {
    ("extractors.hdfs.child", "navlin.java_child.JavaChild"): "the NameNode",
    ("extractors.hms.bounded_socket", "thrift.transport.TSSLSocket.TSSLSocket"): "the metastore",
    ("extractors.hms.bounded_socket", "thrift.transport.TSocket.TSocket"): "the metastore",
    ("extractors.rest", "requests.Session"): "the ResourceManager",
    ("extractors.s3.credentials", "botocore.session.Session"): "services that give credentials for S3",
    ("extractors.s3.service", "requests.Session"): "S3",
    ("navlin.access.ldap", "socket.create_connection"): "the directory of users",
    ("navlin.bounded_http", "requests.adapters.HTTPAdapter"): "Solr",
    ("navlin.bounded_http", "urllib3.connection.HTTPConnection"): "Solr",
    ("navlin.bounded_http", "urllib3.connection.HTTPSConnection"): "Solr",
    ("navlin.bounded_http", "urllib3.connectionpool.HTTPConnectionPool"): "Solr",
    ("navlin.bounded_http", "urllib3.connectionpool.HTTPSConnectionPool"): "Solr",
    ("navlin.cli.server", "requests.Session"): "another navlin",
    ("navlin.forward.agent", "http.client.HTTPConnection"): "another navlin",
    ("navlin.forward.agent", "http.client.HTTPSConnection"): "another navlin",
    ("navlin.export.connection", "requests.Session"): "targets of exports",
    ("navlin.index.solr.connection", "requests.Session"): "Solr",
    ("navlin.index.solr.solr", "pysolr.Solr"): "Solr",
    ("navlin.kerberos.client", "navlin.java_child.JavaChild"): OWN,
    ("navlin.java_child", "subprocess.Popen"): OWN,
    ("navlin.java", "subprocess.run"): "the Java compiler, over a file",
    ("navlin.pipeline.reading_here", "subprocess.Popen"): OWN,
    ("navlin.pipeline.session", "pyspark.conf.SparkConf"): "Spark's gateway",
    ("navlin.pipeline.session", "pyspark.core.context.SparkContext._ensure_initialized"): "Spark's gateway",
    ("navlin.pipeline.session", "pyspark.sql.SparkSession.builder"): "Spark's driver and its blocks",
    ("navlin.pipeline.spark_jvm", "pyspark.java_gateway.launch_gateway"): "Spark's gateway",
    ("navlin.pipeline.spark_jvm", "subprocess.Popen"): "Spark's gateway",
    ("navlin.pipeline.worker_daemon", "pyspark.daemon"): "PySpark's daemon",
    ("navlin.pipeline.worker_daemon", "pyspark.daemon.manager"): "PySpark's daemon",
    ("navlin.service.check", "subprocess.run"): "java -version, for five seconds",
    ("navlin.service.daemon.connections", "asyncio.SelectorEventLoop"): "the web process",
    ("navlin.service.daemon.connections", "uvicorn.protocols.http.h11_impl.H11Protocol"): "the web process",
    ("navlin.service.daemon.listening", "socket.socket"): "the web process",
    ("navlin.service.daemon.notify", "socket.socket"): "systemd's datagram socket: nothing is read",
    ("navlin.service.spark_session", "subprocess.Popen"): OWN,
    ("navlin.service.daemon.web", "uvicorn.Config"): "the web process",
    ("navlin.service.daemon.web", "uvicorn.Server"): "the web process",
    ("navlin.service.daemon.web_process", "subprocess.Popen"): OWN,
    ("navlin.solr_server.embedded", "subprocess.Popen"): "the embedded Solr",
    ("navlin.solr_server.jars", "subprocess.Popen"): "Ivy, once, at set-up",
    ("navlin.sql.bounded", "subprocess.Popen"): OWN,
    **dict.fromkeys(
        (
            ("navlin.demo.estate", "requests.put"), ("navlin.demo.estate", "subprocess.run"),
            ("navlin.demo.ports", "socket.socket"), ("navlin.demo.hadoop", "subprocess.Popen"),
            ("navlin.demo.job", "pyspark.sql.SparkSession.builder.master"), ("navlin.demo.metastore", "socket.socket"),
            ("navlin.demo.metastore", "subprocess.Popen"), ("navlin.demo.serving", "subprocess.Popen"),
            ("navlin.demo.serving", "subprocess.run"),
        ),
        "the demo",
    ),
}  # fmt: skip
"""(module, name used) → the peer, the child process or the listener"""
SEVERAL: Final = {
    ("navlin.pipeline.session", "pyspark.core.context.SparkContext._ensure_initialized"): 3,
    ("navlin.service.daemon.listening", "socket.socket"): 2,
}
"""Rows that a module uses more than once → number of uses."""

LISTENERS: Final[dict[str, tuple[str, str]]] = {
    "the web process": (
        "whom `address` of [web] lets reach it",
        "ask for a page to log in; TLS and a user are needed else",
    ),
    "the embedded Solr": (
        "this machine",
        "be refused: it wants a password that navlin's user alone can read",
    ),
    "Spark's gateway": (
        "this machine",
        "have a thread of the JVM each, until it hangs up; without the secret it does nothing",
    ),
    "Spark's driver and its blocks": (
        "this machine; with a YARN, its nodes",
        "be refused: it wants a secret of this session",
    ),
    "PySpark's daemon": (
        "navlin's user; with a YARN, users of a node",
        "nothing; on a YARN's node, have a process each",
    ),
}
"""Listener → (users with access, actions possible for a stranger)."""
OTHERS: Final = frozenset(
    {OWN, "the demo", "Ivy, once, at set-up", "java -version, for five seconds", "the Java compiler, over a file",
     "systemd's datagram socket: nothing is read"}
)  # fmt: skip


def used_in(tree: ast.Module) -> Iterator[str]:
    """Yield the names in `SPEAKING` that a module uses, with their full import path. Names in annotations and in
    `SILENT` are skipped."""
    known = dict(imported_in(tree))
    passed = {id(each) for node in nodes_of(tree) for each in annotations_of(node)}
    passed |= {id(node.value) for node in nodes_of(tree) if isinstance(node, ast.Attribute)}
    for node in nodes_of(tree):
        name = "" if id(node) in passed else full_name(node, known)
        speaks = "." in name and any(
            name == each or name.startswith((f"{each}.", "os.exec", "os.spawn")) for each in SPEAKING
        )
        if speaks and not SILENT.fullmatch(name):
            yield name


def imported_in(tree: ast.Module) -> Iterator[tuple[str, str]]:
    for node in nodes_of(tree):
        match node:
            case ast.Import():
                for each in node.names:
                    first = each.name.partition(".")[0]
                    yield (each.asname, each.name) if each.asname else (first, first)
            case ast.ImportFrom(module=str(module)):
                yield from ((each.asname or each.name, f"{module}.{each.name}") for each in node.names)


def annotations_of(node: ast.AST) -> Iterator[ast.AST]:
    for field in ("annotation", "returns"):
        if isinstance(annotation := getattr(node, field, None), ast.AST):
            yield from ast.walk(annotation)


def full_name(node: ast.AST, known: dict[str, str]) -> str:
    match node:
        case ast.Name(id=name):
            return known.get(name, "")
        case ast.Attribute(value=value, attr=name):
            return f"{before}.{name}" if (before := full_name(value, known)) else ""
    return ""


def test_every_socket_request_child_and_listener_has_a_row() -> None:
    found = Counter((module, name) for module, file in modules() for name in used_in(tree_of(file)))

    assert found == {row: SEVERAL.get(row, 1) for row in ROWS}


def test_every_row_is_an_attacked_peer_a_described_listener_or_a_child() -> None:
    assert set(ROWS.values()) == set(ROWS.values()) & (PEERS.keys() | LISTENERS.keys() | OTHERS)
    assert LISTENERS.keys() | OTHERS <= set(ROWS.values())


@pytest.mark.parametrize(
    ("added", "name"),
    [
        ("import requests\nrequests.get('http://host', timeout=1)", "requests.get"),
        ("from requests import Session as S\n@dataclass\nclass A:\n    s: S = field(default_factory=S)", "requests.Session"),
        ("import socket\ns = socket.socket()\ns.listen()", "socket.socket"),
        ("from subprocess import run\ndef f(): run(['x'])", "subprocess.run"),
        ("import urllib.request\nurllib.request.urlopen('http://host')", "urllib.request.urlopen"),
        ("from http.server import HTTPServer\nclass Listener(HTTPServer): pass", "http.server.HTTPServer"),
        ("import os\nif os.fork(): pass", "os.fork"),
        ("import os\nos.execv('x', [])", "os.execv"),
        ("from navlin.java_child import JavaChild\nJavaChild(['x'], 1)", "navlin.java_child.JavaChild"),
        ("async def f():\n    import asyncio\n    await asyncio.start_server(f)", "asyncio.start_server"),
    ],
)  # fmt: skip
def test_an_added_use_is_found(added: str, name: str) -> None:
    assert list(used_in(ast.parse(added))) == [name]


def test_a_second_child_of_a_module_is_found() -> None:
    added = "from subprocess import Popen\ndef f(): Popen(['x'])\ndef g(): Popen(['y'])"
    assert list(used_in(ast.parse(added))) == ["subprocess.Popen", "subprocess.Popen"]


def test_a_mere_mention_is_not_a_row() -> None:
    silent = "import socket, subprocess, requests\ndef f(s: socket.socket) -> requests.Response:\n    return subprocess.PIPE"
    assert list(used_in(ast.parse(silent))) == []
