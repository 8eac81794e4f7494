package taximeter.peers.meter;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.function.Consumer;

/** Writes windows and bills in the contract's Avro. It belongs to one thread. */
public final class ResultEncoder implements Trip.Results {
    private static final Uuid DNS = new Uuid(0x6ba7b8109dad11d1L, 0x80b400c04fd430c8L);
    private static final byte[] ON_TIME = "contado".getBytes(StandardCharsets.UTF_8);
    private static final byte[] AGAIN = "atrasado".getBytes(StandardCharsets.UTF_8);

    private final int windowSchema, paymentSchema;
    private final Consumer<Output> out;
    private final Bytes buffer = new Bytes(512);
    private final MessageDigest sha1;
    private final Uuid namespace;

    public ResultEncoder(int windowSchema, int paymentSchema, Consumer<Output> out) {
        this.windowSchema = windowSchema;
        this.paymentSchema = paymentSchema;
        this.out = out;
        try {
            sha1 = MessageDigest.getInstance("SHA-1");
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every JDK has SHA-1", e);
        }
        namespace = uuid5(DNS, "taximeter");
    }

    private void frame(int schema) {
        buffer.clear();
        for (int shift = 32; shift >= 0; shift -= 8) {
            buffer.writeByte(shift == 32 ? 0 : schema >>> shift);
        }
    }

    @Override
    public void window(Uuid trip, Window w) {
        byte[] key = trip.text();
        frame(windowSchema);
        buffer.writeBytes(key);
        buffer.writeLong(w.start);
        buffer.writeLong(w.version);
        buffer.writeLong(w.points);
        buffer.writeLong(w.rejected);
        buffer.writeLong(w.mm);
        buffer.writeLong(w.ms);
        nullable(w.ms > 0, w.maxKmh);
        nullable(w.ms > 0, (double) w.mm / w.ms * 3.6);
        nullable(w.points > 0, w.first);
        nullable(w.points > 0, w.last);
        buffer.writeBytes(w.version == 1 ? ON_TIME : AGAIN);
        buffer.writeLong(0); // checkpointId: the peers' checkpoints have no id to give
        out.accept(new Output(Output.WINDOWS, key, buffer.toArray(), null));
    }

    private void nullable(boolean some, double v) {
        buffer.writeLong(some ? 1 : 0);
        if (some) {
            buffer.writeDouble(v);
        }
    }

    private void nullable(boolean some, long v) {
        buffer.writeLong(some ? 1 : 0);
        if (some) {
            buffer.writeLong(v);
        }
    }

    @Override
    public void bill(Uuid trip, Bill b) {
        byte[] key = trip.text();
        frame(paymentSchema);
        buffer.writeBytes(uuid5(namespace, "fatura/" + new String(key, StandardCharsets.US_ASCII) + "/" + b.version).text());
        buffer.writeBytes(key);
        buffer.writeLong(b.end);
        buffer.writeLong(0); // FATURA
        buffer.writeDecimal(b.amount);
        buffer.writeText(b.currency);
        buffer.writeLong(0); // meio
        buffer.writeLong(0); // cartaoId
        buffer.writeLong(0); // retifica
        buffer.writeLong(1); // fatura
        buffer.writeLong(b.version);
        buffer.writeLong(b.mm);
        buffer.writeLong(b.seconds);
        buffer.writeText(b.tariffId);
        buffer.writeText(b.region);
        buffer.writeText(b.category);
        buffer.writeDecimal(b.multiplier);
        buffer.writeLong(b.start);
        buffer.writeLong(b.end);
        buffer.writeLong(b.points);
        buffer.writeLong(b.rejected);
        buffer.writeByte(b.version > 1 ? 1 : 0);
        buffer.writeNullable(b.motive);
        buffer.writeLong(b.version > 1 ? 1 : 0);
        if (b.version > 1) {
            buffer.writeDecimal(b.difference);
        }
        buffer.writeLong(0); // checkpointId
        out.accept(new Output(Output.BILLS, key, buffer.toArray(), null));
    }

    private Uuid uuid5(Uuid space, String name) {
        Bytes head = new Bytes(16);
        for (int shift = 56; shift >= 0; shift -= 8) {
            head.writeByte((int) (space.hi() >>> shift));
        }
        for (int shift = 56; shift >= 0; shift -= 8) {
            head.writeByte((int) (space.lo() >>> shift));
        }
        sha1.update(head.toArray());
        byte[] h = sha1.digest(name.getBytes(StandardCharsets.UTF_8));
        long hi = 0, lo = 0;
        for (int i = 0; i < 8; i++) {
            hi = hi << 8 | h[i] & 255;
            lo = lo << 8 | h[8 + i] & 255;
        }
        return new Uuid(hi & ~0xf000L | 0x5000L, lo & 0x3fffffffffffffffL | 0x8000000000000000L);
    }
}
