package taximeter.peers.meter;

import java.util.Objects;

/** One version of a trip's bill. */
public final class Bill {
    static final String CANCELLED = "cancelada", VOIDED = "anulada", NO_START = "inicio_inferido";

    int version;
    long amount, difference; // cents
    String currency, tariffId, region, category; // region and category "" = unknown
    int multiplier; // thousandths
    long start, end, mm, seconds;
    int points, rejected;
    String motive; // null = a plain bill

    boolean sameContent(Bill o) {
        return amount == o.amount && multiplier == o.multiplier && start == o.start && end == o.end && mm == o.mm
                && seconds == o.seconds && points == o.points && rejected == o.rejected && currency.equals(o.currency)
                && tariffId.equals(o.tariffId) && region.equals(o.region) && category.equals(o.category)
                && Objects.equals(motive, o.motive);
    }

    Bill voided() {
        Bill b = new Bill();
        b.currency = currency;
        b.tariffId = tariffId;
        b.region = region;
        b.category = category;
        b.multiplier = multiplier;
        b.start = start;
        b.end = end;
        b.motive = VOIDED;
        return b;
    }

    void write(Bytes to) {
        to.writeLong(version);
        to.writeLong(amount);
        to.writeText(currency);
        to.writeText(tariffId);
        to.writeText(region);
        to.writeText(category);
        to.writeLong(multiplier);
        to.writeLong(start);
        to.writeLong(end);
        to.writeLong(mm);
        to.writeLong(seconds);
        to.writeLong(points);
        to.writeLong(rejected);
        to.writeNullable(motive);
    }

    static Bill read(Bytes from) {
        Bill b = new Bill();
        b.version = (int) from.readLong();
        b.amount = from.readLong();
        b.currency = from.readText();
        b.tariffId = from.readText();
        b.region = from.readText();
        b.category = from.readText();
        b.multiplier = (int) from.readLong();
        b.start = from.readLong();
        b.end = from.readLong();
        b.mm = from.readLong();
        b.seconds = from.readLong();
        b.points = (int) from.readLong();
        b.rejected = (int) from.readLong();
        b.motive = from.readNullable();
        return b;
    }
}
