package taximeter.peers.flink;

import java.time.Duration;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.state.StateTtlConfig;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.util.Collector;
import taximeter.peers.meter.Event;
import taximeter.peers.meter.Output;
import taximeter.peers.meter.ResultEncoder;
import taximeter.peers.meter.Settings;
import taximeter.peers.meter.Tariffs;
import taximeter.peers.meter.Trip;
import taximeter.peers.meter.Uuid;

/**
 * The tuned form: one function with one value per trip, holding ids, track, windows and bill, and one timer at the next
 * instant at which the trip has something to publish. One state read and one write per event.
 */
final class Meter extends KeyedProcessFunction<Uuid, Event, Output> {
    private final Settings settings;
    private final Tariffs tariffs;
    private transient ValueState<Trip> state;
    private transient ResultEncoder results;
    private transient Collector<Output> out;

    Meter(Settings settings, Tariffs tariffs) {
        this.settings = settings;
        this.tariffs = tariffs;
    }

    @Override
    public void open(OpenContext context) {
        ValueStateDescriptor<Trip> trips = new ValueStateDescriptor<>("trip", Type.TRIP);
        trips.enableTimeToLive(StateTtlConfig.newBuilder(Duration.ofHours(24)).build());
        state = getRuntimeContext().getState(trips);
        results = settings.encoder(o -> out.collect(o));
    }

    @Override
    public void processElement(Event e, Context ctx, Collector<Output> out) throws Exception {
        this.out = out;
        Trip trip = state.value();
        trip = trip == null ? new Trip() : trip;
        long watermark = ctx.timerService().currentWatermark();
        if (!trip.take(e, watermark, tariffs, results)) {
            return; // a duplicate
        }
        long due = trip.due(watermark);
        if (due < trip.timer) { // one that is set too early does no harm
            trip.timer = due;
            ctx.timerService().registerEventTimeTimer(due);
        }
        state.update(trip);
    }

    @Override
    public void onTimer(long at, OnTimerContext ctx, Collector<Output> out) throws Exception {
        this.out = out;
        Trip trip = state.value();
        if (trip == null) {
            return;
        }
        long watermark = ctx.timerService().currentWatermark();
        trip.advance(ctx.getCurrentKey(), watermark, tariffs, results);
        long due = trip.due(watermark);
        trip.timer = due;
        if (due != Trip.NEVER) {
            ctx.timerService().registerEventTimeTimer(due);
        }
        state.update(trip);
    }
}
