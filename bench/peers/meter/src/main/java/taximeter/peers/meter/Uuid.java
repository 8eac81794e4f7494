package taximeter.peers.meter;

/**
 * The id of a trip or an event. The bench's ids are all canonical UUIDs, so the peers hold and store 16 bytes where
 * the contract allows any text. The order is that of the text.
 */
public record Uuid(long hi, long lo) implements Comparable<Uuid> {
    static final int TEXT = 36;

    /** Parses the canonical lower-case form; null when it is none. */
    public static Uuid parse(byte[] b, int from, int length) {
        if (length != TEXT || b[from + 8] != '-' || b[from + 13] != '-' || b[from + 18] != '-' || b[from + 23] != '-') {
            return null;
        }
        long a = digits(b, from, 8), c = digits(b, from + 9, 4), d = digits(b, from + 14, 4);
        long e = digits(b, from + 19, 4), f = digits(b, from + 24, 12);
        if ((a | c | d | e | f) < 0) {
            return null;
        }
        return new Uuid(a << 32 | c << 16 | d, e << 48 | f);
    }

    private static long digits(byte[] b, int from, int n) {
        long v = 0;
        for (int i = from; i < from + n; i++) {
            int c = b[i];
            int d = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
            if (d < 0) {
                return -1;
            }
            v = v << 4 | d;
        }
        return v;
    }

    /** The canonical text. */
    public byte[] text() {
        byte[] b = new byte[TEXT];
        put(b, 0, hi >>> 32, 8);
        b[8] = '-';
        put(b, 9, hi >>> 16, 4);
        b[13] = '-';
        put(b, 14, hi, 4);
        b[18] = '-';
        put(b, 19, lo >>> 48, 4);
        b[23] = '-';
        put(b, 24, lo, 12);
        return b;
    }

    private static void put(byte[] b, int at, long v, int n) {
        for (int i = at + n - 1; i >= at; i--, v >>>= 4) {
            b[i] = (byte) "0123456789abcdef".charAt((int) v & 15);
        }
    }

    @Override
    public int compareTo(Uuid o) {
        return compare(hi, lo, o.hi, o.lo);
    }

    static int compare(long hi, long lo, long otherHi, long otherLo) {
        int c = Long.compareUnsigned(hi, otherHi);
        return c != 0 ? c : Long.compareUnsigned(lo, otherLo);
    }

    @Override
    public int hashCode() {
        return Long.hashCode(lo ^ hi * 31);
    }
}
