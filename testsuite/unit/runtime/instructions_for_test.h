/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What runtime/arch tells of the kernel's instructions, which are letters here: the tests of
 * sources that look at some have no others. */
#ifndef DJSTAP_INSTRUCTIONS_FOR_TEST_H
#define DJSTAP_INSTRUCTIONS_FOR_TEST_H

#include "include/platform.h"

#define DJS_CALL_BYTES 5
#define DJS_LANDING_PAD_MAX 4

static inline bool djs_is_call(const u8* text) {
    return text[0] == 'c';
}

static inline bool djs_is_jump(const u8* text) {
    return text[0] == 'j';
}

static inline bool djs_is_breakpoint(const u8* text) {
    return text[0] == 'b';
}

static inline bool djs_is_no_op(const u8* text) {
    return !memcmp(text, "no-op", DJS_CALL_BYTES);
}

static inline u32 djs_landing_pad(const u8* text) {
    return memcmp(text, "pad!", DJS_LANDING_PAD_MAX) ? 0 : DJS_LANDING_PAD_MAX;
}

static inline u32 djs_sealed_landing_pad(const u8* text) {
    return memcmp(text, "seal", DJS_LANDING_PAD_MAX) ? 0 : DJS_LANDING_PAD_MAX;
}

#endif
