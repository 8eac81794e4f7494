"""What a trip's payments and its bill come to, once all time has passed (semantics of the
reconciliation, worked out again from the rows of the lake)."""

from collections import defaultdict

KINDS = ("AUTORIZACAO", "CAPTURA", "ESTORNO", "ANULACAO")  # others have no effect and void nothing


def effective(payments):
    """Of each set of payments joined by `retifica`, the one that stands, unless it is an ANULACAO."""
    payments = [p for p in payments if p["tipo"] in KINDS]
    joined = {}  # id: another of its set, or itself

    def head(event):
        while joined.setdefault(event, event) != event:
            event = joined[event]
        return event

    links = [(p["event_id"], p["retifica"]) for p in payments if p["retifica"] not in (None, "", p["event_id"])]
    for a, b in links:
        joined[head(a)] = head(b)
    sets = defaultdict(list)
    for p in payments:
        sets[head(p["event_id"])].append(p)
    rectified = {b for _, b in links}
    for members in sets.values():
        standing = max([p for p in members if p["event_id"] not in rectified] or members, key=lambda p: (p["ocorrido_em"], p["event_id"]))
        if standing["tipo"] != "ANULACAO":
            yield standing


def words(bill, payments):
    """The words that `conciliacao` may have."""
    captured, paid = 0, False
    for p in effective(payments):
        if p["tipo"] == "CAPTURA" or p["tipo"] == "AUTORIZACAO" and p["meio"] == "DINHEIRO":
            captured, paid = captured + p["valor"], True
        elif p["tipo"] == "ESTORNO":
            captured -= p["valor"]
    if bill is None or bill["motivo"] == "anulada":
        if captured:
            return ("paga_sem_fatura",)
        return ("pendente", "sem_termino") if bill is None else ("ok",)
    if captured == bill["valor"]:
        return ("ok",)
    return ("divergente",) if paid else ("nao_paga",)
