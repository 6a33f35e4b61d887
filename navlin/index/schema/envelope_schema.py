"""The columns of an envelope as an Arrow schema. Separate from `navlin.index.schema.envelope`, so that queries need not load
Arrow."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from navlin.index.schema.envelope import COLUMN_TYPES, Envelope

_ARROW: Final = {str: pa.string(), int: pa.int64(), bytes: pa.binary(), bool: pa.bool_()}
ENVELOPE_SCHEMA: Final = pa.schema([(name, _ARROW[COLUMN_TYPES.get(name, str)]) for name in Envelope._fields])
