/*
 * Taking over: members, runs and the protocol spoken, changed by manifests that were decided
 * on an older tip.
 *
 * Three nodes, two partitions. A node decides on the tip that it sees (checkpoint.Change) and
 * puts later, when it may have slept for any time and the tip may be another (coordinator.Assign):
 * in between others take over, join, hand over, raise the protocol. A take-over ends the
 * membership of the dead and gives away what they run in the same manifest, to anybody who is
 * not among them, or to nobody; the decider names the life that is to run it, and may know only
 * one that is over. Who is called dead is any set of the others: peace and patience are
 * members.pml's.
 *
 * Nodes crash and come back in another life, of the same or a later version while they are
 * members, of any while they are not. After the calm begins nothing of that happens, gossip
 * tells the truth, and what was decided before may still land.
 *
 * Holds: owners are members; work is taken only from whom the same manifest calls dead, or who
 * gives it; every member can read what is written; what is spoken never falls. Progress: in the
 * calm it ends, with all work at members that are up, in the life that is up, and with the
 * highest protocol that all speak once all are up.
 *
 * Left out: seals and results (chain.pml), and views of a member that are older than its join:
 * a node is heard of by gossip before it joins.
 *
 * Each macro NO_... or WITH_... drops one rule; ./check finds the violation.
 */
#ifndef MAX
#define MAX 5                /* manifests before the calm */
#endif
#ifndef CRASHES
#define CRASHES 2            /* and as many restarts */
#endif
#define NODES 3
#define ALL 7
#define NOBODY 3
#define SAME 4
#define BIT(i) (1 << (i))
#define COUNT(b) (((b) & 1) + (((b) >> 1) & 1) + (((b) >> 2) & 1))
#define IN(set, i) (((set) >> (i)) & 1)

/* the tip */
byte tip = 1, members = ALL, speaks = 1;
byte own[2], epoch[2], life[2];   /* whose the run is, its epoch, and the life that it was given to */

typedef Decision {
	bit there;
	byte number; byte members; byte epoch[2];  /* of the tip that it was decided on */
	byte dead; byte to[2]; byte life[2];       /* SAME = left alone */
	bit join; byte speak                       /* 0 = no Speak */
}
Decision has[NODES];
byte up = ALL, now[NODES], version[NODES];    /* lives count from 0; versions are 1 and 2 */
byte crashes;
bit calm;

#define FREE(i) (IN(up, i) && !has[i].there && version[i] >= speaks && (calm || tip < MAX))
#define ACTS(i) (FREE(i) && IN(members, i))
#define RESTS(i, p) (own[p] == NOBODY || own[p] == i && life[p] != now[i])
#ifdef WITH_RUNS_OF_EARLIER_LIVES_LEFT
#define CLAIMS(i, p) (own[p] == NOBODY)
#else
#define CLAIMS(i, p) RESTS(i, p)
#endif
#define SPOKEN_BY(set) ((!IN(set, 0) || version[0] == 2) && (!IN(set, 1) || version[1] == 2) && (!IN(set, 2) || version[2] == 2))

inline clear(i) {
	has[i].there = 0; has[i].number = 0; has[i].members = 0; has[i].epoch[0] = 0; has[i].epoch[1] = 0; has[i].dead = 0;
	has[i].to[0] = 0; has[i].to[1] = 0; has[i].life[0] = 0; has[i].life[1] = 0; has[i].join = 0; has[i].speak = 0
}

inline decide(i) {
	has[i].there = 1; has[i].number = tip; has[i].members = members; has[i].epoch[0] = epoch[0]; has[i].epoch[1] = epoch[1];
	has[i].to[0] = SAME; has[i].to[1] = SAME
}

/* whom a take-over by i gives partition p: any of "living", in its present life or one before */
inline give(i, p, living) {
	if
	:: !(own[p] < NOBODY && IN(has[i].dead, own[p])) -> skip
	:: own[p] < NOBODY && IN(has[i].dead, own[p]) ->
		if
		:: IN(living, 0) -> has[i].to[p] = 0
		:: IN(living, 1) -> has[i].to[p] = 1
		:: IN(living, 2) -> has[i].to[p] = 2
		:: has[i].to[p] = NOBODY
		fi;
		if
		:: has[i].to[p] != NOBODY -> has[i].life[p] = now[has[i].to[p]];
			if
			:: !calm && has[i].life[p] > 0 -> has[i].life[p]--
			:: skip
			fi
		:: else
		fi
	fi
}

#ifdef NO_RUNS_COMPARED
#define SEEN_RUN(i, p) true
#else
#define SEEN_RUN(i, p) (has[i].to[p] == SAME || has[i].epoch[p] == epoch[p])
#endif
#define SEEN_MEMBERS(i) (has[i].members == members)
#ifdef WITH_SPEAK_OF_AN_OLDER_TIP
#define SEEN_TIP(i) true
#else
#define SEEN_TIP(i) (has[i].speak == 0 || has[i].number == tip)
#endif
#ifdef WITH_TIP_NOT_UNDERSTOOD
#define UNDERSTOOD(i) true
#else
#define UNDERSTOOD(i) (version[i] >= speaks)
#endif
#define HOLDS(i) (UNDERSTOOD(i) && SEEN_MEMBERS(i) && SEEN_RUN(i, 0) && SEEN_RUN(i, 1) && SEEN_TIP(i))

/* what Assign makes of the tip */
#define THEN(i) ((members & ~has[i].dead) | (has[i].join -> BIT(i) : 0))
#define OWNER(i, p) (has[i].to[p] == SAME -> own[p] : has[i].to[p])
#ifdef NO_OWNERS_CHECKED
#define OWNED(i, p) true
#else
#define OWNED(i, p) (OWNER(i, p) == NOBODY || IN(THEN(i), OWNER(i, p)))
#endif
#define ALLOWED(i) ((has[i].dead & ~members) == 0 && (has[i].dead == 0 || IN(members, i)) && OWNED(i, 0) && OWNED(i, 1) && (has[i].speak == 0 || has[i].speak > speaks))

inline change(i, p) {
	if
	:: has[i].to[p] == SAME
	:: else ->
		/* taken only from whom this manifest calls dead, or who is its own */
		assert(own[p] == NOBODY || own[p] == i || IN(has[i].dead, own[p]));
		own[p] = has[i].to[p]; life[p] = has[i].life[p]; epoch[p]++
	fi
}

inline sound() {
	assert(own[0] == NOBODY || IN(members, own[0]));
	assert(own[1] == NOBODY || IN(members, own[1]));
	/* every member reads what is written */
	assert(speaks == 1 || SPOKEN_BY(members))
}

inline put(i) {
	d_step {
	if
	:: HOLDS(i) && ALLOWED(i) ->
		change(i, 0); change(i, 1);
		members = THEN(i); tip++;
		assert(has[i].speak == 0 || has[i].speak > speaks);
		speaks = (has[i].speak -> has[i].speak : speaks);
		sound()
	:: else -> skip /* decided anew */
	fi;
	clear(i)
	}
}

/* its leaving is under way: who then is left may be down, and others may not join in its place */
#define GOES(i) (has[i].dead == BIT(i))
#define RUNS(p) (own[p] < NOBODY && IN(up & members, own[p]) && life[p] == now[own[p]])

#ifdef WITH_ABSENT_NOT_ASKED
#define RAISED SPOKEN_BY(members & up)
#else
#define RAISED ((members & ~up) == 0 && SPOKEN_BY(members))
#endif

/* one process for each node's decisions would only add names: a step is some node's */
#define STEPS(i) \
	:: atomic { has[i].there -> put(i) } \
	/* take over */ \
	:: atomic { !calm && ACTS(i) && (members & ~BIT(i)) -> decide(i); \
		if \
		:: members & ~BIT(i) & 3 -> has[i].dead = members & ~BIT(i) & 3 \
		:: members & ~BIT(i) & 5 -> has[i].dead = members & ~BIT(i) & 5 \
		:: members & ~BIT(i) & 6 -> has[i].dead = members & ~BIT(i) & 6 \
		:: has[i].dead = members & ~BIT(i) \
		fi; \
		give(i, 0, members & ~has[i].dead); give(i, 1, members & ~has[i].dead) } \
	:: atomic { calm && ACTS(i) && (members & ~up) -> decide(i); has[i].dead = members & ~up; give(i, 0, members & up); give(i, 1, members & up) } \
	/* claim what rests, and what an earlier life of this node was given */ \
	:: atomic { ACTS(i) && (CLAIMS(i, 0) || CLAIMS(i, 1)) -> decide(i); \
		if :: CLAIMS(i, 0) -> has[i].to[0] = i; has[i].life[0] = now[i] :: else fi; \
		if :: CLAIMS(i, 1) -> has[i].to[1] = i; has[i].life[1] = now[i] :: else fi } \
	/* join; only where the majority is seen, which in the calm is the truth */ \
	:: atomic { FREE(i) && !IN(members, i) && (!calm || members == 0 || 2 * COUNT(members & up) > COUNT(members)) -> decide(i); has[i].join = 1 } \
	/* raise what is spoken, once all members are in view and speak it */ \
	:: atomic { ACTS(i) && speaks == 1 && RAISED -> decide(i); has[i].speak = 2 } \
	/* a planned move, decided on the very tip, by the owner; the receiver's life may be over */ \
	:: atomic { !calm && ACTS(i) && own[0] == i && RUNS(0) && IN(members, (i + 1) % NODES) -> own[0] = (i + 1) % NODES; life[0] = now[own[0]]; epoch[0]++; tip++; sound() } \
	:: atomic { !calm && ACTS(i) && own[1] == i && RUNS(1) && IN(members, (i + 2) % NODES) -> own[1] = (i + 2) % NODES; life[1] = now[own[1]]; epoch[1]++; tip++; sound() } \
	/* leave: what it has rests */ \
	:: atomic { !calm && ACTS(i) && COUNT(members) > 1 && !has[i].there -> decide(i); has[i].dead = BIT(i); \
		if :: own[0] == i -> has[i].to[0] = NOBODY :: else fi; \
		if :: own[1] == i -> has[i].to[1] = NOBODY :: else fi } \
	/* crash; come back */ \
	:: atomic { !calm && IN(up, i) && crashes < CRASHES -> crashes++; up = up & ~BIT(i); clear(i) } \
	:: atomic { !calm && !IN(up, i) -> up = up | BIT(i); now[i]++; \
		if \
		:: version[i] = 2 \
		:: skip \
		:: !IN(members, i) -> version[i] = 1 \
		fi }

active proctype world() {
	own[0] = 0; own[1] = 1; epoch[0] = 1; epoch[1] = 1;
	version[0] = 2; version[1] = 2; version[2] = 1;
	if
	:: version[2] = 2
	:: skip
	fi;
end:	do
	STEPS(0)
	STEPS(1)
	STEPS(2)
	:: atomic { !calm && ((up & members) || up && !members) && !GOES(0) && !GOES(1) && !GOES(2) -> calm = 1 }
	:: timeout -> /* nothing is left to do */
		assert(!calm || RUNS(0) && RUNS(1) && (members & ~up) == 0);
		assert(!calm || speaks == 2 || !SPOKEN_BY(members));
		assert(!calm || (IN(members, 0) || !FREE(0)) && (IN(members, 1) || !FREE(1)) && (IN(members, 2) || !FREE(2)));
#ifdef REACH
		if
		:: calm && speaks == 2 && members == ALL && crashes == CRASHES -> assert(false)
		:: else
		fi;
#endif
		break
	od
}
