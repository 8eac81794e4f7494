/*
 * Files, manifests and the collection of garbage, with restores; one partition.
 *
 * A run uploads a file, then offers a seal that cites it and any files of its base; a
 * coordinator commits it. Files are named by (epoch, seal): here by the number under which
 * an upload begins, with the epoch and seal number beside it. A collector reads a tip (it
 * may be old by the time it deletes), then deletes what it judges garbage, one at a time.
 * The tip retains the manifests [oldest, tip]; oldest is in the manifest. A restore puts the
 * files of a retained manifest back; what waits for publication goes on waiting. Each
 * entry's file is at once its state and its outbox: an entry's pending outbox is the file of
 * the entry before, until published.
 *
 * Invariant: every file that a retained manifest cites exists.
 *
 * A put of a manifest that hangs is a choice of what was known (see chain.pml); here also
 * one for the first number, which must never find that key absent.
 */
#ifndef MAX
#define MAX 6        /* manifests */
#endif
#ifndef FILES
#define FILES 4
#endif
#ifndef RETAIN
#define RETAIN 2
#endif
#define BIT(x) (1 << (x))
#define MASK(n) ((1 << (n)) - 1)

typedef Manifest { byte made; byte epoch; byte seal; byte files; byte pend; byte oldest }
Manifest chain[MAX + 1];
byte tip = 1;

/* uploads: an index is a name */
byte files;                  /* bits: exist in the store */
byte used;                   /* how many names were given */
byte fileEpoch[FILES], fileSeal[FILES];

/* the owner's run, and its seal in the making */
byte runEpoch, runBase, runFiles, runSeal, runNew;
bit uploaded;
/* the seal that lies in the store */
byte sealEpoch, sealBase, sealNum, sealFiles, sealNew;

/* the collector */
byte seen;                   /* the tip that it has read; 0 = idle */
byte plan;                   /* bits: to delete */
bit absent;                  /* the key of manifest 1 was deleted; a stub would stand there */

#define LIVE(n) (chain[n].files | chain[n].pend)
#ifdef WITH_PENDING_UNCITED
#define CITED(n) chain[n].files
#else
#define CITED(n) LIVE(n)
#endif

inline sound() {
	d_step {
	n = chain[tip].oldest;
	do
	:: n <= tip -> assert((LIVE(n) & ~files) == 0); n++
	:: else -> break
	od;
	n = 0
	}
}

inline extend() {
	tip++;
	chain[tip].made = chain[tip - 1].made; chain[tip].epoch = chain[tip - 1].epoch; chain[tip].seal = chain[tip - 1].seal;
	chain[tip].files = chain[tip - 1].files; chain[tip].pend = chain[tip - 1].pend;
	chain[tip].oldest = (tip > RETAIN -> tip - RETAIN + 1 : 1);
	chain[tip].oldest = (chain[tip].oldest > chain[tip - 1].oldest -> chain[tip].oldest : chain[tip - 1].oldest);
#ifndef WITH_ANY_RESTORED
	/* whatever lies before plays no part any more */
	n = 1;
	do
	:: n < chain[tip].oldest && n != seen -> chain[n].files = 0; chain[n].pend = 0; chain[n].made = 0; chain[n].epoch = 0; chain[n].seal = 0; chain[n].oldest = 0; n++
	:: n < chain[tip].oldest && n == seen -> n++
	:: else -> break
	od;
	n = 0
#else
	skip
#endif
}

active proctype world() {
	byte n, f;
	chain[1].made = 1; chain[1].oldest = 1;
end:	do
	/* a start: the run before is revoked, its uploads and its seal stay where they are */
	:: atomic { tip < MAX -> extend(); chain[tip].epoch++;
		runEpoch = chain[tip].epoch; runBase = chain[tip].made; runFiles = chain[tip].files; runSeal = chain[tip].seal; runNew = 0; uploaded = 0; sound() }

	/* the owner: name, upload, offer */
	:: atomic { runEpoch == chain[tip].epoch && runEpoch > 0 && runNew == 0 && used < FILES && runSeal < FILES + 1 && runBase == chain[tip].made ->
		runSeal++;
#ifdef WITH_NAMES_BY_CONTENT
		/* the same content has the same name, and what exists is not uploaded again */
		if
		:: fileEpoch[used] = runEpoch; fileSeal[used] = runSeal; used++; runNew = used
		:: used > 0 && (files & BIT(used - 1)) -> runNew = used; uploaded = 1
		fi
#else
		fileEpoch[used] = runEpoch; fileSeal[used] = runSeal; used++; runNew = used
#endif
		}
	:: atomic { runNew > 0 && !uploaded ->
		files = files | BIT(runNew - 1); uploaded = 1 }
	:: atomic { uploaded && runBase == chain[tip].made ->
		sealEpoch = runEpoch; sealBase = runBase; sealNum = runSeal; sealNew = runNew;
		if
		:: sealFiles = runFiles | BIT(runNew - 1)   /* grows */
		:: sealFiles = BIT(runNew - 1)              /* compacted */
#ifdef WITH_OLDER_FILES_CITED
		:: sealFiles = MASK(runNew) & files         /* anything that it finds */
#endif
		fi;
		runNew = 0; uploaded = 0 }
	:: atomic { runEpoch == chain[tip].epoch && runBase != chain[tip].made ->
		runBase = chain[tip].made; runFiles = chain[tip].files; runNew = 0; uploaded = 0 }

	/* coordinators */
	:: atomic { tip < MAX && sealNew > 0 && sealEpoch == chain[tip].epoch && sealBase == chain[tip].made && sealNum > chain[tip].seal -> extend();
		if
		:: chain[tip].pend = LIVE(tip)              /* nothing known as published */
		:: chain[tip].pend = 0
		fi;
		chain[tip].files = sealFiles; chain[tip].made = tip; chain[tip].seal = sealNum;
		sealEpoch = 0; sealBase = 0; sealNum = 0; sealFiles = 0; sealNew = 0; sound() }
	:: atomic { tip < MAX && tip > 1 -> /* restore of f */
		f = chain[tip].oldest;
#ifdef WITH_ANY_RESTORED
		f = 1;
#endif
		do
		:: f < tip -> f++
		:: break
		od;
		extend();
		chain[tip].files = chain[f].files; chain[tip].made = chain[f].made; /* what waits goes on waiting */
		chain[tip].seal = chain[f].seal; chain[tip].epoch++; sound();
		f = 0 }

	/* collectors, at any pace */
	:: atomic { seen == 0 ->
		seen = tip; plan = files; n = chain[tip].oldest;
		do
		:: n <= tip -> plan = plan & ~CITED(n); n++
		:: else -> break
		od;
		f = 0;
		do
		:: f < FILES ->
#ifndef WITH_UPLOADS_COLLECTED
			if
			:: fileEpoch[f] > chain[tip].epoch || fileEpoch[f] == chain[tip].epoch && fileSeal[f] > chain[tip].seal -> plan = plan & ~BIT(f)
			:: else
			fi;
#endif
			f++
		:: else -> break
		od;
		f = 0; n = 0;
		if
		:: plan == 0 -> seen = 0
		:: else
		fi }
	:: atomic { plan != 0 -> /* the next, or enough: a crash */
		if
		:: f = 0;
			do
			:: plan & BIT(f) -> break
			:: else -> f++
			od;
			files = files & ~BIT(f); plan = plan & ~BIT(f); f = 0
		:: plan = 0
		fi;
		if
		:: plan == 0 -> seen = 0
		:: else
		fi;
		sound() }
#ifdef WITH_MANIFESTS_DELETED
	:: atomic { !absent && chain[tip].oldest > 1 -> absent = 1 }
#endif
	/* a founder's put of manifest 1, stalled since the beginning: it must fail */
	:: atomic { absent -> assert(false) }
#ifdef REACH
	:: atomic { chain[tip].seal >= 3 && files == (LIVE(tip) | LIVE(tip - 1)) && used == FILES -> assert(false) }
#endif
	od
}
