package taximeter.peers.streams;

import java.util.function.BiConsumer;
import java.util.function.Function;
import org.apache.kafka.common.serialization.Deserializer;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes.WrapperSerde;
import org.apache.kafka.common.serialization.Serializer;
import taximeter.peers.meter.Bytes;
import taximeter.peers.meter.Event;
import taximeter.peers.meter.EventDecoder;
import taximeter.peers.meter.Output;
import taximeter.peers.meter.Settings;
import taximeter.peers.meter.Track;
import taximeter.peers.meter.Trip;
import taximeter.peers.meter.Uuid;

/** The meter's types by their own hand-written codecs. */
final class Serdes {
    private Serdes() {}

    /** Keys on topics: text. What is no UUID reads as null. */
    static Serde<Uuid> text() {
        return serde((t, u) -> u == null ? null : u.text(), (t, b) -> b == null ? null : Uuid.parse(b, 0, b.length));
    }

    /** Keys in stores: sixteen bytes. */
    static Serde<Uuid> binary() {
        return stored(16, (u, to) -> to.writeUuid(u), Bytes::readUuid);
    }

    static Serde<Trip> trips() {
        return stored(4096, Trip::write, Trip::read);
    }

    static Serde<Track> tracks() {
        return stored(2048, Track::write, Track::read);
    }

    /** Values of the input topics; EventTime does the checks that need the rest of the record. */
    static Serde<Event> events(Settings s) {
        ThreadLocal<EventDecoder> decoder = ThreadLocal.withInitial(s::decoder);
        return serde((t, e) -> {
            throw new UnsupportedOperationException("events are only read");
        }, (topic, b) -> b == null ? null : decoder.get().read(EventDecoder.TOPICS.indexOf(topic), b));
    }

    static Serde<Output> outputs() {
        return serde((t, o) -> o.value(), (t, b) -> {
            throw new UnsupportedOperationException("outputs are only written");
        });
    }

    private static <T> Serde<T> stored(int size, BiConsumer<T, Bytes> write, Function<Bytes, T> read) {
        ThreadLocal<Bytes> scratch = ThreadLocal.withInitial(() -> new Bytes(size));
        return serde((t, v) -> {
            if (v == null) {
                return null;
            }
            Bytes to = scratch.get();
            to.clear();
            write.accept(v, to);
            return to.toArray();
        }, (t, b) -> b == null ? null : read.apply(Bytes.of(b)));
    }

    private static <T> Serde<T> serde(Serializer<T> s, Deserializer<T> d) {
        return new WrapperSerde<>(s, d);
    }
}
