package taximeter.peers.meter;

/** A record to be published. */
public record Output(String topic, byte[] key, byte[] value, String reason) {
    public static final String WINDOWS = "corridas.agregados", BILLS = "pagamentos.eventos", DEAD_LETTERS = "corridas.dlq";

    /** The header of dead letters that says why; its value is reason, null on all else. */
    public static final String REASON_HEADER = "taximeter-reason";

    /** The original bytes of a record that cannot be taken. */
    public static Output deadLetter(Event e) {
        return new Output(DEAD_LETTERS, e.key, e.value, "dlq:" + e.reason);
    }

    /** A position that came too late for its window; its original bytes are gone by then. */
    public static Output late(Event e) {
        Bytes b = new Bytes(64);
        EventCodec.write(e, b);
        return new Output(DEAD_LETTERS, e.trip.text(), b.toArray(), "dlq:atrasado");
    }

    public static void write(Output o, Bytes to) {
        to.writeText(o.topic);
        to.writeLong(o.key == null ? 0 : 1);
        if (o.key != null) {
            to.writeBytes(o.key);
        }
        to.writeBytes(o.value);
        to.writeNullable(o.reason);
    }

    public static Output read(Bytes from) {
        String topic = from.readText();
        byte[] key = from.readLong() == 0 ? null : from.readBytes();
        byte[] value = from.readBytes();
        return new Output(topic, key, value, from.readNullable());
    }
}
