package taximeter.peers.streams;

import java.time.Duration;
import java.util.PriorityQueue;
import java.util.Set;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.processor.PunctuationType;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.ProcessorSupplier;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.StoreBuilder;
import org.apache.kafka.streams.state.Stores;
import taximeter.peers.meter.Event;
import taximeter.peers.meter.Output;
import taximeter.peers.meter.ResultEncoder;
import taximeter.peers.meter.Settings;
import taximeter.peers.meter.Tariffs;
import taximeter.peers.meter.Trip;
import taximeter.peers.meter.Uuid;

/**
 * The tuned form: one value per trip in a cached store, so that what a trip does between two commits is written once,
 * and a queue in memory of what falls due.
 */
final class Meter implements Processor<Uuid, Event, Uuid, Output> {
    private static final String STORE = "trips";
    private static final long OUT_OF_ORDER = 120_000; // ms that the watermark stays behind stream time
    private static final Duration TICK = Duration.ofSeconds(5);
    private static final Duration MEMORY = Duration.ofHours(24);

    private record Due(long at, Uuid trip) {}

    private final Settings settings;
    private final Tariffs tariffs;
    private final PriorityQueue<Due> due = new PriorityQueue<>((a, b) -> Long.compare(a.at, b.at));
    private ProcessorContext<Uuid, Output> context;
    private KeyValueStore<Uuid, Trip> trips;
    private ResultEncoder results;
    private long now; // of the step under way, for the records it sends

    private Meter(Settings settings, Tariffs tariffs) {
        this.settings = settings;
        this.tariffs = tariffs;
    }

    static ProcessorSupplier<Uuid, Event, Uuid, Output> supplier(Settings settings, Tariffs tariffs) {
        return new ProcessorSupplier<>() {
            @Override
            public Processor<Uuid, Event, Uuid, Output> get() {
                return new Meter(settings, tariffs);
            }

            @Override
            public Set<StoreBuilder<?>> stores() {
                return Set.of(Stores.keyValueStoreBuilder(Stores.persistentKeyValueStore(STORE), Serdes.binary(), Serdes.trips())
                        .withCachingEnabled());
            }
        };
    }

    @Override
    public void init(ProcessorContext<Uuid, Output> context) {
        this.context = context;
        trips = context.getStateStore(STORE);
        results = settings.encoder(o -> context.forward(new Record<>(Uuid.parse(o.key(), 0, o.key().length), o, now)));
        try (KeyValueIterator<Uuid, Trip> all = trips.all()) {
            while (all.hasNext()) {
                KeyValue<Uuid, Trip> t = all.next();
                remind(t.key, t.value.timer);
            }
        }
        context.schedule(TICK, PunctuationType.STREAM_TIME, this::advance);
    }

    private void remind(Uuid trip, long at) {
        if (at != Trip.NEVER) {
            due.add(new Due(at, trip));
        }
    }

    @Override
    public void process(Record<Uuid, Event> r) {
        now = r.timestamp();
        Event e = r.value();
        if (e.endsInput()) {
            advance(now);
            return;
        }
        long watermark = context.currentStreamTimeMs() - OUT_OF_ORDER;
        Trip trip = trips.get(e.trip);
        trip = trip == null ? new Trip() : trip;
        if (!trip.take(e, watermark, tariffs, results)) {
            return; // a duplicate
        }
        schedule(e.trip, trip, watermark);
        trips.put(e.trip, trip);
    }

    /** A reminder that is set too early does no harm. */
    private void schedule(Uuid id, Trip trip, long watermark) {
        long at = trip.due(watermark);
        if (at < trip.timer) {
            trip.timer = at;
            remind(id, at);
        }
    }

    private void advance(long streamTime) {
        now = streamTime;
        long watermark = streamTime - OUT_OF_ORDER;
        while (!due.isEmpty() && due.peek().at <= watermark) {
            Uuid id = due.poll().trip;
            Trip trip = trips.get(id);
            if (trip == null) {
                continue;
            }
            trip.advance(id, watermark, tariffs, results);
            trip.timer = Trip.NEVER;
            schedule(id, trip, watermark);
            trips.put(id, trip);
        }
    }
}
