/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DJSTAP_X86_PORTABLE_H
#define DJSTAP_X86_PORTABLE_H

#define DJS_MULTIPLY(low, high, b) __asm__("mulq %2" : "+a"(low), "=d"(high) : "rm"(b) : "cc")

/* DWARF's numbers of registers */
#define DJS_DWARF_REGISTERS   17
#define DJS_DWARF_FRAME	      6
#define DJS_DWARF_STACK	      7
#define DJS_DWARF_RETURN      16
#define DJS_DWARF_SAVED_COUNT 6
#define DJS_DWARF_SAVED	      {3, 6, 12, 13, 14, 15}

#endif
