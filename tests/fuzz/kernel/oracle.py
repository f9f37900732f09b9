# SPDX-License-Identifier: GPL-2.0-only
"""What an image of a cache device says, by a second implementation of on-disk-format.md.

recover() returns ({slot: (block, valid, dirty)}, where the slots begin), None where
activation must refuse, or UNSURE where this implementation knows less than the format allows.
"""
import struct

from image import CLEAN, DIRTY, ENTRIES, MAP, PAGE, SAMPLES, SUPER, UNMAP, crc32c, sealed

UNSURE = "unsure"
KNOWN_TYPES = (MAP, UNMAP, CLEAN)


class Refused(Exception):
    """By the rules of the format."""


class Unsure(Exception):
    """Something of a later version of the format."""


def whole(raw, at):
    return sealed(raw, at) == raw


def read_super(raw):
    """One copy: its fields, or None."""
    if raw[:8] != b"optcache" or not whole(raw, 12):
        return None
    sb = {k: struct.unpack_from("<" + c, raw, o)[0] for k, (o, c) in SUPER.items()}
    if sb["version"] != 1 or sb["incompat"]:
        raise Unsure
    end, slots = sb["cache_sectors"] * 512, sb["nr_slots"]
    pages = -(-slots // ENTRIES)
    good = (64 <= slots <= 0x7FFFFFFF and sb["slot_size"] == PAGE
            and sb["journal_unit"] in (512, PAGE) and 0 < sb["cache_sectors"] <= 1 << 36
            and 0 < sb["origin_sectors"] <= 1 << 43
            and not any(sb[k] % PAGE for k in ("journal_start", "journal_size", "table_start", "data_start"))
            and 2 * PAGE <= sb["journal_start"] and sb["journal_size"] >= 2 * PAGE
            and sb["journal_start"] + sb["journal_size"] <= sb["table_start"]
            and sb["table_start"] + pages * 2 * PAGE <= sb["data_start"]
            and sb["data_start"] + slots * PAGE <= end
            and not sb["flags"] & ~7 and sb["seq"] and sb["tail_lsn"] and sb["tail_epoch"]
            and sb["tail_epoch"] <= sb["epoch"] and sb["tail_offset"] < sb["journal_size"]
            and sb["tail_offset"] % sb["journal_unit"] == 0 and good_samples(raw, sb))
    return sb if good else None


def good_samples(raw, sb):
    """Of a fingerprint, whether there can be such a one."""
    if sb["nr_samples"] > 48:
        return False
    end = 0
    for i in range(sb["nr_samples"]):
        sector, sectors, _ = struct.unpack_from("<QII", raw, SAMPLES + 16 * i)
        if sector < end or not 0 < sectors <= 2048 or sector + sectors > sb["origin_sectors"]:
            return False
        end = sector + sectors
    return True


def choose(raw):
    copies = [read_super(raw[:PAGE]), read_super(raw[PAGE:2 * PAGE])]
    if not any(copies) or all(copies) and copies[0]["uuid"] != copies[1]["uuid"]:
        raise Refused
    if not all(copies):
        return copies[0] or copies[1]
    return copies[copies[1]["seq"] > copies[0]["seq"]]


def read_page(raw, sb, nr):
    """(lsn, {slot: word})"""
    places = []
    for place in (0, 1):
        at = sb["table_start"] + (2 * nr + place) * PAGE
        page = raw[at:at + PAGE]
        magic, _, uuid, lsn, seq, number, _ = struct.unpack_from("<II16sQQII", page)
        if magic == 0x4254434F and uuid == sb["uuid"] and number == nr and whole(page, 4):
            places.append((seq, -place, lsn, struct.unpack_from(f"<{ENTRIES}Q", page, 48)))
    if not places:
        raise Refused
    _, _, lsn, words = max(places)
    blocks = -(-sb["origin_sectors"] // 8)
    found = {}
    for i, word in enumerate(words):
        slot = nr * ENTRIES + i
        if not word:
            continue
        block, valid, flags = word & (1 << 40) - 1, word >> 40 & 0xFF, word >> 48
        if slot >= sb["nr_slots"] or block >= blocks or not valid or flags not in (1, 3):
            raise Refused
        found[slot] = (block, valid, flags >> 1)
    return lsn, found


def read_block(raw, sb, at, lsn, epoch, room):
    """(size, epoch, records), or None at the end."""
    start = sb["journal_start"] + at
    magic, _, uuid, its_epoch, its_lsn, nr, size, _ = struct.unpack_from("<II16sQQHHI", raw, start)
    avail = sb["journal_size"] - at
    if (magic != 0x4C4A434F or uuid != sb["uuid"] or its_lsn != lsn or its_epoch < epoch
            or not size or size > min(PAGE, avail) or size % sb["journal_unit"]
            or not nr or 48 + 16 * nr > size or not whole(raw[start:start + 48 + 16 * nr], 4)):
        return None
    if its_epoch > sb["epoch"]:
        raise Refused
    if size > room:
        return None
    return size, its_epoch, [struct.unpack_from("<IIIBBBB", raw, start + 48 + 16 * i) for i in range(nr)]


def check_record(record, sb):
    slot, crc, low, high, valid, kind, count = record
    block = low | high << 32
    if kind & ~0x1F or kind & 0xF not in KNOWN_TYPES:
        raise Unsure
    good = not crc and slot + count < sb["nr_slots"]
    if kind & 0xF == MAP:
        good = good and valid and block + count < -(-sb["origin_sectors"] // 8)
    else:
        good = good and not valid and not block and not kind & DIRTY
    if not good:
        raise Refused


def apply(record, lsn, mapping, page_lsn):
    slot, _, low, high, valid, kind, count = record
    for i in range(count + 1):
        if lsn < page_lsn[(slot + i) // ENTRIES]:
            continue
        if kind & 0xF == MAP:
            mapping[slot + i] = ((low | high << 32) + i, valid, int(bool(kind & DIRTY)))
        elif kind == UNMAP:
            mapping.pop(slot + i, None)
        elif slot + i in mapping:
            mapping[slot + i] = (*mapping[slot + i][:2], 0)


def replay(raw, sb):
    mapping, page_lsn = {}, []
    for nr in range(-(-sb["nr_slots"] // ENTRIES)):
        lsn, found = read_page(raw, sb, nr)
        page_lsn.append(lsn)
        mapping.update(found)
    at, lsn, epoch, used = sb["tail_offset"], sb["tail_lsn"], sb["tail_epoch"], 0
    while block := read_block(raw, sb, at, lsn, epoch, sb["journal_size"] - used):
        size, epoch, records = block
        for record in records:
            check_record(record, sb)
        for n, record in enumerate(records):
            apply(record, lsn + n, mapping, page_lsn)
        lsn += len(records)
        at, used = (at + size) % sb["journal_size"], used + size
    blocks = [block for block, _, _ in mapping.values()]
    if max(page_lsn) > lsn or len(set(blocks)) != len(blocks):
        raise Refused
    return mapping


def recover(raw, cache_sectors, origin_sectors):
    """As activation on devices of these sizes."""
    try:
        sb = choose(raw)
        if (sb["flags"] & 2 or sb["cache_sectors"] > cache_sectors
                or sb["origin_sectors"] != origin_sectors):
            return None
        if sb["nr_samples"]:        # of a disk that is not looked at here
            raise Unsure
        return replay(raw, sb), sb["data_start"]
    except Refused:
        return None
    except Unsure:
        return UNSURE


assert crc32c(b"123456789") == 0x1CF96D7C
