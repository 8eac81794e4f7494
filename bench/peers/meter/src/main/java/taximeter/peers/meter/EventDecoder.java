package taximeter.peers.meter;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.List;

/**
 * Reads the three input topics: Avro in the Confluent frame. It is written by hand for the writer schemas of the bench,
 * which are the contract's fields followed by others, so it stops behind the last field of interest. The checks are the
 * contract's, in its order.
 */
public final class EventDecoder {
    public static final List<String> TOPICS = List.of("corridas.telemetria", "corridas.eventos", "pagamentos.eventos");

    private static final long FIRST_INSTANT = 946_684_800_000L; // 2000-01-01
    private static final long MAX_AHEAD = 120_000; // ms past the append time
    private static final byte BILL = 0; // kind of payment

    private static final VarHandle DOUBLES = MethodHandles.byteArrayViewVarHandle(double[].class, ByteOrder.LITTLE_ENDIAN);

    private final int[] schemaIds; // of the writers, by topic

    private byte[] in;
    private int at;

    public EventDecoder(int[] schemaIds) {
        this.schemaIds = schemaIds;
    }

    /** Never fails: what cannot be taken is a dead letter. It belongs to one thread. */
    public Event decode(int topic, byte[] key, byte[] value, long appendedAt) {
        Event e = read(topic, value);
        e.settle(key == null ? null : Uuid.parse(key, 0, key.length), appendedAt);
        return e;
    }

    /** The first half: what the value says. */
    public Event read(int topic, byte[] value) {
        Event e = new Event();
        e.topic = (byte) topic;
        e.value = value;
        try {
            e.reason = read(e, value);
        } catch (IndexOutOfBoundsException truncated) {
            e.reason = "ilegivel";
        }
        return e;
    }

    /** The second half: why it may not be taken, by what else the record says; null = it may. */
    static String fault(Event e, Uuid key, long appendedAt) {
        if (e.reason != null) {
            return e.reason;
        }
        if (e.trip == null) {
            return "sem_trip_id";
        }
        if (e.id == null) {
            return "sem_event_id";
        }
        if (!e.trip.equals(key)) {
            return "chave_diferente";
        }
        if (e.at < FIRST_INSTANT) {
            return "ocorrido_em_invalido";
        }
        if (e.topic == Event.TELEMETRY && !(Math.abs(e.lat) <= 90 && Math.abs(e.lon) <= 180 && (e.lat != 0 || e.lon != 0))) {
            return "coordenadas_invalidas";
        }
        return e.at > appendedAt + MAX_AHEAD ? "relogio_adiantado" : null;
    }

    private String read(Event e, byte[] value) {
        in = value;
        at = 5;
        if (value[0] != 0) {
            return "ilegivel";
        }
        int schema = (value[1] & 255) << 24 | (value[2] & 255) << 16 | (value[3] & 255) << 8 | value[4] & 255;
        if (schema != schemaIds[e.topic]) {
            return "esquema_desconhecido";
        }
        e.id = uuid();
        e.trip = uuid();
        switch (e.topic) {
            case Event.TELEMETRY -> telemetry(e);
            case Event.RIDE -> ride(e);
            default -> payment(e);
        }
        return at > value.length ? "ilegivel" : null;
    }

    private void telemetry(Event e) {
        skipBytes(); // motoristaId
        e.at = zigzag();
        e.lat = real();
        e.lon = real();
        skipNullable(4); // velocidadeKmh
        skipNullable(4); // precisaoM
        skipText(); // dispositivo
        e.rectifies = some() ? uuid() : null;
    }

    private void ride(Event e) {
        e.at = zigzag();
        e.kind = (byte) zigzag();
        skipText(); // passageiroId
        skipText(); // motoristaId
        e.region = text();
        e.category = text();
        e.multiplier = some() ? (int) decimal() : -1;
        skipNullable(8); // latitude
        skipNullable(8); // longitude
        if (some()) {
            zigzag(); // nota
        }
        if (some()) { // rotaPrevista: blocks of pairs of doubles
            for (long n = zigzag(); n != 0; n = zigzag()) {
                long bytes = n < 0 ? zigzag() : n * 16;
                at += bytes;
            }
        }
        e.rectifies = some() ? uuid() : null;
    }

    private void payment(Event e) {
        e.at = zigzag();
        e.kind = (byte) zigzag();
        if (e.kind == BILL) {
            e.topic = Event.OWN;
            return;
        }
        e.amount = decimal();
    }

    private boolean some() {
        return zigzag() != 0;
    }

    private long zigzag() {
        long v = 0;
        for (int shift = 0;; shift += 7) {
            byte b = in[at++];
            v |= (long) (b & 127) << shift;
            if (b >= 0) {
                return v >>> 1 ^ -(v & 1);
            }
        }
    }

    private double real() {
        double v = (double) DOUBLES.get(in, at);
        at += 8;
        return v;
    }

    private long decimal() {
        long v = 0;
        int n = (int) zigzag();
        for (int i = 0; i < n; i++) {
            v = i == 0 ? in[at++] : v << 8 | in[at++] & 255;
        }
        return v;
    }

    private void skipNullable(int bytes) {
        if (some()) {
            at += bytes;
        }
    }

    private void skipBytes() {
        int n = (int) zigzag();
        at += n;
    }

    private void skipText() {
        if (some()) {
            skipBytes();
        }
    }

    private String text() {
        if (!some()) {
            return null;
        }
        int n = (int) zigzag();
        at += n;
        return new String(in, at - n, n, StandardCharsets.UTF_8);
    }

    private Uuid uuid() {
        int n = (int) zigzag();
        at += n;
        return Uuid.parse(in, at - n, n);
    }
}
