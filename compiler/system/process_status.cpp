// SPDX-License-Identifier: GPL-2.0-or-later
#include "system/process_status.h"

#include "system/file.h"

#include <charconv>

namespace djstap {

Result<std::string> field_of_status(int64_t pid, std::string_view name) {
    const std::string file = "/proc/" + std::to_string(pid) + "/status";
    const auto status = read_file(file);
    if (!status)
        return status.failure();
    const std::string head = "\n" + std::string(name) + ":\t";
    const size_t line = status->find(head);
    const size_t end = line == std::string::npos ? line : status->find('\n', line + 1);
    if (end == std::string::npos)
        return Failure{file + " has no " + std::string(name), ""};
    return status->substr(line + head.size(), end - line - head.size());
}

Status check_is_process(int64_t pid) {
    const auto field = field_of_status(pid, "Tgid");
    int64_t process = pid;
    if (field)
        std::from_chars(field->data(), field->data() + field->size(), process);
    if (process == pid)
        return Done{};
    return Failure{std::to_string(pid) + " is a thread of process " + std::to_string(process),
                   "the number of the process, " + std::to_string(process) +
                       ", stands for all of its threads"};
}

} // namespace djstap
