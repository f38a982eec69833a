// In place of runtime/context/stack.h: threads have stack enough.
#ifndef DJSTAP_STACK_H
#define DJSTAP_STACK_H

#include "control/runtime.h"

static inline u32 djs_stack_left(void) {
    return DJS_STACK_MAX;
}
static inline bool djs_stack_is_ample(void) {
    return true;
}

#endif
