// SPDX-License-Identifier: GPL-2.0-or-later
// Loads a script's module repeatedly, so that one allocation fails each time: the first, the
// second, … until the load succeeds. They fail on a kernel with fault injection
// (scripts/debug-kernels), where those that the kernel itself makes before the module's own code
// runs are skipped; or because the runtime is one of ../refusing, whose registrations fail, too,
// and which counts what is not freed.
//   fail-nth MODULE.ko [PARAMETER=VALUE…]
// Checks each load: a failure must have a message from the module, and leave nothing attached; a
// success may be without a message only if nothing is missing, so the allocations that may fail
// silently are listed. Prints a line for each problem, and at the end the number of failed
// allocations.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define LOG_BYTES (1 << 20)

static const char *path, *parameters;
static char name[64];
static int image, faults, log_file;
static int is_refusing;      // the module of ../refusing is loaded
static char text[LOG_BYTES]; // the kernel's messages about one load
static char before[LOG_BYTES], after[LOG_BYTES];
static int wrong;

static void complain(int n, const char* format, ...) {
    va_list arguments;

    wrong = 1;
    printf("%s: allocation %d: ", name, n);
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    putchar('\n');
}

static void fail(const char* what) {
    perror(what);
    exit(1);
}

static void write_file(const char* file, const char* value) {
    int fd = open(file, O_WRONLY | O_CLOEXEC);

    if (fd < 0 || write(fd, value, strlen(value)) < 0)
        fail(file);
    close(fd);
}

static int read_number(int fd) {
    char number[32] = "";

    if (pread(fd, number, sizeof number - 1, 0) <= 0)
        fail("reading fail-nth");
    return atoi(number);
}

#define REFUSING "/sys/module/refusing/parameters/"

/* Reads a parameter of the refusing module: one word. */
static const char* refusing(const char* parameter) {
    static char word[128];
    char file[128];
    int fd;
    ssize_t n;

    snprintf(file, sizeof file, REFUSING "%s", parameter);
    fd = open(file, O_RDONLY | O_CLOEXEC);
    n = fd < 0 ? -1 : read(fd, word, sizeof word - 1);
    if (n < 0)
        fail(file);
    close(fd);
    word[n] = 0;
    word[strcspn(word, "\n")] = 0;
    return word;
}

static void fail_next(int n) {
    char number[32];

    snprintf(number, sizeof number, "%d", n);
    if (pwrite(faults, number, strlen(number), 0) < 0)
        fail("writing fail-nth");
    if (is_refusing && n)
        write_file(REFUSING "where", "");
}

/* Appends a file's lines to what is attached; a file that does not exist has none. */
static void add_file(char* to, const char* file) {
    int fd = open(file, O_RDONLY | O_CLOEXEC);
    size_t have = strlen(to);
    ssize_t n;

    while (fd >= 0 && (n = read(fd, to + have, LOG_BYTES - 1 - have)) > 0)
        have += (size_t)n;
    to[have] = 0;
    if (fd >= 0)
        close(fd);
}

static void look(char* to) {
    char file[128];

    to[0] = 0;
    add_file(to, "/sys/kernel/debug/kprobes/list");
    add_file(to, "/sys/kernel/debug/tracing/enabled_functions");
    add_file(to, "/proc/modules");
    snprintf(file, sizeof file, "/proc/djstap-%s", name);
    if (!access(file, F_OK))
        strcat(strcat(to, file), "\n");
    snprintf(file, sizeof file, "/proc/systemtap/%s", name);
    if (!access(file, F_OK))
        strcat(strcat(to, file), "\n");
}

/* References to a module may come and go: only its presence counts. */
static void without_counts(char* list) {
    for (char* line = list; line && *line;
         line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
        if (strstr(line, " Live ") && strstr(line, " Live ") < line + strcspn(line, "\n")) {
            size_t word = strcspn(line, " ");
            memset(line + word, ' ', strcspn(line, "\n") - word);
        }
}

/* Reads the kernel's log since the last call. */
static void read_log(void) {
    char record[8192];
    size_t have = 0;
    ssize_t n;

    while ((n = read(log_file, record, sizeof record - 1)) > 0 || errno == EPIPE) {
        char* message;

        if (n <= 0)
            continue;
        record[n] = 0;
        message = strchr(record, ';');
        if (message && have + (size_t)n < sizeof text)
            have += (size_t)sprintf(text + have, "%s", message + 1);
    }
    text[have] = 0;
}

/* Returns the innermost function of the module in the stack of what failed. */
static const char* function_of_module(void) {
    static char function[128];
    char tag[80], *at, *begin;

    if (is_refusing)
        return *strcpy(function, refusing("where")) ? function : NULL;
    snprintf(tag, sizeof tag, " [%s]", name);
    at = strstr(text, "FAULT_INJECTION");
    while (at && (at = strstr(at, tag))) {
        for (begin = at; begin > text && begin[-1] != '\n' && begin[-1] != ' '; begin--)
            ;
        if (begin < at && begin[-1] == ' ' && strcspn(begin, "+") < (size_t)(at - begin) &&
            strncmp(begin - 2, "? ", 2)) {
            snprintf(function, sizeof function, "%.*s", (int)strcspn(begin, "+"), begin);
            return function;
        }
        at++;
    }
    return NULL;
}

static int has_message(void) {
    char own[80];

    snprintf(own, sizeof own, "%s: ", name);
    return strstr(text, own) != NULL;
}

/* Triggers the scripts' probes. */
static void use_the_kernel(void) {
    struct timespec short_time = {.tv_nsec = 5000000};
    struct timespec now;
    struct sockaddr_in here = {
        .sin_family = AF_INET, .sin_port = htons(9), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int packets = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    for (int i = 0; i < 20; i++) {
        sendto(packets, "x", 1, 0, (struct sockaddr*)&here, sizeof here);
        syscall(SYS_clock_gettime, CLOCK_REALTIME, &now);
        syscall(SYS_gettimeofday, NULL, NULL);
        close(open("/proc/self/stat", O_RDONLY));
    }
    nanosleep(&short_time, NULL);
    close(packets);
}

static char silent[64][128];
static int silent_count;

static void note_silent(const char* function) {
    for (int i = 0; i < silent_count; i++)
        if (!strcmp(silent[i], function))
            return;
    if (silent_count < 64)
        strcpy(silent[silent_count++], function);
}

enum outcome { NOT_REACHED, BEFORE_THE_MODULE, IN_THE_MODULE };

static enum outcome try_once(int n, int* errors) {
    const char* function;
    int result, error, left;

    read_log();
    fail_next(n);
    result = (int)syscall(SYS_finit_module, image, parameters, 0);
    error = errno;
    left = read_number(faults);
    fail_next(0);
    read_log();
    function = function_of_module();
    use_the_kernel();
    if (result == 0 && syscall(SYS_delete_module, name, O_NONBLOCK))
        complain(n, "was loaded and cannot be unloaded: %s", strerror(errno));
    use_the_kernel();
    look(after);
    without_counts(after);
    if (strcmp(before, after))
        complain(n, "left behind:\n%s", after);
    if (is_refusing && strcmp(refusing("live"), "0"))
        complain(n, "%s allocations are not freed", refusing("live"));
    if (left > 0) {
        if (result)
            complain(n, "does not load: %s", strerror(error));
        return NOT_REACHED;
    }
    if (!function)
        return BEFORE_THE_MODULE;
    if (result && !has_message())
        complain(n, "%s failed without a message: %s", function, strerror(error));
    if (!result && !has_message())
        note_silent(function);
    *errors += result != 0;
    return IN_THE_MODULE;
}

/* Returns how many allocations the kernel makes before it reads the module's parameters: with an
 * invalid one it goes no further. Those are left alone, because the kernel warns when its jump
 * labels get no memory. */
static int count_before_parameters(void) {
    enum { MANY = 1 << 20 };
    int left = 0;

    for (int i = 0; i < 2; i++) { // the first one also reads the file
        fail_next(MANY);
        if (!syscall(SYS_finit_module, image, "ring_kb=none", 0))
            fail("loading the module with an invalid parameter");
        left = read_number(faults);
        fail_next(0);
    }
    return MANY - left;
}

static int by_name(const void* a, const void* b) {
    return strcmp(a, b);
}

int main(int count, char** words) {
    char all[512] = "";
    int n, failed = 0, errors = 0, low = 1, high, step;
    const char* begin;

    if (count < 2)
        return 2;
    path = words[1];
    is_refusing = !access(REFUSING "next", F_OK);
    if (is_refusing)
        snprintf(all, sizeof all, "refusing=%s ", refusing("address"));
    for (int i = 2; i < count; i++)
        strcat(strcat(all, words[i]), " ");
    parameters = all;
    begin = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    snprintf(name, sizeof name, "%.*s", (int)strcspn(begin, "."), begin);
    image = open(path, O_RDONLY | O_CLOEXEC);
    faults = open(is_refusing ? REFUSING "next" : "/proc/thread-self/fail-nth", O_RDWR | O_CLOEXEC);
    log_file = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (image < 0 || faults < 0 || log_file < 0)
        fail("opening the module, fail-nth and /dev/kmsg");
    if (!is_refusing) {
        write_file("/sys/kernel/debug/failslab/ignore-gfp-wait", "N");
        write_file("/sys/kernel/debug/fail_page_alloc/ignore-gfp-wait", "N");
        write_file("/sys/kernel/debug/fail_page_alloc/ignore-gfp-highmem", "N");
        write_file("/sys/kernel/debug/fail_page_alloc/min-order", "0");
    }
    look(before);
    without_counts(before);
    if (!is_refusing)
        low += count_before_parameters();
    /* Finds where the module's own code begins. */
    for (high = low, step = 1; try_once(high, &errors) == BEFORE_THE_MODULE; step *= 2)
        low = high + 1, high += step;
    while (low < high) {
        int middle = low + (high - low) / 2;

        if (try_once(middle, &errors) == BEFORE_THE_MODULE)
            low = middle + 1;
        else
            high = middle;
    }
    errors = 0;
    for (n = low;; n++) {
        enum outcome outcome = try_once(n, &errors);

        if (outcome == NOT_REACHED || wrong)
            break;
        failed += outcome == IN_THE_MODULE;
    }
    qsort(silent, (size_t)silent_count, sizeof silent[0], by_name);
    for (int i = 0; i < silent_count; i++)
        printf("%s: does without in %s\n", name, silent[i]);
    printf("%s: %d allocations failed, %d times it was not loaded\n", name, failed, errors);
    return wrong;
}
