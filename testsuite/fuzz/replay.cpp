// SPDX-License-Identifier: GPL-2.0-or-later
// Runs a fuzz target over files and folders of inputs, once each: the corpus as a test, for any
// compiler.
#include "target.h"

#include <filesystem>
#include <fstream>
#include <iterator>

namespace {

size_t replay(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
    return 1;
}

} // namespace

int main(int count, char** arguments) {
    size_t inputs = 0;
    for (int i = 1; i < count; i++) {
        if (!std::filesystem::is_directory(arguments[i])) {
            inputs += replay(arguments[i]);
            continue;
        }
        for (const auto& entry : std::filesystem::directory_iterator(arguments[i]))
            inputs += replay(entry.path());
    }
    printf("%zu inputs\n", inputs);
    return inputs ? 0 : 1;
}
