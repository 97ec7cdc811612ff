# SPDX-License-Identifier: Apache-2.0
"""What the command has no words for: bytes that one process hands to another. Through the library's C interface, by ctypes."""
import ctypes
import os
import struct

import support

P = ctypes.c_void_p
MESSAGE_VERSION = 11


class Error(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("code", ctypes.c_int), ("sys_errno", ctypes.c_int), ("flags", ctypes.c_uint32),
                ("place", ctypes.c_uint32), ("file", ctypes.c_char * 256), ("message", ctypes.c_char * 512)]


class Text(ctypes.Structure):
    _fields_ = [("ptr", P), ("len", ctypes.c_size_t), ("env", P)]


class Stream(ctypes.Structure):
    """ArrowArrayStream; the arrays and schemas that it gives are 80 and 72 bytes, with their releases at 64 and 56."""
    _fields_ = [("get_schema", ctypes.CFUNCTYPE(ctypes.c_int, P, P)), ("get_next", ctypes.CFUNCTYPE(ctypes.c_int, P, P)),
                ("get_last_error", P), ("release", ctypes.CFUNCTYPE(None, P)), ("private", P)]


class Library:
    """Of the folder lib beside the command."""

    def __init__(self, pml):
        self.lib = ctypes.CDLL(os.path.join(os.path.dirname(os.path.realpath(pml.path)), "lib", "libpaimonlive.so"))
        self.err = Error(struct_size=ctypes.sizeof(Error))

    def call(self, name, *args):
        function = getattr(self.lib, name)
        function.restype = ctypes.c_int
        if function(*args, ctypes.byref(self.err)) != 0:
            raise support.Wrong(f"{name}: {self.err.message.decode()}")

    def make(self, name, *args):
        handle = P()
        self.call(name, ctypes.byref(handle), *args)
        return handle

    def free(self, name, handle):
        function = getattr(self.lib, name)
        function.restype = None
        function(handle)

    def prepare(self, table, file):
        """The rows of a file as a list of commit messages, which nobody has committed."""
        env = self.make("pml_env_new", None)
        handle = self.make("pml_table_open", env, os.fsencode(table), None)
        writer = self.make("pml_writer_open", handle)
        self.write(writer, handle, file)
        messages = self.make("pml_writer_prepare", writer)
        self.lib.pml_messages_count.restype = ctypes.c_size_t
        made = []
        for i in range(self.lib.pml_messages_count(messages)):
            text = Text()
            self.call("pml_messages_serialize", ctypes.byref(text), messages, ctypes.c_size_t(i))
            made.append(ctypes.string_at(text.ptr, text.len))
            self.free("pml_text_clear", ctypes.byref(text))
        for name, what in (("pml_messages_free", messages), ("pml_writer_close", writer), ("pml_table_release", handle),
                           ("pml_env_release", env)):
            self.free(name, what)
        return made

    def write(self, writer, table, file):
        stream, schema, array = Stream(), ctypes.create_string_buffer(72), ctypes.create_string_buffer(80)
        self.call("pml_rows_open", ctypes.byref(stream), table, os.fsencode(file), None)
        if stream.get_schema(ctypes.byref(stream), schema) != 0:
            raise support.Wrong(f"{file} gives no schema")
        while True:
            if stream.get_next(ctypes.byref(stream), array) != 0:
                raise support.Wrong(f"{file} gives no rows")
            if not struct.unpack_from("P", array.raw, 64)[0]:
                break
            self.call("pml_writer_write", writer, array, schema)
        ctypes.CFUNCTYPE(None, P)(struct.unpack_from("P", schema.raw, 56)[0])(ctypes.addressof(schema))
        stream.release(ctypes.byref(stream))


def write_messages(path, messages):
    """As the Java program's commit reads them."""
    with open(path, "wb") as f:
        for m in messages:
            f.write(struct.pack(">i", len(m)) + m)
    return path
