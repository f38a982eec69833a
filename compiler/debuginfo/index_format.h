// SPDX-License-Identifier: GPL-2.0-or-later
// The layout of the cached DWARF index. Strings are offsets into its pool; types and functions are
// offsets of their entries in .debug_info.
#pragma once
#include "cache/cache.h"

#include <cstdint>

namespace djstap {

inline constexpr TableFormat index_format = {{'d', 'j', 'd', 'w', 'a', 'r', 'f', '\n'}, 17, 11};

enum class IndexSection : size_t {
    functions,   // FunctionRecord by name, then entry
    by_symbol,   // uint32_t: functions by symbol
    ranges,      // RangeRecord by address
    parameters,  // ParameterRecord
    syscalls,    // SyscallRecord by name
    inlines,     // InlineRecord by name
    instances,   // InstanceRecord
    types,       // TypeRecord by name, then tag
    variables,   // VariableRecord by name
    enumerators, // EnumeratorRecord by name, each name once
    strings
};

inline constexpr uint32_t function_external = 1, function_varargs = 2, function_noreturn = 4,
                          // a C function: its parameters and return type are known
    function_typed = 8;

struct FunctionRecord {
    uint64_t entry;
    uint32_t name;
    uint32_t symbol;
    uint32_t size;
    uint32_t file;
    uint32_t line;
    uint32_t flags;
    uint32_t die;
    uint32_t return_type; // 0: void
    uint32_t first_parameter;
    uint32_t parameter_count;
};

struct ParameterRecord {
    // LocationKind Constant and Address: the constant; Pieces: the size if the calling convention
    // passes it in two registers, of which `reg` is the first, else 0; others: the offset.
    uint64_t value;
    uint32_t name;
    uint32_t type;
    uint32_t why;
    uint8_t kind; // LocationKind
    uint8_t reg;  // PtReg
    uint16_t padding;
};

struct RangeRecord {
    uint64_t begin;
    uint32_t size;
    uint32_t function;
};

// The definition of a system call, as __do_sys_NAME declares it.
struct SyscallRecord {
    uint32_t name; // without the prefix
    uint32_t file;
    uint32_t line;
    uint32_t return_type;
    uint32_t first_parameter;
    uint32_t parameter_count;
};

// A function that is inlined somewhere.
struct InlineRecord {
    uint64_t address; // where its first instance begins; 0: none has code
    uint32_t name;
    uint32_t file;
    uint32_t line;
    uint32_t first_instance;
    uint32_t instance_count;
    uint32_t placed_count; // the number of those that have code, which come first
};

// An instance of a function that is inlined. Listings need no more: reading the entries of all
// instances would touch most of .debug_info.
struct InstanceRecord {
    uint32_t die;
    int32_t distance; // from the address in InlineRecord to where it begins; 0: it has no code
};

struct TypeRecord {
    uint32_t name; // in a namespace or class of C++: with its scopes, "shop::order"
    uint32_t die;
    uint32_t tag;
};

struct VariableRecord {
    uint64_t address;
    uint32_t name;
    uint32_t type;
    uint32_t die;
    uint32_t external;
};

struct EnumeratorRecord {
    int64_t value;
    uint32_t name;
    uint32_t die;
};

} // namespace djstap
