// SPDX-License-Identifier: GPL-2.0-or-later
// A module for tests to plant jumps in: its functions are called when its parameter is written.
#include <linux/module.h>

static unsigned int calls;

noinline int jumped_over(int number);
noinline int jumped_over(int number) {
    calls += number;
    barrier();
    return number * 3;
}

noinline int jumped_into(int number);
noinline int jumped_into(int number) {
    asm volatile("test %0, %0\n\tjs .Ljumped_cold" : : "r"(number) : "cc");
    asm volatile("mov %edi, %edi\n.Ljumped_back: nop\n\tnop\n\tnop\n\tnop\n\tnop"); // enters here
    asm volatile(".pushsection .text.unlikely, \"ax\"\n"
                 ".Ljumped_cold: jmp .Ljumped_back\n"
                 ".popsection");
    return number;
}

static int call(const char* value, const struct kernel_param* parameter) {
    return jumped_over(2) + jumped_into(-1) + jumped_into(4) == 9 ? 0 : -EINVAL;
}

static const struct kernel_param_ops operations = {.set = call};
module_param_cb(call, &operations, NULL, 0200);

static int __init jumped_init(void) {
    return 0;
}

static void __exit jumped_exit(void) {}

module_init(jumped_init);
module_exit(jumped_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("jumped by djstap's tests");
