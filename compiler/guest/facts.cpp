// SPDX-License-Identifier: GPL-2.0-or-later
#include "guest/facts.h"

#include "cache/cache.h"
#include "system/hash.h"
#include "system/trust.h"

#include "guest/state.h"

#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

namespace djstap {

using nlohmann::json;

namespace guest {

namespace {

Result<std::string> facts_folder(const GuestKernel& kernel) {
    Result<std::string> cache = cache_folder();
    if (!cache)
        return cache;
    constexpr uint64_t list = 2; // changes with the list of facts
    return *cache + "/facts-" + kernel.release + "-" +
           hexadecimal(hash_bytes(kernel_identity(kernel), list));
}

// Returns the files of a folder if it is complete: each has the size in the folder's list.
std::optional<GuestKernelFacts> open_facts(const std::string& folder) {
    Result<std::string> text = read_cached(folder + "/sizes.json");
    if (!text)
        return std::nullopt;
    json sizes = json::parse(*text, nullptr, false);
    if (!sizes.is_object())
        return std::nullopt;
    GuestKernelFacts facts;
    const std::pair<const char*, std::string*> names[] = {
        {"kallsyms", &facts.kallsyms},   {"btf", &facts.btf},
        {"notes", &facts.notes},         {"functions", &facts.functions},
        {"addresses", &facts.addresses}, {"blacklist", &facts.blacklist},
        {"version", &facts.version},     {"syscalls", &facts.syscalls}};
    for (const auto& [name, path] : names) {
        if (!sizes.contains(name))
            continue;
        struct stat status;
        std::string file = folder + "/" + name;
        if (!check_trusted(file) || stat(file.c_str(), &status) || sizes[name] != status.st_size)
            return std::nullopt;
        *path = file;
    }
    if (facts.kallsyms.empty())
        return std::nullopt;
    return facts;
}

Status receive_facts(Machine& machine, const std::string& folder, Clock::time_point deadline) {
    json sizes = json::object();
    std::string name, path;
    size_t size = 0;
    FileDescriptor file;
    enum { Outside, Name, Bytes } state = Outside;
    machine.channel().queue(GUEST_FACTS, "");
    for (;;) {
        Result<Frame> frame = machine.expect_any({GUEST_FACT, GUEST_DONE}, deadline);
        if (!frame)
            return frame.failure();
        bool ends = frame->type == GUEST_DONE || frame->data.empty();
        if (ends && state == Bytes)
            sizes[name] = size;
        if (frame->type == GUEST_DONE)
            break;
        if (ends) {
            state = Name;
        } else if (state == Name) {
            // The guest chose the name: it must not lead out of the folder.
            name = std::filesystem::path(frame->data).filename();
            path = folder + "/" + name;
            size = 0;
            file =
                FileDescriptor(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
            if (!file)
                return system_failure("create", path);
            state = Bytes;
        } else if (state == Bytes) {
            if (Status written = write_to(file.get(), frame->data, path); !written)
                return written;
            size += frame->data.size();
        }
    }
    path = folder + "/sizes.json";
    file = FileDescriptor(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    if (!file)
        return system_failure("create", path);
    return write_to(file.get(), sizes.dump(1) + "\n", path);
}

} // namespace

Status dump_facts(Machine& machine, const GuestJob& job) {
    if (at_random_address(job))
        return Done{}; // its symbols have other addresses at each boot
    Result<std::string> folder = facts_folder(job.kernel);
    if (!folder)
        return folder.failure();
    if (open_facts(*folder))
        return Done{};
    std::string temporary = *folder + ".new." + std::to_string(getpid());
    std::error_code error;
    std::filesystem::remove_all(temporary, error);
    if (mkdir(temporary.c_str(), 0700))
        return system_failure("make the folder", temporary);
    Status received = receive_facts(machine, temporary, Clock::now() + job.boot_timeout);
    if (received && rename(temporary.c_str(), folder->c_str())) {
        // The folder exists: either a broken one, or a complete one that another djstap created
        // first.
        if (!open_facts(*folder)) {
            std::filesystem::remove_all(*folder, error);
            if (rename(temporary.c_str(), folder->c_str()))
                received = system_failure("rename", temporary);
        }
    }
    std::filesystem::remove_all(temporary, error);
    return received;
}

} // namespace guest

Result<GuestKernelFacts> guest_kernel_facts(const GuestKernel& kernel,
                                            const GuestCallbacks& callbacks) {
    Result<std::string> folder = guest::facts_folder(kernel);
    if (!folder)
        return folder.failure();
    if (std::optional<GuestKernelFacts> facts = guest::open_facts(*folder))
        return *facts;
    // Creating a saved guest dumps the facts on the way, and that guest is most likely needed next.
    GuestJob job;
    job.kernel = kernel;
    Result<guest::SavedState> state = guest::open_state(job, callbacks);
    if (!state)
        return state.failure();
    if (std::optional<GuestKernelFacts> facts = guest::open_facts(*folder))
        return *facts;
    // A saved guest exists, but the facts were lost.
    Result<guest::Machine> machine = guest::restore_machine(job, *state);
    if (!machine)
        return machine.failure();
    if (Status dumped = guest::dump_facts(*machine, job); !dumped)
        return dumped.failure();
    if (std::optional<GuestKernelFacts> facts = guest::open_facts(*folder))
        return *facts;
    return Failure{"the kernel " + kernel.release + " shows no symbols (/proc/kallsyms)", ""};
}

} // namespace djstap
