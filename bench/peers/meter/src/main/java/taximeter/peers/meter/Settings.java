package taximeter.peers.meter;

import java.io.IOException;
import java.io.Serializable;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;

/** What the bench's runner tells a peer: arguments of the form name=value. */
public final class Settings implements Serializable {
    private final Map<String, String> all = new HashMap<>();

    public Settings(String[] args) {
        for (String a : args) {
            int eq = a.indexOf('=');
            if (eq < 1) {
                throw new IllegalArgumentException("argument " + a + ": give name=value");
            }
            all.put(a.substring(0, eq), a.substring(eq + 1));
        }
    }

    public String text(String name) {
        String v = all.get(name);
        if (v == null) {
            throw new IllegalArgumentException("argument " + name + " is missing");
        }
        return v;
    }

    public int number(String name) {
        return Integer.parseInt(text(name));
    }

    /** Schema ids of the input topics' writers, in the order of EventDecoder.TOPICS. */
    public EventDecoder decoder() {
        return new EventDecoder(new int[] {number("telemetria"), number("eventos"), number("pagamentos")});
    }

    public ResultEncoder encoder(java.util.function.Consumer<Output> out) {
        return new ResultEncoder(number("agregado"), number("fatura"), out);
    }

    public Tariffs tariffs() throws IOException {
        return Tariffs.read(Path.of(text("tariffs")));
    }
}
