/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's symbols, for modules_for_test.c. */
#ifndef DJSTAP_TEST_KALLSYMS_H
#define DJSTAP_TEST_KALLSYMS_H
#include "linux/list.h"

#define KSYM_SYMBOL_LEN 512
struct test_symbol {
    unsigned int st_name;
    unsigned long st_value;
};
struct mod_kallsyms {
    struct test_symbol* symtab;
    const char* strtab;
    unsigned int num_symtab;
};
enum module_state { MODULE_STATE_LIVE, MODULE_STATE_COMING };
struct module {
    enum module_state state;
    struct list_head list;
    const char* name;
    struct mod_kallsyms* kallsyms;
};
int sprint_symbol(char* text, unsigned long address);
#endif
