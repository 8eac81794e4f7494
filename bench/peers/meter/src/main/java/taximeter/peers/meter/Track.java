package taximeter.peers.meter;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The positions of a trip, sorted by (instant, id), with what the speed filter says of each and the windows that
 * follow. Columns instead of objects: a position is 50 bytes and no garbage.
 */
public final class Track {
    private static final byte VOIDED = 1, ACCEPTED = 2, ANCHORED = 3, TOO_FAST = 4, SAME_INSTANT = 5;
    private static final double MAX_KMH = 160;
    private static final int MAX_REJECTIONS = 3; // the last of so many in a row is the new anchor

    int n;
    private long[] at, hi, lo, mm;
    private double[] lat, lon;
    private byte[] state;
    Map<Uuid, Uuid> links; // retifica, by the id that has it; null = none
    public List<Window> windows = new ArrayList<>(4); // ascending

    public Track() {
        allocate(8);
    }

    private void allocate(int capacity) {
        at = new long[capacity];
        hi = new long[capacity];
        lo = new long[capacity];
        mm = new long[capacity];
        lat = new double[capacity];
        lon = new double[capacity];
        state = new byte[capacity];
    }

    boolean contains(Uuid id) {
        for (int i = 0; i < n; i++) {
            if (lo[i] == id.lo() && hi[i] == id.hi()) {
                return true;
            }
        }
        return false;
    }

    /** Takes a new position and gives the windows that changed by it. */
    public List<Window> add(Event e) {
        int i = insert(e);
        if (e.rectifies != null && !e.rectifies.equals(e.id)) {
            links = links == null ? new HashMap<>() : links;
            links.put(e.id, e.rectifies);
        }
        if (i == n - 1 && links == null) {
            int last = lastAccepted(i);
            Window w = windowAt(Window.startOf(e.at));
            count(w, i, last, decide(i, last));
            return List.of(w);
        }
        return refilter();
    }

    private int insert(Event e) {
        if (n == at.length) {
            grow();
        }
        int i = n;
        while (i > 0 && (at[i - 1] > e.at || at[i - 1] == e.at && Uuid.compare(hi[i - 1], lo[i - 1], e.id.hi(), e.id.lo()) > 0)) {
            i--;
        }
        if (i < n) {
            for (Object column : new Object[] {at, hi, lo, mm, lat, lon, state}) {
                System.arraycopy(column, i, column, i + 1, n - i);
            }
        }
        at[i] = e.at;
        hi[i] = e.id.hi();
        lo[i] = e.id.lo();
        lat[i] = e.lat;
        lon[i] = e.lon;
        mm[i] = 0;
        state[i] = 0;
        n++;
        return i;
    }

    private void grow() {
        int capacity = 2 * n;
        at = Arrays.copyOf(at, capacity);
        hi = Arrays.copyOf(hi, capacity);
        lo = Arrays.copyOf(lo, capacity);
        mm = Arrays.copyOf(mm, capacity);
        lat = Arrays.copyOf(lat, capacity);
        lon = Arrays.copyOf(lon, capacity);
        state = Arrays.copyOf(state, capacity);
    }

    private int lastAccepted(int before) {
        int i = before - 1;
        while (i >= 0 && state[i] != ACCEPTED && state[i] != ANCHORED) {
            i--;
        }
        return i;
    }

    /** The filter on position i, whose predecessor is last (-1 = none): its state, its length, and its speed. */
    private double decide(int i, int last) {
        mm[i] = 0;
        if (last < 0) {
            state[i] = ANCHORED;
            return 0;
        }
        if (at[i] == at[last]) {
            state[i] = SAME_INSTANT;
            return 0;
        }
        double metres = Geo.metres(lat[last], lon[last], lat[i], lon[i]);
        double kmh = metres / (at[i] - at[last]) * 3600;
        if (kmh <= MAX_KMH) {
            state[i] = ACCEPTED;
            mm[i] = Math.round(metres * 1000);
            return kmh;
        }
        int rejections = 1;
        for (int j = last + 1; j < i; j++) {
            rejections += state[j] == TOO_FAST ? 1 : 0;
        }
        state[i] = rejections < MAX_REJECTIONS ? TOO_FAST : ANCHORED;
        return 0;
    }

    private void count(Window w, int i, int last, double kmh) {
        if (state[i] == TOO_FAST || state[i] == SAME_INSTANT) {
            w.rejected++;
            return;
        }
        if (w.points++ == 0) {
            w.first = at[i];
        }
        w.last = at[i];
        if (state[i] == ACCEPTED) {
            w.mm += mm[i];
            w.ms += at[i] - at[last];
            w.maxKmh = Math.max(w.maxKmh, kmh);
        }
    }

    private Window windowAt(long start) {
        int i = windows.size();
        while (i > 0 && windows.get(i - 1).start > start) {
            i--;
        }
        if (i > 0 && windows.get(i - 1).start == start) {
            return windows.get(i - 1);
        }
        Window w = new Window(start);
        windows.add(i, w);
        return w;
    }

    /** Decides and counts all again. Windows keep their versions, and stay when emptied. */
    private List<Window> refilter() {
        List<Window> old = windows;
        windows = new ArrayList<>(old.size() + 1);
        for (Window o : old) {
            windowAt(o.start).version = o.version;
        }
        if (links != null) {
            rectify();
        }
        for (int i = 0, last = -1; i < n; i++) {
            if (state[i] == VOIDED) {
                continue;
            }
            double kmh = decide(i, last);
            count(windowAt(Window.startOf(at[i])), i, last, kmh);
            last = state[i] == ACCEPTED || state[i] == ANCHORED ? i : last;
        }
        return windows.stream().filter(w -> old.stream().noneMatch(o -> o.start == w.start && o.sameContent(w))).toList();
    }

    private void rectify() {
        Chains chains = new Chains();
        for (int i = 0; i < n; i++) {
            Uuid id = new Uuid(hi[i], lo[i]);
            chains.add(id, links.get(id), at[i], false);
        }
        for (int i = 0; i < n; i++) {
            state[i] = chains.effective(new Uuid(hi[i], lo[i])) ? 0 : VOIDED;
        }
    }

    /** Instant of the first accepted position; Long.MIN_VALUE = none. */
    long firstAccepted() {
        for (int i = 0; i < n; i++) {
            if (state[i] == ACCEPTED || state[i] == ANCHORED) {
                return at[i];
            }
        }
        return Long.MIN_VALUE;
    }

    /** Writes what lies within [start, end] into the bill. */
    void ridden(Bill b, long start, long end) {
        for (int i = 0; i < n; i++) {
            if (at[i] < start || at[i] > end) {
                continue;
            }
            if (state[i] == TOO_FAST || state[i] == SAME_INSTANT) {
                b.rejected++;
            } else if (state[i] != VOIDED) {
                b.mm += b.points > 0 ? mm[i] : 0; // its segment begins within
                b.points++;
            }
        }
    }

    public void write(Bytes to) {
        to.writeLong(n);
        to.need(n * 50);
        long before = 0;
        for (int i = 0; i < n; i++) {
            to.writeLong(at[i] - before);
            before = at[i];
            to.writeFixed(hi[i]);
            to.writeFixed(lo[i]);
            to.writeDouble(lat[i]);
            to.writeDouble(lon[i]);
            to.writeLong(mm[i]);
            to.writeByte(state[i]);
        }
        to.writeLong(windows.size());
        for (Window w : windows) {
            w.write(to);
        }
        to.writeLong(links == null ? 0 : links.size());
        if (links != null) {
            links.forEach((id, target) -> {
                to.writeUuid(id);
                to.writeUuid(target);
            });
        }
    }

    public static Track read(Bytes from) {
        Track t = new Track();
        t.n = (int) from.readLong();
        if (t.n >= t.at.length) {
            t.allocate(t.n + 8);
        }
        long before = 0;
        for (int i = 0; i < t.n; i++) {
            before += from.readLong();
            t.at[i] = before;
            t.hi[i] = from.readFixed();
            t.lo[i] = from.readFixed();
            t.lat[i] = from.readDouble();
            t.lon[i] = from.readDouble();
            t.mm[i] = from.readLong();
            t.state[i] = (byte) from.readByte();
        }
        for (long k = from.readLong(); k > 0; k--) {
            t.windows.add(Window.read(from));
        }
        for (long k = from.readLong(); k > 0; k--) {
            t.links = t.links == null ? new HashMap<>() : t.links;
            t.links.put(from.readUuid(), from.readUuid());
        }
        return t;
    }
}
