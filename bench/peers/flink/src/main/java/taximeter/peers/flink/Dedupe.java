package taximeter.peers.flink;

import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.state.MapState;
import org.apache.flink.api.common.state.MapStateDescriptor;
import org.apache.flink.api.common.state.StateTtlConfig;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.util.Collector;
import taximeter.peers.meter.Event;
import taximeter.peers.meter.Uuid;

/** The plain form's first half: each id of a trip once, remembered for 24 hours. */
final class Dedupe extends KeyedProcessFunction<Uuid, Event, Event> {
    private transient List<MapState<Uuid, Boolean>> seen; // by topic

    @Override
    public void open(OpenContext context) {
        seen = Stream.of("telemetria", "eventos", "pagamentos").map(topic -> {
            MapStateDescriptor<Uuid, Boolean> ids = new MapStateDescriptor<>("seen-" + topic, Type.UUID, Types.BOOLEAN);
            ids.enableTimeToLive(StateTtlConfig.newBuilder(Duration.ofHours(24)).build());
            return getRuntimeContext().getMapState(ids);
        }).toList();
    }

    @Override
    public void processElement(Event e, Context ctx, Collector<Event> out) throws Exception {
        MapState<Uuid, Boolean> ids = seen.get(e.topic);
        if (!ids.contains(e.id)) {
            ids.put(e.id, true);
            out.collect(e);
        }
    }
}
