package taximeter.peers.meter;

import java.io.IOException;
import java.util.concurrent.TimeUnit;

/** What a peer's process and the bench's runner say to each other, so that warming up is not measured. */
public final class Runner {
    /** Processes the whole preloaded log and ends when all is committed. */
    public interface Pass {
        /** Output topics get the prefix; the name is the pass's own, for transactions, groups and folders. */
        void run(String name, String outputPrefix) throws Exception;
    }

    private Runner() {}

    /** Runs passes for so long, says "warm", waits for a line, runs one more, says "done". */
    public static void run(int warmSeconds, Pass pass) throws Exception {
        long until = System.nanoTime() + TimeUnit.SECONDS.toNanos(warmSeconds);
        int passes = 0;
        while (System.nanoTime() < until) {
            pass.run("warm-" + passes++, "aquecimento.");
        }
        System.gc(); // what warming up left behind is not the measured pass's
        System.out.println("warm");
        if (System.in.read() < 0) {
            throw new IOException("the bench's runner is gone");
        }
        pass.run("measured", "");
        System.out.println("done");
        System.in.read(); // until the runner has looked at the process
    }
}
