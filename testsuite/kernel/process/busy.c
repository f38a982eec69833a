// SPDX-License-Identifier: GPL-2.0-or-later
// Threads that are always inside probed functions, and code that changes while it is probed:
//
//   threads N LIBRARY   until standard input ends, N threads call work(), and one more loads the
//                       library, calls its step(), and unloads it
//   patch               writes other code over patched(), which it calls before and afterwards
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define OWN __attribute__((noipa))

static atomic_int over, wrong;

OWN int work(int n) {
    return n + 1;
}

static void* worker(void* unused) {
    for (int n = 0; !over; n = (n + 1) % 1000)
        if (work(n) != n + 1)
            wrong++;
    return unused;
}

static void* loader(void* path) {
    while (!over) {
        void* library = dlopen(path, RTLD_NOW);
        int (*step)(int) = library ? (int (*)(int))dlsym(library, "step") : NULL;
        if (!step || step(3) != 10)
            wrong++;
        if (library)
            dlclose(library);
    }
    return NULL;
}

// mov $1, %eax; ret
OWN int patched(void);
__asm__(".text\n.globl patched\n.type patched, @function\n.balign 16\n"
        "patched: .byte 0xb8, 1, 0, 0, 0, 0xc3\n.size patched, . - patched\n");

static int patch(void) {
    static const unsigned char code[] = {0xb8, 2, 0, 0, 0, 0xc3};
    const long bytes = sysconf(_SC_PAGESIZE);
    char* page = (char*)((unsigned long)patched & -(unsigned long)bytes);
    const int before = patched() + patched();
    if (mprotect(page, (size_t)bytes, PROT_READ | PROT_WRITE | PROT_EXEC))
        return 1;
    memcpy((void*)(unsigned long)patched, code, sizeof code);
    return !(before == 2 && patched() == 2 && patched() == 2);
}

int main(int argc, char** argv) {
    if (argc > 1 && !strcmp(argv[1], "patch"))
        return patch();
    enum { most = 64 };
    pthread_t threads[most + 1];
    int count = argc > 3 ? atoi(argv[2]) : 0;
    if (count > most)
        return 2;
    for (int i = 0; i < count; i++)
        pthread_create(&threads[i], NULL, worker, NULL);
    pthread_create(&threads[count], NULL, loader, argv[3]);
    puts("ready");
    fflush(stdout);
    while (getchar() != EOF)
        ;
    over = 1;
    for (int i = 0; i <= count; i++)
        pthread_join(threads[i], NULL);
    return wrong != 0;
}
