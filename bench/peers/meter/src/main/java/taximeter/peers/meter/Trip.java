package taximeter.peers.meter;

import java.util.ArrayList;
import java.util.List;

/**
 * All that is known of one trip: ids for the dedupe, track, windows, ride events, payments and the newest bill. This is
 * the whole state of the tuned forms, one value per key.
 */
public final class Trip {
    public static final long NEVER = Long.MAX_VALUE;

    /** Where results go. */
    public interface Results {
        void window(Uuid trip, Window w);

        void bill(Uuid trip, Bill b);
    }

    private static final class Ride {
        Uuid id, rectifies;
        long at;
        byte kind;
        String region, category;
        int multiplier;
        boolean voided;
    }

    private record Payment(Uuid id, byte kind, long amount) {}

    private final List<Ride> rides = new ArrayList<>(8); // sorted by (at, id)
    private final List<Payment> payments = new ArrayList<>(4);
    private Track track = new Track();
    private Bill bill; // newest; null = none yet

    /** When advance has something to do, as the caller was told last. It is the caller's. */
    public long timer = NEVER;

    // The story, derived from the rides; see tell.
    private boolean told;
    private boolean ended, cancelled, inferred;
    private long start, end, matched;
    private String region, category;
    private int multiplier;

    /** Takes an event; false = seen before. The watermark is that before the event. */
    public boolean take(Event e, long watermark, Tariffs tariffs, Results out) {
        if (seen(e)) {
            return false;
        }
        switch (e.topic) {
            case Event.TELEMETRY -> {
                for (Window w : track.add(e)) {
                    if (w.version > 0 || w.end() <= watermark) {
                        w.version++;
                        out.window(e.trip, w);
                    }
                }
                told = false;
                settle(e.trip, watermark, tariffs, out);
            }
            case Event.RIDE -> {
                ride(e);
                told = false;
                settle(e.trip, watermark, tariffs, out);
            }
            default -> payments.add(new Payment(e.id, e.kind, e.amount));
        }
        return true;
    }

    private boolean seen(Event e) {
        switch (e.topic) {
            case Event.TELEMETRY -> {
                return track.contains(e.id);
            }
            case Event.RIDE -> {
                for (Ride r : rides) {
                    if (r.id.equals(e.id)) {
                        return true;
                    }
                }
            }
            default -> {
                for (Payment p : payments) {
                    if (p.id.equals(e.id)) {
                        return true;
                    }
                }
            }
        }
        return false;
    }

    private void ride(Event e) {
        Ride r = new Ride();
        r.id = e.id;
        r.rectifies = e.kind == Event.UNKNOWN ? null : e.rectifies;
        r.at = e.at;
        r.kind = e.kind;
        r.region = e.region;
        r.category = e.category;
        r.multiplier = e.multiplier;
        int i = rides.size();
        while (i > 0 && (rides.get(i - 1).at > r.at || rides.get(i - 1).at == r.at && rides.get(i - 1).id.compareTo(r.id) > 0)) {
            i--;
        }
        rides.add(i, r);
        if (rides.stream().anyMatch(x -> x.rectifies != null)) {
            Chains chains = new Chains();
            rides.stream().filter(x -> x.kind != Event.UNKNOWN).forEach(x -> chains.add(x.id, x.rectifies, x.at, x.kind == Event.VOID));
            rides.stream().filter(x -> x.kind != Event.UNKNOWN).forEach(x -> x.voided = !chains.effective(x.id));
        }
    }

    private Ride first(byte kind, long from) {
        for (Ride r : rides) {
            if (r.kind == kind && !r.voided && r.at >= from) {
                return r;
            }
        }
        return null;
    }

    /** Reads from the events where the trip stands. */
    private void tell() {
        if (told) {
            return;
        }
        told = true;
        ended = cancelled = inferred = false;
        region = category = null;
        multiplier = 1000;
        Ride match = first(Event.MATCH, Long.MIN_VALUE), begun = first(Event.START, Long.MIN_VALUE);
        for (Ride r : new Ride[] {first(Event.REQUEST, Long.MIN_VALUE), begun, match}) { // later ones win
            if (r != null) {
                region = r.region != null ? r.region : region;
                category = r.category != null ? r.category : category;
                multiplier = r.multiplier >= 0 && r.kind != Event.REQUEST ? r.multiplier : multiplier;
            }
        }
        matched = match == null ? Long.MIN_VALUE : match.at;
        Ride cancel = first(Event.CANCEL, Long.MIN_VALUE);
        if (cancel != null && begun == null && first(Event.END, Long.MIN_VALUE) == null) {
            ended = cancelled = true;
            start = end = cancel.at;
            return;
        }
        inferred = begun == null;
        start = begun != null ? begun.at : track.firstAccepted();
        if (start == Long.MIN_VALUE) {
            return;
        }
        Ride stop = first(Event.END, start);
        stop = stop == null ? first(Event.CANCEL, start) : stop;
        if (stop != null) {
            ended = true;
            end = stop.at;
        }
    }

    private boolean canEnd() {
        for (int i = rides.size() - 1; i >= 0; i--) {
            if (rides.get(i).kind == Event.END || rides.get(i).kind == Event.CANCEL) {
                return true;
            }
        }
        return false;
    }

    /** Publishes a bill when what is owed is not what was billed. */
    private void settle(Uuid id, long watermark, Tariffs tariffs, Results out) {
        if (!canEnd()) {
            return;
        }
        tell();
        Bill next = owed(watermark, tariffs);
        if (next == null) {
            if (bill == null || Bill.VOIDED.equals(bill.motive)) {
                return;
            }
            next = bill.voided();
        } else if (bill != null && next.sameContent(bill)) {
            return;
        }
        next.version = bill == null ? 1 : bill.version + 1;
        next.difference = bill == null ? next.amount : next.amount - bill.amount;
        bill = next;
        out.bill(id, next);
    }

    private Bill owed(long watermark, Tariffs tariffs) {
        if (!ended || watermark < end || cancelled && matched == Long.MIN_VALUE) {
            return null;
        }
        Tariffs.Tariff t = tariffs.find(region, category, start);
        if (t == null || cancelled && end - matched < t.graceS() * 1000) {
            return null;
        }
        Bill b = new Bill();
        b.currency = t.currency();
        b.tariffId = t.id();
        b.region = region == null ? "" : region;
        b.category = category == null ? "" : category;
        b.multiplier = multiplier;
        b.start = start;
        b.end = end;
        if (cancelled) {
            b.motive = Bill.CANCELLED;
            b.amount = Tariffs.cancelCents(t);
            return b;
        }
        track.ridden(b, start, end);
        b.seconds = (end - start) / 1000;
        b.motive = inferred ? Bill.NO_START : null;
        b.amount = Tariffs.cents(t, b.mm, b.seconds, multiplier);
        return b;
    }

    /** Does what the watermark makes due. */
    public void advance(Uuid id, long watermark, Tariffs tariffs, Results out) {
        for (Window w : track.windows) {
            if (w.version == 0 && w.end() <= watermark) {
                w.version = 1;
                out.window(id, w);
            }
        }
        settle(id, watermark, tariffs, out);
    }

    /** The watermark at which advance has something to do next. */
    public long due(long watermark) {
        long due = NEVER;
        for (int i = track.windows.size() - 1; i >= 0; i--) {
            Window w = track.windows.get(i);
            due = w.version == 0 ? w.end() : due;
        }
        if (canEnd()) {
            tell();
            due = ended && end > watermark ? Math.min(due, end) : due;
        }
        return due;
    }

    public void write(Bytes to) {
        to.writeLong(timer);
        track.write(to);
        to.writeLong(rides.size());
        for (Ride r : rides) {
            to.writeUuid(r.id);
            to.writeLong(r.at);
            to.writeByte(r.kind);
            to.writeByte((r.voided ? 1 : 0) | (r.rectifies != null ? 2 : 0));
            if (r.rectifies != null) {
                to.writeUuid(r.rectifies);
            }
            to.writeNullable(r.region);
            to.writeNullable(r.category);
            to.writeLong(r.multiplier);
        }
        to.writeLong(payments.size());
        for (Payment p : payments) {
            to.writeUuid(p.id);
            to.writeByte(p.kind);
            to.writeLong(p.amount);
        }
        to.writeByte(bill == null ? 0 : 1);
        if (bill != null) {
            bill.write(to);
        }
    }

    public static Trip read(Bytes from) {
        Trip t = new Trip();
        t.timer = from.readLong();
        t.track = Track.read(from);
        for (long n = from.readLong(); n > 0; n--) {
            Ride r = new Ride();
            r.id = from.readUuid();
            r.at = from.readLong();
            r.kind = (byte) from.readByte();
            int has = from.readByte();
            r.voided = (has & 1) != 0;
            r.rectifies = (has & 2) != 0 ? from.readUuid() : null;
            r.region = from.readNullable();
            r.category = from.readNullable();
            r.multiplier = (int) from.readLong();
            t.rides.add(r);
        }
        for (long n = from.readLong(); n > 0; n--) {
            t.payments.add(new Payment(from.readUuid(), (byte) from.readByte(), from.readLong()));
        }
        t.bill = from.readByte() == 0 ? null : Bill.read(from);
        return t;
    }
}
