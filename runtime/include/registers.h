/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Registers by their index in pt_regs, in words. Without registers: an error, and 0. */
#ifndef DJSTAP_REGISTERS_H
#define DJSTAP_REGISTERS_H

#include "include/platform.h"

struct djs_ctx;
u64 djs_kernel_register(struct djs_ctx *ctx, u32 index, u32 place);
u64 djs_user_register(struct djs_ctx *ctx, u32 index, u32 place);

#endif
