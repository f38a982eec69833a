// SPDX-License-Identifier: GPL-2.0-or-later
// A module that is loaded, and the kernel that it is loaded into, as djstap sees them: while a
// FakeModule lives, open(), access(), mmap(), ioctl() and the system calls for modules are answered
// by it (fake_module.cpp; the linker has them go there).
#pragma once
#include "include/control.h"
#include "include/recorder.h"
#include "include/script.h"
#include "system/descriptor.h"

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace djstap {

class FakeModule {
  public:
    explicit FakeModule(std::string name = "demo", uint32_t cpus = 1, uint64_t ring_bytes = 65536);
    ~FakeModule();
    FakeModule(const FakeModule&) = delete;
    FakeModule& operator=(const FakeModule&) = delete;

    const std::string& name() const { return name_; }
    djs_control_page& page() { return *reinterpret_cast<djs_control_page*>(memory_); }
    djs_ring_page& ring_page(uint32_t cpu);
    char* ring_data(uint32_t cpu) { return reinterpret_cast<char*>(&ring_page(cpu)) + DJS_PAGE; }

    // Where the table of symbols is, if the control page says that there is one.
    static constexpr uint32_t symbol_pages = 4;
    char* symbols() { return memory_ + DJS_MMAP_SYMBOLS(cpus_, ring_bytes_); }
    std::function<void()> on_symbols = [] {}; // when they are to be looked up

    // Puts a record behind those that its CPU has written.
    void write(uint32_t id, uint64_t time, const std::string& arguments = "", uint32_t cpu = 0);
    static std::string number(int64_t value);
    static std::string text(const std::string& value);

    // What is read from files with these paths; those that are not here are the machine's.
    std::map<std::string, std::string> files;
    // What open() yields a copy of.
    std::map<std::string, int> descriptors;
    // What open() of the control file for writing, and of other paths, yields: errno.
    std::map<std::string, int> open_errors;
    std::set<std::string> absent_files; // for access()
    // CPUs that can never be there.
    std::set<uint32_t> absent_cpus;
    int map_error = 0;      // errno of mapping anything of the control file
    int ring_map_error = 0; // or its rings alone

    // The module's work; yields errno.
    std::function<int(const djs_start&)> on_start = [](const djs_start&) { return 0; };
    std::function<int()> on_stop = [] { return 0; };
    std::function<int(const djs_switch&)> on_switch = [](const djs_switch&) { return EINVAL; };
    std::optional<djs_counts> counts = djs_counts{};
    std::vector<djs_site_state> sites;

    std::vector<std::string> loads; // the parameters of each time that it was loaded
    int load_error = 0;
    // What delete_module() is to answer, in turn, its last answer ever after; 0: it is gone.
    void answer_deletes(const std::vector<int>& errors);
    int deletes() const { return shared_->deletes; } // in whichever process
    // What happened to the module, in turn: "start", "stop".
    std::vector<std::string> calls;

    // Of fake_module.cpp.
    std::optional<int> open(const std::string& path, int flags);
    std::optional<int> access(const std::string& path) const;
    bool is_control(int fd) const;
    int control(unsigned long request, void* argument);
    std::optional<int> map_failure(int fd, off_t offset) const;
    int load(const char* parameters);
    int remove();

  private:
    struct Shared { // with processes that are made meanwhile
        std::atomic<int> deletes;
        int answers, errors[16];
    };
    std::string name_;
    uint32_t cpus_;
    uint64_t ring_bytes_;
    FileDescriptor memory_file_;
    char* memory_ = nullptr;
    size_t size_ = 0;
    Shared* shared_ = nullptr;
    std::vector<uint64_t> heads_;
    std::mutex calls_lock_;
};

} // namespace djstap
