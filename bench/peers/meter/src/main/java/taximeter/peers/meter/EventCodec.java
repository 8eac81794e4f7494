package taximeter.peers.meter;

/** Events on their way between two tasks of a peer. */
public final class EventCodec {
    private static final int RECTIFIES = 1, REGION = 2, CATEGORY = 4, KEY = 8, TRIP = 16;

    private EventCodec() {}

    public static void write(Event e, Bytes to) {
        to.writeByte(e.topic);
        if (e.topic == Event.DEAD) {
            to.writeByte((e.key == null ? 0 : KEY) | (e.trip == null ? 0 : TRIP));
            if (e.trip != null) {
                to.writeUuid(e.trip);
            }
            if (e.key != null) {
                to.writeBytes(e.key);
            }
            to.writeText(e.reason);
            to.writeBytes(e.value);
            to.writeLong(e.at);
            return;
        }
        int has = (e.rectifies == null ? 0 : RECTIFIES) | (e.region == null ? 0 : REGION) | (e.category == null ? 0 : CATEGORY);
        to.writeByte(has);
        to.writeUuid(e.trip);
        to.writeUuid(e.id);
        to.writeFixed(e.at);
        if (e.rectifies != null) {
            to.writeUuid(e.rectifies);
        }
        if (e.topic == Event.TELEMETRY) {
            to.writeDouble(e.lat);
            to.writeDouble(e.lon);
            return;
        }
        to.writeByte(e.kind);
        to.writeLong(e.topic == Event.RIDE ? e.multiplier : e.amount);
        if (e.region != null) {
            to.writeText(e.region);
        }
        if (e.category != null) {
            to.writeText(e.category);
        }
    }

    public static Event read(Bytes from) {
        byte topic = (byte) from.readByte();
        int has = from.readByte();
        if (topic == Event.DEAD) {
            Event dead = new Event();
            dead.topic = topic;
            dead.trip = (has & TRIP) == 0 ? null : from.readUuid();
            dead.key = (has & KEY) == 0 ? null : from.readBytes();
            dead.reason = from.readText();
            dead.value = from.readBytes();
            dead.at = from.readLong();
            return dead;
        }
        Event e = new Event();
        e.topic = topic;
        e.trip = from.readUuid();
        e.id = from.readUuid();
        e.at = from.readFixed();
        e.rectifies = (has & RECTIFIES) == 0 ? null : from.readUuid();
        if (topic == Event.TELEMETRY) {
            e.lat = from.readDouble();
            e.lon = from.readDouble();
            return e;
        }
        e.kind = (byte) from.readByte();
        if (topic == Event.RIDE) {
            e.multiplier = (int) from.readLong();
        } else {
            e.amount = from.readLong();
        }
        e.region = (has & REGION) == 0 ? null : from.readText();
        e.category = (has & CATEGORY) == 0 ? null : from.readText();
        return e;
    }
}
