/*
 * A CPU's ring that stops when it is full, and its reader: runtime/record/ring.c and
 * compiler/session/ring.h. README.md maps the steps to lines. Places 0 … CELLS-1 of the memory are
 * the ring: a record's header is in its first cell, followed by its payload; the tail follows the
 * ring.
 */
#ifndef CELLS
#define CELLS 5 /* not a multiple of a record: headers are in all positions */
#endif
#ifndef OUTER
#define OUTER 2 /* records that the interrupted writer writes */
#endif
#ifndef INNER
#define INNER 1 /* and those of the interrupting one */
#endif
#define TAIL CELLS
#define PLACES (CELLS + 1)
#ifndef ROOM
#define ROOM 4
#endif
#define MOST ((OUTER + INNER) * 3) /* cells that are ever reserved */

#include "memory.pml"

#ifdef NO_COMMIT_RELEASE
#define COMMIT PLAIN
#else
#define COMMIT RELEASE
#endif
#ifdef NO_TAIL_RELEASE
#define GIVE_BACK PLAIN
#else
#define GIVE_BACK RELEASE
#endif
#ifdef NO_SIZE_ACQUIRE
#define load_size load_late
#else
#define load_size load
#endif
#ifdef NO_TAIL_ACQUIRE
#define load_tail load_late
#else
#define load_tail load
#endif

/* Per-CPU variables: only their own CPU accesses them. */
byte head, limit = CELLS, lost;
byte running; /* level of what runs on the CPU: 0, or 1 while an NMI has interrupted that */
byte clock = 1;
byte ended; /* writers */

/* What was reserved, by place, for comparison with what is read. */
byte sizes[MOST];
byte times[MOST];

#define HERE (running == level)

/* A record: the header's cell holds its size and all others its unique time. */
proctype Writer(byte level; byte count)
{
	byte at, next, seen, tail, now, size, i;

	do
	:: count > 0 ->
		atomic {
			(level == 1 && running == 0) || (level == 0 && HERE) -> running = level;
			count--;
			if
			:: size = 2
			:: size = 3
			fi
		}
again:
#ifdef TIME_BEFORE_HEAD
		atomic { HERE -> now = clock; clock++ }
#endif
		atomic { HERE -> at = head; next = at + size }
		if
		:: d_step { HERE && next <= limit -> skip }
		:: d_step { HERE && next > limit -> seen = limit - CELLS }
			/* more_room() */
			load_tail(HERE, 0, TAIL, tail);
			if
			:: d_step { HERE && tail - seen <= head - seen -> i = head + size }
			:: d_step { HERE && tail - seen > head - seen -> i = 255 }
			fi;
			if
			:: i == 255 -> goto refused
			:: else -> d_step { HERE -> limit = tail + CELLS }
			fi;
			if
			:: i > tail + CELLS -> goto refused
			:: else
			fi
		fi;
#ifndef TIME_BEFORE_HEAD
		d_step { HERE -> now = clock; clock++ }
#endif
		atomic {
			HERE ->
#ifdef NO_CMPXCHG
			if
			:: true -> /* two instructions */
			fi
		}
		d_step {
			HERE ->
#else
			if
			:: head != at -> goto again
			:: else
			fi;
#endif
			head = next;
			sizes[at] = size;
			times[at] = now
		}
		store(HERE, 0, PLAIN, (at + 1) % CELLS, now);
		if
		:: size > 2 -> store(HERE, 0, PLAIN, (at + 2) % CELLS, now)
		:: else
		fi;
		store(HERE, 0, COMMIT, at % CELLS, size);
		goto done;
refused:
		atomic { HERE -> lost++ }
done:
		atomic { HERE -> running = 0; at = 0; next = 0; seen = 0; tail = 0; now = 0; size = 0; i = 0 }
	:: else -> break
	od;
	ended++
}

proctype Reader()
{
	byte taken, given, size, word, last, records, i;

	do
	:: taken - given < CELLS ->
		/* Ring::state() */
		load_size(true, 1, taken % CELLS, size);
		if
		:: size == 0
		:: size != 0 ->
			assert(size == sizes[taken]);
			i = 1;
			do
			:: i < size ->
				load(true, 1, (taken + i) % CELLS, word);
				assert(word == times[taken]);
				i++
			:: else -> break
			od;
			assert(word > last);
			last = word;
			/* take() */
#ifdef TAIL_BEFORE_ZEROS
			store(true, 1, GIVE_BACK, TAIL, taken + size);
#endif
#ifndef NO_ZEROS
			i = 0;
			do
			:: i < size -> store(true, 1, PLAIN, (taken + i) % CELLS, 0); i++
			:: else -> break
			od;
#endif
			taken = taken + size;
			records++
		fi;
		d_step { size = 0; word = 0; i = 0 }
	:: taken != given ->
		/* release() */
		store(true, 1, GIVE_BACK, TAIL, taken);
		given = taken
	:: atomic { ended == 2 && stores[0].n == 0 && stores[1].n == 0 && memory[taken % CELLS] == 0 -> break }
	od;
	assert(records + lost == OUTER + INNER);
	assert(taken == head)
}

init
{
	atomic {
		run Writer(0, OUTER);
		run Writer(1, INNER);
		run Reader()
	}
}
