// SPDX-License-Identifier: GPL-2.0-or-later
// serve-script: runs a script that root offers for the user on the connection, which is its
// standard input (djstap-run@.service).
#include "offered/module.h"
#include "offered/server.h"
#include "system/streams.h"

#include <cstdio>
#include <unistd.h>

int main(int count, char**) {
    djstap::prepare_streams();
    if (count != 1) {
        std::fprintf(stderr, "serve-script: it takes no arguments; systemd starts it\n");
        return 2;
    }
    djstap::offered::serve(STDIN_FILENO, djstap::offered::module_folder, "/usr/bin/djrun");
    return 0;
}
