package taximeter.peers.meter;

/** One record of the input topics as the meter sees it: what EventDecoder reads, no more. */
public final class Event {
    public static final byte TELEMETRY = 0, RIDE = 1, PAYMENT = 2, DEAD = 3, OWN = 4;

    /** Kinds of ride events, in the order of the contract's enum. */
    public static final byte REQUEST = 0, MATCH = 1, START = 2, END = 3, CANCEL = 4, RATING = 5, VOID = 6, UNKNOWN = 7;

    public byte topic;
    public Uuid trip; // of a dead letter: null, or of its key
    public Uuid id;
    public Uuid rectifies; // null = none
    public long at; // epoch ms; of a dead letter: when it was appended
    public double lat, lon; // telemetry
    public byte kind; // rides, payments
    public String region, category; // rides; null = not said
    public int multiplier = -1; // rides, thousandths; -1 = not said
    public long amount; // payments, cents

    public String reason; // of a dead letter
    public byte[] key, value; // of a dead letter

    /** A record that the bench's runner puts behind all others where a peer knows no end of its input. */
    public boolean endsInput() {
        return topic == TELEMETRY && trip.hi() == 0;
    }

    /** Decides by key and append time of its record whether it may be taken, else makes it a dead letter. */
    public void settle(Uuid recordKey, long recordAppendedAt) {
        reason = EventDecoder.fault(this, recordKey, recordAppendedAt);
        if (reason == null) {
            value = null;
            return;
        }
        topic = DEAD;
        trip = recordKey;
        at = recordAppendedAt;
        key = recordKey == null ? null : recordKey.text();
    }
}
