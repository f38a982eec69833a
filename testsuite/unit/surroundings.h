// SPDX-License-Identifier: GPL-2.0-or-later
// What a test has for itself: a folder, variables of the environment, the time zone, and limits. At
// the end, all are as they were before.
#pragma once
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <optional>
#include <string>
#include <sys/resource.h>
#include <system_error>
#include <utility>

namespace djstap::test {

// A folder, removed with all that is in it. No symbolic link leads there. Without one, a test
// cannot go on.
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
        std::string name = std::filesystem::canonical(std::filesystem::temp_directory_path()) /
                           "djstap-test-XXXXXX";
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

// A limit of this process: the soft one, which can be raised again.
class Limit {
  public:
    using Resource = decltype(RLIMIT_NOFILE); // in C++, the C library has a type for it

    Limit(Resource resource, rlim_t most) : resource_(resource) {
        EXPECT_EQ(getrlimit(resource_, &before_), 0);
        const rlimit lower{std::min(before_.rlim_cur, most), before_.rlim_max};
        EXPECT_EQ(setrlimit(resource_, &lower), 0);
    }
    Limit(const Limit&) = delete;
    Limit& operator=(const Limit&) = delete;
    ~Limit() { setrlimit(resource_, &before_); }

    const rlimit& before() const { return before_; }

  private:
    const Resource resource_;
    rlimit before_{};
};

// The time zone. The C library keeps it until it is told to look at the variable again.
class TimeZone {
  public:
    explicit TimeZone(const std::string& zone) : variable_("TZ", zone) { tzset(); }

    void set(const std::string& zone) const {
        variable_.set(zone);
        tzset();
    }

  private:
    // Destroyed after the variable, which is then what it was.
    struct Told {
        ~Told() { tzset(); }
    } told_;
    const Environment variable_;
};

} // namespace djstap::test
