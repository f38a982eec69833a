// SPDX-License-Identifier: GPL-2.0-or-later
// A client of pmcd: for each line of its input, which is a number, fetches the metrics of its
// arguments so many times and prints how many values the last fetch had.
#include <cstdio>
#include <cstdlib>
#include <pcp/pmapi.h>
#include <vector>

namespace {

int failed(const char* what, int error) {
    std::fprintf(stderr, "%s: %s\n", what, pmErrStr(error));
    return EXIT_FAILURE;
}

} // namespace

int main(int argc, char** argv) {
    if (argc < 3)
        return EXIT_FAILURE;
    const int context = pmNewContext(PM_CONTEXT_HOST, argv[1]);
    if (context < 0)
        return failed("pmNewContext", context);
    const int count = argc - 2;
    std::vector<pmID> ids(static_cast<size_t>(count));
    const int found = pmLookupName(count, const_cast<const char**>(argv + 2), ids.data());
    if (found != count)
        return failed("pmLookupName", found);
    int times = 0;
    while (std::scanf("%d", &times) == 1) {
        long values = 0;
        for (int i = 0; i < times; i++) {
            pmResult* result = nullptr;
            const int status = pmFetch(count, ids.data(), &result);
            if (status < 0)
                return failed("pmFetch", status);
            values = 0;
            for (int metric = 0; metric < result->numpmid; metric++)
                values += result->vset[metric]->numval;
            pmFreeResult(result);
        }
        std::printf("%ld\n", values);
        std::fflush(stdout);
    }
    return EXIT_SUCCESS;
}
