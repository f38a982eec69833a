// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A kernel of some functions, for the judge's quick run: each kind of function that a listing has
 * to tell apart.
 */
struct pair {
    long first, second;
};
struct wide {
    long words[5];
};

extern int sink;
int sink;

static inline __attribute__((always_inline)) int twice(int number) {
    sink = number;
    return number + number;
}

static inline __attribute__((always_inline)) int only_forgotten(int number) {
    sink = number + 1;
    return number * 7;
}

static inline __attribute__((always_inline)) int only_forbidden(int number) {
    sink = number + 2;
    return number * 9;
}

/* A clone: its second argument is always the same. */
static __attribute__((noinline)) int cloned(int number, int constant) {
    sink = number;
    return number * constant + sink;
}

int many(int a, long b, short c, char d, unsigned int e, long f, long g, struct pair h,
         struct wide i) {
    return twice(a) + cloned((int)b, 11) + c + d + (int)(e + f + g + h.second + i.words[3]);
}

int calls(int number) {
    return cloned(number, 11) + cloned(number + 1, 11);
}

__attribute__((section(".init.text"))) int forgotten(int number) {
    return only_forgotten(number) + twice(number);
}

__attribute__((section(".noinstr.text"))) int forbidden(int number) {
    return only_forbidden(number) + twice(number);
}

int on_the_list(int number) {
    return only_forbidden(number) + 1;
}

__attribute__((weak)) int replaced(int number) {
    return twice(number) - 1;
}

/* Split by the compiler: the cold part is a symbol of its own. */
extern void fail(const char* why) __attribute__((cold));
__attribute__((noinline)) void fail(const char* why) {
    sink = why[0];
}

int split(int number) {
    if (__builtin_expect(number == 12345, 0)) {
        fail("a");
        fail("b");
        sink = 77;
    }
    return twice(number);
}

/* Another name of the same code. */
int alias(int number) __attribute__((alias("split")));

__attribute__((section(".data"))) void* blacklist[] = {on_the_list};
