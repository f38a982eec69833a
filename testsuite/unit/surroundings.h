// SPDX-License-Identifier: GPL-2.0-or-later
// What a test has for itself: a folder, and variables of the environment. Both are at its end what
// they were before it.
#pragma once
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <optional>
#include <string>

namespace djstap::test {

// A folder, removed with all that is in it. Without one, a test cannot go on.
class TestFolder {
  public:
    TestFolder() : path(make()) {}
    TestFolder(const TestFolder&) = delete;
    TestFolder& operator=(const TestFolder&) = delete;
    ~TestFolder() {
        std::error_code ignored; // a test may have removed it
        std::filesystem::remove_all(path, ignored);
    }

    std::string file(const std::string& name) const { return path + "/" + name; }
    // Writes a file, whose path is returned, and the folders that it is in.
    std::string write(const std::string& name, const std::string& text) const {
        const std::filesystem::path written = file(name);
        std::filesystem::create_directories(written.parent_path());
        std::ofstream(written, std::ios::binary) << text;
        return written;
    }

    const std::string path;

  private:
    static std::string make() {
        std::string name = std::filesystem::temp_directory_path() / "djstap-test-XXXXXX";
        if (mkdtemp(name.data()))
            return name;
        perror(name.c_str());
        std::abort();
    }
};

// A variable of the environment. Without a value, it is not set.
class Environment {
  public:
    explicit Environment(std::string name, const std::optional<std::string>& value = std::nullopt)
        : name_(std::move(name)) {
        if (const char* before = getenv(name_.c_str()))
            before_ = before;
        set(value);
    }
    Environment(const Environment&) = delete;
    Environment& operator=(const Environment&) = delete;
    ~Environment() { set(before_); }

    void set(const std::optional<std::string>& value) const {
        if (value)
            setenv(name_.c_str(), value->c_str(), 1);
        else
            unsetenv(name_.c_str());
    }

  private:
    const std::string name_;
    std::optional<std::string> before_;
};

} // namespace djstap::test
