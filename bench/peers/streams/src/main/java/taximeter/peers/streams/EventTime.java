package taximeter.peers.streams;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.streams.processor.TimestampExtractor;
import taximeter.peers.meter.Event;
import taximeter.peers.meter.Uuid;

/** Event time of what may be taken, append time of what may not: a phone's wrong clock must not move stream time. */
public final class EventTime implements TimestampExtractor {
    @Override
    public long extract(ConsumerRecord<Object, Object> r, long partitionTime) {
        Event e = (Event) r.value();
        e.settle((Uuid) r.key(), r.timestamp()); // the first place that sees the whole record
        return e.at;
    }
}
