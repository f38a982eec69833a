// SPDX-License-Identifier: GPL-2.0-or-later
// A plugin for QEMU's translator that counts the instructions that a CPU executes from one arrival
// at an address to the next.
//
//   qemu-system-x86_64 -plugin libhit_instructions.so,address=0xffffffff8110d2e0 -d plugin -D FILE
//
// With the address of a function that a program calls repeatedly this is the cost of a call, for
// each CPU separately, whereas -icount supports only one CPU. When QEMU ends, it writes one line
// per CPU: its number, arrivals, the most frequent distance in instructions, and the number of
// arrivals with this distance (the others included an interrupt).
#include "../harness/qemu_plugin.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_CPUS = 8, MAX_INSTRUCTIONS = 1 << 16 };

// The counts of one CPU, written only by that CPU.
static struct cpu {
    uint64_t executed, before, arrivals;
    uint32_t distances[MAX_INSTRUCTIONS]; // number of arrivals with each distance
} __attribute__((aligned(128))) cpus[MAX_CPUS];

static uint64_t address;

// A block is counted when it is entered. A block that an interrupt or a fault ends early is counted
// completely: such arrivals are not among the most frequent.
static void block_entered(unsigned cpu, void* count) {
    if (cpu < MAX_CPUS)
        cpus[cpu].executed += (uintptr_t)count;
}

static void arrived(unsigned number, void* data) {
    (void)data;
    if (number >= MAX_CPUS)
        return;
    struct cpu* cpu = &cpus[number];
    const uint64_t distance = cpu->executed - cpu->before;
    cpu->before = cpu->executed;
    if (cpu->arrivals++ && distance < MAX_INSTRUCTIONS)
        cpu->distances[distance]++;
}

static void block_translated(qemu_plugin_id_t id, struct qemu_plugin_tb* block) {
    (void)id;
    const size_t count = qemu_plugin_tb_n_insns(block);
    qemu_plugin_register_vcpu_tb_exec_cb(block, block_entered, QEMU_PLUGIN_CB_NO_REGS,
                                         (void*)(uintptr_t)count);
    for (size_t i = 0; i < count; i++) {
        struct qemu_plugin_insn* instruction = qemu_plugin_tb_get_insn(block, i);
        if (qemu_plugin_insn_vaddr(instruction) == address)
            qemu_plugin_register_vcpu_insn_exec_cb(instruction, arrived, QEMU_PLUGIN_CB_NO_REGS,
                                                   NULL);
    }
}

static void report(qemu_plugin_id_t id, void* data) {
    (void)id;
    (void)data;
    for (unsigned i = 0; i < MAX_CPUS; i++) {
        const struct cpu* cpu = &cpus[i];
        uint32_t most = 0;
        for (uint32_t distance = 0; distance < MAX_INSTRUCTIONS; distance++)
            if (cpu->distances[distance] > cpu->distances[most])
                most = distance;
        char line[128];
        snprintf(line, sizeof line, "%u %" PRIu64 " %" PRIu32 " %" PRIu32 "\n", i, cpu->arrivals,
                 most, cpu->distances[most]);
        if (cpu->arrivals)
            qemu_plugin_outs(line);
    }
}

int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info* info, int count,
                        char** arguments) {
    (void)info;
    for (int i = 0; i < count; i++)
        if (strncmp(arguments[i], "address=", 8) == 0)
            address = strtoull(arguments[i] + 8, NULL, 0);
    if (!address) {
        fputs("hit_instructions: address=ADDRESS is missing\n", stderr);
        return 1;
    }
    qemu_plugin_register_vcpu_tb_trans_cb(id, block_translated);
    qemu_plugin_register_atexit_cb(id, report, NULL);
    return 0;
}
