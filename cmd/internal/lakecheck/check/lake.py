"""The lake against event files, simulate, what was published, and the topics' offsets."""

from collections import Counter

from expected import TABLES, final, versions

ACCEPTED = ("contado", "atrasado", "retificacao")
# Without a registry, simulate cannot tell whether anybody knows the schema of bytes.
UNREADABLE = ("dlq_ilegivel", "dlq_esquema_desconhecido")
# Columns that tell how a result came about, which depends on the order of arrival.
BILL_HISTORY = {"versao", "event_id", "retificacao", "diferenca"}
WINDOW_HISTORY = {"versao", "veredito"}


def voided(bill):
    return bill["motivo"] == "anulada"


def emptied(window):
    return window["pontos"] + window["descartados"] == 0


def both(lake, name, found):
    """The rows of a table by ClickHouse; PyIceberg must read the same, where it can."""
    rows = lake.clickhouse(name)
    other = lake.pyiceberg(name)
    if other is None:
        found.add("read by ClickHouse alone", 1)
    elif sorted(map(repr, other)) != sorted(map(repr, rows)):
        found.find(name, [f"PyIceberg reads {len(other)} rows and ClickHouse {len(rows)}, and they are not the same"])
    found.add("tables", 1)
    found.add("rows", len(rows))
    return rows


def check_events(lake, wanted, found):
    """Every accepted record is one row, as it was sent. Returns the accepted records of each
    topic and partition by verdict, the trips, and the rows of payments."""
    counts, trips = Counter(), set()
    for topic, name in TABLES.items():  # payments are the last
        rows = both(lake, name, found)
        found.by_key(name, rows, "particao", "offset_kafka")
        found.tables(name, found.by_key(name, rows, "trip_id", "event_id"), wanted[name])
        found.find(name, (f"verdict {r['veredito']} at offset {r['offset_kafka']}" for r in rows if r["veredito"] not in ACCEPTED))
        counts.update((topic, r["particao"], r["veredito"]) for r in rows)
        trips.update(r["trip_id"] for r in rows)
    return counts, trips, rows


def check_results(lake, case, file, name, key, void, history, found):
    """All versions are those that were published; what stands is the newest of them, and what
    simulate says. Returns what stands, and how many versions were published."""
    every = both(lake, name + "_versoes", found)
    published = versions(f"{case['published']}/{file}", lake.schema(name))
    found.tables(name + "_versoes", found.by_key(name + "_versoes", every, *key, "versao"),
                 found.by_key("published " + name, published, *key, "versao"))
    stands = found.by_key(name, both(lake, name, found), *key)
    newest = final(every, *key)
    found.tables(name, stands, newest)
    wanted = final(versions(f"{case['expected']}/{file}", lake.schema(name)), *key)
    found.tables(name + " and simulate",
                 {k: r for k, r in stands.items() if not void(r)},
                 {k: {c: v for c, v in r.items() if c not in history} for k, r in wanted.items() if not void(r)})
    return stands, len(published)


def check_verdicts(lake, case, simulated, counts, sent, bills, found):
    """The rows tile the offsets of each topic and partition, and tell of each what it became."""
    properties = lake.table("vereditos").properties
    found.equal("vereditos: offsets that no checkpoint told of", properties.get("taximeter.gaps", "0"), "0")
    rows = both(lake, "vereditos", found)
    verdicts = [c for c in lake.schema("vereditos").names if c.startswith("dlq_") or c in ACCEPTED + ("duplicado", "proprio")]
    next_offset, by_partition, by_lane = Counter(), Counter(), Counter()
    for r in sorted(rows, key=lambda r: (r["topico"], r["particao"], r["offset_inicial"])):
        lane, where = (r["topico"], r["particao"]), f"vereditos of {r['topico']} partition {r['particao']}"
        found.equal(where + ": next offset", r["offset_inicial"], next_offset[lane])
        next_offset[lane] = r["offset_seguinte"]
        found.equal(f"{where} from {r['offset_inicial']}: verdicts and control offsets",
                    sum(r[v] or 0 for v in verdicts) + r["controle"], r["offset_seguinte"] - r["offset_inicial"])
        found.equal(where + ": records lost", r["perdidos"] or 0, 0)
        for v in verdicts:
            by_partition[r["particao"], v] += r[v] or 0
            by_lane[r["topico"], r["particao"], v] += r[v] or 0
        found.add("offsets", r["offset_seguinte"] - r["offset_inicial"])
    check_ends(case, next_offset, sent, found)
    for topic, partitions in case["ends"].items():
        for p in range(len(partitions)):
            for v in ACCEPTED:
                found.equal(f"{topic} partition {p}: rows {v}", counts[topic, p, v], by_lane[topic, p, v])
    for p in range(case["partitions"]):
        wanted = Counter({v.replace(":", "_"): n for v, n in simulated["particoes"].get(str(p), {}).items()})
        alike = [ACCEPTED, UNREADABLE] + [(v,) for v in verdicts if v not in ACCEPTED + UNREADABLE + ("proprio",)]
        for vs in alike:
            if vs == ("duplicado",) and case["resent"]:
                continue
            found.equal(f"vereditos of partition {p}: {' + '.join(vs)}", sum(by_partition[p, v] for v in vs), sum(wanted[v] for v in vs))
    own = sum(by_partition[p, "proprio"] for p in range(case["partitions"]))
    if own > bills:  # the last ones need not have been read back
        found.find("vereditos", [f"{own} of our own bills were read back, {bills} were published"])


def check_ends(case, next_offset, sent, found):
    """All that was sent was consumed, and nothing that is not there. Behind what was sent lie
    our own bills, on the topic of payments."""
    for topic, ends in case["ends"].items():
        for p, end in enumerate(ends):
            least = sent.get((topic, p), 0)
            if TABLES[topic] != "pagamentos":
                if not case["resent"]:
                    found.equal(f"{topic} partition {p}: end of the topic", end, least)
                least = end
            if not least <= next_offset[topic, p] <= end:
                found.find("vereditos", [f"{topic} partition {p} ends at {next_offset[topic, p]}, must be {least} to {end}"])
