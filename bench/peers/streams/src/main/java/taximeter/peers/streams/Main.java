package taximeter.peers.streams;

import java.io.IOException;
import java.time.Duration;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.CountDownLatch;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse;
import org.apache.kafka.streams.kstream.Branched;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.kstream.Suppressed;
import org.apache.kafka.streams.kstream.Suppressed.BufferConfig;
import org.apache.kafka.streams.kstream.TimeWindows;
import org.apache.kafka.streams.processor.api.ContextualProcessor;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.state.WindowStore;
import taximeter.peers.meter.Event;
import taximeter.peers.meter.EventDecoder;
import taximeter.peers.meter.Output;
import taximeter.peers.meter.Runner;
import taximeter.peers.meter.Settings;
import taximeter.peers.meter.Track;
import taximeter.peers.meter.Uuid;
import taximeter.peers.meter.Window;

/** The meter as a Kafka Streams application: form=tuned or plain, two threads. */
public final class Main {
    private Main() {}

    public static void main(String[] args) throws Exception {
        Settings s = new Settings(args);
        Runner.run(s.number("warm"), (name, prefix) -> pass(s, name, prefix));
    }

    /** Streams knows no end of input: the runner has put one last record into each partition of the telemetry. */
    private static void pass(Settings s, String name, String prefix) throws Exception {
        CountDownLatch ends = new CountDownLatch(s.number("partitions"));
        CountDownLatch failed = new CountDownLatch(1);
        try (KafkaStreams streams = new KafkaStreams(topology(s, prefix, ends).build(), properties(s, name))) {
            streams.setUncaughtExceptionHandler(fault -> {
                fault.printStackTrace();
                failed.countDown();
                while (ends.getCount() > 0) {
                    ends.countDown();
                }
                return StreamThreadExceptionResponse.SHUTDOWN_CLIENT;
            });
            streams.start();
            ends.await();
            if (!streams.close(Duration.ofMinutes(5)) || failed.getCount() == 0) { // commits what is done
                throw new IOException("the application did not end well");
            }
            if (!prefix.isEmpty()) {
                streams.cleanUp();
            }
        }
    }

    private static Properties properties(Settings s, String name) {
        Properties p = new Properties();
        p.putAll(Map.of(
                StreamsConfig.APPLICATION_ID_CONFIG, "peer-" + name,
                StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, s.text("brokers"),
                StreamsConfig.STATE_DIR_CONFIG, s.text("dir"),
                StreamsConfig.PROCESSING_GUARANTEE_CONFIG, StreamsConfig.EXACTLY_ONCE_V2,
                StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, s.text("checkpoint"),
                StreamsConfig.NUM_STREAM_THREADS_CONFIG, "2",
                StreamsConfig.STATESTORE_CACHE_MAX_BYTES_CONFIG, s.text("cache"),
                StreamsConfig.TOPOLOGY_OPTIMIZATION_CONFIG, StreamsConfig.OPTIMIZE));
        p.putAll(Map.of(
                StreamsConfig.producerPrefix(ProducerConfig.TRANSACTION_TIMEOUT_CONFIG), "900000",
                StreamsConfig.producerPrefix(ProducerConfig.COMPRESSION_TYPE_CONFIG), "snappy",
                StreamsConfig.producerPrefix(ProducerConfig.BATCH_SIZE_CONFIG), "131072",
                StreamsConfig.producerPrefix(ProducerConfig.LINGER_MS_CONFIG), "100",
                ConsumerConfig.AUTO_OFFSET_RESET_CONFIG, "earliest",
                StreamsConfig.mainConsumerPrefix(ConsumerConfig.MAX_POLL_RECORDS_CONFIG), "5000"));
        return p;
    }

    static StreamsBuilder topology(Settings s, String prefix, CountDownLatch ends) throws IOException {
        StreamsBuilder b = new StreamsBuilder();
        var sorted = b.stream(EventDecoder.TOPICS, Consumed.with(Serdes.text(), Serdes.events(s)).withTimestampExtractor(new EventTime()))
                .split();
        sorted.branch((k, e) -> e.topic == Event.DEAD, Branched.withConsumer(dead ->
                publish(dead.mapValues((k, e) -> Output.deadLetter(e)).process(DeadLetterHeader::new), prefix)));
        sorted.branch((k, e) -> e.topic != Event.OWN, Branched.withConsumer(events -> {
            publish(s.text("form").equals("tuned") ? tuned(s, events) : plain(s, events), prefix);
            // Behind the other consumer of the same stream, so that the last record has been through it.
            events.filter((k, e) -> e.endsInput()).foreach((k, e) -> ends.countDown());
        }));
        sorted.noDefaultBranch();
        return b;
    }

    private static KStream<Uuid, Output> tuned(Settings s, KStream<Uuid, Event> events) {
        try {
            return events.process(Meter.supplier(s, s.tariffs()));
        } catch (IOException e) {
            throw new java.io.UncheckedIOException(e);
        }
    }

    private static KStream<Uuid, Output> plain(Settings s, KStream<Uuid, Event> events) {
        return events.processValues(Dedupe.supplier())
                .filter((k, e) -> e.topic == Event.TELEMETRY)
                .groupByKey(Grouped.with(Serdes.binary(), Serdes.events(s)))
                .windowedBy(TimeWindows.ofSizeAndGrace(Duration.ofMillis(Window.SIZE), Duration.ofMinutes(4)))
                .aggregate(Track::new, (k, e, t) -> {
                    t.add(e);
                    return t;
                }, Materialized.<Uuid, Track, WindowStore<Bytes, byte[]>>as("windows")
                        .withKeySerde(Serdes.binary()).withValueSerde(Serdes.tracks()))
                .suppress(Suppressed.untilWindowCloses(BufferConfig.unbounded()))
                .toStream((k, t) -> k.key())
                .process(() -> new WindowPublisher(s));
    }

    private static void publish(KStream<Uuid, Output> results, String prefix) {
        results.to((k, o, context) -> prefix + o.topic(), Produced.with(Serdes.text(), Serdes.outputs()));
    }

    private static final class WindowPublisher extends ContextualProcessor<Uuid, Track, Uuid, Output> {
        private final Settings settings;

        WindowPublisher(Settings settings) {
            this.settings = settings;
        }

        @Override
        public void process(Record<Uuid, Track> r) {
            Window w = r.value().windows.get(0);
            w.version = 1;
            settings.encoder(o -> context().forward(r.withValue(o))).window(r.key(), w);
        }
    }

    private static final class DeadLetterHeader extends ContextualProcessor<Uuid, Output, Uuid, Output> {
        @Override
        public void process(Record<Uuid, Output> r) {
            context().forward(r.withHeaders(r.headers().add(Output.REASON_HEADER, r.value().reason().getBytes())));
        }
    }
}
