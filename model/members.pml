/*
 * Who may take over: members, gossip and heartbeats of three nodes, without end.
 *
 * Nothing here is about safety, which is the chain's (chain.pml), but about progress and
 * peace: work goes on while one node stays up, and nodes that work do not take it from each
 * other.
 *
 * Time goes in rounds, one heartbeat interval each. In a round every node that is up puts its
 * heartbeat, looks at the others', may take over, may join. Until the calm begins anything
 * may happen in each round: nodes stop and wake (or crash and come back: both begin their
 * watch anew), the store fails for all, and gossip shows anybody anything. In the calm
 * nothing changes any more, at least one node is up and the store works; what gossip then
 * shows is one of three, however long:
 *   VIEW 0: everybody sees itself alone     VIEW 1: everybody sees all, dead ones too
 *   VIEW 2: the truth
 *
 * Peace: a heartbeat counts as standing still only for rounds in which the store would have
 * taken one; members are counted as joins and take-overs left them; in the calm nobody that
 * beats is taken over. Progress: after PATIENCE + 2 calm rounds the nodes that are up hold
 * all work.
 *
 * Left out: clocks that differ, so patience must be several heartbeat intervals, and a node
 * that was never in a view with another (it takes nothing, see cluster.TakeOvers).
 */
#ifndef PATIENCE
#define PATIENCE 3           /* rounds; the first look only begins the count */
#endif
#ifndef VIEW
#define VIEW 0
#endif
#define NODES 3
#define ALL 7
#define BIT(i) (1 << (i))
#define COUNT(b) (((b) & 1) + (((b) >> 1) & 1) + (((b) >> 2) & 1))

byte members = ALL;          /* of the tip */
byte counted = ALL;          /* as joins and take-overs left them */
byte holds = ALL;            /* who holds work */
byte up = ALL, awake;        /* now; in the round before */
bit store = 1, calm;
byte rounds;                 /* of the calm */
byte still[NODES * NODES];   /* [NODES * observer + other]: looks at an unchanged heartbeat */
byte silent[NODES];          /* the truth: rounds in which the store worked and the node did not beat */

#ifdef WITH_TIES_AS_MAJORITY
#define MAJORITY(v) (2 * COUNT((v) & members) >= COUNT(members))
#else
#define MAJORITY(v) (2 * COUNT((v) & members) > COUNT(members))
#endif
#define STALE(i, j) (still[NODES * i + j] > PATIENCE)

inline takeOver(i, j, v) {
	if
	:: (members & BIT(j)) && (
#ifdef WITH_GOSSIP_BELIEVED
		!(v & BIT(j)) &&
#endif
		(MAJORITY(v) && !(v & BIT(j))
#ifndef NO_HEARTBEATS
		|| STALE(i, j)
#endif
		)) ->
		if
		:: skip -> /* it may */
			assert(2 * COUNT(v & counted) > COUNT(counted) && !(v & BIT(j)) || silent[j] >= PATIENCE);
			assert(!(calm && (up & BIT(j))));
			members = members & ~BIT(j); counted = counted & ~BIT(j);
			if
			:: holds & BIT(j) -> holds = (holds & ~BIT(j)) | BIT(i)
			:: else
			fi
		:: !calm -> skip   /* or not */
		fi
	:: else
	fi
}

active proctype world() {
	byte i, j, v;
	byte turn; /* 0 = the world's; i + 1 = node i's */
end:	do
	:: atomic { turn == 0 ->
		awake = up;
		if
		:: calm -> skip
		:: !calm ->
			if
			:: calm = 1; store = 1
			:: store = 1
			:: store = 0
			fi;
			up = 0;
			if :: up = up | 1 :: skip fi;
			if :: up = up | 2 :: skip fi;
			if :: up = up | 4 :: calm && up == 0 -> up = 4 :: !calm || up != 0 fi
		fi;
		/* heartbeats */
		j = 0;
		do
		:: j < NODES ->
			if
			:: store && (up & BIT(j)) -> silent[j] = 0
			:: store && !(up & BIT(j)) && silent[j] < PATIENCE -> silent[j]++
			:: else
			fi;
			j++
		:: else -> break
		od;
		/* looks */
		i = 0;
		do
		:: i < NODES ->
			j = 0;
			do
			:: j < NODES ->
				if
				:: j == i || !(up & BIT(i)) || !(awake & BIT(i)) -> still[NODES * i + j] = 0
				:: else ->
					if
#ifdef WITH_OWN_PUTS_IGNORED
					:: !store -> still[NODES * i + j] = (still[NODES * i + j] > PATIENCE -> PATIENCE + 1 : still[NODES * i + j] + 1)
#else
					:: !store -> still[NODES * i + j] = 0
#endif
					:: store && (up & BIT(j)) -> still[NODES * i + j] = 0
					:: store && !(up & BIT(j)) -> still[NODES * i + j] = (still[NODES * i + j] > PATIENCE -> PATIENCE + 1 : still[NODES * i + j] + 1)
					fi
				fi;
				j++
			:: else -> break
			od;
			i++
		:: else -> break
		od;
		i = 0; j = 0; turn = 1 }
	/* manifests */
	:: atomic { turn > 0 && !(store && (up & BIT(turn - 1))) -> turn = (turn + 1) % (NODES + 1) }
	:: atomic { turn > 0 && store && (up & BIT(turn - 1)) ->
		i = turn - 1;
		if
		:: calm && VIEW == 0 -> v = BIT(i)
		:: calm && VIEW == 1 -> v = ALL
		:: calm && VIEW == 2 -> v = up
		:: !calm ->
			v = BIT(i);
			if :: v = v | BIT((i + 1) % NODES) :: skip fi;
			if :: v = v | BIT((i + 2) % NODES) :: skip fi
		fi;
		if
		:: members = members | BIT(i); counted = counted | BIT(i)  /* joins, or is one */
		:: !calm && !(members & BIT(i)) -> skip
		fi;
		if
		:: members & BIT(i) ->
#ifdef WITH_MEMBERS_FROM_VIEW
			if
			:: members = members & v   /* a checkpoint writes down whom it sees */
			:: skip
			fi;
#endif
			j = (i + 1) % NODES; takeOver(i, j, v);
			j = (i + 2) % NODES; takeOver(i, j, v)
		:: else
		fi;
		i = 0; j = 0; v = 0;
		turn = (turn + 1) % (NODES + 1);
		if
		:: turn == 0 && calm && rounds < PATIENCE + 2 -> rounds++
		:: else
		fi;
		assert(!(calm && rounds == PATIENCE + 2 && turn == 0 && (holds & ~up))) }
#ifdef REACH
	:: atomic { turn == 0 && calm && rounds == PATIENCE + 2 && COUNT(up) == 1 && holds == up && members == up -> assert(false) }
#endif
	od
}
