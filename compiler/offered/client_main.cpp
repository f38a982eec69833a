// SPDX-License-Identifier: GPL-2.0-or-later
// djstap-run: runs a script that root has compiled and offers, for users who may not load modules.
#include "offered/client.h"
#include "offered/module.h"
#include "system/print.h"
#include "system/streams.h"

#include <cstdio>
#include <string>

using namespace djstap;

namespace {

constexpr const char* help =
    R"(djstap-run runs a script that root has compiled and put into /etc/djstap/scripts, for members of the group djstap.

Usage: djstap-run [OPTIONS] NAME

Options:
  --list         list the names of the scripts that can be run
  -h,--help      print this help
  -V,--version   print the version

The script has neither options nor arguments. Ctrl-C stops it.
)";

int fail(const Failure& failure, int status) {
    std::fprintf(stderr, "djstap-run: %s\n", failure.message.c_str());
    if (!failure.hint.empty())
        std::fprintf(stderr, "  hint: %s\n", failure.hint.c_str());
    return status;
}

int print(const char* text) {
    const Status printed = print_whole(text);
    return printed ? 0 : fail(printed.failure(), 1);
}

} // namespace

int main(int count, char** arguments) {
    prepare_streams();
    const std::string word = count > 1 ? arguments[1] : "";
    if (word == "-h" || word == "--help")
        return print(help);
    if (word == "-V" || word == "--version")
        return print("djstap-run " DJSTAP_VERSION "\n");
    if (count != 2)
        return fail(
            {count < 2 ? "no script was named" : "only one word is accepted: a script's name",
             "djstap-run --list lists the scripts"},
            2);
    const bool lists = word == "--list";
    if (!lists && !offered::is_name(word))
        return fail({"'" + word + "' is neither an option nor the name of a script",
                     "djstap-run --list lists the scripts"},
                    2);
    const auto status = offered::request(offered::socket_path, lists ? "" : word);
    return status ? *status : fail(status.failure(), 1);
}
