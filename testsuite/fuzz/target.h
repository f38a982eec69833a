// SPDX-License-Identifier: GPL-2.0-or-later
// What every fuzz target shares: its entry point, which libFuzzer or replay.cpp calls, and its
// failures.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace djstap::fuzz {

// Ends the run if an invariant does not hold: an input was found.
inline void require(bool holds, const char* what, const std::string& detail = "") {
    if (holds)
        return;
    fprintf(stderr, "fuzz: %s\n%s\n", what, detail.c_str());
    abort();
}

inline std::string_view view(const uint8_t* data, size_t size) {
    return {reinterpret_cast<const char*>(data), size};
}

} // namespace djstap::fuzz
