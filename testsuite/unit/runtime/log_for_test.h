/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the *_for_test.c tell their tests of the runtime's calls: lines in a text. */
#ifndef DJSTAP_LOG_FOR_TEST_H
#define DJSTAP_LOG_FOR_TEST_H

#include <stdarg.h>
#include <stddef.h>

#ifdef __cplusplus
#include <string>

/* Returns the log, which is empty then. */
inline std::string taken_log(char* log) {
    std::string lines = log;
    log[0] = 0;
    return lines;
}
#else
/* Text that the log has no room for ends the test, which would not miss it otherwise. */
void log_for_test(char* log, size_t size, const char* format, ...)
    __attribute__((__format__(__printf__, 3, 4)));
/* The same, as a whole line. */
void log_line_for_test(char* log, size_t size, const char* format, va_list arguments);

/* In place of the session's messages, which other sources have. */
#define LOG_SESSION_MESSAGES(log)                                                                  \
    void djs_session_message(u32 id, const char* format, ...) {                                    \
        va_list arguments;                                                                         \
                                                                                                   \
        va_start(arguments, format);                                                               \
        log_line_for_test(log, sizeof(log), format, arguments);                                    \
        va_end(arguments);                                                                         \
    }
#endif
#endif
