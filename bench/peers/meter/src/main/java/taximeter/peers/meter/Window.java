package taximeter.peers.meter;

/** A five-minute window of a trip. */
public final class Window {
    public static final long SIZE = 300_000; // ms

    public long start;
    public int version; // 0 = not yet published
    public int points, rejected;
    public long mm, ms;
    public double maxKmh;
    public long first, last;

    Window(long start) {
        this.start = start;
    }

    static long startOf(long at) {
        return at - Math.floorMod(at, SIZE);
    }

    public long end() {
        return start + SIZE;
    }

    boolean sameContent(Window o) {
        return points == o.points && rejected == o.rejected && mm == o.mm && ms == o.ms && maxKmh == o.maxKmh
                && first == o.first && last == o.last;
    }

    void write(Bytes to) {
        to.writeLong(start);
        to.writeLong(version);
        to.writeLong(points);
        to.writeLong(rejected);
        to.writeLong(mm);
        to.writeLong(ms);
        to.writeDouble(maxKmh);
        to.writeLong(first - start);
        to.writeLong(last - start);
    }

    static Window read(Bytes from) {
        Window w = new Window(from.readLong());
        w.version = (int) from.readLong();
        w.points = (int) from.readLong();
        w.rejected = (int) from.readLong();
        w.mm = from.readLong();
        w.ms = from.readLong();
        w.maxKmh = from.readDouble();
        w.first = w.start + from.readLong();
        w.last = w.start + from.readLong();
        return w;
    }
}
