package taximeter.peers.flink;

import org.apache.flink.streaming.api.functions.ProcessFunction;
import org.apache.flink.util.Collector;
import org.apache.flink.util.OutputTag;
import taximeter.peers.meter.Event;
import taximeter.peers.meter.Output;

/** Sends what cannot be taken aside, before it needs a key. Our own bills read back go nowhere. */
final class Sort extends ProcessFunction<Event, Event> {
    static final OutputTag<Output> DEAD_LETTERS = new OutputTag<>("dead-letters", Type.OUTPUT);

    @Override
    public void processElement(Event e, Context ctx, Collector<Event> out) {
        if (e.topic == Event.DEAD) {
            ctx.output(DEAD_LETTERS, Output.deadLetter(e));
        } else if (e.topic != Event.OWN) {
            out.collect(e);
        }
    }
}
