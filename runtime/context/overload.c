// SPDX-License-Identifier: GPL-2.0-or-later
// Probes that take too much processor time are disarmed. Timing most handlers would add cost to
// every hit; instead, a timer checks a hundred times a second whether its processor is running one.
// A handler that keeps interrupts disabled is seen at its end, when the timer's interrupt is
// delivered. If interrupts were already disabled when the handler started (in a timer's interrupt,
// at a breakpoint, in a function called that way), none is delivered at its end: such a handler
// measures its own time, and the samples cover the rest.
#include <asm/irq_regs.h>
#include <linux/cpuhotplug.h>
#include <linux/hrtimer.h>
#include <linux/module.h>
#include <linux/uaccess.h>

#include "arch/runtime.h"
#include "context/context.h"
#include "cpu/queue.h"

#define SAMPLE_MS   10
#define STACK_WORDS 48
#define SEEN_NOBODY DJS_NO_INDEX

/* Times are in cycles of the time stamp counter. */
struct sampler {
	struct hrtimer timer;
	u32 samples;
	u64 time, in_handlers; /* since the last judgement */
	u64 sampled_at;
	u64 own_seen; /* account.own at that time */
};
static struct sampler __percpu *samplers;

/* The account of one CPU, written only by that CPU: in interrupts, NMIs included. */
struct account {
	u64 since; /* when the handler that counts its own time began; 0: none is running */
	u64 own;   /* total time of all such handlers */
	/* An owner is a handler's number, or handler_count + that of a trampoline, which runs
	 * several handlers. This one is the owner that had the most time, if one had more than
	 * half of it. */
	u32 suspect;
	u32 voting; /* an NMI in the meantime does not vote */
	u64 votes;
};
static DEFINE_PER_CPU(struct account, accounts);
static enum cpuhp_state hotplug_state;
static bool sampling;
static unsigned long script_code; /* start of the script's own code, which follows the runtime's */

static atomic_t overloading = ATOMIC_INIT(SEEN_NOBODY); /* owner to be disarmed */
static u32 overload_percent;
static void (*take_out_owner)(u32 owner, u32 percent);

static void overload_work_run(struct work_struct *work)
{
	u32 owner = atomic_read(&overloading);

	take_out_owner(owner, overload_percent);
	atomic_set(&overloading, SEEN_NOBODY);
}
static DECLARE_WORK(overload_work, overload_work_run);

static void each_entry(void (*seen)(unsigned long address, u32 owner, void *data), void *data)
{
	u32 i;

	for (i = 0; i < djs_script.trampoline_count; i++)
		seen((unsigned long)djs_script.trampolines[i].direct, djs_script.handler_count + i,
		     data);
	for (i = 0; i < djs_script.handler_count; i++) {
		const struct djs_handler *handler = &djs_script.handlers[i];

		seen((unsigned long)handler->body, i, data);
		seen((unsigned long)handler->entry, i, data);
		seen((unsigned long)handler->tracepoint, i, data);
		seen((unsigned long)handler->by_regs, i, data);
		seen((unsigned long)handler->by_ftrace, i, data);
	}
}

struct nearest {
	unsigned long address, found;
	u32 owner;
};

static void see_nearest(unsigned long address, u32 owner, void *data)
{
	struct nearest *nearest = data;

	if (!address || address > nearest->address || address < nearest->found)
		return;
	nearest->found = address;
	nearest->owner = owner;
}

/* The stack also has addresses of the module's data, which may follow its code. */
static bool is_own_code(unsigned long address)
{
#ifdef DJS_HAVE_MODULE_MEMORY
	const struct module_memory *text = &THIS_MODULE->mem[MOD_TEXT];

	return address - (unsigned long)text->base < text->size;
#else
	const struct module_layout *core = &THIS_MODULE->core_layout;

	return address - (unsigned long)core->base < core->text_size;
#endif
}

static u32 owner_of_code(unsigned long address)
{
	struct nearest nearest = {.address = address, .owner = SEEN_NOBODY};

	if (address >= script_code && is_own_code(address))
		each_entry(see_nearest, &nearest);
	return nearest.owner;
}

static void see_lowest(unsigned long address, u32 owner, void *data)
{
	unsigned long *lowest = data;

	if (address && address < *lowest)
		*lowest = address;
}

/* The runtime's code runs on behalf of the handler that called it. */
static u32 owner_by_stack(struct pt_regs *regs)
{
	u32 i, owner;

	for (i = 0; i < STACK_WORDS; i++) {
		unsigned long value;

		if (copy_from_kernel_nofault(
			&value, (unsigned long *)kernel_stack_pointer(regs) + i, sizeof(value)))
			break;
		owner = owner_of_code(value);
		if (owner != SEEN_NOBODY)
			return owner;
	}
	return SEEN_NOBODY;
}

static u32 owner_of_context(const struct djs_ctx *ctx)
{
	const struct djs_handler *handler = READ_ONCE(ctx->handler);

	return handler ? handler - djs_script.handlers : SEEN_NOBODY;
}

/* Returns the owner whose work this processor's timer interrupted. */
static u32 who_runs(void)
{
	const struct djs_ctx *contexts = this_cpu_ptr(&djs_cpu)->contexts;
	struct pt_regs *regs = get_irq_regs();
	u32 level, owner;

	for (level = DJS_LEVEL_NMI; level-- > 0;)
		if (READ_ONCE(contexts[level].busy))
			return owner_of_context(&contexts[level]);
	if (!regs || user_mode(regs) || !within_module(instruction_pointer(regs), THIS_MODULE))
		return SEEN_NOBODY;
	owner = owner_of_code(instruction_pointer(regs));
	if (owner == SEEN_NOBODY)
		owner = owner_by_stack(regs);
	/* A handler that disables interrupts releases its context before it enables them again.
	 * With PREEMPT_RT softirqs are threads, and preempt_count() does not tell of them. */
	level = preempt_count() & SOFTIRQ_OFFSET ? 1 : 0;
	return owner != SEEN_NOBODY ? owner : owner_of_context(&contexts[level]);
}

static DJS_HANDLER_CODE void vote(struct account *account, u32 owner, u64 time)
{
	if (READ_ONCE(account->voting))
		return;
	WRITE_ONCE(account->voting, 1);
	barrier();
	if (account->suspect == owner) {
		account->votes += time;
	} else if (account->votes >= time) {
		account->votes -= time;
	} else {
		account->suspect = owner;
		account->votes = time - account->votes;
	}
	barrier();
	WRITE_ONCE(account->voting, 0);
}

/*
 * Interrupts are disabled from here to the end. The time of an NMI in between is part of the
 * handler's.
 */
DJS_HANDLER_CODE bool djs_overload_begin(void)
{
	struct account *account = this_cpu_ptr(&accounts);

	if (READ_ONCE(account->since) || !djs_script.overload_percent)
		return false;
	WRITE_ONCE(account->since, djs_cycles() | 1);
	return true;
}

DJS_HANDLER_CODE void djs_overload_end(const struct djs_handler *handler)
{
	struct account *account = this_cpu_ptr(&accounts);
	u64 time = djs_cycles() - account->since;

	WRITE_ONCE(account->since, 0);
	if ((s64)time < 0) /* djs_overload_begin rounded it up to an odd number */
		return;
	this_cpu_add(accounts.own, time);
	vote(account, handler - djs_script.handlers, time);
}

static void judge(struct sampler *sampler, struct account *account)
{
	u32 percent = sampler->in_handlers * 100 / max(sampler->time, 1ull);

	WRITE_ONCE(account->voting, 1);
	barrier();
	if (percent >= djs_script.overload_percent && account->votes &&
	    atomic_cmpxchg(&overloading, SEEN_NOBODY, account->suspect) == SEEN_NOBODY) {
		overload_percent = percent;
		queue_work(DJS_QUEUE, &overload_work);
	}
	account->votes = 0;
	barrier();
	WRITE_ONCE(account->voting, 0);
	sampler->samples = 0;
	sampler->time = 0;
	sampler->in_handlers = 0;
}

/*
 * Of the time since the last sample, the owner is charged all that other handlers have not counted
 * themselves.
 */
static void count_sample(struct sampler *sampler, struct account *account, u32 owner)
{
	u64 now = djs_cycles(), own_ever = READ_ONCE(account->own);
	u64 time = now - sampler->sampled_at;
	u64 own = min(own_ever - sampler->own_seen, time);

	sampler->sampled_at = now;
	sampler->own_seen = own_ever;
	sampler->time += time;
	sampler->in_handlers += own;
	if (owner == SEEN_NOBODY)
		return;
	sampler->in_handlers += time - own;
	vote(account, owner, time - own);
}

static enum hrtimer_restart sample(struct hrtimer *timer)
{
	struct sampler *sampler = container_of(timer, struct sampler, timer);
	struct account *account = this_cpu_ptr(&accounts);
	u32 times = hrtimer_forward_now(timer, ms_to_ktime(SAMPLE_MS));

	if (sampler != this_cpu_ptr(samplers)) /* its CPU is going offline */
		return HRTIMER_RESTART;
	count_sample(sampler, account, who_runs());
	sampler->samples += min(times, 100u); /* the machine may have stood still */
	if (sampler->samples >= max(djs_script.overload_ms / SAMPLE_MS, 1u))
		judge(sampler, account);
	return HRTIMER_RESTART;
}

static int start_here(unsigned int cpu)
{
	struct sampler *sampler = per_cpu_ptr(samplers, cpu);

#ifdef DJS_HAVE_HRTIMER_SETUP
	hrtimer_setup(&sampler->timer, sample, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
#else
	hrtimer_init(&sampler->timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
	sampler->timer.function = sample;
#endif
	sampler->samples = 0;
	sampler->time = 0;
	sampler->in_handlers = 0;
	sampler->sampled_at = djs_cycles();
	sampler->own_seen = READ_ONCE(per_cpu(accounts, cpu).own);
	hrtimer_start(&sampler->timer, ms_to_ktime(SAMPLE_MS), HRTIMER_MODE_REL_PINNED_HARD);
	return 0;
}

static int stop_here(unsigned int cpu)
{
	hrtimer_cancel(&per_cpu_ptr(samplers, cpu)->timer);
	return 0;
}

/* Counters and other handlers that need neither a context nor a lock take too little time to
 * justify a timer. */
static bool is_needed(void)
{
	u32 i;

	if (!djs_script.overload_percent)
		return false;
	for (i = 0; i < djs_script.site_count; i++) {
		const struct djs_handler *handler =
		    &djs_script.handlers[djs_script.sites[i].handler];

		if (djs_script.sites[i].mechanism != DJS_MECHANISM_NONE &&
		    (!handler->by_regs || handler->lock_count))
			return true;
	}
	return false;
}

void djs_overload_start(void (*take_out)(u32 owner, u32 percent))
{
	int state;

	if (!is_needed())
		return;
	take_out_owner = take_out;
	script_code = ULONG_MAX;
	each_entry(see_lowest, &script_code);
	samplers = alloc_percpu(struct sampler);
	state = samplers ? cpuhp_setup_state(CPUHP_AP_ONLINE_DYN, "djstap/overload:online",
					     start_here, stop_here)
			 : -ENOMEM;
	sampling = state >= 0;
	if (sampling) {
		hotplug_state = state;
		return;
	}
	free_percpu(samplers);
	djs_session_message(DJS_RECORD_WARNING, "no overload protection (error %d)", state);
}

void djs_overload_stop(void)
{
	if (!sampling)
		return;
	sampling = false;
	cpuhp_remove_state(hotplug_state);
	cancel_work_sync(&overload_work);
	free_percpu(samplers);
}
