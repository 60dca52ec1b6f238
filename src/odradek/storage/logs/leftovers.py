"""What a crash left half done in a log's directory, finished or taken back before it is opened.

`.deleted` was on its way out: it goes. `.cleaned` was being written by compaction: it goes, the
originals are all there. `.swap` was whole when it got that name, and its originals may be partly
gone: the swap is completed. So at every moment of a compaction either the old segments are whole
or the new one is.
"""

from odradek.storage.errors import CorruptFile
from odradek.storage.files.dir_files import TEMPORARY, delete_if_there
from odradek.storage.files.names import (
    CLEANED,
    DELETED,
    LOG,
    SEGMENT_SUFFIXES,
    SWAP,
    SegmentFile,
    parse_segment_file,
)
from odradek.storage.segments.scan import walk_headers
from odradek.storage.segments.segment import Folder, Segment


def settle(folder: Folder) -> list[str]:
    """The names in the directory, once nothing half done is among them."""
    names = folder.disk.names(folder.name)
    if not any(name.endswith((DELETED, CLEANED, SWAP, TEMPORARY)) for name in names):
        return names
    files = [file for file in map(parse_segment_file, names) if file is not None]
    cleaned = [file.base_offset for file in files if file.state == CLEANED]
    for name in names:
        if name.endswith((DELETED, CLEANED, TEMPORARY)):
            folder.disk.unlink(folder.path(name))
    swaps = sorted({file.base_offset for file in files if file.state == SWAP})
    whole = [base for base in swaps if not cleaned or base < min(cleaned)]
    for base in swaps:
        swap = Segment(folder, base, state=SWAP)
        if base in whole and SegmentFile(base, LOG, SWAP) in files:
            _complete(folder, swap, files)
        elif base in whole:
            swap.rename_rest("")  # its log was renamed already, a companion was not
        else:
            swap.delete()
    folder.disk.sync_directory(folder.name)
    return folder.disk.names(folder.name)


def _complete(folder: Folder, swap: Segment, files: list[SegmentFile]) -> None:
    """Puts the new segment in the place of those whose offsets it covers."""
    path = swap.path(LOG)
    swap.size = folder.disk.size(path)
    end = swap.base_offset + 1
    try:
        for _, header in walk_headers(swap.file, path, 0, swap.size):
            end = header.next_offset
    except CorruptFile:
        if SegmentFile(swap.base_offset, LOG, "") in files:
            swap.delete()  # rot, for it was whole when it got its name; the originals are there
            return
    originals = sorted({file.base_offset for file in files if not file.state})
    for base in originals:
        if swap.base_offset <= base < end:
            Segment(folder, base).delete()
    folder.disk.sync_directory(folder.name)
    swap.rename("")


def delete_orphans(folder: Folder, names: list[str]) -> list[str]:
    """Removes indexes of segments that are not there; the names that are left."""
    there = set(names)
    kept = []
    for name in names:
        stem, _, suffix = name.partition(".")
        if "." + suffix in SEGMENT_SUFFIXES[1:] and stem + LOG not in there:
            delete_if_there(folder.disk, folder.path(name))
        else:
            kept.append(name)
    return kept
