// SPDX-License-Identifier: GPL-2.0-or-later
#include "guest/state.h"

#include "cache/cache.h"
#include "guest/facts.h"
#include "guest/initramfs.h"
#include "system/hash.h"
#include "system/trust.h"

#include <cerrno>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <filesystem>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace djstap::guest {

using nlohmann::json;

namespace {

constexpr int format = 2; // of the folder; incremented when the meaning of its content changes
const char* const state_files[] = {"memory", "devices", "initramfs", "disk"};

// Returns the processor's name: a state contains the rate of its clock.
std::string processor() {
    Result<std::string> info = read_file("/proc/cpuinfo");
    size_t at = info ? info->find("model name") : std::string::npos;
    return at == std::string::npos ? "" : info->substr(at, info->find('\n', at) - at);
}

// What a state depends on. Once `base` has changed, no run will need the state again.
struct Key {
    std::string base, all;
};

Result<Key> state_key(const GuestJob& job) {
    Result<std::string> qemu = find_qemu();
    if (!qemu)
        return qemu.failure();
    Key key;
    key.base = "format " + std::to_string(format) + "\nkernel " + kernel_identity(job.kernel) +
               "\nqemu " + file_identity(*qemu) + "\nagent " +
               hexadecimal(hash_bytes(agent_program())) + "\nbusybox " +
               file_identity("/bin/busybox") + "\nprocessor " + processor() + "\n";
    key.all = key.base;
    key.all += "disk " + std::to_string(job.disk_mb) + "\n";
    for (const std::string& argument : machine_arguments(job))
        key.all += argument + "\n";
    return key;
}

json file_stamp(int fd) {
    struct stat status = {};
    fstat(fd, &status);
    return {{"size", status.st_size},
            {"inode", status.st_ino},
            {"seconds", status.st_mtim.tv_sec},
            {"nanoseconds", status.st_mtim.tv_nsec}};
}

// Opens a state whose manifest matches the key and the files.
std::optional<SavedState> open_valid(const std::string& folder, const Key& key) {
    Result<std::string> text = read_cached(folder + "/manifest.json");
    if (!text)
        return std::nullopt;
    json manifest = json::parse(*text, nullptr, false);
    if (!manifest.is_object() || !manifest.contains("key") || manifest["key"] != key.all ||
        !manifest.contains("files") || !manifest["files"].is_object())
        return std::nullopt;
    SavedState state;
    state.folder = folder;
    FileDescriptor* descriptors[] = {&state.memory, &state.devices, &state.initramfs, &state.disk};
    for (size_t i = 0; i < std::size(state_files); ++i) {
        *descriptors[i] = open_trusted(folder + "/" + state_files[i]);
        if (!*descriptors[i] ||
            manifest["files"].value(state_files[i], json()) != file_stamp(descriptors[i]->get()))
            return std::nullopt;
    }
    // The folder's time is that of its last use.
    futimens(FileDescriptor(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)).get(),
             nullptr);
    return state;
}

void remove_temporaries(const std::string& folder) {
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(folder, error))
        if (entry.path().extension() == ".new")
            std::filesystem::remove(entry.path(), error);
}

bool names_a_state(const std::string& name) {
    constexpr size_t digits = 16;
    return name.size() > digits + 1 && name[name.size() - digits - 1] == '-' &&
           name.find_last_not_of("0123456789abcdef") == name.size() - digits - 1;
}

// Removes the files of a state, and the folder if it holds no others.
void remove_state(const std::string& folder) {
    unlink((folder + "/manifest.json").c_str()); // first: without it, nobody opens the state
    for (const char* name : state_files)
        unlink((folder + "/" + name).c_str());
    remove_temporaries(folder);
    rmdir(folder.c_str());
}

// Removes states that no run will need again: those of another build of this kernel, another QEMU
// or agent, and those of any kernel that have not been used for a month. The user may have put
// something else there.
void remove_stale(const std::string& cache, const GuestKernel& kernel, const Key& key) {
    std::error_code error;
    time_t long_ago = time(nullptr) - 30 * 24 * 3600;
    for (const auto& entry : std::filesystem::directory_iterator(cache, error)) {
        const std::string name = entry.path().filename();
        struct stat status;
        if (!names_a_state(name) || lstat(entry.path().c_str(), &status) ||
            !S_ISDIR(status.st_mode))
            continue;
        Result<std::string> text = read_cached(entry.path() / "manifest.json");
        const json manifest = text ? json::parse(*text, nullptr, false) : json();
        if (!manifest.contains("key") || !manifest.contains("base") || !manifest.contains("files"))
            continue;
        bool ours = name.size() == kernel.release.size() + 17 && name.starts_with(kernel.release);
        if ((ours && manifest["base"] != key.base) || status.st_mtime < long_ago)
            remove_state(entry.path());
    }
}

// Copies what is not zero; the rest of `to` remains a hole. A guest touches about a fifth of its
// memory.
Status copy_sparse(int from, int to, size_t size, const std::string& path) {
    if (ftruncate(to, static_cast<off_t>(size)))
        return system_failure("write", path);
    if (!size)
        return Done{};
    void* mapping = mmap(nullptr, size, PROT_READ, MAP_SHARED, from, 0);
    if (mapping == MAP_FAILED)
        return system_failure("map", "the guest's memory");
    const char* bytes = static_cast<const char*>(mapping);
    constexpr size_t page = 4096;
    static const char zeros[page] = {};
    Status status = Done{};
    for (size_t at = 0; at < size && status;) {
        if (off_t data = lseek(from, static_cast<off_t>(at), SEEK_DATA); data < 0)
            break; // holes up to the end
        else
            at = static_cast<size_t>(data) & ~(page - 1);
        size_t end = at;
        while (end < size && end - at < (1 << 20) && memcmp(bytes + end, zeros, page) != 0)
            end += page;
        for (size_t done = at; done < end && status;) {
            ssize_t n = pwrite(to, bytes + done, end - done, static_cast<off_t>(done));
            if (n < 0)
                status = system_failure("write", path);
            else
                done += static_cast<size_t>(n);
        }
        at = std::max(end, at + page);
    }
    munmap(mapping, size);
    return status;
}

Result<FileDescriptor> create(const std::string& path) {
    FileDescriptor fd(open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    if (!fd)
        return system_failure("create", path);
    return fd;
}

// Creates an empty ext4 of `megabytes` in the file; does nothing if that is 0.
Status make_file_system(int fd, unsigned megabytes, const std::string& path) {
    if (!megabytes)
        return Done{};
    if (ftruncate(fd, static_cast<off_t>(megabytes) << 20))
        return system_failure("make a disk of " + std::to_string(megabytes) + " MB in", path);
    Result<std::string> program = find_tool("mke2fs", "e2fsprogs");
    if (!program)
        return program.failure();
    Result<std::string> made =
        output_of({*program, "-q", "-F", "-t", "ext4", "-m", "0", "-E", "root_owner=0:0", path});
    if (!made)
        return made.failure();
    return Done{};
}

// Creates a guest's own disk: an unnamed file, which disappears with the guest.
Result<FileDescriptor> copy_of_disk(const SavedState& state, unsigned megabytes) {
    FileDescriptor fd(open(state.folder.c_str(), O_RDWR | O_TMPFILE | O_CLOEXEC, 0600));
    if (!fd)
        return system_failure("make a disk in", state.folder);
    if (Status copied = copy_sparse(state.disk.get(), fd.get(),
                                    static_cast<size_t>(megabytes) << 20, state.folder);
        !copied)
        return copied.failure();
    return fd;
}

// Boots the guest and fills the folder; requires the folder's lock.
Status make_state(const GuestJob& job, const GuestCallbacks& callbacks, const std::string& folder,
                  const Key& key) {
    if (callbacks.progress)
        callbacks.progress("booting " + job.kernel.release + " once to save a guest…");
    size_t size = static_cast<size_t>(job.memory_mb) << 20;
    std::string paths[std::size(state_files)];
    for (size_t i = 0; i < std::size(state_files); ++i)
        paths[i] = folder + "/" + state_files[i] + ".new";
    const std::string running_path = folder + "/running.new";
    Result<FileDescriptor> running = anonymous_file("memory", size);
    Result<FileDescriptor> memory = create(paths[0]), devices = create(paths[1]),
                           initramfs = create(paths[2]), disk = create(paths[3]),
                           running_disk = create(running_path);
    for (Result<FileDescriptor>* fd :
         {&running, &memory, &devices, &initramfs, &disk, &running_disk})
        if (!*fd)
            return fd->failure();
    if (Status written = write_initramfs(job, initramfs->get(), paths[2]); !written)
        return written;
    if (Status formatted = make_file_system(running_disk->get(), job.disk_mb, running_path);
        !formatted)
        return formatted;
    MachineFiles files;
    files.memory = running->get();
    files.initramfs = initramfs->get();
    files.disk = job.disk_mb ? running_disk->get() : -1;
    Result<Machine> machine = boot_machine(job, files);
    if (!machine)
        return machine.failure();
    if (Status dumped = dump_facts(*machine, job); !dumped)
        return dumped;
    machine->channel().queue(GUEST_SETTLE, "");
    if (Result<Frame> settled = machine->expect(GUEST_DONE, Clock::now() + job.boot_timeout);
        !settled)
        return settled.failure();
    if (Status saved = machine->save(devices->get(), Clock::now() + job.boot_timeout); !saved)
        return saved;
    if (Status copied = copy_sparse(running->get(), memory->get(), size, paths[0]); !copied)
        return copied;
    const size_t disk_size = static_cast<size_t>(job.disk_mb) << 20;
    if (Status copied = copy_sparse(running_disk->get(), disk->get(), disk_size, paths[3]); !copied)
        return copied;
    unlink(running_path.c_str());
    json manifest = {{"key", key.all}, {"base", key.base}, {"files", json::object()}};
    int descriptors[] = {memory->get(), devices->get(), initramfs->get(), disk->get()};
    for (size_t i = 0; i < std::size(state_files); ++i) {
        if (fdatasync(descriptors[i]))
            return system_failure("write", paths[i]);
        if (rename(paths[i].c_str(), (folder + "/" + state_files[i]).c_str()))
            return system_failure("rename", paths[i]);
        manifest["files"][state_files[i]] = file_stamp(descriptors[i]);
    }
    std::string path = folder + "/manifest.json";
    Result<FileDescriptor> fd = create(path + ".new");
    if (!fd)
        return fd.failure();
    if (Status written = write_to(fd->get(), manifest.dump(1) + "\n", path); !written)
        return written;
    if (fdatasync(fd->get()) || rename((path + ".new").c_str(), path.c_str()))
        return system_failure("write", path);
    return Done{};
}

} // namespace

std::string file_identity(const std::string& path) {
    struct stat status = {};
    if (stat(path.c_str(), &status))
        return path + " missing";
    // Not the path, because several paths may lead to one file.
    return std::to_string(status.st_dev) + " " + std::to_string(status.st_ino) + " " +
           std::to_string(status.st_size) + " " + std::to_string(status.st_mtim.tv_sec) + "." +
           std::to_string(status.st_mtim.tv_nsec);
}

std::string kernel_identity(const GuestKernel& kernel) {
    return kernel.release + " " + file_identity(kernel.vmlinuz);
}

Result<FileDescriptor> anonymous_file(const char* name, size_t size) {
    FileDescriptor fd(memfd_create(name, MFD_CLOEXEC));
    if (!fd || ftruncate(fd.get(), static_cast<off_t>(size)))
        return system_failure("make", std::string("an anonymous file for the guest's ") + name);
    return fd;
}

Result<SavedState> open_state(const GuestJob& job, const GuestCallbacks& callbacks) {
    Result<Key> key = state_key(job);
    if (!key)
        return key.failure();
    Result<std::string> cache = cache_folder();
    if (!cache)
        return cache.failure();
    std::string folder =
        *cache + "/" + job.kernel.release + "-" + hexadecimal(hash_bytes(key->all));
    if (std::optional<SavedState> state = open_valid(folder, *key))
        return std::move(*state);
    if (mkdir(folder.c_str(), 0700) && errno != EEXIST)
        return system_failure("make the folder", folder);
    FileDescriptor lock(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!lock)
        return system_failure("open", folder);
    if (flock(lock.get(), LOCK_EX | LOCK_NB)) {
        if (callbacks.progress)
            callbacks.progress("waiting for another djstap to save a guest of " +
                               job.kernel.release + "…");
        while (flock(lock.get(), LOCK_EX) && errno == EINTR) {
        }
    }
    if (std::optional<SavedState> state = open_valid(folder, *key))
        return std::move(*state);
    remove_temporaries(folder);
    if (Status made = make_state(job, callbacks, folder, *key); !made) {
        remove_temporaries(folder);
        return made.failure();
    }
    remove_stale(*cache, job.kernel, *key);
    if (std::optional<SavedState> state = open_valid(folder, *key))
        return std::move(*state);
    return Failure{"the guest just saved in " + folder + " was modified by another program", ""};
}

void discard_state(const SavedState& state) {
    unlink((state.folder + "/manifest.json").c_str());
}

Result<Machine> restore_machine(const GuestJob& job, const SavedState& state) {
    MachineFiles files;
    Result<FileDescriptor> memory = FileDescriptor(), disk = FileDescriptor();
    files.memory = state.memory.get();
    files.memory_kept = job.host_root;
    if (job.host_root) {
        // The file server maps the guest's memory, too, so a private mapping is impossible.
        const size_t size = static_cast<size_t>(job.memory_mb) << 20;
        memory = anonymous_file("memory", size);
        if (!memory)
            return memory.failure();
        if (Status copied = copy_sparse(state.memory.get(), memory->get(), size, "the memory");
            !copied)
            return copied.failure();
        files.memory = memory->get();
    }
    files.initramfs = state.initramfs.get();
    if (job.disk_mb) {
        disk = copy_of_disk(state, job.disk_mb);
        if (!disk)
            return disk.failure();
        files.disk = disk->get();
    }
    files.restored = true;
    // Each reader needs its own offset in the stream.
    FileDescriptor devices = open_trusted(state.folder + "/devices");
    if (!devices)
        return system_failure("open", state.folder + "/devices");
    Result<Machine> machine = Machine::start(job, files);
    if (!machine)
        return machine;
    if (Status restored = machine->restore(devices.get(), Clock::now() + job.restore_timeout);
        !restored)
        return restored.failure();
    return machine;
}

Result<Machine> boot_machine(const GuestJob& job, const MachineFiles& files) {
    Result<Machine> machine = Machine::start(job, files);
    if (!machine)
        return machine;
    Result<Frame> hello = machine->expect(GUEST_HELLO, Clock::now() + job.boot_timeout);
    if (!hello)
        return Failure{
            "a guest with kernel " + job.kernel.release +
                " does not boot: " + hello.failure().message,
            hello.failure().hint.empty() ? "" : "the end of its log:\n" + hello.failure().hint};
    return machine;
}

} // namespace djstap::guest
