"""What was found, and what it was found in."""

TOLD = 8  # of the differences of one kind; the others are counted


class Differences:
    def __init__(self):
        self.count = 0
        self.counts = {}  # what was compared: how much of it

    def find(self, kind, texts):
        """Notes differences of a kind and prints the first of them."""
        texts = list(texts)
        self.count += len(texts)
        for text in texts[:TOLD]:
            print(f"  {kind}: {text}")
        if len(texts) > TOLD:
            print(f"  {kind}: and {len(texts) - TOLD} more")

    def add(self, what, n):
        self.counts[what] = self.counts.get(what, 0) + n

    def equal(self, kind, got, wanted):
        """Compares two values."""
        if got != wanted:
            self.find(kind, [f"{got}, must be {wanted}"])

    def tables(self, kind, got, wanted, only=None):
        """Compares rows by their keys: each key in both, once, with the same values. only names the
        columns to compare; without it, those of the wanted row."""
        self.find(kind, self._tables(got, wanted, only))

    def _tables(self, got, wanted, only):
        for key in got.keys() - wanted.keys():
            yield f"{key} must not be there"
        for key, row in wanted.items():
            have = got.get(key)
            if have is None:
                yield f"{key} is missing"
                continue
            for column in only or row:
                if have.get(column) != row[column]:
                    yield f"{key} {column}: {have.get(column)!r}, must be {row[column]!r}"

    def by_key(self, kind, rows, *columns):
        """Rows by their keys; one that is there twice is a difference."""
        found, twice = {}, []
        for row in rows:
            key = tuple(row[c] for c in columns)
            if key in found:
                twice.append(f"{key} is there twice")
            found[key] = row
        self.find(kind, twice)
        return found
