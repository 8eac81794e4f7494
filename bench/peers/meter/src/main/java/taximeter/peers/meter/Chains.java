package taximeter.peers.meter;

import java.util.HashMap;
import java.util.Map;

/**
 * Which events have effect when some rectify others. Of each set joined by links one stands: the one that nobody
 * rectifies, of several (or in a cycle) the greatest by instant and id; if it voids, none stands.
 */
final class Chains {
    private record Member(Uuid id, long at, boolean voids) {}

    private final Map<Uuid, Uuid> parent = new HashMap<>(); // of the union-find
    private final Map<Uuid, Member> members = new HashMap<>();
    private final Map<Uuid, Boolean> rectified = new HashMap<>();
    private Map<Uuid, Member> standing; // by root

    void add(Uuid id, Uuid rectifies, long at, boolean voids) {
        members.put(id, new Member(id, at, voids));
        if (rectifies != null && !rectifies.equals(id)) {
            rectified.put(rectifies, true);
            parent.put(root(id), root(rectifies));
        }
    }

    private Uuid root(Uuid id) {
        Uuid up = parent.getOrDefault(id, id);
        return up.equals(id) ? id : root(up);
    }

    boolean effective(Uuid id) {
        if (standing == null) {
            standing = new HashMap<>();
            for (Member m : members.values()) {
                standing.merge(root(m.id), m, this::better);
            }
        }
        Member m = standing.get(root(id));
        return m.id.equals(id) && !m.voids;
    }

    private Member better(Member a, Member b) {
        boolean ra = rectified.containsKey(a.id), rb = rectified.containsKey(b.id);
        if (ra != rb) {
            return ra ? b : a;
        }
        return a.at != b.at ? a.at > b.at ? a : b : a.id.compareTo(b.id) > 0 ? a : b;
    }
}
