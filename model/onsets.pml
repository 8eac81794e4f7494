/*
 * Alerts of one rule and one trip: a fact is told once, under whatever id. alerts.pml has ids
 * that replay does not change; here they change. Fact n is there once record n of both topics is
 * taken, and its id says which of them came last, as an episode's onset does. Another run takes
 * the topics otherwise against each other, and so tells the same fact under another id.
 *
 * The order of a run is the program's: start, fence, chain re-read, log read (Recover), and then
 * replay. Who finds an id behind the cut's position lets it stand for one alert: the first of
 * those that stand, for the facts of a rule and trip come in their order. An id that the cut
 * itself knew as sent (seen) stands for none. Every acknowledged alert moves the position.
 * All facts are told by replay, too; one that another order of the topics does not know at all
 * is beyond this model.
 *
 * Ids are bits: bit n if topic 0 came last, bit FACTS + n if topic 1 did.
 */
#ifndef FACTS
#define FACTS 3
#endif
#ifndef EPOCHS
#define EPOCHS 3
#endif
#define NOBODY 9
#define BIT(x) (1 << (x))
#define MASK(n) ((1 << (n)) - 1)
#define MIN(a, b) ((a) < (b) -> (a) : (b))

/* the tip's entry; stood is what stood for a fact at its cut, which the entry does not say */
byte epoch = 1, tipX, tipY, tipUnsent, tipSeen, tipLog, stood;

typedef Node {
	byte epoch;              /* 0 = runs nothing */
	byte x; byte y;          /* records taken */
	byte unsent;             /* ids decided, not acknowledged */
	byte known;              /* ids sent by earlier runs, not yet reached */
	byte stands;             /* of those: which stand for a fact */
	byte quiet;              /* a position of the log behind which all that is unsent would be */
	bit begun;               /* the log was read once */
	byte stage               /* of its client: 0 none, 1 fenced, 2 chain re-read, 3 log read */
}
Node node[2];
byte holder = NOBODY;
byte farX, farY;             /* how far any run has come */

byte log[2 * FACTS + 1];
byte logEnd, told;           /* told: facts */

/* Two crashes within one replay, with a cut between them, are beyond what holds. */
#ifdef TWO_CRASHES_WITHIN_A_REPLAY
#define ONCE true
#else
#define ONCE (stood == 0)
#endif

#define RUNS(i) (node[i].epoch != 0)

inline forget(i) {
	node[i].epoch = 0; node[i].x = 0; node[i].y = 0; node[i].unsent = 0; node[i].known = 0; node[i].stands = 0;
	node[i].quiet = 0; node[i].begun = 0; node[i].stage = 0;
	if
	:: holder == i -> holder = NOBODY
	:: else
	fi
}

/* first is the first of those that stand, in the log's order; any of them WITH_ANY_OF_THEM */
inline first(i) {
	k = 0;
	do
	:: node[i].stands & BIT(log[k]) -> break
#ifdef WITH_ANY_OF_THEM
	:: (node[i].stands & BIT(log[k])) && (k + 1 < logEnd) -> k++
#endif
	:: !(node[i].stands & BIT(log[k])) && k + 1 < logEnd -> k++
	:: !(node[i].stands & BIT(log[k])) && k + 1 >= logEnd -> k = 0
	od;
	m = log[k]; k = 0
}

inline decide(i, id) {
	if
	:: node[i].known & BIT(id) -> node[i].known = node[i].known & ~BIT(id); node[i].stands = node[i].stands & ~BIT(id)
	:: !(node[i].known & BIT(id)) && node[i].stands != 0 ->
		first(i);
#ifndef WITH_STANDING_KEPT
		node[i].stands = node[i].stands & ~BIT(m);
#endif
		m = 0
	:: !(node[i].known & BIT(id)) && node[i].stands == 0 -> node[i].unsent = node[i].unsent | BIT(id)
	fi
}

inline took(i) {
	farX = (node[i].x > farX -> node[i].x : farX); farY = (node[i].y > farY -> node[i].y : farY);
	if
	:: node[i].x >= farX && node[i].y >= farY -> node[i].stands = 0 /* replay has caught up */
	:: else
	fi
}

/* No fact is swallowed: each that the chain has passed was told or waits in the entry. */
#define WAITS (tipUnsent | (tipUnsent >> FACTS))
#define SOUND assert((MASK(MIN(tipX, tipY)) & ~told & ~WAITS) == 0)

active proctype world() {
	byte i, k, m, id;
end:	do
	:: atomic {
		if
		:: i = 0 :: i = 1
		fi;
		if
		:: !RUNS(i) && (i == 0 || RUNS(0)) && epoch < EPOCHS && ONCE -> epoch++; node[i].epoch = epoch; node[i].x = tipX; node[i].y = tipY; node[i].quiet = tipLog
		:: RUNS(i) -> forget(i)

		:: RUNS(i) && node[i].begun && node[i].x < FACTS ->
			id = node[i].x; node[i].x++;
			if
			:: node[i].y > id -> decide(i, id)
			:: else
			fi;
			took(i); id = 0
		:: RUNS(i) && node[i].begun && node[i].y < FACTS ->
			id = node[i].y; node[i].y++;
			if
			:: node[i].x > id -> id = FACTS + id; decide(i, id)
			:: else
			fi;
			took(i); id = 0

		:: RUNS(i) && node[i].stage == 0 -> holder = i; node[i].stage = 1
		:: RUNS(i) && node[i].stage == 1 ->
			if
			:: node[i].epoch == epoch -> node[i].stage = 2
			:: else -> forget(i)
			fi
		:: RUNS(i) && node[i].stage == 2 ->
			m = 0; k = node[i].quiet;
			do
			:: k < logEnd -> m = m | BIT(log[k]); k++
			:: else -> break
			od;
			if
			:: !node[i].begun ->
				node[i].begun = 1;
				node[i].known = (tipSeen | m) & ~(tipUnsent & (tipSeen | m));
				node[i].unsent = tipUnsent & ~(tipSeen | m);
#ifndef WITH_IDS_ALONE
				node[i].stands = m & ~tipUnsent;
#endif
				node[i].quiet = logEnd
			:: else -> /* its own, whose answer was lost */
				node[i].unsent = node[i].unsent & ~m;
				if
				:: node[i].unsent == 0 || m != 0 -> node[i].quiet = logEnd
				:: else
				fi
			fi;
			node[i].stage = 3; m = 0; k = 0
		:: RUNS(i) && node[i].stage == 3 && node[i].unsent != 0 ->
			id = 0;
			do                                    /* in the order in which they were decided */
			:: node[i].unsent & (BIT(id) | BIT(FACTS + id)) -> break
			:: else -> id++
			od;
			id = (node[i].unsent & BIT(id) -> id : FACTS + id);
			if
			:: holder == i ->
				assert(!(told & BIT(id % FACTS)));
				told = told | BIT(id % FACTS); log[logEnd] = id; logEnd++;
				if
				:: node[i].unsent = node[i].unsent & ~BIT(id); node[i].quiet = logEnd
				:: node[i].stage = 0          /* answer lost: a new client reads the log again */
				fi
			:: holder != i -> node[i].stage = 0
			fi;
			id = 0

		/* a seal that is committed */
		:: RUNS(i) && node[i].epoch == epoch && node[i].begun && (node[i].x > tipX || node[i].y > tipY) ->
			tipX = node[i].x; tipY = node[i].y; tipUnsent = node[i].unsent; stood = node[i].stands;
#ifdef WITH_SEEN_LEFT_OUT
			tipSeen = 0;
#else
			tipSeen = node[i].known;
#endif
#ifdef WITH_LOG_END_AT_THE_CUT
			tipLog = logEnd;
#endif
#ifdef WITH_OLD_POSITION
			skip;
#endif
#ifndef WITH_LOG_END_AT_THE_CUT
#ifndef WITH_OLD_POSITION
			tipLog = node[i].quiet;
#endif
#endif
			SOUND
		:: else
		fi;
		i = 0 }
#ifdef REACH
	:: atomic { epoch == EPOCHS && tipX == FACTS && tipY == FACTS && told == MASK(FACTS) && tipUnsent == 0 -> assert(false) }
#endif
	od
}
