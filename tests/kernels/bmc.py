# SPDX-License-Identifier: Apache-2.0
"""A management controller for QEMU's ipmi-bmc-extern, by the protocol of OpenIPMI's
simulator (lanserv/README.vm there): bytes of a message between the machine and us, with
a checksum, ended by A0; commands about the machine itself end with A1; AA escapes."""
import socket
import threading

MESSAGE, COMMAND, ESCAPE = 0xA0, 0xA1, 0xAA
APP, GROUP = 0x06, 0x2C  # network functions
GET_DEVICE_ID, GET_ENABLES, SET_ENABLES, CLEAR_FLAGS, GET_FLAGS = 0x01, 0x2F, 0x2E, 0x30, 0x31
DCMI, GET_POWER_READING, MEASURES = 0xDC, 0x02, 0x40
UNKNOWN_COMMAND = 0xC1
# What Get Device ID tells: one of IPMI 2.0, of nobody.
DEVICE_ID = bytes((0x20, 0x01, 0x01, 0x00, 0x02, 0x00, 0, 0, 0, 0, 0))


def checksum(data):
    return -sum(data) & 0xFF


def escaped(data):
    out = bytearray()
    for byte in data:
        out += bytes((ESCAPE, byte | 0x10)) if byte in (MESSAGE, COMMAND, ESCAPE) else \
            bytes((byte,))
    return bytes(out)


def messages(data):
    """Split what has come into whole messages, without commands; and what is left."""
    found, start, escape, message = [], 0, False, bytearray()
    for i, byte in enumerate(data):
        if byte in (MESSAGE, COMMAND):
            if byte == MESSAGE:
                found.append(bytes(message))
            message.clear()
            start = i + 1
        elif byte == ESCAPE:
            escape = True
        else:
            message.append(byte & ~0x10 if escape else byte)
            escape = False
    return found, data[start:]


class Controller:
    """Answers one machine. `watts` is what it measures; `code` a completion code that it
    gives instead of that, or 0; `silent`: it answers nothing."""

    def __init__(self, path):
        self.watts, self.code, self.silent = 250, 0, False
        self.path = path
        self.closed = threading.Event()
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def connect(self):
        """The machine listens once it begins. If it connected to us, QEMU 7.2 would crash:
        it takes that for a sign of life of a device that is not there yet."""
        while not self.closed.wait(0.05):
            machine = socket.socket(socket.AF_UNIX)
            try:
                machine.connect(self.path)
                return machine
            except OSError:
                machine.close()
        return None

    def serve(self):
        machine = self.connect()
        if machine is None:
            return
        left = b""
        with machine:
            while True:
                data = machine.recv(4096)
                if not data:
                    return
                found, left = messages(left + data)
                for message in found:
                    answer = self.answer(message)
                    if answer and not self.silent:
                        machine.sendall(escaped(answer) + bytes((MESSAGE,)))

    def answer(self, message):
        """Number, network function and unit, command, data, checksum."""
        if len(message) < 4 or sum(message) & 0xFF:
            return None
        number, function, command, data = message[0], message[1], message[2], message[3:-1]
        body = self.body(function >> 2, command, data)
        head = bytes((number, function | 0x04, command))
        return head + body + bytes((checksum(head + body),))

    def body(self, function, command, data):
        """Completion code and data."""
        if function == APP and command == GET_DEVICE_ID:
            return b"\0" + DEVICE_ID
        if function == APP and command in (SET_ENABLES, CLEAR_FLAGS):
            return b"\0"
        if function == APP and command in (GET_ENABLES, GET_FLAGS):
            return b"\0\0"
        if function == GROUP and command == GET_POWER_READING and data[:2] == b"\xdc\x01":
            return self.power()
        return bytes((UNKNOWN_COMMAND,))

    def power(self):
        """DCMI 1.5, table 6-16."""
        if self.code:
            return bytes((self.code, DCMI))
        powers = b"".join(w.to_bytes(2, "little") for w in (self.watts, 1, 900, self.watts))
        return b"\0" + bytes((DCMI,)) + powers + (1700000000).to_bytes(4, "little") + \
            (1000).to_bytes(4, "little") + bytes((MEASURES,))

    def close(self):
        self.closed.set()
        self.thread.join()
