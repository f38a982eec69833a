// SPDX-License-Identifier: GPL-2.0-or-later
#include "log_for_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void append(char* log, size_t size, const char* format, va_list arguments) {
    const size_t used = strnlen(log, size);
    const int length = used < size ? vsnprintf(log + used, size - used, format, arguments) : -1;

    if (length < 0 || (size_t)length >= size - used) {
        fprintf(stderr, "The log has no room for what follows this:\n%.*s\n", (int)used, log);
        abort();
    }
}

void log_for_test(char* log, size_t size, const char* format, ...) {
    va_list arguments;

    va_start(arguments, format);
    append(log, size, format, arguments);
    va_end(arguments);
}

void log_line_for_test(char* log, size_t size, const char* format, va_list arguments) {
    append(log, size, format, arguments);
    log_for_test(log, size, "\n");
}
