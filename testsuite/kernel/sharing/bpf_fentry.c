// SPDX-License-Identifier: GPL-2.0-or-later
// bpf_fentry FUNCTION: attaches a BPF program that counts its calls to a kernel function's entry,
// prints "attached", and prints the count when its standard input ends. It needs no library: it
// reads the kernel's BTF itself.
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/btf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static int bpf(int command, union bpf_attr* attributes) {
    return (int)syscall(SYS_bpf, command, attributes, sizeof *attributes);
}

static int fail(const char* what) {
    fprintf(stderr, "bpf_fentry: %s: %s\n", what, strerror(errno));
    return 1;
}

// Returns the size of what follows a type's own description.
static size_t extra_bytes(uint32_t info) {
    uint32_t count = BTF_INFO_VLEN(info);
    switch (BTF_INFO_KIND(info)) {
    case BTF_KIND_INT:
    case BTF_KIND_VAR:
    case BTF_KIND_DECL_TAG:
        return sizeof(uint32_t);
    case BTF_KIND_ARRAY:
        return sizeof(struct btf_array);
    case BTF_KIND_STRUCT:
    case BTF_KIND_UNION:
        return count * sizeof(struct btf_member);
    case BTF_KIND_ENUM:
        return count * sizeof(struct btf_enum);
    case BTF_KIND_ENUM64:
        return count * sizeof(struct btf_enum64);
    case BTF_KIND_FUNC_PROTO:
        return count * sizeof(struct btf_param);
    case BTF_KIND_DATASEC:
        return count * sizeof(struct btf_var_secinfo);
    default:
        return 0;
    }
}

// Returns the number of the function's type; 0: none.
static uint32_t find_function(const char* name) {
    int file = open("/sys/kernel/btf/vmlinux", O_RDONLY | O_CLOEXEC);
    struct stat status;
    if (file < 0 || fstat(file, &status))
        return 0;
    char* data = malloc((size_t)status.st_size);
    ssize_t size = 0, got;
    while (data && (got = read(file, data + size, (size_t)(status.st_size - size))) > 0)
        size += got;
    close(file);
    const struct btf_header* header = (const struct btf_header*)data;
    if (size < (ssize_t)sizeof *header)
        return 0;
    const char* at = data + header->hdr_len + header->type_off;
    const char* end = at + header->type_len;
    const char* strings = data + header->hdr_len + header->str_off;
    uint32_t found = 0;
    for (uint32_t id = 1; at < end && !found; id++) {
        const struct btf_type* type = (const struct btf_type*)at;
        if (BTF_INFO_KIND(type->info) == BTF_KIND_FUNC && !strcmp(strings + type->name_off, name))
            found = id;
        at += sizeof *type + extra_bytes(type->info);
    }
    free(data);
    return found;
}

#define INSTRUCTION(code_, dst, src, off_, imm_)                                                   \
    ((struct bpf_insn){                                                                            \
        .code = (code_), .dst_reg = (dst), .src_reg = (src), .off = (off_), .imm = (imm_)})

int main(int count, char** words) {
    if (count != 2) {
        fputs("usage: bpf_fentry FUNCTION\n", stderr);
        return 2;
    }
    union bpf_attr map_attributes = {
        .map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 8, .max_entries = 1};
    int map = bpf(BPF_MAP_CREATE, &map_attributes);
    if (map < 0)
        return fail("cannot create a map");
    struct bpf_insn program[] = {
        INSTRUCTION(BPF_ST | BPF_MEM | BPF_W, BPF_REG_10, 0, -4, 0),
        INSTRUCTION(BPF_ALU64 | BPF_MOV | BPF_X, BPF_REG_2, BPF_REG_10, 0, 0),
        INSTRUCTION(BPF_ALU64 | BPF_ADD | BPF_K, BPF_REG_2, 0, 0, -4),
        INSTRUCTION(BPF_LD | BPF_IMM | BPF_DW, BPF_REG_1, BPF_PSEUDO_MAP_FD, 0, map),
        INSTRUCTION(0, 0, 0, 0, 0),
        INSTRUCTION(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_map_lookup_elem),
        INSTRUCTION(BPF_JMP | BPF_JEQ | BPF_K, BPF_REG_0, 0, 2, 0),
        INSTRUCTION(BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_1, 0, 0, 1),
        INSTRUCTION(BPF_STX | BPF_ATOMIC | BPF_DW, BPF_REG_0, BPF_REG_1, 0, BPF_ADD),
        INSTRUCTION(BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0, 0),
        INSTRUCTION(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
    };
    union bpf_attr load = {.prog_type = BPF_PROG_TYPE_TRACING,
                           .expected_attach_type = BPF_TRACE_FENTRY,
                           .attach_btf_id = find_function(words[1]),
                           .insns = (uint64_t)program,
                           .insn_cnt = sizeof program / sizeof *program,
                           .license = (uint64_t)"GPL"};
    int loaded = bpf(BPF_PROG_LOAD, &load);
    if (loaded < 0)
        return fail("cannot load the program");
    union bpf_attr attach = {.raw_tracepoint = {.prog_fd = (uint32_t)loaded}};
    int link = bpf(BPF_RAW_TRACEPOINT_OPEN, &attach);
    if (link < 0)
        return fail("cannot attach");
    puts("attached");
    fflush(stdout);
    while (getchar() != EOF)
        ;
    close(link);
    uint32_t key = 0;
    uint64_t hits = 0;
    union bpf_attr look = {
        .map_fd = (uint32_t)map, .key = (uint64_t)&key, .value = (uint64_t)&hits};
    if (bpf(BPF_MAP_LOOKUP_ELEM, &look))
        return fail("cannot read the count");
    printf("%llu\n", (unsigned long long)hits);
    return 0;
}
