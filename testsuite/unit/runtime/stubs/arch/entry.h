/* SPDX-License-Identifier: GPL-2.0-or-later */
/* That of the tests: what djprobe_entry has not saved is where the call came from. */
#ifndef DJSTAP_TEST_ENTRY_H
#define DJSTAP_TEST_ENTRY_H
#define djs_complete_registers(registers, frame) ((void)((registers)->ip = (frame)[0]))
#endif
