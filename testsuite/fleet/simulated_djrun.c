// SPDX-License-Identifier: GPL-2.0-or-later
// Stands in for djrun on a simulated host: plays what simulate.py has recorded, a snapshot a
// second, as of now.
//     DJSTAP_RECORDING=FILE simulated_djrun … (djrun's arguments, of which it needs none)
// The file has pieces: the number of bytes, where in them the two times of a snapshot are (0: it is
// none), and the bytes. The first one describes the script, and is written at once; the others
// follow when a line comes. The end of the input ends it with the last piece.
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct piece {
    uint32_t size, times;
};

static void write_all(const char* bytes, size_t size) {
    while (size) {
        const ssize_t done = write(STDOUT_FILENO, bytes, size);
        if (done <= 0)
            exit(1);
        bytes += done;
        size -= (size_t)done;
    }
}

static char* show(char* at) {
    struct piece piece;
    memcpy(&piece, at, sizeof piece);
    char* const bytes = at + sizeof piece;
    const clockid_t clocks[] = {CLOCK_MONOTONIC, CLOCK_REALTIME};
    for (int i = 0; piece.times && i < 2; i++) {
        struct timespec now;
        clock_gettime(clocks[i], &now);
        const uint64_t ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
        memcpy(bytes + piece.times + (size_t)i * (1 + sizeof ns), &ns, sizeof ns);
    }
    write_all(bytes, piece.size);
    return bytes + piece.size;
}

int main(void) {
    const char* const path = getenv("DJSTAP_RECORDING");
    FILE* const file = path ? fopen(path, "rb") : NULL;
    if (!file || fseek(file, 0, SEEK_END))
        return 1;
    const size_t size = (size_t)ftell(file);
    char* const all = malloc(size);
    rewind(file);
    if (!all || fread(all, 1, size, file) != size)
        return 1;
    fclose(file);
    signal(SIGINT, SIG_IGN);

    char *next = show(all), *last = next, line;
    bool stopped = read(STDIN_FILENO, &line, 1) != 1;
    while (!stopped) {
        struct piece piece, following;
        memcpy(&piece, next, sizeof piece);
        char* const after = next + sizeof piece + piece.size;
        memcpy(&following, after, sizeof following);
        last = next;
        show(next);
        if (after + sizeof following + following.size < all + size)
            next = after;
        struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
        stopped = poll(&input, 1, 1000) > 0 && read(STDIN_FILENO, &line, 1) <= 0;
    }
    char* end = last;
    for (char* each = last; each < all + size;) {
        struct piece piece;
        memcpy(&piece, each, sizeof piece);
        end = each;
        each += sizeof piece + piece.size;
    }
    show(last);
    show(end);
    return 0;
}
