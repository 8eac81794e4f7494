package taximeter.peers.flink;

import java.io.IOException;
import org.apache.flink.api.common.typeutils.SimpleTypeSerializerSnapshot;
import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.api.common.typeutils.TypeSerializerSnapshot;
import org.apache.flink.core.memory.DataInputView;
import org.apache.flink.core.memory.DataOutputView;
import taximeter.peers.meter.Bytes;
import taximeter.peers.meter.Event;
import taximeter.peers.meter.EventCodec;
import taximeter.peers.meter.Output;
import taximeter.peers.meter.Track;
import taximeter.peers.meter.Trip;

/** Serializers of the meter's types by their own hand-written codecs: a length and the bytes. */
abstract class BytesSerializer<T> extends TypeSerializer<T> {
    private transient Bytes scratch;

    abstract void write(T value, Bytes to);

    abstract T read(Bytes from);

    private Bytes scratch() {
        if (scratch == null) {
            scratch = new Bytes(4096);
        }
        scratch.clear();
        return scratch;
    }

    @Override
    public void serialize(T value, DataOutputView to) throws IOException {
        Bytes s = scratch();
        write(value, s);
        to.writeInt(s.at);
        to.write(s.b, 0, s.at);
    }

    @Override
    public T deserialize(DataInputView from) throws IOException {
        Bytes s = scratch();
        int n = from.readInt();
        if (s.b.length < n) {
            s.b = new byte[2 * n];
        }
        from.readFully(s.b, 0, n);
        return read(s);
    }

    @Override
    public T deserialize(T reuse, DataInputView from) throws IOException {
        return deserialize(from);
    }

    @Override
    public T copy(T value) {
        Bytes s = scratch();
        write(value, s);
        s.clear();
        return read(s);
    }

    @Override
    public T copy(T value, T reuse) {
        return copy(value);
    }

    @Override
    public void copy(DataInputView from, DataOutputView to) throws IOException {
        int n = from.readInt();
        to.writeInt(n);
        to.write(from, n);
    }

    @Override
    public TypeSerializer<T> duplicate() {
        try {
            return (TypeSerializer<T>) getClass().getDeclaredConstructor().newInstance();
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }

    @Override
    public boolean isImmutableType() {
        return false;
    }

    @Override
    public T createInstance() {
        return null;
    }

    @Override
    public int getLength() {
        return -1;
    }

    @Override
    public boolean equals(Object o) {
        return o != null && o.getClass() == getClass();
    }

    @Override
    public int hashCode() {
        return getClass().hashCode();
    }

    static final class Events extends BytesSerializer<Event> {
        @Override
        void write(Event e, Bytes to) {
            EventCodec.write(e, to);
        }

        @Override
        Event read(Bytes from) {
            return EventCodec.read(from);
        }

        @Override
        public Event copy(Event e) {
            return e; // nobody changes an event
        }

        @Override
        public TypeSerializerSnapshot<Event> snapshotConfiguration() {
            return new Snapshot();
        }

        public static final class Snapshot extends SimpleTypeSerializerSnapshot<Event> {
            public Snapshot() {
                super(Events::new);
            }
        }
    }

    static final class Trips extends BytesSerializer<Trip> {
        @Override
        void write(Trip t, Bytes to) {
            t.write(to);
        }

        @Override
        Trip read(Bytes from) {
            return Trip.read(from);
        }

        @Override
        public TypeSerializerSnapshot<Trip> snapshotConfiguration() {
            return new Snapshot();
        }

        public static final class Snapshot extends SimpleTypeSerializerSnapshot<Trip> {
            public Snapshot() {
                super(Trips::new);
            }
        }
    }

    static final class Tracks extends BytesSerializer<Track> {
        @Override
        void write(Track t, Bytes to) {
            t.write(to);
        }

        @Override
        Track read(Bytes from) {
            return Track.read(from);
        }

        @Override
        public TypeSerializerSnapshot<Track> snapshotConfiguration() {
            return new Snapshot();
        }

        public static final class Snapshot extends SimpleTypeSerializerSnapshot<Track> {
            public Snapshot() {
                super(Tracks::new);
            }
        }
    }

    static final class Outputs extends BytesSerializer<Output> {
        @Override
        void write(Output o, Bytes to) {
            Output.write(o, to);
        }

        @Override
        Output read(Bytes from) {
            return Output.read(from);
        }

        @Override
        public TypeSerializerSnapshot<Output> snapshotConfiguration() {
            return new Snapshot();
        }

        public static final class Snapshot extends SimpleTypeSerializerSnapshot<Output> {
            public Snapshot() {
                super(Outputs::new);
            }
        }
    }
}
