/*
 * Memory as two CPUs see it, each through its own store buffer. 0: the CPU of the handlers; 1: the
 * reader's. Loads execute in program order. Stores become visible later:
 *
 *   default  in program order: x86-TSO
 *   -DPSO    in any order that preserves that of stores to one place: a compiler may reorder plain
 *            stores like this. A release follows all stores before it; no store passes a barrier.
 *
 * A load without acquire (load_late) may also execute later than what follows it: it sees what is
 * still in the other CPU's store buffer, while what follows does not.
 */
#define PLAIN 0
#define RELEASE 1
#define FENCE 2 /* not a store: represents a compiler barrier in a store buffer */

typedef Buffer {
	byte n;
	byte kind[ROOM];
	byte at[ROOM];
	byte value[ROOM]
};
byte memory[PLACES];
Buffer stores[2];
hidden byte k; /* within d_step only */

inline append(cpu, order, place, what)
{
	stores[cpu].kind[stores[cpu].n] = order;
	stores[cpu].at[stores[cpu].n] = place;
	stores[cpu].value[stores[cpu].n] = what;
	stores[cpu].n++
}

inline look_up(cpu, place, into)
{
	k = 0;
	do
	:: k < stores[cpu].n ->
		if
		:: stores[cpu].kind[k] != FENCE && stores[cpu].at[k] == place ->
			into = stores[cpu].value[k]
		:: else
		fi;
		k++
	:: else -> break
	od;
	k = 0
}

inline fetch(cpu, place, into)
{
	into = memory[place];
	look_up(cpu, place, into)
}

/* `mine`: the condition under which this process runs on its CPU. */
inline load(mine, cpu, place, into)
{
	d_step { (mine) -> fetch(cpu, place, into) }
}

inline load_late(mine, cpu, place, into)
{
	if
	:: d_step { (mine) -> fetch(cpu, place, into) }
	:: d_step { (mine) -> fetch(cpu, place, into); look_up(1 - cpu, place, into) }
	fi
}

inline store(mine, cpu, order, place, what)
{
	d_step { (mine) && stores[cpu].n < ROOM -> append(cpu, order, place, what) }
}

/* A barrier that no store passes; nothing if stores are ordered anyway. */
inline store_barrier(mine, cpu)
{
#ifdef PSO
	d_step {
		(mine) && stores[cpu].n < ROOM ->
		if
		:: stores[cpu].n > 0 -> append(cpu, FENCE, 0, 0)
		:: else
		fi
	}
#else
	skip
#endif
}

#ifdef PSO
/* Entry `i` passes entry `j`. */
#define PASSES(cpu, i, j) \
	((i) <= (j) || (stores[cpu].kind[i] == PLAIN && stores[cpu].kind[j] != FENCE && \
			stores[cpu].at[i] != stores[cpu].at[j]))
#define may_pass(cpu, i) \
	(PASSES(cpu, i, 0) && PASSES(cpu, i, 1) && PASSES(cpu, i, 2) && PASSES(cpu, i, 3) && \
	 PASSES(cpu, i, 4))
#if ROOM > 6
#error may_pass looks at five entries
#endif
#else
#define may_pass(cpu, i) ((i) == 0)
#endif

/* Makes the store buffer's entry `i` visible if that is possible now. */
inline make_visible(cpu, i)
{
	d_step {
		i < stores[cpu].n && may_pass(cpu, i) ->
		if
		:: stores[cpu].kind[i] != FENCE -> memory[stores[cpu].at[i]] = stores[cpu].value[i]
		:: else
		fi;
		stores[cpu].n--;
		k = i;
		do
		:: k < stores[cpu].n ->
			stores[cpu].kind[k] = stores[cpu].kind[k + 1];
			stores[cpu].at[k] = stores[cpu].at[k + 1];
			stores[cpu].value[k] = stores[cpu].value[k + 1];
			k++
		:: else -> break
		od;
		/* Old values would only make states differ. */
		stores[cpu].kind[k] = 0;
		stores[cpu].at[k] = 0;
		stores[cpu].value[k] = 0;
		k = 0
	}
}

active [2] proctype StoreBuffer()
{
end:
	do
	:: make_visible(_pid, 0)
#ifdef PSO
	:: make_visible(_pid, 1)
	:: make_visible(_pid, 2)
	:: make_visible(_pid, 3)
	:: make_visible(_pid, 4)
#if ROOM > 5
	:: make_visible(_pid, 5)
#endif
#endif
	od
}
