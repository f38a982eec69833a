// SPDX-License-Identifier: GPL-2.0-or-later
#include "fake_module.h"

#include "record_bytes.h"

#include <cerrno>
#include <cstdarg>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace djstap {

namespace {

FakeModule* current = nullptr;

char* shared_memory(size_t size, int fd) {
    return static_cast<char*>(mmap(nullptr, size, PROT_READ | PROT_WRITE,
                                   fd < 0 ? MAP_SHARED | MAP_ANONYMOUS : MAP_SHARED, fd, 0));
}

} // namespace

FakeModule::FakeModule(std::string name, uint32_t cpus, uint64_t ring_bytes)
    : name_(std::move(name)), cpus_(cpus), ring_bytes_(ring_bytes),
      memory_file_(memfd_create("control", MFD_CLOEXEC)),
      size_(DJS_MMAP_SYMBOLS(cpus, ring_bytes) + uint64_t{symbol_pages} * DJS_PAGE), heads_(cpus) {
    if (ftruncate(memory_file_.get(), static_cast<off_t>(size_)) == 0)
        memory_ = shared_memory(size_, memory_file_.get());
    shared_ = new (shared_memory(sizeof(Shared), -1)) Shared{};
    shared_->answers = 1;
    page().abi_version = DJS_ABI_VERSION;
    page().cpus = cpus;
    page().ring_bytes = ring_bytes;
    files["/proc/djstap-" + name_] = R"({"version":1,"name":")" + name_ + R"("})";
    // A kernel that lets everything be loaded.
    files["/proc/self/uid_map"] = "0 0 4294967295\n";
    files["/proc/self/status"] = "Name:\tx\nCapEff:\t000001ffffffffff\n";
    files["/proc/sys/kernel/modules_disabled"] = "0\n";
    files["/sys/kernel/security/lockdown"] = "[none] integrity confidentiality\n";
    files["/proc/modules"] = "";
    files["/sys/kernel/notes"] = "";
    current = this;
}

FakeModule::~FakeModule() {
    current = nullptr;
    munmap(memory_, size_);
    munmap(shared_, sizeof(Shared));
}

djs_ring_page& FakeModule::ring_page(uint32_t cpu) {
    return *reinterpret_cast<djs_ring_page*>(memory_ + DJS_MMAP_RING(cpu, ring_bytes_));
}

void FakeModule::write(uint32_t id, uint64_t time, const std::string& arguments, uint32_t cpu) {
    auto* record = reinterpret_cast<djs_record*>(ring_data(cpu) + heads_[cpu] % ring_bytes_);
    const auto size = static_cast<uint32_t>(sizeof(djs_record) + DJS_ALIGN8(arguments.size()));
    heads_[cpu] += size;
    record->id = id;
    record->time = time;
    arguments.copy(reinterpret_cast<char*>(record + 1), arguments.size());
    __atomic_store_n(&record->size, size, __ATOMIC_RELEASE);
}

std::string FakeModule::number(int64_t value) {
    return djstap::number(value);
}

std::string FakeModule::text(const std::string& value) {
    return djstap::text(value);
}

void FakeModule::answer_deletes(const std::vector<int>& errors) {
    shared_->answers = static_cast<int>(errors.size());
    for (size_t i = 0; i < errors.size(); i++)
        shared_->errors[i] = errors[i];
}

std::optional<int> FakeModule::open(const std::string& path, int flags) {
    if (const auto error = open_errors.find(path); error != open_errors.end()) {
        errno = error->second;
        return -1;
    }
    if (const auto open = descriptors.find(path); open != descriptors.end())
        return fcntl(open->second, F_DUPFD_CLOEXEC, 0);
    const auto file = files.find(path);
    if (file == files.end())
        return std::nullopt;
    if ((flags & O_ACCMODE) == O_RDWR)
        return fcntl(memory_file_.get(), F_DUPFD_CLOEXEC, 0);
    const int fd = memfd_create("contents", MFD_CLOEXEC);
    if (pwrite(fd, file->second.data(), file->second.size(), 0) < 0)
        return std::nullopt;
    return fd;
}

std::optional<int> FakeModule::access(const std::string& path) const {
    if (absent_files.contains(path)) {
        errno = ENOENT;
        return -1;
    }
    return files.contains(path) ? std::optional<int>(0) : std::nullopt;
}

bool FakeModule::is_control(int fd) const {
    struct stat own{}, other{};
    return fstat(memory_file_.get(), &own) == 0 && fstat(fd, &other) == 0 &&
           own.st_dev == other.st_dev && own.st_ino == other.st_ino;
}

int FakeModule::control(unsigned long request, void* argument) {
    if (request == DJS_IOC_START || request == DJS_IOC_STOP) {
        {
            const std::lock_guard one(calls_lock_);
            calls.emplace_back(request == DJS_IOC_START ? "start" : "stop");
        }
        return request == DJS_IOC_START ? on_start(*static_cast<djs_start*>(argument)) : on_stop();
    }
    if (request == DJS_IOC_COUNTS && counts) {
        *static_cast<djs_counts*>(argument) = *counts;
        return 0;
    }
    if (request == DJS_IOC_SWITCH)
        return on_switch(*static_cast<djs_switch*>(argument));
    if (request == DJS_IOC_SYMBOLS) {
        on_symbols();
        return 0;
    }
    auto* state = static_cast<djs_site_state*>(argument);
    if (request != DJS_IOC_SITE || state->index >= sites.size())
        return EINVAL;
    const uint32_t index = state->index;
    *state = sites[index];
    state->index = index;
    return 0;
}

std::optional<int> FakeModule::map_failure(int fd, off_t offset) const {
    if (fd < 0 || !is_control(fd))
        return std::nullopt;
    if (map_error)
        return map_error;
    const uint64_t ring = DJS_PAGE + ring_bytes_;
    const auto at = static_cast<uint64_t>(offset);
    if (at >= DJS_PAGE && ring_map_error)
        return ring_map_error;
    return at >= DJS_PAGE && absent_cpus.contains(static_cast<uint32_t>((at - DJS_PAGE) / ring))
               ? std::optional<int>(EINVAL)
               : std::nullopt;
}

int FakeModule::load(const char* parameters) {
    loads.emplace_back(parameters);
    return load_error;
}

int FakeModule::remove() {
    const int before = shared_->deletes++;
    return shared_->errors[std::min(before, shared_->answers - 1)];
}

} // namespace djstap

using djstap::current;

namespace {
int failed(int error) {
    errno = error;
    return error ? -1 : 0;
}
} // namespace

// NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp,cert-dcl50-cpp)
extern "C" {
int __real_open(const char* path, int flags, ...);
int __wrap_open(const char* path, int flags, ...);
int __real_access(const char* path, int mode);
int __wrap_access(const char* path, int mode);
int __real_ioctl(int fd, unsigned long request, ...);
int __wrap_ioctl(int fd, unsigned long request, ...);
void* __real_mmap(void* at, size_t size, int access, int flags, int fd, off_t offset);
void* __wrap_mmap(void* at, size_t size, int access, int flags, int fd, off_t offset);
long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);

int __wrap_open(const char* path, int flags, ...) {
    va_list more;
    va_start(more, flags);
    const unsigned mode = flags & O_CREAT ? va_arg(more, unsigned) : 0;
    va_end(more);
    const auto answer = current ? current->open(path, flags) : std::nullopt;
    return answer ? *answer : __real_open(path, flags, mode);
}

int __wrap_access(const char* path, int mode) {
    const auto answer = current ? current->access(path) : std::nullopt;
    return answer ? *answer : __real_access(path, mode);
}

int __wrap_ioctl(int fd, unsigned long request, ...) {
    va_list more;
    va_start(more, request);
    void* argument = va_arg(more, void*);
    va_end(more);
    return current && current->is_control(fd) ? failed(current->control(request, argument))
                                              : __real_ioctl(fd, request, argument);
}

void* __wrap_mmap(void* at, size_t size, int access, int flags, int fd, off_t offset) {
    if (const auto error = current ? current->map_failure(fd, offset) : std::nullopt) {
        errno = *error;
        return MAP_FAILED;
    }
    return __real_mmap(at, size, access, flags, fd, offset);
}

long __wrap_syscall(long number, ...) {
    va_list more;
    va_start(more, number);
    long arguments[6];
    for (long& each : arguments)
        each = va_arg(more, long);
    va_end(more);
    if (current && number == SYS_finit_module)
        return failed(current->load(reinterpret_cast<const char*>(arguments[1])));
    if (current && number == SYS_delete_module)
        return failed(current->remove());
    return __real_syscall(number, arguments[0], arguments[1], arguments[2], arguments[3],
                          arguments[4], arguments[5]);
}
}
// NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp,cert-dcl50-cpp)
