/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the two files of the module share. */
struct values_pair {
    int first;
    short second, third;
};

struct values_wide {
    long first;
    int second;
    unsigned char third;
};

/* Too large for two registers: returned in memory. */
struct values_list {
    long first, second;
    int third;
};

struct values_bits {
    int negative : 3;
    unsigned low : 7;
    unsigned long wide : 40;
    signed char sign : 1;
};

int values_second(const struct values_bits* bits, int count);
struct values_pair values_make(struct values_pair pair, int step);
struct values_list values_list(int step);
int values_sum(struct values_wide wide, int step);
