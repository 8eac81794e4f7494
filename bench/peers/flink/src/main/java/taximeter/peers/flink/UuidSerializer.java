package taximeter.peers.flink;

import java.io.IOException;
import org.apache.flink.api.common.typeutils.SimpleTypeSerializerSnapshot;
import org.apache.flink.api.common.typeutils.TypeSerializerSnapshot;
import org.apache.flink.api.common.typeutils.base.TypeSerializerSingleton;
import org.apache.flink.core.memory.DataInputView;
import org.apache.flink.core.memory.DataOutputView;
import taximeter.peers.meter.Uuid;

/** Sixteen bytes. */
final class UuidSerializer extends TypeSerializerSingleton<Uuid> {
    @Override
    public void serialize(Uuid u, DataOutputView to) throws IOException {
        to.writeLong(u.hi());
        to.writeLong(u.lo());
    }

    @Override
    public Uuid deserialize(DataInputView from) throws IOException {
        long hi = from.readLong();
        return new Uuid(hi, from.readLong());
    }

    @Override
    public Uuid deserialize(Uuid reuse, DataInputView from) throws IOException {
        return deserialize(from);
    }

    @Override
    public void copy(DataInputView from, DataOutputView to) throws IOException {
        to.write(from, getLength());
    }

    @Override
    public Uuid copy(Uuid u) {
        return u;
    }

    @Override
    public Uuid copy(Uuid u, Uuid reuse) {
        return u;
    }

    @Override
    public boolean isImmutableType() {
        return true;
    }

    @Override
    public Uuid createInstance() {
        return new Uuid(0, 0);
    }

    @Override
    public int getLength() {
        return 16;
    }

    @Override
    public TypeSerializerSnapshot<Uuid> snapshotConfiguration() {
        return new Snapshot();
    }

    public static final class Snapshot extends SimpleTypeSerializerSnapshot<Uuid> {
        public Snapshot() {
            super(UuidSerializer::new);
        }
    }
}
