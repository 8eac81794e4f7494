package taximeter.peers.flink;

import org.apache.flink.api.common.serialization.SerializerConfig;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeutils.TypeSerializer;
import taximeter.peers.meter.Event;
import taximeter.peers.meter.Output;
import taximeter.peers.meter.Track;
import taximeter.peers.meter.Trip;
import taximeter.peers.meter.Uuid;

/** Ties a class to its hand-written serializer, so that Flink never falls back to Kryo. */
final class Type<T> extends TypeInformation<T> {
    static final Type<Event> EVENT = new Type<>(Event.class, new BytesSerializer.Events());
    static final Type<Output> OUTPUT = new Type<>(Output.class, new BytesSerializer.Outputs());
    static final Type<Trip> TRIP = new Type<>(Trip.class, new BytesSerializer.Trips());
    static final Type<Track> TRACK = new Type<>(Track.class, new BytesSerializer.Tracks());
    static final Type<Uuid> UUID = new Type<>(Uuid.class, new UuidSerializer());

    private final Class<T> of;
    private final TypeSerializer<T> serializer;

    private Type(Class<T> of, TypeSerializer<T> serializer) {
        this.of = of;
        this.serializer = serializer;
    }

    @Override
    public TypeSerializer<T> createSerializer(SerializerConfig config) {
        return serializer.duplicate();
    }

    @Override
    public Class<T> getTypeClass() {
        return of;
    }

    @Override
    public boolean isKeyType() {
        return Comparable.class.isAssignableFrom(of);
    }

    @Override
    public boolean isBasicType() {
        return false;
    }

    @Override
    public boolean isTupleType() {
        return false;
    }

    @Override
    public int getArity() {
        return 1;
    }

    @Override
    public int getTotalFields() {
        return 1;
    }

    @Override
    public String toString() {
        return of.getSimpleName();
    }

    @Override
    public boolean equals(Object o) {
        return o instanceof Type<?> t && t.of == of;
    }

    @Override
    public int hashCode() {
        return of.hashCode();
    }

    @Override
    public boolean canEqual(Object o) {
        return o instanceof Type;
    }
}
