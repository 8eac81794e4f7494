"""Readers of lake and analytical tables that share nothing with the program that wrote them.

Rows are dictionaries by column. Instants are whole milliseconds, money is decimal.Decimal.
"""

from urllib.parse import urlsplit

import chdb
import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import StaticTable


class Lake:
    """The lake by PyIceberg, and by ClickHouse's engine, which also reads equality deletes."""

    def __init__(self, folder, catalog, database, s3):
        self.database, self.s3 = database, s3
        where = {"s3.endpoint": s3["endpoint"], "s3.region": s3["region"], "s3.access-key-id": s3["accessKey"],
                 "s3.secret-access-key": s3["secretKey"]} if s3 else {"warehouse": f"file://{folder}"}
        self.catalog = Pointers(catalog, where) if catalog else SqlCatalog("taximeter", uri=f"sqlite:///{folder}/catalog.db", **where)

    def table(self, name):
        return self.catalog.load_table((self.database, name))

    def pyiceberg(self, name):
        """The rows of a table, and None if it holds equality deletes, which PyIceberg refuses."""
        table = self.table(name)
        snapshot = table.current_snapshot()
        if snapshot is not None and int(snapshot.summary.additional_properties.get("total-equality-deletes") or 0) > 0:
            return None
        return rows(table.scan().to_arrow())

    def clickhouse(self, name):
        """The rows of a table as its catalog says that it stands."""
        table = self.table(name)
        if table.current_snapshot() is None:
            return []
        metadata = table.metadata_location.removeprefix(table.location() + "/")
        if s3 := self.s3:
            source = f"icebergS3('{s3['endpoint']}/{table.location().removeprefix('s3://')}', '{s3['accessKey']}', '{s3['secretKey']}'"
        else:
            source = f"icebergLocal('{table.location().removeprefix('file://')}'"
        return clickhouse(f"SELECT * FROM {source}, SETTINGS iceberg_metadata_file_path = '{metadata}')")

    def schema(self, name):
        """The types of a table's columns."""
        return self.table(name).schema().as_arrow()


class Pointers:
    """A catalog in PostgreSQL, of which only where each table stands is asked."""

    def __init__(self, url, properties):
        self.source, self.properties = postgres(url, "iceberg_tables"), properties

    def load_table(self, identifier):
        found = clickhouse(f"SELECT metadata_location FROM {self.source} WHERE table_namespace = '{identifier[0]}' AND table_name = '{identifier[1]}'")
        if len(found) != 1:
            raise LookupError(f"the catalog has {len(found)} tables {'.'.join(identifier)}")
        return StaticTable.from_metadata(found[0]["metadata_location"], self.properties)


def postgres(url, table):
    """A table of PostgreSQL, for ClickHouse's engine."""
    at = urlsplit(url)
    return f"postgresql('{at.hostname}:{at.port}', '{at.path.strip('/')}', '{table}', '{at.username}', '{at.password or ''}')"


def clickhouse(query):
    return rows(chdb.query(query, "ArrowTable"))


def rows(table):
    """Rows of an Arrow table."""
    columns = []
    for field, column in zip(table.schema, table.columns):
        if pa.types.is_timestamp(field.type):
            columns.append(pa.chunked_array([whole_millis(field, chunk) for chunk in column.chunks], pa.int64()))
        else:
            columns.append(column)
    return pa.table(columns, names=table.schema.names).to_pylist()


def whole_millis(field, instants):
    """Milliseconds; an error if there is a fraction of one."""
    return instants.cast(pa.timestamp("ms", field.type.tz), safe=True).cast(pa.int64())
