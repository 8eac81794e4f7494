/*
 * Alerts of one partition: decided as records are taken, sent at once in transactions of
 * their own, and each exactly once whoever crashes when.
 *
 * Two topics; each record decides one alert, whose id is the record's, in
 * whatever order replay takes them. An alert's transaction also appends its id to the marker
 * log. Every run is a new epoch; a run that another start has revoked does not know it yet.
 * A seal is committed at once or never (chain.pml has the rest). An answer may be lost.
 * That the chain is re-read after the fence is no alert's need (all orders of fence and log
 * that this allows are safe without); chain.pml shows what is.
 *
 * Ids are bits: bit n for topic 0, bit TX + n for topic 1.
 */
#ifndef TX
#define TX 2         /* records of topic 0 */
#endif
#ifndef TY
#define TY 1
#endif
#ifndef EPOCHS
#define EPOCHS 4
#endif
#define IDS (TX + TY)
#define NOBODY 9
#define BIT(x) (1 << (x))
#define MASK(n) ((1 << (n)) - 1)
#define REACHED(x, y) (MASK(x) | (MASK(y) << TX))

/* the tip's entry */
byte epoch = 1, tipX, tipY, tipUnsent, tipSeen, tipLog;

typedef Node {
	byte epoch;              /* 0 = runs nothing */
	byte x; byte y;          /* records taken */
	byte unsent;             /* decided, not acknowledged */
	byte found;              /* known as sent by earlier runs, not yet reached by replay */
	byte quiet;              /* a position of the log taken when nothing was unacknowledged */
	byte end;                /* the log's end as it knows it */
	byte stage               /* of its client: 0 none, 1 fenced, 2 chain re-read, 3 log read */
}
Node node[2];
byte holder = NOBODY;

/* Kafka */
byte log[IDS + 1];           /* an id at each position; one more shows a second sending */
byte logEnd, sent;

#define RUNS(i) (node[i].epoch != 0)

inline forget(i) {
	node[i].epoch = 0; node[i].x = 0; node[i].y = 0; node[i].unsent = 0; node[i].found = 0; node[i].quiet = 0; node[i].end = 0; node[i].stage = 0;
	if
	:: holder == i -> holder = NOBODY
	:: else
	fi
}

/* Ids in the log from a position on. What was found leaves what is unsent and stays found
   until replay reaches it. */
inline read(i, from) {
	m = 0; k = from;
	do
	:: k < logEnd -> m = m | BIT(log[k]); k++
	:: else -> break
	od;
	node[i].unsent = node[i].unsent & ~m;
	node[i].found = node[i].found | (m & ~REACHED(node[i].x, node[i].y));
	node[i].end = logEnd;
	m = 0; k = 0
}

inline decide(i, id) {
	if
	:: node[i].found & BIT(id) -> node[i].found = node[i].found & ~BIT(id)
	:: else -> node[i].unsent = node[i].unsent | BIT(id)
	fi
}

inline calm(i) {
	if
	:: node[i].unsent == 0 -> node[i].quiet = node[i].end
	:: else
	fi
}

/* No alert is lost: each that the chain has passed was sent or waits in the entry. */
#define SOUND assert((REACHED(tipX, tipY) & ~sent & ~tipUnsent) == 0)

active proctype world() {
	byte i, k, m, id;
end:	do
	:: atomic {
		if
		:: i = 0 :: i = 1
		fi;
		if
		/* a start revokes the run before; the new one begins at the entry */
		:: !RUNS(i) && (i == 0 || RUNS(0)) && epoch < EPOCHS ->
			epoch++; node[i].epoch = epoch; node[i].x = tipX; node[i].y = tipY;
			node[i].unsent = tipUnsent; node[i].found = tipSeen; node[i].quiet = tipLog; node[i].end = tipLog
		:: RUNS(i) -> forget(i)

		:: RUNS(i) && node[i].x < TX -> id = node[i].x; node[i].x++; decide(i, id); id = 0
		:: RUNS(i) && node[i].y < TY -> id = TX + node[i].y; node[i].y++; decide(i, id); id = 0

#ifdef WITH_LOG_BEFORE_FENCE
		:: RUNS(i) && node[i].stage == 0 -> read(i, node[i].quiet); node[i].stage = 4
		:: RUNS(i) && node[i].stage == 4 -> holder = i; node[i].stage = 1
		:: RUNS(i) && node[i].stage == 2 -> calm(i); node[i].stage = 3
#else
		:: RUNS(i) && node[i].stage == 0 -> holder = i; node[i].stage = 1
		:: RUNS(i) && node[i].stage == 2 -> read(i, node[i].quiet); calm(i); node[i].stage = 3
#endif
		:: RUNS(i) && node[i].stage == 1 ->
			if
			:: node[i].epoch == epoch -> node[i].stage = 2
			:: else -> forget(i)
			fi
		:: RUNS(i) && node[i].stage == 3 && node[i].unsent != 0 ->
			id = 0;
			do
			:: node[i].unsent & BIT(id) -> break
			:: node[i].unsent & ~MASK(id + 1) -> id++
			:: !(node[i].unsent & BIT(id)) -> id++
			od;
			if
			:: holder == i ->
				assert(!(sent & BIT(id)));
				sent = sent | BIT(id); log[logEnd] = id; logEnd++;
				if
				:: node[i].unsent = node[i].unsent & ~BIT(id); node[i].end = logEnd; calm(i)
#ifdef WITH_RETRY
				:: skip                       /* answer lost: sends it again */
#else
				:: node[i].stage = 0          /* answer lost: a new client reads the log again */
#endif
				fi
			:: holder != i -> node[i].stage = 0
			fi;
			id = 0

		/* a seal that is committed */
		:: RUNS(i) && node[i].epoch == epoch && (node[i].x > tipX || node[i].y > tipY) ->
			tipX = node[i].x; tipY = node[i].y;
#ifdef WITH_UNSENT_LEFT_OUT
			tipUnsent = 0;
#else
			tipUnsent = node[i].unsent;
#endif
#ifdef WITH_SEEN_LEFT_OUT
			tipSeen = 0;
#else
			tipSeen = node[i].found;
#endif
#ifdef WITH_LOG_END_AT_THE_CUT
			tipLog = logEnd;
#else
			tipLog = node[i].quiet;
#endif
			SOUND
		:: else
		fi;
		i = 0 }
#ifdef REACH
	:: atomic { epoch == EPOCHS && tipX == TX && tipY == TY && sent == MASK(IDS) && tipUnsent == 0 -> assert(false) }
#endif
	od
}
