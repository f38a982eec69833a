// SPDX-License-Identifier: GPL-2.0-or-later
// The output of code generation for a small script, written by hand.
struct tiny_script {
    int (*run)(int);
    int count;
};
int djs_double(int value);
int djs_apply(int (*function)(int), int value);
void* memset(void* to, int value, unsigned long size);

static __attribute__((noinline)) int add_one(int value) {
    return djs_double(value) + 1;
}
static __attribute__((noinline)) int fill(int value) {
    char bytes[64];
    memset(bytes, value, sizeof bytes);
    return ((volatile char*)bytes)[value & 63];
}
static int (*volatile const table[])(int) = {add_one, fill};

__attribute__((noinline, section(".kprobes.text"))) int script_part(int value) {
    return djs_apply(add_one, value) ^ djs_double(value + 1);
}
static int run(int count) {
    int sum = 0;
    for (int i = 0; i < count; i++)
        sum += table[i & 1](i);
    return sum + script_part(count);
}
#ifdef TAKE_ADDRESS
int (*taken)(int) = djs_double;
#endif
#ifdef USE_DATA
extern int djs_answer;
int data(void) {
    return djs_answer;
}
#endif
#ifdef USE_UNKNOWN
int djs_doubel(int value);
int unknown(int value) {
    return djs_doubel(value) + 1;
}
#endif
#ifdef USE_PRINTK
int _printk(const char* format, ...);
int forbidden(void) {
    return _printk("x") + 1;
}
#endif
#ifdef CONSTRUCTOR
int loaded;
__attribute__((constructor)) void at_load(void) {
    loaded = djs_double(loaded) + 1;
}
#endif
#ifdef CLASH
int djs_double(int value) {
    return value;
}
#endif
#ifndef NO_SCRIPT
const struct tiny_script djs_script = {run, 7};
#endif
#ifndef NO_META
__attribute__((section(".djstap.meta"), used)) static const char meta[] = "{}";
#endif
