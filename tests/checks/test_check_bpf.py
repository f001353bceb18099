# SPDX-License-Identifier: Apache-2.0
"""The check of BPF's instructions must be able to fail."""
import struct
import unittest

import check_bpf


def instruction(code, source=0, offset=0, value=0):
    return struct.pack("<BBhi", code, source << 4, offset, value)


EXIT = instruction(0x95)


def elf(content):
    """An object with one section of instructions, named "x"."""
    names = b"\0x\0.shstrtab\0"
    heads = 64 + len(content) + len(names)

    def section(name, flags, offset, size):
        return struct.pack("<IIQQQQ", name, 1, flags, 0, offset, size) + bytes(24)
    return (b"\x7fELF".ljust(0x28, b"\0") + struct.pack("<Q", heads) + bytes(0x3A - 0x30) +
            struct.pack("<HHH", 64, 2, 1) + content + names +
            section(1, check_bpf.SHF_EXECINSTR, 64, len(content)) +
            section(3, 0, 64 + len(content), len(names)))


class CheckBpf(unittest.TestCase):
    def found(self, *code):
        return check_bpf.check(elf(b"".join(code) + EXIT))

    def test_features_of_old_kernels_are_not_reported(self):
        wide = instruction(0x18, value=0xDB) + instruction(0, value=1)
        add = instruction(0xDB)
        self.assertEqual(self.found(wide, add, instruction(0x85, value=135)), [])

    def test_adding_with_a_result_is_too_new(self):
        self.assertEqual(self.found(EXIT, instruction(0xDB, value=1)),
                         ["x+1: atomic operation 0x1 takes Linux 5.12"])

    def test_a_later_helper_is_too_new_and_a_call_of_our_own_is_not(self):
        self.assertEqual(self.found(instruction(0x85, value=136)),
                         ["x+0: helper 136 came after Linux 5.8"])
        self.assertEqual(self.found(instruction(0x85, source=1, value=4000)), [])

    def test_instructions_of_the_fourth_processor_are_too_new(self):
        for code in (instruction(0x81), instruction(0x06), instruction(0xD7),
                     instruction(0xBF, offset=8), instruction(0x3F, offset=1)):
            self.assertEqual(self.found(code), [
                "x+0: an instruction of the fourth processor takes Linux 6.6"])
        self.assertEqual(self.found(instruction(0xBF)), [])

    def test_the_rest_of_half_an_instruction_is_skipped(self):
        half = instruction(0x18) + instruction(0xDB, value=1)
        self.assertEqual(self.found(half), [])


if __name__ == "__main__":
    unittest.main()
