"""The analytical tables against the lake, whose rows were compared with simulate before."""

from collections import defaultdict

from settlement import words

RETENTION = 24 * 3_600_000  # of windows, in ms of event time before the newest one
OF_BILL = {"versao": "fatura_versao", "moeda": "moeda", "distancia_mm": "distancia_mm", "duracao_s": "duracao_s", "regiao": "regiao",
           "categoria": "categoria", "inicio": "inicio", "termino": "termino", "pontos": "pontos", "descartados": "descartados"}
OF_WINDOW = ("versao", "pontos", "descartados", "distancia_mm", "tempo_ms", "velocidade_max_kmh", "velocidade_media_kmh", "primeiro",
             "ultimo", "veredito", "checkpoint_id")


def check_dashboard(dashboard, trips, payments, bills, windows, found):
    rows = found.by_key("viagens", dashboard.rows("viagens"), "trip_id")
    check_trips(rows, trips, bills, found)
    check_settlement(rows, payments, bills, found)
    newest = max((start for _, start in windows), default=0)
    recent = {k: r for k, r in windows.items() if k[1] >= newest - RETENTION}
    found.tables("janelas of the dashboard", found.by_key("janelas of the dashboard", dashboard.rows("janelas"), "trip_id", "janela_inicio"),
                 recent, only=OF_WINDOW)
    found.add("tables", 2)
    found.add("rows", len(trips) + len(recent))
    check_views(dashboard, bills, recent, found)
    if dashboard.other is None:
        return
    for table in ("viagens", "janelas"):
        columns = "COUNT(*) AS n, COALESCE(SUM(distancia_mm), 0) AS mm"
        found.equal(f"{table} by another reader", dashboard.other(columns, table), dashboard.one(columns, table))


def check_trips(rows, trips, bills, found):
    """A row for each trip of which there is an event, with its bill as it stands."""
    found.tables("viagens", rows, {(t,): {} for t in trips})
    for key, row in rows.items():
        bill = bills.get(key)
        if bill is None:
            found.equal(f"viagens {key}: bill", (row["fatura_versao"], row["valor_centavos"], row["motivo"]), (0, None, ""))
            continue
        found.equal(f"viagens {key}: amount in cents", row["valor_centavos"], bill["valor"] * 100)
        found.equal(f"viagens {key}: motive", row["motivo"], bill["motivo"] or "")
        if bill["motivo"] != "anulada":  # the trip's own facts stay, its bill's are none
            for of_bill, of_trip in OF_BILL.items():
                found.equal(f"viagens {key}: {of_trip}", row[of_trip], bill[of_bill])


def check_settlement(rows, payments, bills, found):
    of_trip = defaultdict(list)
    for p in payments:
        of_trip[p["trip_id"]].append(p)
    for (trip,), row in rows.items():
        wanted, word = words(bills.get((trip,)), of_trip[trip]), row["conciliacao"]
        if word not in wanted:
            found.find("conciliacao", [f"{trip} is {word}, must be {' or '.join(wanted)}"])
        found.add(word, 1)


def check_views(dashboard, bills, windows, found):
    """What the fleet did, in all, is what its trips and windows did."""
    cents, billed = dashboard.one("COALESCE(SUM(valor_centavos), 0) AS cents, COALESCE(SUM(faturadas), 0) AS billed", "frota_minuto")
    found.equal("frota_minuto: cents", cents, sum(b["valor"] * 100 for b in bills.values()))
    found.equal("frota_minuto: bills", billed, sum(b["motivo"] != "anulada" for b in bills.values()))
    mm, ms = dashboard.one("COALESCE(SUM(distancia_mm), 0) AS mm, COALESCE(SUM(tempo_ms), 0) AS ms", "frota_janela")
    found.equal("frota_janela: mm", mm, sum(w["distancia_mm"] for w in windows.values()))
    found.equal("frota_janela: ms", ms, sum(w["tempo_ms"] for w in windows.values()))
