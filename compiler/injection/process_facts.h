// SPDX-License-Identifier: GPL-2.0-or-later
// What /proc tells of a process that is probed, whether it is stopped or not.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace djstap::injection {

std::vector<pid_t> threads_of(pid_t process);
// Returns /proc/PROCESS/task/THREAD.
std::string task_folder(pid_t process, pid_t thread);
bool is_thread_of(pid_t process, pid_t thread);
// Whether a thread has ended. A first one that has stays listed as long as others run.
bool has_ended(pid_t thread);
// Whether any of its threads has not ended.
bool exists(pid_t process);
// The number by which the process knows itself, in its own PID namespace.
pid_t own_number(pid_t process);
// Returns an entry of what the kernel tells a program when it begins (AT_*).
std::optional<uint64_t> auxiliary(pid_t process, uint64_t type);

// Whether a filter decides which system calls it may execute, and may end it otherwise.
bool is_confined(pid_t process);
// Whether a thread has a shadow stack, which only calls and returns change.
bool has_shadow_stack(pid_t thread);
// Whether it has no rights of another user than this process's.
bool runs_as_this_user(pid_t process);
// Returns why no probes may be placed in a process that runs: one of these; "" if they may.
std::string objection_to(pid_t process);

// Whether two processes run in the same memory.
bool share_memory(pid_t one, pid_t other);
// Returns 0 if it is gone.
pid_t parent_of(pid_t process);

// Adds to processes their children that run in the memory of `process` without being threads
// (CLONE_VM). Returns whether there are any.
bool add_sharing_processes(pid_t process, std::vector<pid_t>& processes);

} // namespace djstap::injection
