package taximeter.peers.meter;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/** A growing buffer of Avro primitives, for results and for state. It belongs to one thread. */
public final class Bytes {
    private static final VarHandle LONGS = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);

    public byte[] b;
    public int at;

    public Bytes(int capacity) {
        b = new byte[capacity];
    }

    public static Bytes of(byte[] bytes) {
        Bytes r = new Bytes(0);
        r.b = bytes;
        return r;
    }

    public void clear() {
        at = 0;
    }

    public byte[] toArray() {
        return Arrays.copyOf(b, at);
    }

    void need(int n) {
        if (at + n > b.length) {
            b = Arrays.copyOf(b, Math.max(2 * b.length, at + n));
        }
    }

    public void writeByte(int v) {
        need(1);
        b[at++] = (byte) v;
    }

    void writeLong(long v) { // zigzag varint
        need(10);
        for (v = v << 1 ^ v >> 63; (v & ~127L) != 0; v >>>= 7) {
            b[at++] = (byte) (v | 128);
        }
        b[at++] = (byte) v;
    }

    void writeFixed(long v) {
        need(8);
        LONGS.set(b, at, v);
        at += 8;
    }

    void writeDouble(double v) {
        writeFixed(Double.doubleToRawLongBits(v));
    }

    void writeBytes(byte[] v) {
        writeLong(v.length);
        need(v.length);
        System.arraycopy(v, 0, b, at, v.length);
        at += v.length;
    }

    void writeText(String s) {
        writeBytes(s.getBytes(StandardCharsets.UTF_8));
    }

    void writeNullable(String s) {
        writeLong(s == null ? 0 : 1);
        if (s != null) {
            writeText(s);
        }
    }

    public void writeUuid(Uuid u) {
        writeFixed(u.hi());
        writeFixed(u.lo());
    }

    /** The shortest two's complement, big-endian. */
    void writeDecimal(long v) {
        int n = 1;
        while (n < 8 && v >> 8 * n - 1 != 0 && v >> 8 * n - 1 != -1) {
            n++;
        }
        writeLong(n);
        need(n);
        for (int i = n - 1; i >= 0; i--) {
            b[at++] = (byte) (v >> 8 * i);
        }
    }

    int readByte() {
        return b[at++];
    }

    long readLong() {
        long v = 0;
        for (int shift = 0;; shift += 7) {
            byte x = b[at++];
            v |= (long) (x & 127) << shift;
            if (x >= 0) {
                return v >>> 1 ^ -(v & 1);
            }
        }
    }

    long readFixed() {
        long v = (long) LONGS.get(b, at);
        at += 8;
        return v;
    }

    double readDouble() {
        return Double.longBitsToDouble(readFixed());
    }

    byte[] readBytes() {
        int n = (int) readLong();
        at += n;
        return Arrays.copyOfRange(b, at - n, at);
    }

    String readText() {
        int n = (int) readLong();
        at += n;
        return new String(b, at - n, n, StandardCharsets.UTF_8);
    }

    String readNullable() {
        return readLong() == 0 ? null : readText();
    }

    public Uuid readUuid() {
        long hi = readFixed();
        return new Uuid(hi, readFixed());
    }
}
