// SPDX-License-Identifier: GPL-2.0-or-later
// Implements include/djprobe.h: djprobes with handlers in C. Probes that are registered together
// share one ftrace_ops. All direct calls lead to djprobe_entry, which identifies the caller by the
// return address.
#include <linux/ftrace.h>
#include <linux/hashtable.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/rcupdate.h>
#include <linux/rculist.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "arch/entry.h"
#include "djprobe/callee.h"
#include "sites/drain.h"
#include "djprobe/table.h"
#include "include/djprobe.h"

int djs_ftrace_enabled(void); /* sites/ftrace_switch.c */

#define SITES_BITS 9

struct entry {
	struct hlist_node node;
	struct djprobe *probe;
	unsigned long site;
};

struct djprobe_set {
	struct ftrace_ops ops;
	int count;
	struct entry entries[];
};

static DEFINE_HASHTABLE(sites, SITES_BITS);
static DEFINE_MUTEX(registering);
static int registered; /* number of functions */
static DEFINE_PER_CPU(u8[4],
		      /* a handler of that level is running: task, softirq, interrupt, NMI */
		      active);

void djprobe_entry(void); /* arch/x86/entry.S */
asmlinkage void djprobe_hit(struct pt_regs *regs, unsigned long *frame);

static __always_inline unsigned int level_of(unsigned int count)
{
	return count & NMI_MASK ? 3 : count & HARDIRQ_MASK ? 2 : count & SOFTIRQ_OFFSET ? 1 : 0;
}

static __always_inline struct entry *find_entry(unsigned long site)
{
	struct entry *entry;

	hlist_for_each_entry_rcu_notrace(entry, &sites[hash_long(site, SITES_BITS)],
					 node) if (entry->site == site) return entry;
	return NULL;
}

asmlinkage void __kprobes djprobe_hit(struct pt_regs *regs, unsigned long *frame)
{
	unsigned int level = level_of(preempt_count());
	struct entry *entry;

	preempt_disable_notrace();
	djs_complete_registers(regs, frame);
	entry = find_entry(instruction_pointer(regs));
	if (likely(entry)) {
		if (unlikely(this_cpu_read(active[level]))) {
			this_cpu_inc(*entry->probe->missed);
		} else {
			this_cpu_write(active[level], 1);
			barrier();
			entry->probe->handler(entry->probe, regs);
			barrier();
			this_cpu_write(active[level], 0);
		}
	}
	preempt_enable_notrace();
}

/* Returns the fentry site of the function at `address`: after a landing pad, or after what the
 * kernel replaced the pad with when nothing refers to the function. */
static unsigned long site_of(unsigned long address)
{
	u8 text[DJS_LANDING_PAD_MAX];

	if (copy_from_kernel_nofault(text, (void *)address, sizeof(text)))
		return 0;
	return address + (djs_landing_pad(text) ?: djs_sealed_landing_pad(text));
}

/* A kprobe that is never armed resolves a symbol. */
static int find_symbol(struct djprobe *probe)
{
	struct kprobe kprobe = {.symbol_name = probe->symbol, .flags = KPROBE_FLAG_DISABLED};
	int error = register_kprobe(&kprobe);

	if (error)
		return error;
	probe->address = (unsigned long)kprobe.addr;
	unregister_kprobe(&kprobe);
	return 0;
}

static int attach(struct djprobe_set *set)
{
	int error;

#ifdef DJS_HAVE_FTRACE_DIRECT_MULTI
	error = register_ftrace_direct_multi(&set->ops, (unsigned long)djprobe_entry);
#else
	error = register_ftrace_direct(&set->ops, (unsigned long)djprobe_entry);
#endif
	if (!error)
		/* Set only now, because registering resets the flags: kernel.ftrace_enabled = 0 is
		 * refused from here on. */
		set->ops.flags |= FTRACE_OPS_FL_PERMANENT;
	return error;
}

/* True if an fentry site still calls djprobe_entry. */
static bool calls_remain(const struct djprobe_set *set)
{
	int i;

	for (i = 0; i < set->count; i++)
		if (djs_callee_of(set->entries[i].site) == (unsigned long)djprobe_entry)
			return true;
	return false;
}

static int detach(struct djprobe_set *set)
{
	int error = unregister_ftrace_function(&set->ops);

	/* ftrace may also shut itself down on the way without reporting it. */
	if (error || calls_remain(set))
		return error ?: -ENODEV;
	/* The ops are in none of ftrace's lists any more; this call still clears the table of
	 * direct calls. */
	set->ops.flags |= FTRACE_OPS_FL_ENABLED;
#ifdef DJS_HAVE_FTRACE_DIRECT_MULTI
	unregister_ftrace_direct_multi(&set->ops, (unsigned long)djprobe_entry);
#else
	unregister_ftrace_direct(&set->ops, (unsigned long)djprobe_entry, false);
#endif
	ftrace_free_filter(&set->ops);
	return 0;
}

/*
 * ftrace has shut itself down, and the sites keep calling djprobe_entry: the module must stay
 * loaded for ever. While the module is being loaded or unloaded, no reference keeps it.
 */
static void stay(int error)
{
	pr_err("%s: its djprobes cannot be detached (error %d): it stays loaded until the machine "
	       "is restarted\n",
	       THIS_MODULE->name, error);
	if (THIS_MODULE->state == MODULE_STATE_LIVE && try_module_get(THIS_MODULE))
		return;
	pr_err("%s: its loading or removal will never finish\n", THIS_MODULE->name);
	for (;;)
		schedule_timeout_idle(MAX_SCHEDULE_TIMEOUT);
}

static void leave_set(struct djprobe_set *set)
{
	int i;

	for (i = 0; i < set->count; i++) {
		free_percpu(set->entries[i].probe->missed);
		set->entries[i].probe->missed = NULL;
		set->entries[i].probe->set = NULL;
	}
}

/* Finds the sites and notes them; none of them may be registered already, nor twice. */
static int prepare(struct djprobe_set *set, struct djprobe **probes, int count,
		   unsigned long *addresses)
{
	int i, error;

	for (i = 0; i < count; i++) {
		struct djprobe *probe = probes[i];

		if (!probe->handler || (!probe->symbol && !probe->address))
			return -EINVAL;
		if (probe->set)
			return -EBUSY;
		error = probe->symbol ? find_symbol(probe) : 0;
		if (error)
			return error;
		set->entries[i].site = addresses[i] = site_of(probe->address);
		if (!addresses[i])
			return -EFAULT;
		if (find_entry(addresses[i]))
			return -EBUSY;
		probe->missed = alloc_percpu(unsigned long);
		if (!probe->missed)
			return -ENOMEM;
		probe->set = set;
		set->entries[i].probe = probe;
		hlist_add_head_rcu(&set->entries[i].node,
				   &sites[hash_long(addresses[i], SITES_BITS)]);
		set->count++;
	}
	return 0;
}

static int register_locked(struct djprobe_set *set, struct djprobe **probes, int count,
			   unsigned long *addresses)
{
	int i, error;

	if (djs_ftrace_enabled() <= 0)
		return -EPERM;
	if (djs_direct_room(0, registered) < count)
		return -ENOSPC;
	error = prepare(set, probes, count, addresses);
	if (!error)
		error = ftrace_set_filter_ips(&set->ops, addresses, count, 0, 0);
	if (!error)
		error = attach(set);
	if (!error) {
		registered += count;
		return 0;
	}
	for (i = 0; i < set->count; i++)
		hlist_del_rcu(&set->entries[i].node);
	djs_drain_handlers();
	ftrace_free_filter(&set->ops);
	return error;
}

int register_djprobes(struct djprobe **probes, int count)
{
	struct djprobe_set *set;
	unsigned long *addresses;
	int error = -ENOMEM;

	if (count <= 0)
		return -EINVAL;
	set = kvzalloc(struct_size(set, entries, count), GFP_KERNEL);
	addresses = kvmalloc_array(count, sizeof(*addresses), GFP_KERNEL);
	if (set && addresses) {
		struct file *lock;

		mutex_lock(&registering);
		lock = djs_direct_lock();
		error = register_locked(set, probes, count, addresses);
		djs_direct_unlock(lock);
		mutex_unlock(&registering);
	}
	if (error && set) {
		leave_set(set);
		kvfree(set);
	}
	kvfree(addresses);
	return error;
}

int register_djprobe(struct djprobe *probe)
{
	return register_djprobes(&probe, 1);
}

void unregister_djprobes(struct djprobe *one_of_them)
{
	struct djprobe_set *set;
	int i, error = 0;

	mutex_lock(&registering);
	set = one_of_them->set;
	if (set) {
		error = detach(set);
		for (i = 0; i < set->count; i++)
			hlist_del_rcu(&set->entries[i].node);
		djs_drain_handlers();
		leave_set(set);
		if (!error) {
			registered -= set->count;
			kvfree(set);
		}
	}
	mutex_unlock(&registering);
	if (error)
		stay(error);
}

unsigned long djprobe_missed(const struct djprobe *probe)
{
	unsigned long missed = 0;
	int cpu;

	if (probe->missed)
		for_each_possible_cpu (cpu)
			missed += READ_ONCE(*per_cpu_ptr(probe->missed, cpu));
	return missed;
}
