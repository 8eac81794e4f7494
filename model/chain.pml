/*
 * Ownership, sealing, committing and publishing of one partition with two input topics.
 *
 * Three equal nodes; each may own, and any may coordinate. Every start is a new epoch and a
 * new incarnation; replay interleaves the two topics anew, so a node's memory is the very
 * order in which records were taken: "hist", a length and one bit per record for its topic.
 * Nodes crash and come back without memory. Transactions to Kafka are fenced, and their
 * answers may be lost.
 *
 * With RESTORES > 0 the partition may also be taken back to an earlier entry, also to one
 * that another restore has left behind. Each record makes one result, and what it says
 * depends on the interleaving: of the n-th record of a topic, how many of the other topic
 * came before it. The line that a restore leaves behind becomes public to its end; the next
 * run reads that first, keeps back what it computes again until it has come to where the
 * line stood, and then sends what differs.
 *
 * How it is made small, without leaving anything out:
 * - A put in flight is no state. All puts that can still land are for the number after the
 *   tip; one that lands late differs from one derived now only in what it knew: an older
 *   marker, fewer seals, an offer whose maker has crashed since. Each is a choice below. Who
 *   put it, and whether it heard the answer, leaves no trace: all go on from the tip.
 * - Epoch and incarnation are one number, as both are new with each start. That a life knows
 *   which start meant it is "offer".
 * - Nodes that neither run nor have offered are alike; the first of them stands for all.
 * - What can play no part any more is forgotten: seals that fit no entry to come, the memory
 *   that a revoked owner would make more of them from (it still speaks), public outboxes,
 *   and entries behind the tip if nothing restores them.
 *
 * Left out: what a file holds (garbage.pml), alerts (alerts.pml), who may take over and when
 * (members.pml; here the partition may be given to any node at any time).
 *
 * Each macro NO_... or WITH_... drops one rule of the protocol; ./check finds the violation.
 */
#ifndef MAX
#define MAX 7        /* manifests */
#endif
#ifndef RECORDS
#define RECORDS 3
#endif
#ifndef SEALS
#define SEALS 3
#endif
#ifndef RESTORES
#define RESTORES 0
#endif
#ifndef NODES
#define NODES 3
#endif
#define NOBODY 3

typedef Entry {
	byte made; byte epoch; byte owner;
	byte size; byte bits;     /* hist at the cut */
	byte pend;                /* bit m: the outbox of manifest m waits */
	byte left;                /* bit m: a restore left the line of manifest m behind */
	byte goal                 /* and that line stood at this length of hist */
}
typedef Outbox { byte from; byte size; byte bits; short items }
typedef Seal { byte epoch; byte base; byte from; byte size; byte bits; short items; bit there; byte age /* restores before its run */ }
typedef Node {
	byte offer;               /* epoch of the start that meant this life */
	byte epoch; byte base;    /* epoch 0 = runs nothing */
	byte from;                /* its outbox begins at this length of hist */
	byte size; byte bits; byte cut;
	byte stage; byte pend; byte mark; byte age;
	byte left; byte goal; bit read; byte upTo  /* what of the line left behind it has read: outboxes up to this */
}
Entry chain[MAX + 1];
byte tip;
Outbox out[MAX + 1];         /* by made */
Seal store[SEALS];
byte seals, restores;
Node node[NODES];

/* Kafka */
byte holder = NOBODY;         /* whose client fenced all others last */
byte marker;
byte pubLen, pubBits;        /* without restores: the hist that is public */
short pub;                   /* with them: two bits for each record, what is public of it, + 1 */

#define RUNS(i) (node[i].epoch != 0)
#define MINE(i) (chain[tip].owner == i && chain[tip].epoch == node[i].epoch)
#define BLANK(i) (node[i].epoch == 0 && node[i].offer == 0)
#define MASK(n) ((1 << (n)) - 1)

inline forget(i) {
	node[i].epoch = 0; node[i].base = 0; node[i].from = 0; node[i].size = 0; node[i].bits = 0; node[i].cut = 0;
	node[i].stage = 0; node[i].pend = 0; node[i].mark = 0; node[i].age = 0; node[i].left = 0; node[i].goal = 0; node[i].read = 0; node[i].upTo = 0;
	if
	:: holder == i -> holder = NOBODY  /* its client is gone, nobody else's is good again */
	:: else
	fi
}

/* The owner follows the chain: revoked it drops all; else it learns which seal won. */
inline look(i) {
	if
	:: !MINE(i) -> forget(i); node[i].offer = 0
	:: else ->
		if
		:: chain[tip].made != node[i].base -> node[i].base = chain[tip].made; node[i].from = chain[tip].size;
			node[i].left = chain[tip].left; node[i].goal = chain[tip].goal
		:: else
		fi;
		node[i].pend = chain[tip].pend
	fi
}

/* item at position p of a hist: which, and what it says + 1 */
inline item(h, p) {
	k = 0; q = 0;
	do
	:: q < p -> k = k + (((h >> q) & 1) == ((h >> p) & 1) -> 1 : 0); q++
	:: else -> break
	od;
	says = p - k + 1;
	k = 3 * ((h >> p) & 1) + k
}

#define OF(word, k) (((word) >> (2 * (k))) & 3)
#define WITH(word, k, v) (((word) & ~(3 << (2 * (k)))) | ((v) << (2 * (k))))

/* what the line left behind says of result k, as far as node i has read it: v; 0 = nothing */
inline known(i, k) {
	v = 0; m = 1;
#ifdef WITH_RESULTS_SENT_AGAIN
	m = MAX + 1;
#endif
	do
	:: m <= node[i].upTo -> v = (((node[i].left >> m) & 1) && OF(out[m].items, k) -> OF(out[m].items, k) : v); m++
	:: else -> break
	od;
	m = 0
}

/* the results that node i seals: w */
inline results(i) {
	d_step {
	w = 0; p = 0;
	do
	:: p < node[i].size ->
		item(node[i].bits, p);
		known(i, k);
		if
#ifdef WITH_OLD_NOT_COMPARED
		:: v && node[i].size >= node[i].goal && v != says && p >= node[i].from -> w = WITH(w, k, says)
#else
		:: v && node[i].size >= node[i].goal && v != says -> w = WITH(w, k, says)
#endif
		:: !v && p >= node[i].from -> w = WITH(w, k, says)
		:: else
		fi;
		p++
	:: else -> break
	od;
	p = 0; k = 0; q = 0; says = 0; v = 0
	}
}

/* Nothing lost and nothing twice: what waits is exactly what the chain has and the world has
   not. With restores: what the tip has is public as the tip has it, or waits. */
inline sound() {
	d_step {
#if RESTORES == 0
	p = pubLen; m = 1;
	do
	:: m <= tip ->
		if
		:: (chain[tip].pend >> m) & 1 && m > marker -> assert(out[m].from == p); p = out[m].size
		:: else
		fi;
		m++
	:: else -> break
	od;
	assert(p == chain[tip].size);
	assert(((chain[tip].bits ^ pubBits) & MASK(pubLen)) == 0);
#else
	/* w: what will be public once all that waits is; v: of which of it more is to come */
	w = pub; v = 0; m = 1;
	do
	:: m <= tip ->
		if
		:: (chain[tip].pend >> m) & 1 && m > marker ->
			k = 0;
			do
			:: k < 6 -> w = (OF(out[m].items, k) -> WITH(w, k, OF(out[m].items, k)) : w); k++
			:: else -> break
			od
		:: else
		fi;
		if
		:: (chain[tip].left >> m) & 1 -> v = v | out[m].items
		:: else
		fi;
		m++
	:: else -> break
	od;
	p = 0;
	do
	:: p < chain[tip].size -> item(chain[tip].bits, p); assert(OF(w, k) == says || OF(v, k)); p++
	:: else -> break
	od;
	v = 0;
#endif
	p = 0; m = 0; w = 0; k = 0; q = 0; says = 0
	}
}

/* Forget what plays no part any more; owners learn what waits. */
inline tidy() {
	d_step {
#if RESTORES == 0
#ifndef WITH_OVERWRITE
	m = 1;
	do
	:: m < tip -> chain[m].made = 0; chain[m].epoch = 0; chain[m].owner = 0; chain[m].size = 0; chain[m].bits = 0; chain[m].pend = 0; m++
	:: else -> break
	od;
	m = 1;
	do
	:: m <= tip ->
		if
		:: m <= marker || !((chain[tip].pend >> m) & 1) -> out[m].from = 0; out[m].size = 0; out[m].bits = 0
		:: else
		fi;
		m++
	:: else -> break
	od;
#endif
#endif
#ifndef KEEP_SEALS
	s = 0; m = 0;
	do
	:: s < seals ->
		if
		:: store[s].epoch == chain[tip].epoch && store[s].base == chain[tip].made ->
			store[m].epoch = store[s].epoch; store[m].base = store[s].base; store[m].from = store[s].from;
			store[m].size = store[s].size; store[m].bits = store[s].bits; store[m].age = store[s].age;
			store[m].items = store[s].items; store[m].there = store[s].there; m++
		:: else
		fi;
		s++
	:: else -> break
	od;
	s = m;
	do
	:: s < seals -> store[s].epoch = 0; store[s].base = 0; store[s].from = 0; store[s].size = 0; store[s].bits = 0; store[s].age = 0; store[s].items = 0; store[s].there = 0; s++
	:: else -> break
	od;
	seals = m;
#endif
	w = 0;
	do
	:: w < NODES ->
		if
		:: RUNS(w) && MINE(w) -> node[w].pend = chain[tip].pend
#ifndef KEEP_SEALS
		:: RUNS(w) && !MINE(w) ->
			node[w].base = 0; node[w].age = 0; node[w].left = 0; node[w].goal = 0; node[w].upTo = 0; node[w].read = 1; node[w].from = 0; node[w].size = RECORDS; node[w].bits = 0; node[w].cut = RECORDS
#endif
		:: !RUNS(w) && node[w].offer != chain[tip].epoch -> node[w].offer = 0
		:: else
		fi;
		w++
	:: else -> break
	od;
	w = 0; m = 0; s = 0
	}
}

inline publish(m) {
#if RESTORES == 0
	assert(out[m].from == pubLen && ((out[m].bits ^ pubBits) & MASK(pubLen)) == 0);
	pubLen = out[m].size; pubBits = out[m].bits;
#else
	k = 0;
	do
	:: k < 6 ->
		assert(!OF(out[m].items, k) || OF(out[m].items, k) != OF(pub, k)); /* no result goes out twice */
		pub = (OF(out[m].items, k) -> WITH(pub, k, OF(out[m].items, k)) : pub); k++
	:: else -> break
	od;
	k = 0;
#endif
#ifdef WITH_MARKER_OF_TIP
	marker = tip
#else
	marker = m
#endif
}

/* May seal s follow the entry at n? */
#ifdef NO_RUN_CHECK
#define FITS_RUN(s, n) (chain[n].owner != NOBODY)
#else
#define FITS_RUN(s, n) (store[s].epoch == chain[n].epoch && chain[n].owner != NOBODY)
#endif
#ifdef NO_BASE_CHECK
#define FITS_BASE(s, n) (store[s].size >= chain[n].size)
#elif defined(WITH_OUTBOX_SINCE_LAST_SEAL)
#define FITS_BASE(s, n) (store[s].base == chain[n].made)
#else
#define FITS_BASE(s, n) (store[s].base == chain[n].made && store[s].from == chain[n].size)
#endif
#define FITS(s, n) (FITS_RUN(s, n) && FITS_BASE(s, n))

inline carry(n) {
	chain[n].made = chain[n - 1].made; chain[n].epoch = chain[n - 1].epoch; chain[n].owner = chain[n - 1].owner;
	chain[n].size = chain[n - 1].size; chain[n].bits = chain[n - 1].bits; chain[n].pend = chain[n - 1].pend;
	chain[n].left = chain[n - 1].left; chain[n].goal = chain[n - 1].goal; tip = n
}

/* The commit of seal s in manifest n, pruning what a marker up to "seen" shows as public. */
inline commit(n, s, seen) {
	/* one lineage; its writer is not revoked */
	assert(store[s].size >= chain[n].size && ((store[s].bits ^ chain[n].bits) & MASK(chain[n].size)) == 0);
	assert(store[s].epoch == chain[n].epoch && store[s].age == restores);
	chain[n].made = n; chain[n].size = store[s].size; chain[n].bits = store[s].bits;
	out[n].from = store[s].from; out[n].size = store[s].size; out[n].bits = store[s].bits; out[n].items = store[s].items;
	if
	:: store[s].there -> chain[n].left = 0; chain[n].goal = 0
	:: else
	fi;
#ifdef WITH_ONE_PENDING
	chain[n].pend = 1 << n
#else
	chain[n].pend = (chain[n].pend & ~MASK(seen + 1)) | (1 << n)
#endif
}

/* The start of a new run by some node: a life that offered it, or one that is gone. */
inline start(n) {
	chain[n].epoch++;
	if
	:: chain[n].owner = 0; j = 0
#if NODES > 1
	:: !BLANK(0) -> chain[n].owner = 1; j = 1
#endif
#if NODES > 2
	:: !BLANK(0) && !BLANK(1) -> chain[n].owner = 2; j = 2
#endif
	fi;
	if
	:: node[j].offer = chain[n].epoch
	:: skip
	fi;
	j = 0
}

inline anySeal() {
	s = 0;
	do
	:: s + 1 < seals -> s++
	:: break
	od
}

active proctype world() {
	byte i, j, p, m, k, q, s, says, v;
	short w;
	tip = 1; chain[1].made = 1; chain[1].owner = NOBODY;
end:	do
	/* manifests, by any coordinator */
	:: atomic { tip < MAX -> carry(tip + 1); start(tip); sound(); tidy() }
	:: atomic { tip < MAX && seals > 0 -> anySeal();
		if
		:: FITS(s, tip) -> carry(tip + 1);
			if
			:: commit(tip, s, marker)
			:: marker > 0 -> commit(tip, s, 0)
			fi;
			if
			:: skip          /* checkpoint */
			:: start(tip)    /* planned move */
			fi;
			sound(); tidy()
		:: else
		fi;
		s = 0 }
#if RESTORES > 0
	:: atomic { tip < MAX && restores < RESTORES && tip > 2 ->
		m = 1;
		do
		:: m + 1 < tip -> m++
		:: break
		od;
		restores++; carry(tip + 1);
		chain[tip].made = chain[m].made; chain[tip].size = chain[m].size; chain[tip].bits = chain[m].bits;
#ifdef WITH_PENDING_OF_OLD
		chain[tip].pend = chain[m].pend;
#endif
		/* all of its own line that is still to be reached, and all since */
		chain[tip].left = chain[m].left | (MASK(tip) & ~MASK(m + 1));
		chain[tip].goal = (chain[m].goal > chain[tip].goal -> chain[m].goal : chain[tip].goal);
		chain[tip].goal = (chain[tip - 1].size > chain[tip].goal -> chain[tip - 1].size : chain[tip].goal);
#ifndef WITH_EPOCH_KEPT
		chain[tip].epoch++; chain[tip].owner = NOBODY;
#endif
		m = 0; sound(); tidy() }
#endif
#ifdef WITH_OVERWRITE
	/* a put that came late takes the place of the tip */
	:: atomic { tip > 1 && seals > 0 -> anySeal();
		if
		:: FITS(s, tip - 1) -> carry(tip); commit(tip, s, 0); sound(); tidy()
		:: else
		fi;
		s = 0 }
#endif

	/* nodes */
	:: atomic {
		if
		:: i = 0
#if NODES > 1
		:: i = 1
#endif
#if NODES > 2
		:: i = 2
#endif
		fi;
		if
		/* crash */
		:: !BLANK(i) -> forget(i); node[i].offer = 0

		:: RUNS(i) && (!MINE(i) || chain[tip].made != node[i].base ) -> look(i)

		/* begin at the entry */
		:: !RUNS(i) && chain[tip].owner == i &&
#ifndef WITH_RESUME
			chain[tip].epoch == node[i].offer &&
#endif
			true ->
			node[i].epoch = chain[tip].epoch; node[i].age = restores; node[i].offer = 0; node[i].base = chain[tip].made; node[i].from = chain[tip].size;
			node[i].size = chain[tip].size; node[i].bits = chain[tip].bits; node[i].cut = chain[tip].size; node[i].pend = chain[tip].pend;
			node[i].left = chain[tip].left; node[i].goal = chain[tip].goal; node[i].read = (chain[tip].left == 0 -> 1 : 0)

		/* after a restore: speak first, until the line left behind is public; then read it */
		:: RUNS(i) && !node[i].read &&
#ifndef WITH_READ_BEFORE_ALL_IS_PUBLIC
			node[i].stage == 3 && holder == i && !(node[i].pend & ~MASK(node[i].mark + 1)) &&
#endif
			true -> node[i].read = 1; node[i].upTo = marker

		/* take a record of either topic */
		:: RUNS(i) && node[i].read && node[i].size < RECORDS -> node[i].size++
		:: RUNS(i) && node[i].read && node[i].size < RECORDS -> node[i].bits = node[i].bits | (1 << node[i].size); node[i].size++

		/* seal: all since the base, whatever was sealed before */
		:: RUNS(i) && node[i].size > node[i].cut && seals < SEALS ->
			store[seals].epoch = node[i].epoch; store[seals].age = node[i].age; store[seals].base = node[i].base; store[seals].size = node[i].size; store[seals].bits = node[i].bits;
#ifdef WITH_OUTBOX_SINCE_LAST_SEAL
			store[seals].from = node[i].cut;
#else
			store[seals].from = node[i].from;
#endif
			
#if RESTORES > 0
			results(i); store[seals].items = w; store[seals].there = (node[i].size >= node[i].goal -> 1 : 0); w = 0;
#endif
			node[i].cut = node[i].size; seals++

		/* speak: fence, re-read the chain, read the marker, send */
#ifdef WITH_MARKER_BEFORE_FENCE
		:: RUNS(i) && node[i].stage == 0 -> node[i].mark = marker; node[i].stage = 5
		:: RUNS(i) && node[i].stage == 5 -> holder = i; node[i].stage = 1
		:: RUNS(i) && node[i].stage == 2 -> node[i].stage = 3
#else
		:: RUNS(i) && node[i].stage == 0 -> holder = i; node[i].stage = 1
		:: RUNS(i) && node[i].stage == 2 -> node[i].mark = marker; node[i].stage = 3
#endif
#ifdef NO_REREAD
		:: RUNS(i) && node[i].stage == 1 -> node[i].stage = 2
#else
		:: RUNS(i) && node[i].stage == 1 -> look(i);
			if
			:: RUNS(i) -> node[i].stage = 2
			:: else
			fi
#endif
		:: RUNS(i) && node[i].stage == 3 && (node[i].pend & ~MASK(node[i].mark + 1)) ->
			m = node[i].mark + 1;
			do
			:: !((node[i].pend >> m) & 1) -> m++
#ifdef WITH_ANY_ORDER
			:: (node[i].pend & ~MASK(m + 1)) -> m++
#endif
			:: (node[i].pend >> m) & 1 -> break
			od;
			if
#ifndef NO_FENCE
			:: holder != i -> node[i].stage = 0; node[i].mark = 0; skip
			:: holder == i ->
#else
			:: true ->
#endif
				/* a revoked owner does nothing durable once its successor may speak */
				w = 0;
				do
				:: w < NODES -> assert(!(node[w].stage == 3 && node[w].epoch > node[i].epoch)); w++
				:: else -> break
				od;
				w = 0;
				publish(m);
				if
				:: node[i].mark = m
				:: node[i].stage = 0; node[i].mark = 0 /* answer lost: a new client */
				fi;
				sound(); tidy()
			fi;
			m = 0
		:: else
		fi;
		i = 0 }
#ifdef REACH
	/* can all be published, by a third run, after seals of the first two won? */
	:: atomic { chain[tip].size == RECORDS && chain[tip].epoch >= 3 && marker >= chain[tip].made && restores == RESTORES && chain[tip].left == 0 -> assert(false) }
#endif
	od
}
