// SPDX-License-Identifier: GPL-2.0-or-later
#include "injection/arena.h"

#include "injected/injected.h"

#include <cerrno>
#include <cstring>
#include <string>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

namespace djstap::injection {

namespace {

constexpr uint64_t page_bytes = 4096;

Failure failed(const char* what) {
    return {std::string(what) + ": " + std::strerror(errno), ""};
}

} // namespace

Arena::Arena(Arena&& other) noexcept
    : file_(std::move(other.file_)), base_(std::exchange(other.base_, 0)), bytes_(other.bytes_),
      ring_bytes_(other.ring_bytes_), used_(other.used_) {}

Arena::~Arena() {
    if (base_)
        munmap(reinterpret_cast<void*>(base_), bytes_);
}

Result<Arena> Arena::create(uint64_t ring_bytes) {
    constexpr uint64_t largest = uint64_t{16} << 20;
    if (ring_bytes > largest)
        return Failure{"a buffer of " + std::to_string(ring_bytes >> 20) +
                           " megabytes for each thread does not fit near the program",
                       "-s takes at most 16 with --runtime=process"};
    Arena arena;
    arena.ring_bytes_ = ring_bytes;
    arena.bytes_ = code_bytes + heap_bytes + DJS_SLOTS * DJS_USER_PERCPU_BYTES +
                   DJS_SLOTS * (page_bytes + 2 * ring_bytes);
    // Beyond the limit, the kernel would end djstap by a signal.
    rlimit size{};
    if (getrlimit(RLIMIT_FSIZE, &size) == 0 && size.rlim_cur < arena.bytes_)
        return Failure{"the limit of the size of files (ulimit -f) leaves no shared memory of " +
                           std::to_string(arena.bytes_ >> 20) + " megabytes",
                       "ulimit -f unlimited"};
    arena.file_ = FileDescriptor(memfd_create("djstap", MFD_CLOEXEC));
    if (arena.file_.get() < 0 ||
        ftruncate(arena.file_.get(), static_cast<off_t>(arena.bytes_)) != 0)
        return failed("no shared memory");
    return arena;
}

Arena::Part Arena::slots() const {
    return {base_ + code_bytes + heap_bytes, DJS_SLOTS * DJS_USER_PERCPU_BYTES};
}

Arena::Part Arena::rings() const {
    const Part before = slots();
    return {before.begin + before.bytes, DJS_SLOTS * (page_bytes + 2 * ring_bytes_)};
}

Arena::Part Arena::ring_data(unsigned slot) const {
    return {rings().begin + slot * (page_bytes + 2 * ring_bytes_) + page_bytes, ring_bytes_};
}

uint64_t Arena::owner_page(unsigned slot) const {
    return slots().begin + slot * DJS_USER_PERCPU_BYTES;
}

Status Arena::map(uint64_t base) {
    const int all = PROT_READ | PROT_WRITE | PROT_EXEC;
    if (mmap(reinterpret_cast<void*>(base), bytes_, all, MAP_SHARED | MAP_FIXED_NOREPLACE,
             file_.get(), 0) != reinterpret_cast<void*>(base))
        return failed("the memory near the program cannot be mapped");
    base_ = base;
    for (unsigned slot = 0; slot < DJS_SLOTS; slot++) {
        const Part data = ring_data(slot);
        if (mmap(reinterpret_cast<void*>(data.begin + data.bytes), data.bytes,
                 PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file_.get(),
                 static_cast<off_t>(data.begin - base_)) == MAP_FAILED)
            return failed("a record buffer cannot be mapped");
    }
    return Done{};
}

Status Arena::place_near(Range code, const MemoryMap& program) {
    auto own = MemoryMap::of(getpid());
    if (!own)
        return own.failure();
    // Stubs reach code, data and the first slot, which stands for the others.
    const uint64_t near_bytes = code_bytes + heap_bytes + DJS_USER_PERCPU_BYTES;
    const auto base = find_room(program, *own, code, bytes_, near_bytes);
    if (!base)
        return Failure{"no free memory is near enough to the program's code", ""};
    return map(*base);
}

std::optional<Arena::Part> Arena::take_code(uint64_t bytes) {
    bytes = (bytes + page_bytes - 1) & ~(page_bytes - 1);
    if (bytes > code_bytes - used_)
        return std::nullopt;
    const Part part{base_ + used_, bytes};
    used_ += bytes;
    return part;
}

bool Arena::is_mapped_by(const Mapping& mapping) const {
    struct stat here{};
    return is_mapped_at(mapping) && fstat(file_.get(), &here) == 0 &&
           mapping.file.inode == here.st_ino;
}

bool Arena::is_open(pid_t process, int descriptor) const {
    struct stat there{}, here{};
    const std::string opened =
        "/proc/" + std::to_string(process) + "/fd/" + std::to_string(descriptor);
    return stat(opened.c_str(), &there) == 0 && fstat(file_.get(), &here) == 0 &&
           there.st_dev == here.st_dev && there.st_ino == here.st_ino;
}

} // namespace djstap::injection
