// SPDX-License-Identifier: GPL-2.0-or-later
// What a script writes to its memory, it reads: each call of told() has what is there then.
#include <stddef.h>

#define OWN __attribute__((noipa))

struct item {
    int id;
    unsigned low : 3, high : 5;
    short small;
    char name[8];
    long big;
    struct item* next;
};

int counter = 40;
static const int fixed[4] = {1, 2, 3, 4};

OWN void told(long a, long b, long c) {
    (void)a, (void)b, (void)c;
}

OWN int change(struct item* item, const int* constant, struct item* nowhere, int n) {
    counter++;
    told(item->id, item->low, item->high);
    told(item->small, item->name[0], item->name[1]);
    told(item->big, item->next->big, n);
    told(counter, constant[0], nowhere != NULL);
    return n;
}

OWN int last(struct item* nowhere) {
    return nowhere != NULL;
}

int main(void) {
    struct item second = {.id = 2, .big = 20}, first = {1, 1, 2, 3, "name", 10, &second};
    int result = change(&first, fixed, (struct item*)16, 5);
    told(result, second.id, 0);
    return last(NULL);
}
