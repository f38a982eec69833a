// SPDX-License-Identifier: GPL-2.0-or-later
// A plugin for QEMU's translator that notes where executed jumps, calls and returns lead in the
// text of a kernel and its modules.
//
//   qemu-system-x86_64 -plugin taken_branches.so,targets=FILE,resumed=FILE,code=FILE
//
// Each file is a map with one bit for each byte of the 2 GB from 0xffffffff80000000 on, nearly all
// of it a hole, which is shared memory: it is complete however QEMU ends, and several runs may add
// to it. `targets` has the places to which control came from an instruction that is a branch,
// `resumed` those to which it came otherwise than from the instruction before: from interrupts and
// faults, and to string instructions that are repeated.
//
// `code` has the bytes of the instructions that were translated last in the 1 GB from
// 0xffffffffc0000000 on. Modules come and go there, and code that exists for the time of their
// initialization, or longer: whoever reads the maps compares the bytes with those of the module,
// and where other bytes are translated, what was noted there is forgotten.
//
// Blocks of the translator end behind each branch; a block is told where the one before ended.
#include "../harness/qemu_plugin.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const uint64_t low = 0xffffffff80000000, modules_low = 0xffffffffc0000000;
enum { PAGE_BYTES = 4096, LONGEST_INSTRUCTION = 15 };
enum { MAX_CPUS = 8, MAP_BYTES = 1 << 28, CODE_BYTES = 1 << 30 };

// What is known of a block when it is translated. Never freed: blocks may be executed until the
// end.
struct block {
    uint64_t begin, end; // of its instructions
    // Where the next block begins if the last instruction is not executed in this one: QEMU tells
    // of an instruction on two pages although it leaves it to a block of its own. Else `end`.
    uint64_t split;
    bool branches; // the last instruction is a jump, a call or a return
};

static struct cpu {
    const struct block* before;
} __attribute__((aligned(128))) cpus[MAX_CPUS];

static uint8_t *targets, *resumed, *code;

static bool is_branch(const uint8_t* bytes, size_t size) {
    size_t i = 0;
    while (i < size && (strchr("\x66\x67\xf2\xf3\x2e\x36\x3e\x26\x64\x65", bytes[i]) ||
                        (bytes[i] & 0xf0) == 0x40))
        i++;
    if (i >= size)
        return false;
    const uint8_t opcode = bytes[i], next = i + 1 < size ? bytes[i + 1] : 0;
    if (opcode == 0x0f)
        return (next & 0xf0) == 0x80; // jcc
    if (opcode == 0xff) {
        const unsigned operation = next >> 3 & 7;
        return operation >= 2 && operation <= 5; // call, jmp
    }
    return (opcode & 0xf0) == 0x70 || (opcode >= 0xe0 && opcode <= 0xe3) || opcode == 0xe8 ||
           opcode == 0xe9 || opcode == 0xeb || opcode == 0xc2 || opcode == 0xc3 || opcode == 0xca ||
           opcode == 0xcb;
}

static void note(uint8_t* map, uint64_t address) {
    const uint64_t offset = address - low;
    if (offset / 8 < MAP_BYTES)
        __atomic_fetch_or(&map[offset / 8], 1 << offset % 8, __ATOMIC_RELAXED);
}

static void forget(uint64_t address) {
    const uint64_t offset = address - low;
    const uint8_t others = (uint8_t)~(1U << offset % 8);
    __atomic_fetch_and(&targets[offset / 8], others, __ATOMIC_RELAXED);
    __atomic_fetch_and(&resumed[offset / 8], others, __ATOMIC_RELAXED);
}

// Remembers an instruction of a module.
static void keep(struct qemu_plugin_insn* instruction) {
    const uint64_t offset = qemu_plugin_insn_vaddr(instruction) - modules_low;
    const size_t size = qemu_plugin_insn_size(instruction);
    if (offset >= CODE_BYTES || size > CODE_BYTES - offset)
        return;
    const uint8_t* bytes = qemu_plugin_insn_data(instruction);
    if (memcmp(&code[offset], bytes, size) == 0)
        return;
    memcpy(&code[offset], bytes, size);
    for (size_t i = 0; i < size; i++)
        forget(modules_low + offset + i);
}

static void entered(unsigned number, void* data) {
    if (number >= MAX_CPUS)
        return;
    const struct block* block = data;
    const struct block* before = cpus[number].before;
    cpus[number].before = block;
    if (before && block->begin != before->end && block->begin != before->split)
        note(before->branches ? targets : resumed, block->begin);
}

static void translated(qemu_plugin_id_t id, struct qemu_plugin_tb* translation) {
    (void)id;
    const size_t count = qemu_plugin_tb_n_insns(translation);
    for (size_t i = 0; i < count; i++)
        keep(qemu_plugin_tb_get_insn(translation, i));
    struct qemu_plugin_insn* last = qemu_plugin_tb_get_insn(translation, count - 1);
    struct block* block = malloc(sizeof *block);
    if (!block)
        abort();
    block->begin = qemu_plugin_tb_vaddr(translation);
    block->end = qemu_plugin_insn_vaddr(last) + qemu_plugin_insn_size(last);
    const uint64_t start = qemu_plugin_insn_vaddr(last);
    // As far as QEMU had read it.
    const bool on_two_pages = PAGE_BYTES - start % PAGE_BYTES < LONGEST_INSTRUCTION;
    block->split = on_two_pages && start != block->begin ? start : block->end;
    block->branches = is_branch(qemu_plugin_insn_data(last), qemu_plugin_insn_size(last));
    qemu_plugin_register_vcpu_tb_exec_cb(translation, entered, QEMU_PLUGIN_CB_NO_REGS, block);
}

static uint8_t* map_of(const char* path, off_t size) {
    const int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (file < 0 || ftruncate(file, size))
        return NULL;
    void* map = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    return map == MAP_FAILED ? NULL : map;
}

int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info* info, int count,
                        char** arguments) {
    (void)info;
    for (int i = 0; i < count; i++) {
        if (strncmp(arguments[i], "targets=", 8) == 0)
            targets = map_of(arguments[i] + 8, MAP_BYTES);
        else if (strncmp(arguments[i], "resumed=", 8) == 0)
            resumed = map_of(arguments[i] + 8, MAP_BYTES);
        else if (strncmp(arguments[i], "code=", 5) == 0)
            code = map_of(arguments[i] + 5, CODE_BYTES);
    }
    if (!targets || !resumed || !code) {
        fputs("taken_branches: targets=, resumed= or code= is missing or cannot be written\n",
              stderr);
        return 1;
    }
    qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
    return 0;
}
