// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Writes down what kprobes see: for values.py, which judges djstap by it.
 *
 * Commands, one per write to debugfs' witness/control:
 *	site ADDRESS [REGISTER:OFFSET]...	a kprobe, and memory that it reads: at a register
 *(its word in pt_regs) plus an offset, or, for register -1, at an address functions PID
 *count the calls of all functions by tasks that are younger than PID hits PID	count the hits of
 *the sites record PID	record each hit stop witness/data then has a line for each count or record.
 */
#include <linux/debugfs.h>
#include <linux/ftrace.h>
#include <linux/hash.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#define READS 6
#define REGISTERS (sizeof(struct pt_regs) / sizeof(long))
#define RECORDS 60000
#define SITES 4096
#define COUNT_BITS 17

struct site {
    struct kprobe probe;
    unsigned long address;
    int reads, error;
    struct {
        int reg;
        long offset;
    } read[READS];
    unsigned long in_tasks, in_interrupts;
    bool armed;
};

struct record {
    u32 site;
    s32 tid;
    u32 in_task;
    u32 failed; /* a bit for each read that faulted */
    unsigned long regs[REGISTERS];
    unsigned long memory[READS];
};

struct count {
    unsigned long address;
    atomic_t in_tasks, in_interrupts;
};

static struct site* sites;
static int site_count;
static struct record* records;
static atomic_t record_count;
static struct count* counts;
static int younger_than;
static bool recording, counting_functions;
static struct dentry* folder;

static bool watched(void) {
    return READ_ONCE(younger_than) && current->pid > younger_than && !(current->flags & PF_KTHREAD);
}

/* In the probed code, that is: a kprobe's breakpoint is an NMI, which counts as a hard interrupt,
 * too. */
static bool hit_in_task(void) {
    return hardirq_count() == (in_nmi() ? HARDIRQ_OFFSET : 0) && !in_serving_softirq();
}

static int on_hit(struct kprobe* probe, struct pt_regs* regs) {
    struct site* site = container_of(probe, struct site, probe);
    struct record* record;
    int i, number;

    if (!watched())
        return 0;
    if (!recording) {
        if (hit_in_task())
            site->in_tasks++;
        else
            site->in_interrupts++;
        return 0;
    }
    number = atomic_inc_return(&record_count) - 1;
    if (number >= RECORDS)
        return 0;
    record = &records[number];
    record->site = site - sites;
    record->tid = current->pid;
    record->in_task = hit_in_task();
    record->failed = 0;
    memcpy(record->regs, regs, sizeof(record->regs));
    for (i = 0; i < site->reads; i++) {
        int reg = site->read[i].reg;
        unsigned long at = (reg >= 0 ? record->regs[reg] : 0) + site->read[i].offset;

        if (copy_from_kernel_nofault(&record->memory[i], (void*)at, sizeof(long)))
            record->failed |= 1u << i;
    }
    return 0;
}
NOKPROBE_SYMBOL(on_hit);

static void notrace on_call(unsigned long ip, unsigned long parent, struct ftrace_ops* ops,
                            struct ftrace_regs* regs) {
    u32 at, tries;

    if (!watched())
        return;
    at = hash_long(ip, COUNT_BITS);
    for (tries = 0; tries < 64; tries++, at = (at + 1) & ((1u << COUNT_BITS) - 1)) {
        unsigned long there = READ_ONCE(counts[at].address);

        if (!there)
            there = cmpxchg(&counts[at].address, 0, ip) ?: ip;
        if (there == ip) {
            atomic_inc(in_task() ? &counts[at].in_tasks : &counts[at].in_interrupts);
            return;
        }
    }
}

static struct ftrace_ops calls = {.func = on_call};

static int add_site(char* text) {
    struct site* site = &sites[site_count];
    char* word = strsep(&text, " ");

    if (site_count == SITES || kstrtoul(word, 16, &site->address))
        return -EINVAL;
    while ((word = strsep(&text, " "))) {
        if (site->reads == READS || sscanf(word, "%d:%ld", &site->read[site->reads].reg,
                                           &site->read[site->reads].offset) != 2)
            return -EINVAL;
        site->reads++;
    }
    site_count++;
    return 0;
}

static void arm(void) {
    int i;

    for (i = 0; i < site_count; i++) {
        sites[i].probe.addr = (kprobe_opcode_t*)sites[i].address;
        sites[i].probe.pre_handler = on_hit;
        sites[i].error = register_kprobe(&sites[i].probe);
        sites[i].armed = !sites[i].error;
    }
}

static void disarm(void) {
    struct kprobe** probes = kvmalloc_array(SITES, sizeof(*probes), GFP_KERNEL);
    int i, armed = 0;

    if (counting_functions)
        unregister_ftrace_function(&calls);
    counting_functions = false;
    if (!probes)
        return;
    for (i = 0; i < site_count; i++)
        if (sites[i].armed) {
            probes[armed++] = &sites[i].probe;
            sites[i].armed = false;
        }
    if (armed)
        unregister_kprobes(probes, armed);
    kvfree(probes);
}

static ssize_t on_command(struct file* file, const char __user* from, size_t size, loff_t* at) {
    char text[256], *rest = text, *command;
    int error = 0, pid = 0;

    if (size >= sizeof(text) || copy_from_user(text, from, size))
        return -EINVAL;
    text[size] = 0;
    strim(text);
    command = strsep(&rest, " ");
    if (!strcmp(command, "site")) {
        error = rest ? add_site(rest) : -EINVAL;
    } else if (!strcmp(command, "stop")) {
        WRITE_ONCE(younger_than, 0);
        disarm();
    } else if (!rest || kstrtoint(rest, 0, &pid)) {
        error = -EINVAL;
    } else if (!strcmp(command, "functions")) {
        error = register_ftrace_function(&calls);
        counting_functions = !error;
        WRITE_ONCE(younger_than, pid);
    } else {
        recording = !strcmp(command, "record");
        arm();
        WRITE_ONCE(younger_than, pid);
    }
    return error ?: size;
}

/* A position of the file is a line: first of the counts, then of the sites, then of the records. */
static int recorded(void) {
    return min(atomic_read(&record_count), RECORDS);
}

static void* at_start(struct seq_file* out, loff_t* at) {
    return *at < (1 << COUNT_BITS) + site_count + 1 + recorded() ? at : NULL;
}

static void* at_next(struct seq_file* out, void* position, loff_t* at) {
    (*at)++;
    return at_start(out, at);
}

static void at_stop(struct seq_file* out, void* position) {}

static void show_record(struct seq_file* out, const struct record* record) {
    int i;

    seq_printf(out, "hit %u %d %u %u", record->site, record->tid, record->in_task, record->failed);
    for (i = 0; i < REGISTERS; i++)
        seq_printf(out, " %lx", record->regs[i]);
    seq_puts(out, " :");
    for (i = 0; i < sites[record->site].reads; i++)
        seq_printf(out, " %lx", record->memory[i]);
    seq_puts(out, "\n");
}

static int show(struct seq_file* out, void* position) {
    long at = *(loff_t*)position;

    if (at < 1 << COUNT_BITS) {
        if (counts[at].address)
            seq_printf(out, "function %lx %d %d\n", counts[at].address,
                       atomic_read(&counts[at].in_tasks), atomic_read(&counts[at].in_interrupts));
        return 0;
    }
    at -= 1 << COUNT_BITS;
    if (at < site_count) {
        seq_printf(out, "site %ld %lx %d %lu %lu %lu\n", at, sites[at].address, sites[at].error,
                   sites[at].in_tasks, sites[at].in_interrupts, sites[at].probe.nmissed);
        return 0;
    }
    at -= site_count;
    if (!at)
        seq_printf(out, "records %d %d\n", atomic_read(&record_count), RECORDS);
    else
        show_record(out, &records[at - 1]);
    return 0;
}

static const struct seq_operations lines = {at_start, at_stop, at_next, show};

static int open_data(struct inode* inode, struct file* file) {
    return seq_open(file, &lines);
}

static const struct file_operations control_operations = {.owner = THIS_MODULE,
                                                          .write = on_command};
static const struct file_operations data_operations = {
    .owner = THIS_MODULE,
    .open = open_data,
    .read = seq_read,
    .llseek = seq_lseek,
    .release = seq_release,
};

static int __init witness_init(void) {
    sites = vzalloc(SITES * sizeof(*sites));
    records = vzalloc(RECORDS * sizeof(*records));
    counts = vzalloc(sizeof(*counts) << COUNT_BITS);
    if (!sites || !records || !counts) {
        vfree(sites);
        vfree(records);
        vfree(counts);
        return -ENOMEM;
    }
    folder = debugfs_create_dir("witness", NULL);
    debugfs_create_file("control", 0600, folder, NULL, &control_operations);
    debugfs_create_file("data", 0400, folder, NULL, &data_operations);
    return 0;
}

static void __exit witness_exit(void) {
    WRITE_ONCE(younger_than, 0);
    disarm();
    debugfs_remove(folder);
    vfree(sites);
    vfree(records);
    vfree(counts);
}

module_init(witness_init);
module_exit(witness_exit);
MODULE_DESCRIPTION("Records what kprobes see");
MODULE_LICENSE("GPL");
