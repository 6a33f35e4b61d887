"""Fields of the index, with their types and owners."""

from __future__ import annotations

from xml.etree import ElementTree

from docs.from_code.markdown import code, prose, table
from navlin.index.schema.fields import owner_of
from navlin.shipped import CONF


def index_fields() -> str:
    """Return the table of the schema's fields."""
    (schema,) = sorted((CONF / "solr").glob("navlin-*/schema.xml"))
    parser = ElementTree.XMLParser(target=ElementTree.TreeBuilder(insert_comments=True))
    rows, note = [], ""
    for each in ElementTree.parse(schema, parser).getroot():
        # A comment's tag is the function that makes comments.
        tag: object = each.tag
        if tag is ElementTree.Comment:
            note = each.text or ""
        elif tag in ("field", "dynamicField"):
            name = each.attrib["name"]
            several = "several" if each.get("multiValued") == "true" else "one"
            owner = owner_of(name) or "internal"
            rows.append((code(name), each.attrib["type"], several, str(owner), prose(note)))
            note = ""
    return table(("field", "type", "values", "owner", "note: for this field, or from here on"), rows)
