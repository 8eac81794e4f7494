"""Reads the lakes and analytical tables of some runs with readers that are not ours, compares
them with simulate, and closes with one line of counts and differences.

usage: check.py CASE.json...        (as package lakecheck writes them)
"""

import json
import os
import sys
import time

from dashboard import check_dashboard
from dashboards import dashboard
from differences import Differences
from expected import TABLES, accepted
from lake import BILL_HISTORY, WINDOW_HISTORY, check_events, check_results, check_verdicts, emptied, voided
from readers import Lake


def check(case, found):
    os.chdir(os.path.commonpath([case["lake"], case["expected"]]))  # ClickHouse reads files below only
    lake = Lake(case["lake"], case["catalog"], case["database"], case["s3"])
    wanted, sent = accepted(case, {t: lake.schema(t) for t in TABLES.values()})
    counts, trips, payments = check_events(lake, wanted, found)
    bills, issued = check_results(lake, case, "bills.jsonl", "faturas", ("trip_id",), voided, BILL_HISTORY, found)
    windows, _ = check_results(lake, case, "windows.jsonl", "janelas", ("trip_id", "janela_inicio"), emptied, WINDOW_HISTORY, found)
    with open(case["expected"] + "/verdicts.json", encoding="utf-8") as f:
        simulated = json.load(f)
    check_verdicts(lake, case, simulated, counts, sent, issued, found)
    check_dashboard(dashboard(case["analytics"]), trips, payments, bills, windows, found)
    found.add("events", sum(sent.values()))
    found.add("bills", len(bills))
    found.add("windows", len(windows))
    found.add("mm", sum(w["distancia_mm"] for w in windows.values()))
    for b in bills.values():
        found.add("money " + b["moeda"], b["valor"])


# Python ends with 1 when it fails itself, as when a reader is not installed.
DIFFERS = 3


def main(paths):
    total = Differences()
    cases = []
    for path in paths:
        with open(path, encoding="utf-8") as f:
            cases.append(json.load(f))
    for case in cases:
        began, found = time.monotonic(), Differences()
        try:
            check(case, found)
        except Exception as e:  # noqa: BLE001: what cannot be read has failed, and the others are told all the same
            found.find(case["name"], [f"cannot be checked: {type(e).__name__}: {e}"])
        print(f"{case['name']}: {', '.join(f'{what} {n}' for what, n in found.counts.items())}: "
              f"{found.count} differences, {time.monotonic() - began:.0f} s")
        total.count += found.count
        for what, n in found.counts.items():
            total.add(what, n)
    money = " ".join(f"{what.removeprefix('money ')}={n}" for what, n in sorted(total.counts.items()) if what.startswith("money "))
    named = " ".join(f"{what}={total.counts.get(what, 0)}" for what in ("events", "offsets", "tables", "rows", "windows", "mm", "bills"))
    print(f"lake-check: cases={len(paths)} {named} {money} differences={total.count}")
    return DIFFERS if total.count or not paths else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
