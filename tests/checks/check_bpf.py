#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The BPF programs load on the oldest Linux that docs/tw-collector.md promises.

    check_bpf.py FILE.bpf.o...

Looks into the instructions for what Linux 5.8 does not know: atomic operations other than
adding without a result (5.12), instructions of the fourth processor (6.6), helpers that
came later. What needs a later kernel by its nature (walk.bpf.o: Linux 6.7) is not given
to this check. Says nothing and exits 0 if all is well.
"""
import struct
import sys

# include/uapi/linux/bpf.h
SHF_EXECINSTR = 4
CLASS, SIZE, MODE = 0x07, 0x18, 0xE0
LD, LDX, STX, JMP, JMP32, ALU64 = 0x00, 0x01, 0x03, 0x05, 0x06, 0x07
ATOMIC, MEMSX = 0xC0, 0x80
WIDE, CALL, LONG_JUMP, END_ALU64 = 0x18, 0x85, 0x06, 0xD7
HELPER = 0  # source register of a call to a helper by its number
LAST_HELPER = 135  # bpf_csum_level, the last of Linux 5.8


def sections(data):
    """Name and content of each section with instructions: 64-bit ELF, little-endian."""
    start, = struct.unpack_from("<Q", data, 0x28)
    size, count, names = struct.unpack_from("<HHH", data, 0x3A)
    heads = [struct.unpack_from("<IIQQQQ", data, start + i * size) for i in range(count)]
    text = heads[names][4]
    for name, _, flags, _, offset, length in heads:
        if flags & SHF_EXECINSTR and length:
            end = data.index(b"\0", text + name)
            yield data[text + name:end].decode(), data[offset:offset + length]


def too_new(code, source, offset, value):
    """What an instruction needs that Linux 5.8 does not have; None: nothing."""
    kind = code & CLASS
    if kind == STX and code & MODE == ATOMIC and value != 0:
        return f"atomic operation 0x{value & 0xFFFFFFFF:x} takes Linux 5.12"
    if code == CALL and source == HELPER and value > LAST_HELPER:
        return f"helper {value} came after Linux 5.8"
    if kind == LDX and code & MODE == MEMSX or code in (LONG_JUMP, END_ALU64) or \
            (kind in (0x04, ALU64) and code & 0xF0 in (0xB0, 0x30, 0x90) and offset != 0):
        return "an instruction of the fourth processor takes Linux 6.6"
    return None


def check(data):
    """Lines that say what is wrong."""
    found = []
    for name, content in sections(data):
        at = 0
        while at < len(content):
            code, registers, offset, value = struct.unpack_from("<BBhi", content, at)
            why = too_new(code, registers >> 4, offset, value)
            if why:
                found.append(f"{name}+{at // 8}: {why}")
            at += 16 if code == WIDE else 8
    return found


def main():
    wrong = 0
    for path in sys.argv[1:]:
        with open(path, "rb") as f:
            for line in check(f.read()):
                print(f"{path}: {line}", file=sys.stderr)
                wrong += 1
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
