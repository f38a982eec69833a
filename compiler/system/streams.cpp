// SPDX-License-Identifier: GPL-2.0-or-later
#include "system/streams.h"

#include <csignal>
#include <fcntl.h>
#include <unistd.h>

namespace djstap {

void prepare_streams() {
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            static_cast<void>(open("/dev/null", O_RDWR)); // it gets the lowest number: fd
    std::signal(SIGXFSZ, SIG_IGN);
}

} // namespace djstap
