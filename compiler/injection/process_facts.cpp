// SPDX-License-Identifier: GPL-2.0-or-later
#include "injection/process_facts.h"

#include "system/file.h"
#include "system/process_status.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <elf.h>
#include <filesystem>
#include <linux/kcmp.h>
#include <sstream>
#include <sys/syscall.h>
#include <unistd.h>

namespace djstap::injection {

std::string task_folder(pid_t process, pid_t thread) {
    return "/proc/" + std::to_string(process) + "/task/" + std::to_string(thread);
}

std::vector<pid_t> threads_of(pid_t process) {
    std::vector<pid_t> threads;
    std::error_code error;
    const std::string folder = "/proc/" + std::to_string(process) + "/task";
    for (const auto& each : std::filesystem::directory_iterator(folder, error))
        threads.push_back(atoi(each.path().filename().c_str()));
    return threads;
}

bool is_thread_of(pid_t process, pid_t thread) {
    std::error_code error;
    return std::filesystem::exists(task_folder(process, thread), error);
}

bool has_ended(pid_t thread) {
    const auto stat = read_file("/proc/" + std::to_string(thread) + "/stat");
    if (!stat)
        return true;
    const size_t name_end = stat->rfind(") ");
    return name_end != std::string::npos && stat->find_first_of("ZX", name_end + 2) == name_end + 2;
}

bool exists(pid_t process) {
    const std::vector<pid_t> threads = threads_of(process);
    return std::any_of(threads.begin(), threads.end(),
                       [](pid_t thread) { return !has_ended(thread); });
}

pid_t own_number(pid_t process) {
    const auto field = field_of_status(process, "NSpid");
    if (!field)
        return process;                                         // a kernel without namespaces
    return atoi(field->substr(field->rfind('\t') + 1).c_str()); // the last one; npos + 1 is 0
}

std::optional<uint64_t> auxiliary(pid_t process, uint64_t type) {
    const auto bytes = read_file("/proc/" + std::to_string(process) + "/auxv");
    Elf64_auxv_t each{};
    for (size_t at = 0; bytes && at + sizeof each <= bytes->size(); at += sizeof each) {
        memcpy(&each, bytes->data() + at, sizeof each);
        if (each.a_type == type)
            return each.a_un.a_val;
    }
    return std::nullopt;
}

bool is_confined(pid_t process) {
    const auto mode = field_of_status(process, "Seccomp");
    return !mode || *mode != "0";
}

bool has_shadow_stack(pid_t thread) {
    const auto features = field_of_status(thread, "x86_Thread_features");
    return features && features->find("shstk") != std::string::npos;
}

bool runs_as_this_user(pid_t process) {
    const std::string user = std::to_string(geteuid());
    // The real, effective and saved user, and that of files.
    const auto users = field_of_status(process, "Uid");
    return users && *users == user + "\t" + user + "\t" + user + "\t" + user;
}

std::string objection_to(pid_t process) {
    // djstap executes code of the memory that it shares with the program.
    if (!runs_as_this_user(process))
        return "the program runs as another user, who could change what djstap executes";
    return is_confined(process) ? "a filter of system calls (seccomp) confines the program" : "";
}

bool share_memory(pid_t one, pid_t other) {
    return syscall(SYS_kcmp, one, other, KCMP_VM, 0, 0) == 0;
}

pid_t parent_of(pid_t process) {
    const auto field = field_of_status(process, "PPid");
    return field ? atoi(field->c_str()) : 0;
}

bool add_sharing_processes(pid_t process, std::vector<pid_t>& processes) {
    const size_t before = processes.size();
    for (size_t i = 0; i < processes.size(); i++)
        for (const pid_t thread : threads_of(processes[i])) {
            const auto children = read_file(task_folder(processes[i], thread) + "/children");
            std::istringstream numbers(children ? *children : std::string());
            for (pid_t child = 0; numbers >> child;)
                if (std::find(processes.begin(), processes.end(), child) == processes.end() &&
                    share_memory(child, process))
                    processes.push_back(child);
        }
    return processes.size() > before;
}

} // namespace djstap::injection
