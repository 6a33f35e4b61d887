"""Java's serialisation is read as data, within bounds, and no input makes more than an error."""

from __future__ import annotations

import struct

import pytest

from extractors.yarn import java_serialised
from extractors.yarn.java_serialised import JavaObject, NotSerialised, read
from tests.support.pig_jobs import Written, a_list, serialised

BEGIN = b"\xac\xed\x00\x05"


def test_an_object_has_the_fields_of_its_class_and_the_objects_that_its_class_wrote() -> None:
    made = Written("a.B", {"Lname": "x", "Zflag": True, "Bcode": 55, "[list": ["p", "q"]}, ["first", None])
    found = read(serialised(made))
    assert found == JavaObject(
        "a.B", {"name": "x", "flag": True, "code": 55, "list": ["p", "q"]}, ["first", None]
    )


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"\x74\x00\x02\xc3\xbc", "ü"),
        (b"\x74\x00\x02\xc0\x80", "\0"),
        (b"\x74\x00\x06\xed\xa0\xbd\xed\xb8\x80", "😀"),
        (b"\x74\x00\x03\xed\xa0\xbd", "\ufffd"),
        (b"\x74\x00\x01\xff", "\ufffd"),
        (b"\x7c\x00\x00\x00\x00\x00\x00\x00\x01a", "a"),
    ],
)
def test_texts_are_read_in_javas_form_of_utf_8(data: bytes, text: str) -> None:
    assert read(BEGIN + data) == text


def test_a_reference_leads_to_an_earlier_object() -> None:
    # An object of a class without fields, which writes a text and a reference to that text.
    of_class = b"\x72\x00\x01A" + bytes(8) + b"\x03\x00\x00\x78\x70"
    text, reference = b"\x74\x00\x02hi", b"\x71\x00\x7e\x00\x02"
    assert read(BEGIN + b"\x73" + of_class + text + reference + b"\x78").items == ["hi", "hi"]


def test_an_array_of_numbers_and_an_enum_are_read() -> None:
    numbers = b"\x75\x72\x00\x02[I" + bytes(8) + b"\x02\x00\x00\x78\x70" + struct.pack(">Iii", 2, 7, -1)
    assert read(BEGIN + numbers) == [7, -1]
    enum = b"\x7e\x72\x00\x01E" + bytes(8) + b"\x12\x00\x00\x78\x70" + b"\x74\x00\x04DESC"
    assert read(BEGIN + enum) == "DESC"


def deep(levels: int) -> Written:
    made = Written("A", {"Lx": None})
    for _ in range(levels):
        made = Written("A", {"Lx": made})
    return made


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "does not begin"),
        (b"{}", "does not begin"),
        (BEGIN, "ends too early"),
        (BEGIN + b"\x74\xff\xffx", "ends too early"),
        (BEGIN + b"\x7c" + b"\xff" * 8, "ends too early"),
        (BEGIN + b"\x7a\xff\xff\xff\xff", "ends too early"),
        (BEGIN + b"\x78", "ends too early"),
        (BEGIN + b"\x00", "begins no object"),
        (BEGIN + b"\x79", "begins no object"),
        (BEGIN + b"\x71\x00\x00\x00\x00", "leads nowhere"),
        (BEGIN + b"\x73\x74\x00\x01x", "described by something else"),
        (BEGIN + b"\x73\x72\x00\x01A" + bytes(8) + b"\x02\x00\x01Qx", "type of a field|ends too early"),
        (BEGIN + b"\x73\x72\x00\x01A" + bytes(8) + b"\x04\x00\x00\x78\x70", "only itself can read"),
        (BEGIN + b"\x75\x72\x00\x01X" + bytes(8) + b"\x02\x00\x00\x78\x70\x00\x00\x00\x01", "unknown type"),
        (BEGIN + b"\x72" * 200, "ends too early|deep"),
        (serialised(deep(200)), "more than 100 deep"),
        # A class that is above itself.
        (
            BEGIN + b"\x73\x72\x00\x01A" + bytes(8) + b"\x02\x00\x00\x78\x71\x00\x7e\x00\x00",
            "too many classes",
        ),
    ],
)
def test_other_bytes_and_nested_bombs_are_errors(data: bytes, words: str) -> None:
    with pytest.raises(NotSerialised, match=words):
        read(data)


def test_an_object_may_contain_itself() -> None:
    of_class = b"\x72\x00\x01A" + bytes(8) + b"\x02\x00\x01L\x00\x01x\x74\x00\x01A\x78\x70"
    # The reader's numbers for the class, its field's class and the object are 0, 1 and 2.
    data = BEGIN + b"\x73" + of_class + b"\x71\x00\x7e\x00\x02"
    found = read(data)
    assert found.fields["x"] is found


def test_the_numbers_of_objects_and_of_values_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(java_serialised, "MAX_OBJECTS", 10)
    monkeypatch.setattr(java_serialised, "MAX_ELEMENTS", 10)
    with pytest.raises(NotSerialised, match="more than 10 objects"):
        read(serialised(a_list(["x"] * 20)))
    numbers = b"\x75\x72\x00\x02[I" + bytes(8) + b"\x02\x00\x00\x78\x70" + struct.pack(">I", 11) + bytes(44)
    with pytest.raises(NotSerialised, match="more than 10 values"):
        read(BEGIN + numbers)


def test_an_array_that_claims_billions_of_values_costs_only_its_bytes() -> None:
    of_texts = (
        b"\x75\x72\x00\x02[L" + bytes(8) + b"\x02\x00\x00\x78\x70" + b"\xff\xff\xff\xff" + b"\x70" * 1_000
    )
    with pytest.raises(NotSerialised, match="ends too early"):
        read(BEGIN + of_texts)


def test_no_prefix_and_no_changed_byte_of_real_data_raises_another_error() -> None:
    made = serialised(a_list([Written("a.B", {"Lname": "x", "Zflag": True, "Bcode": 55}, ["y"])]))
    for at in range(len(made)):
        for data in (made[:at], made[:at] + bytes([made[at] ^ 0xFF]) + made[at + 1 :]):
            try:
                read(data)
            except NotSerialised:
                continue
