"""What must be in the tables, worked out of the event files and the results of simulate."""

import functools
import gzip
import json
import re
import struct
from datetime import datetime
from decimal import Decimal

import pyarrow as pa

TABLES = {"corridas.telemetria": "telemetria", "corridas.eventos": "eventos", "pagamentos.eventos": "pagamentos"}


def read_lines(path):
    """The values of a file of JSON lines, plain or gzip."""
    opened = gzip.open if path.endswith(".gz") else open
    with opened(path, "rt", encoding="utf-8") as f:
        for line in f:
            yield json.loads(line)


def column_of(name):
    """The column of a field of the contracts: distanciaMM is distancia_mm."""
    return re.sub(r"(?<=[a-z0-9])([A-Z]+)", r"_\1", name).lower()


def typed(value, field):
    """A value of JSON as a column of that type holds it."""
    kind = field.type
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return value or []  # both readers read no list as an empty one
    if value is None:
        return None
    if pa.types.is_timestamp(kind):
        return value if isinstance(value, int) else round(datetime.fromisoformat(value).timestamp() * 1000)
    if pa.types.is_decimal(kind):
        return Decimal(value)
    if pa.types.is_float32(kind):
        return struct.unpack("f", struct.pack("f", value))[0]
    if pa.types.is_floating(kind):
        return float(value)
    return value


def row_of(record, schema):
    """A record as a row of a table; columns that are the table's own are left out."""
    values = {column_of(name): v for name, v in record.items()}
    return {f.name: typed(values.get(f.name), f) for f in schema if f.name in values or f.nullable}


@functools.cache
def murmur2(key):
    """Kafka's hash of record keys."""
    key = key.encode()
    m, mask = 0x5BD1E995, 0xFFFFFFFF
    h = (0x9747B28C ^ len(key)) & mask
    for i in range(0, len(key) - 3, 4):
        k = int.from_bytes(key[i : i + 4], "little") * m & mask
        h = (h * m & mask) ^ ((k ^ (k >> 24)) * m & mask)
    if tail := key[len(key) & ~3 :]:
        h = (h ^ int.from_bytes(tail, "little")) * m & mask
    h = (h ^ (h >> 13)) * m & mask
    return h ^ (h >> 15)


def accepted(case, schemas):
    """Rows that the three tables of events must have, by table and (trip, event), and how many
    records each topic and partition was sent. Every line of the file is a record; those that
    simulate made dead letters and those that repeat an event have no row."""
    dead = {(d["topic"], d["partition"], d["offset"]) for d in read_lines(case["expected"] + "/dlq.jsonl")}
    rows, sent = {t: {} for t in TABLES.values()}, {}
    for line in read_lines(case["events"]):
        topic, record = line["topic"], line.get("value") or {}
        table = TABLES[topic]
        key = line["key"] if line.get("key") is not None else record.get("tripId", "")
        partition = (murmur2(key) & 0x7FFFFFFF) % case["partitions"]
        offset = sent.get((topic, partition), 0)
        sent[topic, partition] = offset + 1
        event = record.get("tripId"), record.get("eventId")
        if (topic, partition, offset) in dead or event in rows[table]:
            continue
        row = row_of(record, schemas[table])
        row["particao"] = partition
        if line.get("appendedAt") is not None:
            row["gravado_em"] = line["appendedAt"]
        if table != "pagamentos" and not case["resent"]:  # there, our own bills lie in between
            row["offset_kafka"] = offset
        rows[table][event] = row
    return rows, sent


def versions(path, schema):
    """Bills or windows of a file, in all versions."""
    return [row_of(r, schema) for r in read_lines(path)]


def final(rows, *key):
    """Of each subject the newest version."""
    newest = {}
    for r in rows:
        k = tuple(r[c] for c in key)
        if k not in newest or r["versao"] > newest[k]["versao"]:
            newest[k] = r
    return newest
