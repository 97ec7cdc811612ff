# SPDX-License-Identifier: Apache-2.0
"""A Python process that has pyarrow, of any version, and loads the library by ctypes: rows go from pyarrow into a table and come
back, through Arrow's C structs, and pyarrow's own Parquet reader reads the files that ours wrote.

python_host.py LIBPAIMONLIVE.so TABLE local|global      global: pyarrow's libraries offer their symbols to everybody
"""
import ctypes
import glob
import os
import sys

library_path, table_path, how = sys.argv[1:]
if how == "global":
    sys.setdlopenflags(os.RTLD_NOW | os.RTLD_GLOBAL)

import pyarrow as pa  # noqa: E402
import pyarrow.parquet as pq  # noqa: E402

P = ctypes.c_void_p
SCHEMA = (b'{"fields":[{"name":"id","type":"BIGINT NOT NULL"},{"name":"city","type":"STRING"}],'
          b'"options":{"realtime.enabled":"true"}}')


class Error(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("code", ctypes.c_int), ("sys_errno", ctypes.c_int), ("flags", ctypes.c_uint32),
                ("place", ctypes.c_uint32), ("file", ctypes.c_char * 256), ("message", ctypes.c_char * 512)]


class CommitResult(ctypes.Structure):
    """Also pml_rt_commit_result, which has an id more."""
    _fields_ = [("struct_size", ctypes.c_size_t), ("ids", ctypes.c_int64 * 3), ("already", ctypes.c_uint32),
                ("reserved", ctypes.c_uint32)]


lib = ctypes.CDLL(library_path)
err = Error(struct_size=ctypes.sizeof(Error))


def call(name, *args):
    function = getattr(lib, name)
    function.restype = ctypes.c_int
    if function(*args, ctypes.byref(err)) != 0:
        sys.exit(f"python_host: {name}: {err.message.decode()}")


def make(name, *args):
    """The handle that a call gives as its first argument."""
    handle = P()
    call(name, ctypes.byref(handle), *args)
    return handle


class Exported:
    """A batch and its schema as C structs; 80 and 72 bytes."""

    def __init__(self, batch):
        self.array, self.schema = ctypes.create_string_buffer(80), ctypes.create_string_buffer(72)
        batch._export_to_c(ctypes.addressof(self.array), ctypes.addressof(self.schema))


def batch_of(first):
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False), pa.field("city", pa.utf8())])
    return pa.record_batch([pa.array(range(first, first + 3), pa.int64()), pa.array(["Oslo", None, "Roma"])], schema=schema)


def read(table, context):
    scan = make("pml_scan_new", table)
    call("pml_scan_set_realtime", scan, context)
    plan = make("pml_scan_plan", scan)
    stream = ctypes.create_string_buffer(40)
    call("pml_read_open", stream, plan, None)
    reader = pa.RecordBatchReader._import_from_c(ctypes.addressof(stream))
    lib.pml_plan_free(plan)
    lib.pml_scan_free(scan)
    return reader.read_all().sort_by("id")


def write(table):
    writer, rows = make("pml_writer_open", table), Exported(batch_of(1))
    call("pml_writer_write", writer, rows.array, rows.schema)
    messages = make("pml_writer_prepare", writer)
    commit = make("pml_commit_open", table, b"python")
    result = CommitResult(struct_size=32)
    call("pml_commit_run", ctypes.byref(result), commit, ctypes.byref(messages), ctypes.c_size_t(1), ctypes.c_int64(1), None)
    lib.pml_commit_close(commit)
    lib.pml_messages_free(messages)
    lib.pml_writer_close(writer)


def write_live(env, table):
    """Returns what was seen before the commit."""
    context = make("pml_rt_context_open", env, None)
    writer, rows = make("pml_rt_writer_open", table, context, None), Exported(batch_of(11))
    call("pml_rt_write", None, writer, rows.array, rows.schema, None)
    seen = read(table, context)
    assert read(table, None).num_rows == 3
    prepared = make("pml_rt_prepare", writer, ctypes.c_int64(1), None)
    n = ctypes.c_size_t()
    entries = lib.pml_rt_prepared_get(ctypes.byref(n), prepared)
    commit = make("pml_commit_open", table, b"python-live")
    call("pml_rt_commit", ctypes.byref(CommitResult(struct_size=40)), commit, P(entries), n, ctypes.c_int64(1), None)
    lib.pml_rt_prepared_free(prepared)
    call("pml_rt_writer_close", writer)
    lib.pml_commit_close(commit)
    lib.pml_rt_context_close(context)
    return seen


for free in "plan_free scan_free commit_close messages_free writer_close rt_prepared_free rt_context_close table_release env_release".split():
    getattr(lib, "pml_" + free).argtypes, getattr(lib, "pml_" + free).restype = [P], None
lib.pml_rt_prepared_get.argtypes, lib.pml_rt_prepared_get.restype = [P, P], P

sink = pa.BufferOutputStream() # pyarrow's Parquet is at work before ours is loaded
pq.write_table(pa.Table.from_batches([batch_of(1)]), sink)
env = make("pml_env_new", None)
table = make("pml_table_create", env, table_path.encode(), SCHEMA, ctypes.c_size_t(len(SCHEMA)), ctypes.c_uint32(0))
write(table)
seen = write_live(env, table)
after = read(table, None)
lib.pml_table_release(table)
lib.pml_env_release(env)
want = pa.Table.from_batches([batch_of(1), batch_of(11)])
assert seen.to_pydict() == after.to_pydict() == want.to_pydict(), (seen, after)
files = glob.glob(os.path.join(table_path, "bucket-*", "*.parquet"))
assert sum(pq.read_table(file, columns=["id"]).num_rows for file in files) == 6, files
assert pq.read_table(pa.BufferReader(sink.getvalue())).num_rows == 3
print(f"use_table: {after.num_rows} rows, pyarrow {pa.__version__}")
