// SPDX-License-Identifier: GPL-2.0-or-later
// A kernel to test with, a cache for the test alone, and a run whose output is collected.
#pragma once
#include "guest/guest.h"

#include "../surroundings.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>
#include <unistd.h>

namespace djstap {

inline std::string kernels_folder() {
    const char* set = getenv("DJSTAP_KERNELS");
    return set && *set ? set : "/var/lib/djstap/kernels";
}

// The name of a test's parameter in listings.
inline void PrintTo(const GuestKernel& kernel, std::ostream* out) {
    *out << (kernel.release.empty() ? "no kernel" : kernel.release);
}

// Returns every kernel that was unpacked for guests.
inline std::vector<GuestKernel> test_kernels() {
    std::vector<GuestKernel> kernels;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(kernels_folder(), error)) {
        std::string release = entry.path().filename(), root = entry.path();
        GuestKernel kernel{release, root + "/boot/vmlinuz-" + release,
                           root + "/lib/modules/" + release};
        if (std::filesystem::exists(kernel.vmlinuz, error))
            kernels.push_back(kernel);
    }
    return kernels;
}

struct Collected {
    std::string output, errors, trace;
    std::vector<std::string> progress;
    GuestCallbacks callbacks() {
        return {[this](GuestStream stream, std::string_view data) {
                    (stream == GuestStream::Output   ? output
                     : stream == GuestStream::Errors ? errors
                                                     : trace)
                        .append(data);
                    return true;
                },
                [this](const std::string& what) { progress.push_back(what); }};
    }
};

inline GuestJob shell_job(const GuestKernel& kernel, const std::string& script) {
    GuestJob job;
    job.kernel = kernel;
    job.command = {"/bin/sh", "-c", script};
    job.command_timeout = std::chrono::seconds(120);
    return job;
}

// Writes one file to the test's folder.
inline std::string make_file(const std::string& path, const std::string& text,
                             bool executable = false) {
    std::ofstream(path, std::ios::binary) << text;
    std::filesystem::permissions(path, executable ? std::filesystem::perms(0755)
                                                  : std::filesystem::perms(0644));
    return path;
}

using test::Environment;
using test::Limit;
using test::TestFolder;

} // namespace djstap
