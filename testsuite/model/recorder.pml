/*
 * A CPU's ring as a flight recorder, and a reader that copies it concurrently:
 * runtime/record/recorder.c and compiler/session/snapshot.cpp. README.md maps the steps to lines.
 * Places 0 … CELLS-1 of the memory are the ring, a row of parts. A record's header takes two cells:
 * its size and its unique time, or PADDING; the payload is another cell with its time. `newest`
 * follows.
 */
#ifndef PART
#define PART 4 /* cells: a record and less than a header, or two records, or one and padding */
#endif
#ifndef PARTS
#define PARTS 2 /* the fewest that leave one to read: writers are never far from the reader */
#endif
#ifndef OUTER
#define OUTER 3 /* records that the interrupted writer writes */
#endif
#ifndef INNER
#define INNER 1 /* and those of the interrupting one */
#endif
#define CELLS (PART * PARTS)
#define NEWEST CELLS
#define PLACES (CELLS + 1)
#ifndef ROOM
#define ROOM 3
#endif
#define HEADER 2
#define PADDING 255
#define MOST ((OUTER + INNER + 1) * PART) /* cells that are ever reserved */

#include "memory.pml"

#ifdef NO_COMMIT_RELEASE
#define COMMIT PLAIN
#else
#define COMMIT RELEASE
#endif
#ifdef NO_CLOSE_RELEASE
#define CLOSE PLAIN
#else
#define CLOSE RELEASE
#endif
#ifdef NO_SIZE_ACQUIRE
#define load_size load_late
#else
#define load_size load
#endif
#ifdef NO_NEWEST_ACQUIRE
#define load_newest load_late
#else
#define load_newest load
#endif

/* Per-CPU variables: only their own CPU accesses them. */
byte head, limit = PART, lost, overwritten;
bool changing;
byte running; /* level of what runs on the CPU: 0, or 1 while an NMI has interrupted that */
byte clock = 1;
byte ended; /* writers */

/* What was reserved, by place, for comparison with what is read. */
byte sizes[MOST];
byte times[MOST];

#define HERE (running == level)

proctype Writer(byte level; byte count)
{
	byte at, next, end, from, now, size, i, old;
	bool room;

	do
	:: count > 0 ->
		atomic {
			(level == 1 && running == 0) || (level == 0 && HERE) -> running = level;
			count--;
			if
			:: size = 2
			:: level == 0 -> size = 3
			fi
		}
again:
		atomic { HERE -> at = head; next = at + size }
		if
		:: atomic { HERE && next <= limit -> goto fits }
		:: atomic { HERE && next > limit }
		fi;

		/* djs_next_part() */
		room = false;
#ifndef NO_CHANGING
		if
		:: atomic { HERE && changing -> goto refused }
		:: atomic { HERE && !changing }
		fi;
#ifndef NO_FIRST_BARRIER
		atomic { HERE -> changing = true };
		store_barrier(HERE, 0);
#endif
#endif
		atomic { HERE -> end = limit; old = 0 };
		atomic { HERE -> room = (head + size <= end) };
		if
		:: !room && end >= CELLS ->
			/* part_is_complete() */
			i = 0;
			do
			:: i + HEADER <= PART ->
				load(HERE, 0, (end + i) % CELLS, now);
				if
#ifdef NO_COMPLETE_CHECK
				:: now == 0 -> break
#else
				:: now == 0 -> goto leave
#endif
				:: else
				fi;
				load(HERE, 0, (end + i + 1) % CELLS, from);
				d_step { old = old + (from != PADDING); i = i + now; from = 0; now = 0 }
			:: else -> break
			od
		:: else
		fi;
#if defined(NO_FIRST_BARRIER) && !defined(NO_CHANGING)
		atomic { HERE -> changing = true }; /* as late as a compiler may */
#endif
		if
		:: !room ->
#ifndef NO_ZEROS
			i = 0;
			do
			:: i < PART -> store(HERE, 0, PLAIN, (end + i) % CELLS, 0); i++
			:: else -> break
			od;
#endif
#ifdef NO_SECOND_BARRIER
			atomic { HERE -> changing = false }; /* as early as a compiler may */
#endif
			/* close_part() */
close:
			atomic { HERE -> from = head };
			atomic {
				HERE ->
				if
				:: head != from -> goto close
				:: else -> head = end
				fi;
				if
				:: end > from -> sizes[from] = end - from; times[from] = PADDING
				:: else
				fi
			};
			if
			:: end - from >= HEADER ->
				store(HERE, 0, PLAIN, (from + 1) % CELLS, PADDING);
				store(HERE, 0, CLOSE, from % CELLS, end - from)
			:: else
			fi;
#ifndef NO_WMB
			store_barrier(HERE, 0);
#endif
			store(HERE, 0, PLAIN, NEWEST, end);
			atomic {
				HERE -> limit = end + PART;
				overwritten = overwritten + old;
				room = true;
				from = 0;
				i = 0;
				old = 0
			}
		:: else
		fi;
leave:
#ifndef NO_SECOND_BARRIER
		store_barrier(HERE, 0);
#endif
#ifndef NO_CHANGING
		atomic { HERE -> changing = false; end = 0; i = 0; old = 0 };
#endif
		if
		:: !room -> goto refused
		:: else
		fi;

fits:
		/* Also behind djs_next_part(), with the head that was seen before it. That the time is
		 * taken in time is looked at in ring.pml. */
		atomic {
			HERE ->
			if
			:: head != at -> goto again
			:: else
			fi;
			now = clock;
			clock++;
			head = next;
			sizes[at] = size;
			times[at] = now
		};
		store(HERE, 0, PLAIN, (at + 1) % CELLS, now);
		if
		:: size > 2 -> store(HERE, 0, PLAIN, (at + 2) % CELLS, now)
		:: else
		fi;
		store(HERE, 0, COMMIT, at % CELLS, size);
		goto done;
refused:
		atomic { HERE -> lost++ };
done:
		atomic {
			HERE -> running = 0; at = 0; next = 0; end = 0; from = 0; now = 0; size = 0; i = 0; old = 0;
			room = false
		}
	:: else -> break
	od;
	ended++
}

byte copy[PART]; /* of one part */

/* Checks its copy of the part that begins at `begin`: it contains what was written there. */
inline check(begin)
{
	i = 0;
	do
	:: i < chain ->
		assert(copy[i] == sizes[begin + i]);
		assert(copy[i + 1] == times[begin + i]);
		if
		:: copy[i + 1] != PADDING && copy[i] > HEADER ->
			assert(copy[i + 2] == times[begin + i])
		:: else
		fi;
		if
		:: copy[i + 1] != PADDING -> assert(copy[i + 1] > last); last = copy[i + 1]; found++
		:: else
		fi;
		i = i + copy[i]
	:: else -> break
	od
}

/* Once, at any time. */
proctype Reader()
{
	byte newest, again, back, begin, size, chain, i, last, found;

	load_newest(true, 1, NEWEST, newest);
	back = (newest / PART + 1 < PARTS -> newest / PART + 1 : PARTS);
	do
	:: back > 0 ->
		d_step { back--; begin = newest - back * PART };
		/* complete_records() */
		do
		:: chain + HEADER <= PART ->
			load_size(true, 1, (begin + chain) % CELLS, size);
			if
			:: size == 0 || size > PART - chain -> break
			:: else -> chain = chain + size
			fi
		:: else -> break
		od;
#ifdef NO_LOOK_FENCE
		load(true, 1, NEWEST, again); /* as early as a compiler may */
#endif
		do
		:: i < chain -> load(true, 1, (begin + i) % CELLS, copy[i]); i++
		:: else -> break
		od;
#ifdef NO_LOOK_FENCE
		skip;
#else
		load(true, 1, NEWEST, again);
#endif
		d_step {
			if
#ifdef NO_SECOND_LOOK
			:: true ->
#else
			:: begin + CELLS > again + PART ->
#endif
				check(begin)
			:: else
			fi;
			chain = 0; i = 0; size = 0; again = 0; begin = 0; found = 0;
			copy[0] = 0; copy[1] = 0; copy[2] = 0; copy[3] = 0
		}
	:: else -> break
	od;
	/* The final content. */
	(ended == 2 && stores[0].n == 0);
	d_step {
		ended == 2 && stores[0].n == 0 ->
		newest = memory[NEWEST];
		last = 0;
		back = (newest / PART + 1 < PARTS -> newest / PART + 1 : PARTS);
		do
		:: back > 0 ->
			back--;
			begin = newest - back * PART;
			chain = 0;
			do
			:: chain + HEADER <= PART && memory[(begin + chain) % CELLS] != 0 ->
				chain = chain + memory[(begin + chain) % CELLS]
			:: else -> break
			od;
			assert(chain <= PART);
			i = 0;
			do
			:: i < chain -> copy[i] = memory[(begin + i) % CELLS]; i++
			:: else -> break
			od;
			check(begin)
		:: else -> break
		od;
		assert(found + overwritten + lost == OUTER + INNER)
	}
}

init
{
	atomic {
		run Writer(0, OUTER);
		run Writer(1, INNER);
		run Reader()
	}
}
