package taximeter.peers.meter;

import java.io.IOException;
import java.io.Serializable;
import java.math.BigInteger;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** The price list, fixed for a run. Amounts in micros of the currency. */
public final class Tariffs implements Serializable {
    record Tariff(String id, String region, String category, long validFrom, String currency, long base, long perKm,
            long perMin, long minimum, long cancelFee, long graceS) implements Serializable {}

    private final List<Tariff> all;

    private Tariffs(List<Tariff> all) {
        this.all = all;
    }

    /** Reads a file of tab-separated lines, fields in the order of Tariff. */
    public static Tariffs read(Path file) throws IOException {
        return new Tariffs(Files.readAllLines(file).stream().map(l -> l.split("\t")).map(f -> new Tariff(f[0], f[1], f[2],
                Long.parseLong(f[3]), f[4], Long.parseLong(f[5]), Long.parseLong(f[6]), Long.parseLong(f[7]),
                Long.parseLong(f[8]), Long.parseLong(f[9]), Long.parseLong(f[10]))).toList());
    }

    /** The newest in force at an instant for the region and category, else for the region, else for all; or null. */
    Tariff find(String region, String category, long at) {
        Tariff t = region == null || category == null ? null : inForce(region, category, at);
        if (t == null && region != null) {
            t = inForce(region, "*", at);
        }
        return t == null ? inForce("*", "*", at) : t;
    }

    private Tariff inForce(String region, String category, long at) {
        Tariff best = null;
        for (Tariff t : all) {
            if (t.region.equals(region) && t.category.equals(category) && t.validFrom <= at
                    && (best == null || t.validFrom > best.validFrom)) {
                best = t;
            }
        }
        return best;
    }

    private static final BigInteger DENOMINATOR = BigInteger.valueOf(60L * 1_000_000 * 1000); // minutes, km, thousandths
    private static final BigInteger CENT = DENOMINATOR.multiply(BigInteger.valueOf(10_000));

    /** Exact, with one rounding to cents at the end, half to even. */
    static long cents(Tariff t, long mm, long seconds, int multiplier) {
        BigInteger sum = BigInteger.valueOf(t.base).multiply(BigInteger.valueOf(60 * 1_000_000))
                .add(BigInteger.valueOf(t.perKm).multiply(BigInteger.valueOf(mm * 60)))
                .add(BigInteger.valueOf(t.perMin).multiply(BigInteger.valueOf(seconds * 1_000_000)))
                .multiply(BigInteger.valueOf(multiplier));
        return round(sum.max(BigInteger.valueOf(t.minimum).multiply(DENOMINATOR)));
    }

    static long cancelCents(Tariff t) {
        return round(BigInteger.valueOf(t.cancelFee).multiply(DENOMINATOR));
    }

    private static long round(BigInteger v) {
        BigInteger[] qr = v.divideAndRemainder(CENT);
        int half = qr[1].shiftLeft(1).compareTo(CENT);
        return qr[0].longValueExact() + (half > 0 || half == 0 && qr[0].testBit(0) ? 1 : 0);
    }
}
