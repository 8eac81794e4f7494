package taximeter.peers.streams;

import java.time.Duration;
import java.util.Set;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes.LongSerde;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.processor.PunctuationType;
import org.apache.kafka.streams.processor.api.FixedKeyProcessor;
import org.apache.kafka.streams.processor.api.FixedKeyProcessorContext;
import org.apache.kafka.streams.processor.api.FixedKeyProcessorSupplier;
import org.apache.kafka.streams.processor.api.FixedKeyRecord;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.StoreBuilder;
import org.apache.kafka.streams.state.Stores;
import taximeter.peers.meter.Event;
import taximeter.peers.meter.Uuid;

/** Each id of a trip and topic once, remembered for 24 hours of stream time. */
final class Dedupe implements FixedKeyProcessor<Uuid, Event, Event> {
    private static final String STORE = "seen";
    private static final Duration MEMORY = Duration.ofHours(24);

    private final taximeter.peers.meter.Bytes scratch = new taximeter.peers.meter.Bytes(33);
    private FixedKeyProcessorContext<Uuid, Event> context;
    private KeyValueStore<Bytes, Long> seen; // (trip, id, topic) -> event time

    static FixedKeyProcessorSupplier<Uuid, Event, Event> supplier() {
        return new FixedKeyProcessorSupplier<>() {
            @Override
            public FixedKeyProcessor<Uuid, Event, Event> get() {
                return new Dedupe();
            }

            @Override
            public Set<StoreBuilder<?>> stores() {
                Serde<Bytes> keys = new org.apache.kafka.common.serialization.Serdes.BytesSerde();
                return Set.of(Stores.keyValueStoreBuilder(Stores.persistentKeyValueStore(STORE), keys, new LongSerde()));
            }
        };
    }

    @Override
    public void init(FixedKeyProcessorContext<Uuid, Event> context) {
        this.context = context;
        seen = context.getStateStore(STORE);
        context.schedule(Duration.ofHours(1), PunctuationType.STREAM_TIME, this::forget);
    }

    @Override
    public void process(FixedKeyRecord<Uuid, Event> r) {
        Event e = r.value();
        scratch.clear();
        scratch.writeUuid(e.trip);
        scratch.writeUuid(e.id);
        scratch.writeByte(e.topic);
        if (seen.putIfAbsent(Bytes.wrap(scratch.toArray()), e.at) == null) {
            context.forward(r);
        }
    }

    private void forget(long now) {
        try (KeyValueIterator<Bytes, Long> all = seen.all()) {
            while (all.hasNext()) {
                KeyValue<Bytes, Long> id = all.next();
                if (id.value < now - MEMORY.toMillis()) {
                    seen.delete(id.key);
                }
            }
        }
    }
}
