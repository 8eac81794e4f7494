package taximeter.peers.flink;

import java.nio.file.Path;
import java.time.Duration;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.runtime.minicluster.MiniCluster;
import org.apache.flink.runtime.minicluster.MiniClusterConfiguration;
import org.apache.flink.streaming.api.datastream.DataStreamUtils;
import org.apache.flink.streaming.api.datastream.SingleOutputStreamOperator;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.windowing.assigners.TumblingEventTimeWindows;
import org.apache.flink.util.OutputTag;
import taximeter.peers.meter.Event;
import taximeter.peers.meter.Output;
import taximeter.peers.meter.Runner;
import taximeter.peers.meter.Settings;
import taximeter.peers.meter.Tariffs;
import taximeter.peers.meter.Window;

/** The meter as a Flink job: form=tuned or plain, backend=rocksdb or hashmap, on a cluster of one process, two slots. */
public final class Main {
    private static final int SLOTS = 2;

    private Main() {}

    public static void main(String[] args) throws Exception {
        Settings s = new Settings(args);
        Configuration cluster = Configuration.fromMap(java.util.Map.of(
                "taskmanager.memory.managed.size", s.text("managed"),
                "taskmanager.memory.network.min", "128m",
                "taskmanager.memory.network.max", "128m",
                "io.tmp.dirs", s.text("dir"),
                "rest.bind-port", "0"));
        try (MiniCluster flink = new MiniCluster(new MiniClusterConfiguration.Builder().setConfiguration(cluster)
                .setNumSlotsPerTaskManager(SLOTS).withRandomPorts().build())) {
            flink.start();
            Runner.run(s.number("warm"), (name, prefix) ->
                    flink.executeJobBlocking(job(s, name, prefix).getStreamGraph().getJobGraph()));
        }
    }

    static StreamExecutionEnvironment job(Settings s, String name, String prefix) throws Exception {
        Configuration c = Configuration.fromMap(java.util.Map.of(
                "state.backend.type", s.text("backend"),
                "execution.checkpointing.incremental", "true",
                "execution.checkpointing.interval", s.text("checkpoint"),
                "execution.checkpointing.mode", "EXACTLY_ONCE",
                "execution.checkpointing.dir", Path.of(s.text("dir"), name, "checkpoints").toUri().toString(),
                "state.backend.rocksdb.use-bloom-filter", "true",
                "state.backend.rocksdb.timer-service.factory", "HEAP",
                "pipeline.object-reuse", "true",
                "pipeline.generic-types", "false"));
        StreamExecutionEnvironment env = StreamExecutionEnvironment.getExecutionEnvironment(c);
        env.setParallelism(SLOTS);
        SingleOutputStreamOperator<Event> events = env.fromSource(Kafka.source(s), Kafka.watermarks(), "input")
                .process(new Sort()).returns(Type.EVENT);
        events.getSideOutput(Sort.DEAD_LETTERS).sinkTo(Kafka.sink(s, name + "-dead", prefix)).name("dead letters");
        if (s.text("form").equals("tuned")) {
            tuned(s, events, name, prefix);
        } else {
            plain(s, events, name, prefix);
        }
        return env;
    }

    private static void tuned(Settings s, SingleOutputStreamOperator<Event> events, String name, String prefix) throws Exception {
        Tariffs tariffs = s.tariffs();
        events.keyBy(e -> e.trip, Type.UUID)
                .process(new Meter(s, tariffs)).returns(Type.OUTPUT).name("meter")
                .sinkTo(Kafka.sink(s, name + "-results", prefix)).name("results");
    }

    private static void plain(Settings s, SingleOutputStreamOperator<Event> events, String name, String prefix) {
        OutputTag<Event> late = new OutputTag<>("late", Type.EVENT);
        SingleOutputStreamOperator<Event> positions = events.keyBy(e -> e.trip, Type.UUID)
                .process(new Dedupe()).returns(Type.EVENT).name("dedupe")
                .filter(e -> e.topic == Event.TELEMETRY);
        SingleOutputStreamOperator<Output> windows = DataStreamUtils.reinterpretAsKeyedStream(positions, e -> e.trip, Type.UUID)
                .window(TumblingEventTimeWindows.of(Duration.ofMillis(Window.SIZE)))
                .allowedLateness(Duration.ofMinutes(2))
                .sideOutputLateData(late)
                .aggregate(new Windows.Fold(), new Windows.Publish(s), Type.TRACK, Type.TRACK, Type.OUTPUT).name("windows");
        windows.sinkTo(Kafka.sink(s, name + "-results", prefix)).name("results");
        windows.getSideOutput(late).map(Output::late).returns(Type.OUTPUT)
                .sinkTo(Kafka.sink(s, name + "-late", prefix)).name("late");
    }
}
