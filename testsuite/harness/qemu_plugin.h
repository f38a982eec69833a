// SPDX-License-Identifier: GPL-2.0-or-later
// QEMU's "TCG plugins", version 1 (docs/devel/tcg-plugins.rst of QEMU), as far as plugins here use
// them: Debian packages QEMU without its header. A plugin has one source, which includes this.
#ifndef DJSTAP_QEMU_PLUGIN_H
#define DJSTAP_QEMU_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

typedef uint64_t qemu_plugin_id_t;
struct qemu_info;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
enum qemu_plugin_cb_flags { QEMU_PLUGIN_CB_NO_REGS };
typedef void (*block_callback)(qemu_plugin_id_t id, struct qemu_plugin_tb* block);
typedef void (*cpu_callback)(unsigned cpu, void* data);
typedef void (*exit_callback)(qemu_plugin_id_t id, void* data);
extern void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id, block_callback callback);
extern void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb* block,
                                                 cpu_callback callback,
                                                 enum qemu_plugin_cb_flags flags, void* data);
extern void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn* instruction,
                                                   cpu_callback callback,
                                                   enum qemu_plugin_cb_flags flags, void* data);
extern void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id, exit_callback callback, void* data);
extern size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb* block);
extern uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb* block);
extern struct qemu_plugin_insn* qemu_plugin_tb_get_insn(const struct qemu_plugin_tb* block,
                                                        size_t index);
extern uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn* instruction);
extern size_t qemu_plugin_insn_size(const struct qemu_plugin_insn* instruction);
extern const void* qemu_plugin_insn_data(const struct qemu_plugin_insn* instruction);
extern void qemu_plugin_outs(const char* text);

#define VISIBLE __attribute__((visibility("default")))
VISIBLE int qemu_plugin_version = 1;
VISIBLE int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info* info, int count,
                                char** arguments);

#endif
