// SPDX-License-Identifier: GPL-2.0-or-later
// pmdadjstap: djstap's agent of Performance Co-Pilot, which pmcd starts.
#include "pmda/agent.h"
#include "system/streams.h"

#include <cstdio>
#include <cstdlib>
#include <string_view>

using namespace djstap::pmda;

namespace {

constexpr int domain = 444;

// pmdaGetOptions() takes those of every agent.
pmLongOptions long_options[] = {
    PMDA_OPTIONS_HEADER("Options"),
    PMOPT_HELP,
    PMDAOPT_DEBUG,
    PMDAOPT_DOMAIN,
    PMDAOPT_LOGFILE,
    {"scripts", 1, 's', "FOLDER", "run the scripts (.stp) and modules (.ko) of this folder"},
    {"recorded", 1, 'r', "FILE", "run nothing: show what --output=snapshots has written"},
    {"allow", 1, 'a', "FILE", "users and groups who may store scripts: 'user NAME', 'group NAME'"},
    {"djstap", 1, 'J', "PROGRAM", "the program that runs scripts"},
    {"djrun", 1, 'R', "PROGRAM", "the program that runs modules"},
    PMDA_OPTIONS_TEXT(""),
    PMDAOPT_INET,
    PMDAOPT_PIPE,
    PMDAOPT_UNIX,
    PMDAOPT_IPV6,
    PMDA_OPTIONS_END,
};

// libpcp returns the same for a request for help as for an unknown option.
bool asks_for_help(int argc, char** argv) {
    for (int i = 1; i < argc; i++)
        if (std::string_view(argv[i]) == "--help" || std::string_view(argv[i]) == "-?")
            return true;
    return false;
}

} // namespace

int main(int argc, char** argv) {
    djstap::prepare_streams();
    AgentOptions options;
    options.version = DJSTAP_VERSION;
    pmSetProgname(argv[0]);
    pmdaInterface dispatch{};
    // libpcp_pmda keeps these.
    static char name[] = "djstap", log[] = "djstap.log";
    pmdaDaemon(&dispatch, PMDA_INTERFACE_7, name, domain, log, nullptr);
    pmdaOptions given{};
    given.short_options = "D:d:l:s:r:a:J:R:i:pu:6:?";
    given.long_options = long_options;
    for (int option = 0; (option = pmdaGetOptions(argc, argv, &given, &dispatch)) != EOF;) {
        switch (option) {
        case 's':
            options.folder = given.optarg;
            break;
        case 'r':
            options.recorded.emplace_back(given.optarg);
            break;
        case 'a':
            options.permissions = given.optarg;
            break;
        case 'J':
            options.programs.djstap = given.optarg;
            break;
        case 'R':
            options.programs.djrun = given.optarg;
            break;
        default:
            given.errors++;
        }
    }
    if (given.errors) {
        pmdaUsageMessage(&given);
        return asks_for_help(argc, argv) ? EXIT_SUCCESS : EXIT_FAILURE;
    }
    pmdaOpenLog(&dispatch);
    return run_agent(dispatch, options);
}
