// SPDX-License-Identifier: GPL-2.0-or-later
// A module for tests of values that are narrower than a register: the upper parts of the registers
// contain other data, as the calling convention permits. Its functions are called when it is
// loaded.
#include <linux/module.h>

#define FUNCTION(name, type)                                                                       \
    noinline __noclone type name(type value);                                                      \
    noinline __noclone type name(type value) {                                                     \
        barrier();                                                                                 \
        return value;                                                                              \
    }

FUNCTION(narrow_char, signed char)
FUNCTION(narrow_uchar, unsigned char)
FUNCTION(narrow_short, short)
FUNCTION(narrow_ushort, unsigned short)
FUNCTION(narrow_int, int)
FUNCTION(narrow_uint, unsigned int)
FUNCTION(narrow_long, long)

static int __init start(void) {
    static void* const functions[] = {narrow_char, narrow_uchar, narrow_short, narrow_ushort,
                                      narrow_int,  narrow_uint,  narrow_long};
    unsigned int i;

    for (i = 0; i < ARRAY_SIZE(functions); i++)
        ((long (*)(long))functions[i])(0x12345678abcdfffe);
    return 0;
}

static void __exit stop(void) {}

module_init(start);
module_exit(stop);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("functions of narrow types, for djstap's tests");
