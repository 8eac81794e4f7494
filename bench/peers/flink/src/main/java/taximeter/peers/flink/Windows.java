package taximeter.peers.flink;

import org.apache.flink.api.common.functions.AggregateFunction;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.streaming.api.functions.windowing.ProcessWindowFunction;
import org.apache.flink.streaming.api.windowing.windows.TimeWindow;
import org.apache.flink.util.Collector;
import taximeter.peers.meter.Event;
import taximeter.peers.meter.Output;
import taximeter.peers.meter.ResultEncoder;
import taximeter.peers.meter.Settings;
import taximeter.peers.meter.Track;
import taximeter.peers.meter.Uuid;
import taximeter.peers.meter.Window;

/**
 * The plain form's second half: the track of one window, folded as its positions come. A window of the API knows
 * nothing of the one before it, so the segment that crosses their border is lost.
 */
final class Windows {
    private Windows() {}

    static final class Fold implements AggregateFunction<Event, Track, Track> {
        @Override
        public Track createAccumulator() {
            return new Track();
        }

        @Override
        public Track add(Event e, Track t) {
            t.add(e);
            return t;
        }

        @Override
        public Track getResult(Track t) {
            return t;
        }

        @Override
        public Track merge(Track a, Track b) {
            throw new UnsupportedOperationException("tumbling windows do not merge");
        }
    }

    /** Publishes a window at its close, and again for each late position. */
    static final class Publish extends ProcessWindowFunction<Track, Output, Uuid, TimeWindow> {
        private final ValueStateDescriptor<Integer> version = new ValueStateDescriptor<>("version", Types.INT);
        private final Settings settings;
        private transient ResultEncoder results;
        private transient Collector<Output> out;

        Publish(Settings settings) {
            this.settings = settings;
        }

        @Override
        public void open(OpenContext context) {
            results = settings.encoder(o -> out.collect(o));
        }

        @Override
        public void process(Uuid trip, Context ctx, Iterable<Track> track, Collector<Output> out) throws Exception {
            this.out = out;
            ValueState<Integer> published = ctx.windowState().getState(version);
            Integer before = published.value();
            Window w = track.iterator().next().windows.get(0);
            w.version = before == null ? 1 : before + 1;
            published.update(w.version);
            results.window(trip, w);
        }

        @Override
        public void clear(Context ctx) throws Exception {
            ctx.windowState().getState(version).clear();
        }
    }
}
