"""Read an fsimage in its own process for `bench fsimage`, and print times, rows, memory and scratch space as JSON.

python -m bench._image_reader IMAGE SCRATCH rows|envelopes PROCESSES MEMORY_MIB
"""

from __future__ import annotations

import json
import multiprocessing
import sys
import time
from functools import partial
from pathlib import Path

from extractors.hdfs.image import ImagePart, Prepared, prepare, read_part

INODES_IN_PART = 100_000
AT_MS = 1_800_000_000_000


def main() -> None:
    image, scratch, what, processes, memory_mib = sys.argv[1:]
    memory_bytes = int(memory_mib) * 1024 * 1024
    begun = time.perf_counter()
    prepared = prepare(Path(image), Path(scratch), memory_bytes=memory_bytes, report=_silent)
    prepared_at = time.perf_counter()
    work = partial(count_rows if what == "rows" else count_envelopes, prepared)
    parts = prepared.parts(min(INODES_IN_PART, -(-prepared.inodes // (4 * int(processes)))))
    if processes == "1":
        counted = [work(part) for part in parts]
        peaks = [_peak_bytes()]
    else:
        # The pool is joined so that the CPU time of the child processes counts.
        with multiprocessing.get_context("spawn").Pool(int(processes)) as pool:
            results = pool.map(partial(_with_peak, work), parts, chunksize=1)
            pool.close()
            pool.join()
        counted = [count for count, _, _ in results]
        peaks = [_peak_bytes(), *{process: peak for _, process, peak in results}.values()]
    ended = time.perf_counter()
    took = {
        "prepare_s": prepared_at - begun,
        "read_s": ended - prepared_at,
        "rows": sum(counted),
        "peaks_bytes": peaks,
        "scratch_bytes": sum(file.stat().st_size for file in Path(scratch).rglob("*") if file.is_file()),
    }
    sys.stdout.write(json.dumps(took))


def count_rows(prepared: Prepared, part: ImagePart) -> int:
    return sum(batch.num_rows for batch in read_part(prepared, part))


def count_envelopes(prepared: Prepared, part: ImagePart) -> int:
    """Count the envelopes of a part of the image, made with the default filters as in a pipeline task."""
    # The imports are local, so that the time for rows does not include them.
    from extractors.hdfs.filters import STAGING, Filters
    from extractors.hdfs.image_reading import read_image_part
    from extractors.hdfs.reading import Reading
    from extractors.hdfs.splits import PartSplit
    from navlin.index.write.listing import listing_envelopes
    from navlin.model.records import Listing
    from navlin.model.source import HDFS, Source, source_id

    source = Source(source_id("bench", "HDFS"), HDFS, "HDFS", "bench")
    reading = Reading(source, "hdfs://bench", Filters(("/",), STAGING), False, True, AT_MS)
    directory = str(Path(prepared.scratch).parent)
    listings = read_image_part(reading, PartSplit(directory, prepared, part, 1, AT_MS))
    return sum(
        made.num_rows for each in listings if isinstance(each, Listing) for made in listing_envelopes(each)
    )


def _with_peak(work: partial[int], part: ImagePart) -> tuple[int, str, int]:
    return work(part), multiprocessing.current_process().name, _peak_bytes()


def _peak_bytes() -> int:
    # getrusage is not used, because the peak of a new process starts at the peak of its parent.
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * int(next(line for line in lines if line.startswith("VmHWM:")).split()[1])


def _silent(*_line: object) -> None:
    pass


if __name__ == "__main__":
    main()
