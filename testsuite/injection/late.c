// SPDX-License-Identifier: GPL-2.0-or-later
// A program that loads and unloads the library whose path is its first argument (plugin.c). The
// others are actions:
//
// - load: loads it, calls plugged(1, 2), and unloads it
// - elsewhere: the same, where something else is mapped at its former place
// - hold: loads it, and keeps it
// - threads N: N times, another thread loads it and calls plugged_often(1000), while this one calls
//   own()
// - wait: prints "spinning" and reads a line
// - forget: unloads what is held; its addresses then belong to other memory, which must not change
// - child: a child loads it and calls plugged(1, 2)
// - again: loads it into a namespace of its own, too, and calls plugged(1, 2) in what is held
// - look: maps the library's file as data, and keeps that
// - rename: gives the library's file another name
// - replace: gives the file with ".new" in its name that of the library
// - other: loads another library, and calls plugged(1, 2) in what is held
// - in-handler: a signal's handler loads it, as `load` does
// - leave: its first thread ends, and another one goes on with what follows
#define _GNU_SOURCE // dlinfo
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROOM = 1 << 20 };
static const char* path;
static void* held;
static int wrong;
static char* last_place;
static volatile long sink;

__attribute__((noinline, noclone)) long own(long a) {
    sink = a;
    return a + 1;
}

static void* load(void) {
    void* const library = dlopen(path, RTLD_NOW);
    struct link_map* map = NULL;
    if (!library || dlinfo(library, RTLD_DI_LINKMAP, &map)) {
        puts(dlerror());
        exit(1);
    }
    last_place = (char*)map->l_addr;
    return library;
}

static void call(void* library, const char* name, long n, long expected) {
    long (*const function)(long, long) = (long (*)(long, long))dlsym(library, name);
    if (!function || function(n, 2) != expected)
        wrong = 1;
}

static void visit(void) {
    void* const library = load();
    call(library, "plugged", 1, 12);
    dlclose(library);
}

static void* visit_often(void* times) {
    for (long i = *(long*)times; i > 0; i--) {
        void* const library = load();
        call(library, "plugged_often", 1000, 1000);
        dlclose(library);
    }
    *(volatile long*)times = 0;
    return NULL;
}

static void elsewhere(void) {
    char* const before = last_place;
    char* const other = mmap(before, ROOM, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    visit();
    if (other != MAP_FAILED && last_place == before)
        wrong = 1;
    for (int i = 0; other != MAP_FAILED && i < ROOM; i++)
        wrong |= other[i] != 0;
}

static void forget(void) {
    char* const before = last_place;
    dlclose(held);
    char* const other = mmap(before, ROOM, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    char line[16];
    puts("forgotten");
    if (!fgets(line, sizeof line, stdin))
        wrong = 1;
    for (int i = 0; other != MAP_FAILED && i < ROOM; i++)
        wrong |= other[i] != 0;
}

static void again(void) {
    void* const other = dlmopen(LM_ID_NEWLM, path, RTLD_NOW);
    wrong |= !other;
    call(held, "plugged", 1, 12);
    if (other)
        dlclose(other);
    call(held, "plugged", 1, 12);
}

static void look(void) {
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    wrong |= mmap(NULL, ROOM / 256, PROT_READ, MAP_PRIVATE, file, 0) == MAP_FAILED;
    close(file);
}

static void rename_file(void) {
    char name[4096];
    snprintf(name, sizeof name, "%s.renamed", path);
    wrong |= rename(path, name) != 0;
}

static void replace_file(void) {
    char name[4096];
    snprintf(name, sizeof name, "%s.new", path);
    wrong |= rename(name, path) != 0;
}

static void load_other(void) {
    void* const other = dlopen("libm.so.6", RTLD_NOW);
    wrong |= !other;
    call(held, "plugged", 1, 12);
    if (other)
        dlclose(other);
    call(held, "plugged", 1, 12);
}

static void visit_in_handler(int number) {
    (void)number;
    visit();
}

static void act(int argc, char** argv, int first);
static struct {
    int argc;
    char** argv;
    int next;
    pthread_t first;
} rest;

// What a process tells of its memory is what its first thread has.
static int tells_of_memory(void) {
    FILE* const maps = fopen("/proc/self/maps", "r");
    const int any = maps && getc(maps) != EOF;
    if (maps)
        fclose(maps);
    return any;
}

static void* act_alone(void* unused) {
    pthread_join(rest.first, NULL);
    while (tells_of_memory())
        usleep(100);
    act(rest.argc, rest.argv, rest.next);
    exit(0);
    return unused;
}

static void leave(int argc, char** argv, int next) {
    pthread_t thread;
    rest.argc = argc;
    rest.argv = argv;
    rest.next = next;
    rest.first = pthread_self();
    pthread_create(&thread, NULL, act_alone, NULL);
    pthread_exit(NULL);
}

static void act(int argc, char** argv, int first) {
    for (int i = first; i < argc; i++) {
        if (!strcmp(argv[i], "load")) {
            visit();
        } else if (!strcmp(argv[i], "elsewhere")) {
            elsewhere();
        } else if (!strcmp(argv[i], "hold")) {
            held = load();
            call(held, "plugged", 1, 12);
        } else if (!strcmp(argv[i], "forget")) {
            forget();
        } else if (!strcmp(argv[i], "again")) {
            again();
        } else if (!strcmp(argv[i], "look")) {
            look();
        } else if (!strcmp(argv[i], "rename")) {
            rename_file();
        } else if (!strcmp(argv[i], "replace")) {
            replace_file();
        } else if (!strcmp(argv[i], "other")) {
            load_other();
        } else if (!strcmp(argv[i], "leave")) {
            leave(argc, argv, i + 1);
        } else if (!strcmp(argv[i], "in-handler")) {
            signal(SIGUSR1, visit_in_handler);
            raise(SIGUSR1);
        } else if (!strcmp(argv[i], "threads") && i + 1 < argc) {
            long times = atoi(argv[++i]);
            pthread_t thread;
            pthread_create(&thread, NULL, visit_often, &times);
            while (*(volatile long*)&times)
                if (own(1) != 2)
                    wrong = 1;
            pthread_join(thread, NULL);
        } else if (!strcmp(argv[i], "wait")) {
            char line[16];
            puts("spinning");
            if (!fgets(line, sizeof line, stdin))
                wrong = 1;
        } else if (!strcmp(argv[i], "child")) {
            const pid_t child = fork();
            if (child == 0) {
                visit();
                _exit(wrong);
            }
            int status = 0;
            wrong |= waitpid(child, &status, 0) != child || status != 0;
        }
    }
    puts(wrong ? "wrong" : "right");
}

int main(int argc, char** argv) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    path = argv[1];
    act(argc, argv, 2);
    return 0;
}
