package taximeter.peers.flink;

import java.time.Duration;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.connector.base.DeliveryGuarantee;
import org.apache.flink.connector.kafka.sink.KafkaRecordSerializationSchema;
import org.apache.flink.connector.kafka.sink.KafkaSink;
import org.apache.flink.connector.kafka.source.KafkaSource;
import org.apache.flink.connector.kafka.source.enumerator.initializer.OffsetsInitializer;
import org.apache.flink.connector.kafka.source.reader.deserializer.KafkaRecordDeserializationSchema;
import org.apache.flink.util.Collector;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.producer.ProducerRecord;
import taximeter.peers.meter.Event;
import taximeter.peers.meter.EventDecoder;
import taximeter.peers.meter.Output;
import taximeter.peers.meter.Settings;

/** The ends of the job: the preloaded input topics, and an exactly-once sink. */
final class Kafka {
    private Kafka() {}

    /** All that is in the input topics when the job starts. */
    static KafkaSource<Event> source(Settings s) {
        return KafkaSource.<Event>builder()
                .setBootstrapServers(s.text("brokers"))
                .setTopics(EventDecoder.TOPICS)
                .setStartingOffsets(OffsetsInitializer.earliest())
                .setBounded(OffsetsInitializer.latest())
                .setProperty("isolation.level", "read_committed")
                .setDeserializer(new Decode(s))
                .build();
    }

    static WatermarkStrategy<Event> watermarks() {
        return WatermarkStrategy.<Event>forBoundedOutOfOrderness(Duration.ofMinutes(2))
                .withTimestampAssigner((e, t) -> e.at)
                .withIdleness(Duration.ofSeconds(30));
    }

    static KafkaSink<Output> sink(Settings s, String transactions, String topicPrefix) {
        return KafkaSink.<Output>builder()
                .setBootstrapServers(s.text("brokers"))
                .setDeliveryGuarantee(DeliveryGuarantee.EXACTLY_ONCE)
                .setTransactionalIdPrefix(transactions)
                .setProperty("transaction.timeout.ms", "900000")
                .setProperty("compression.type", "snappy")
                .setProperty("linger.ms", "20")
                .setProperty("batch.size", "131072")
                .setRecordSerializer(new Encode(topicPrefix))
                .build();
    }

    private static final class Decode implements KafkaRecordDeserializationSchema<Event> {
        private final Settings settings;
        private transient EventDecoder decoder;

        Decode(Settings settings) {
            this.settings = settings;
        }

        @Override
        public void deserialize(ConsumerRecord<byte[], byte[]> r, Collector<Event> out) {
            if (decoder == null) {
                decoder = settings.decoder();
            }
            out.collect(decoder.decode(EventDecoder.TOPICS.indexOf(r.topic()), r.key(), r.value(), r.timestamp()));
        }

        @Override
        public TypeInformation<Event> getProducedType() {
            return Type.EVENT;
        }
    }

    private static final class Encode implements KafkaRecordSerializationSchema<Output> {
        private final String prefix;

        Encode(String prefix) {
            this.prefix = prefix;
        }

        @Override
        public ProducerRecord<byte[], byte[]> serialize(Output o, KafkaSinkContext context, Long timestamp) {
            ProducerRecord<byte[], byte[]> r = new ProducerRecord<>(prefix + o.topic(), o.key(), o.value());
            if (o.reason() != null) {
                r.headers().add(Output.REASON_HEADER, o.reason().getBytes());
            }
            return r;
        }
    }
}
