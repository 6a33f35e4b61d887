"""A metastore's Thrift port whose contents a test sets. The test may damage responses."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any, Self

from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.Thrift import TApplicationException, TMessageType
from thrift.transport.TSocket import TSocket
from thrift.transport.TTransport import TBufferedTransport, TMemoryBuffer, TTransportException

from extractors.hms import idl
from extractors.hms.thrift import Call

_CALLS: dict[str, Call[Any]] = {each.name: each for each in vars(idl).values() if isinstance(each, Call)}


class ThriftMetastore:
    """A metastore on its own port, with one database ``damaged`` by default.

    ``tables`` maps the names in listings and requests to tables; ``partitions`` maps the name of a table to its
    partitions by name. ``damage`` maps a table name to a function that changes the bytes of each response
    containing that table. ``mishaps`` maps (call, requested name) to "silent", "broken" (the connection breaks),
    "broken once" or "refused" (with the message ``refusal``).
    """

    def __init__(self) -> None:
        self.databases = ["damaged"]
        self.mishaps: dict[tuple[str, str], str] = {}
        self.refusal = "out of memory"
        self.tables: dict[str, idl.Table] = {}
        self.partitions: dict[str, dict[str, idl.Partition]] = {}
        self.damage: dict[str, Callable[[bytes], bytes]] = {}
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.uri = f"thrift://127.0.0.1:{self._listener.getsockname()[1]}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        # Closing the socket does not wake a thread that is waiting in accept.
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        transport = TSocket()
        transport.setHandle(client)
        buffered = TBufferedTransport(transport)
        protocol = TBinaryProtocol(buffered)
        with suppress(OSError, TTransportException, EOFError):
            while True:
                name, _, number = protocol.readMessageBegin()
                asked: dict[str, Any] = {}
                call = _CALLS.get(name)
                spec = call._takes if call else ()
                arguments = _Fields(asked)
                protocol.readStruct(arguments, spec) if spec else protocol.skip(12)
                protocol.readMessageEnd()
                mishap = self._mishap(name, asked)
                if mishap == "broken":
                    break
                if mishap != "silent":
                    answer = self._answer(name, number, call, asked)
                    buffered.write(_refusal(name, number, self.refusal) if mishap == "refused" else answer)
                buffered.flush()
        client.close()

    def _mishap(self, name: str, asked: Mapping[str, Any]) -> str:
        found = next(((name, each) for each in _words(asked) if (name, each) in self.mishaps), None)
        if found is None:
            return ""
        return self.mishaps.pop(found).split()[0] if "once" in self.mishaps[found] else self.mishaps[found]

    def _answer(self, name: str, number: int, call: Call[Any] | None, asked: dict[str, Any]) -> bytes:
        buffer = TMemoryBuffer()
        protocol = TBinaryProtocol(buffer)
        given, held = self._given(name, asked)
        if call is None or given is NotImplemented:
            protocol.writeMessageBegin(name, TMessageType.EXCEPTION, number)
            TApplicationException(TApplicationException.UNKNOWN_METHOD, name).write(protocol)
            protocol.writeMessageEnd()
            return bytes(buffer.getvalue())
        protocol.writeMessageBegin(name, TMessageType.REPLY, number)
        protocol.writeStruct(_Fields({"success": given}), call._gives)
        protocol.writeMessageEnd()
        data = bytes(buffer.getvalue())
        for table in held:
            if table in self.damage:
                data = self.damage[table](data)
        return data

    def _given(self, name: str, asked: dict[str, Any]) -> tuple[Any, list[str]]:
        """Return the result of a call, and the names of the tables in the result."""
        match name:
            case "get_all_databases":
                return self.databases, []
            case "get_database":
                return idl.Database(asked["a1"], "d", "hdfs://ns1/w", {}, "etl", "hive"), []
            case "get_all_tables":
                return list(self.tables), []
            case "get_table_objects_by_name_req":
                names = asked["a1"].tblNames
                return idl.GetTablesResult([self.tables[each] for each in names]), names
            case "get_partition_names":
                return list(self.partitions.get(asked["a2"], {})), []
            case "get_partitions_by_names":
                there = self.partitions.get(asked["a2"], {})
                return [there[each] for each in asked["a3"] if each in there], []
            case "get_current_notificationEventId":
                return idl.CurrentNotificationEventId(0), []
        return NotImplemented, []


def _refusal(name: str, number: int, message: str) -> bytes:
    buffer = TMemoryBuffer()
    protocol = TBinaryProtocol(buffer)
    protocol.writeMessageBegin(name, TMessageType.EXCEPTION, number)
    TApplicationException(TApplicationException.INTERNAL_ERROR, message).write(protocol)
    protocol.writeMessageEnd()
    return bytes(buffer.getvalue())


def _words(asked: Mapping[str, Any]) -> Iterator[str]:
    """Yield all strings in the arguments of a call."""
    for each in asked.values():
        if isinstance(each, str):
            yield each
        elif isinstance(each, list):
            yield from (name for name in each if isinstance(name, str))
        elif hasattr(each, "tblNames"):
            yield from each.tblNames


class _Fields:
    """A structure with arbitrary field names, for Thrift's Python library to read into or write from."""

    def __init__(self, values: dict[str, Any]) -> None:
        object.__setattr__(self, "_values", values)

    def __setattr__(self, name: str, value: Any) -> None:
        self._values[name] = value

    def __getattr__(self, name: str) -> Any:
        return self._values.get(name)
