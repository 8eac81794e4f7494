"""The analytical tables by readers that share nothing with the program that wrote them.

Rows are dictionaries by column, instants whole milliseconds.
"""

import json
import sqlite3
import urllib.request

from readers import clickhouse, postgres


def dashboard(where):
    """The tables at a path of a SQLite file, or at a URL: postgres://, or http:// of ClickHouse."""
    if where.startswith("postgres://"):
        return Postgres(where)
    if where.startswith("http://"):
        return ClickHouse(where)
    return SQLite(where)


class SQLite:
    """By SQLite itself."""

    def __init__(self, file):
        self.file = file
        self.db = sqlite3.connect(f"file:{file}?mode=ro", uri=True)
        self.db.row_factory = sqlite3.Row

    def rows(self, table):
        return [dict(r) for r in self.db.execute(f"SELECT * FROM {table}")]  # noqa: S608

    def one(self, columns, table):
        return tuple(self.db.execute(f"SELECT {columns} FROM {table}").fetchone())  # noqa: S608

    def other(self, columns, table):
        """The same as one, by another reader."""
        return tuple(clickhouse(f"SELECT {columns} FROM sqlite('{self.file}', '{table}')")[0].values())


class Postgres:
    """By ClickHouse's engine, which speaks PostgreSQL's protocol."""

    other = None  # there is no second reader

    def __init__(self, url):
        self.url = url

    def rows(self, table):
        return clickhouse(f"SELECT * FROM {postgres(self.url, table)}")

    def one(self, columns, table):
        return tuple(clickhouse(f"SELECT {columns} FROM {postgres(self.url, table)}")[0].values())


class ClickHouse:
    """By HTTP, which the program that wrote them does not use."""

    other = None  # there is no second reader

    def __init__(self, url):
        self.url = url + "/?output_format_json_quote_64bit_integers=0"

    def query(self, query):
        with urllib.request.urlopen(self.url, data=f"{query} FORMAT JSONEachRow".encode()) as answer:
            return [json.loads(line) for line in answer]

    def rows(self, table):
        return self.query(f"SELECT * FROM {table}")

    def one(self, columns, table):
        return tuple(self.query(f"SELECT {columns} FROM {table}")[0].values())
