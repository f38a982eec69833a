// SPDX-License-Identifier: GPL-2.0-or-later
#include "injection/injection.h"

#include "injection/loader.h"
#include "injection/process_facts.h"

#include <algorithm>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace djstap::injection {

namespace {

Failure because(const char* what, const Failure& failure) {
    return {std::string(what) + ": " + failure.message, failure.hint};
}

} // namespace

Status Injection::prepare(const MemoryMap& map) {
    auto loader = place_in_loader(program_, map);
    auto images = place_sites(*linked_.script, map, loader.has_value());
    if (!images)
        return images.failure();
    images_ = std::move(*images);
    if (loader && may_change())
        loader_image_ = images_.size();
    if (loader_image_)
        images_.push_back(std::move(*loader));
    if (auto tables = make_tables(); !tables)
        return tables;
    auto own = MemoryMap::of(getpid()); // with the arena
    if (!own)
        return own.failure();
    for (size_t i = 0; i < images_.size(); i++) {
        placements_[i].note(images_[i].copies(map));
        if (!images_[i].is_mapped())
            continue;
        const PlacedImage before = images_[i];
        const Status planned = plan_image(i, map, *own);
        if (!program_.was_started() && !is_still_mapped(images_[i])) {
            // What was read there belongs to something else. It is planned again when all stop.
            images_[i] = before;
            stubs_[i] = {};
            continue;
        }
        if (!planned)
            return planned;
        publish(i);
    }
    return Done{};
}

// Whether a program that runs has not unmapped a file meanwhile.
bool Injection::is_still_mapped(const PlacedImage& image) const {
    if (image.executable.empty()) // the dynamic loader
        return true;
    const auto now = MemoryMap::of(program_.pid());
    return now && image.is_mapped_at(image.bias, image.file, *now);
}

// Whether the program may map or unmap a file with sites while it runs.
bool Injection::may_change() const {
    const uint64_t entry = program_.entry();
    return std::any_of(images_.begin(), images_.end(), [&](const PlacedImage& image) {
        const bool is_main = entry >= image.code.begin && entry < image.code.end;
        return !image.is_mapped() || (!program_.was_started() && !is_main);
    });
}

// The tables of the runtime, which have room for what is mapped later.
Status Injection::make_tables() {
    const struct ::djs_script& script = *linked_.script;
    stubs_.resize(images_.size());
    files_ = allocate<djs_places>(images_.size());
    placements_ = allocate<Placement>(images_.size());
    biases_ = allocate<unsigned long>(script.segment_count);
    size_t functions = 0, sites = 0;
    for (const PlacedImage& image : images_)
        for (const ReturningFunction& each : image.returning) {
            functions++;
            sites += each.sites.size();
        }
    returning_ = allocate<djs_returning>(functions);
    auto* const list = allocate<u32>(sites);
    bool complete = files_ && placements_ && biases_ && returning_ && list;
    for (size_t i = 0; complete && i < images_.size(); i++) {
        files_[i].places = allocate<djs_place>(images_[i].places.size());
        complete = files_[i].places != nullptr;
    }
    if (!complete)
        return Failure{"no memory for the script's places", ""};
    uint32_t used = 0;
    for (const PlacedImage& image : images_)
        for (const ReturningFunction& each : image.returning) {
            returning_[each.number] = {used, static_cast<u32>(each.sites.size()), 0};
            std::copy(each.sites.begin(), each.sites.end(), list + used);
            used += static_cast<uint32_t>(each.sites.size());
        }
    linked_.set_places(files_, static_cast<u32>(images_.size()), biases_);
    if (linked_.set_returns(returning_, static_cast<u32>(functions), list) != 0)
        return Failure{"no memory for what return probes keep from the entry", ""};
    return Done{};
}

Callees Injection::callees() const {
    return {arena_.owner_page(0), linked_.claim, linked_.hit, linked_.script};
}

// Finds memory for the stubs of a file that is mapped, and writes them here.
Status Injection::plan_image(size_t number, const MemoryMap& map, MemoryMap& own) {
    PlacedImage& image = images_[number];
    const auto headers = program_.read(image.headers_at + image.bias, image.headers.size());
    if (headers && *headers != image.headers)
        return Failure{"'" + image.path + "' is another file now than that which was analyzed", ""};
    const uint64_t bytes = room_for_stubs(image);
    const auto at = find_room(map, own, image.code, bytes, bytes);
    if (!at)
        return Failure{"no free memory is near enough to the code of '" + image.path + "'", ""};
    own.reserve({*at, *at + bytes}); // stubs of other images go elsewhere
    skip_changed_code(image, map);
    stubs_[number] = {*at, make_stubs(image, callees(), *at)};
    return Done{};
}

// Tells the runtime where the places of a file are.
void Injection::publish(size_t number) {
    const PlacedImage& image = images_[number];
    const auto& [at, stubs] = stubs_[number];
    const struct ::djs_script& script = *linked_.script;
    for (uint32_t i = 0; i < script.segment_count; i++)
        if (image.path == script.images[script.segments[i].image].name)
            biases_[i] = image.bias;
    for (const ReturningFunction& each : image.returning)
        returning_[each.number].address = each.address + image.bias;
    std::copy(stubs.places.begin(), stubs.places.end(),
              const_cast<djs_place*>(files_[number].places));
    files_[number].count = static_cast<u32>(stubs.places.size());
    files_[number].begin = at;
    files_[number].end = at + stubs.code.size();
    Placement& placement = placements_[number];
    placement.bias = image.bias;
    placement.code = image.code;
    placement.file = image.file;
    placement.stubs = at;
    placement.is_placed = true;
}

// A program may change its own code, or another tracer has.
void Injection::skip_changed_code(PlacedImage& image, const MemoryMap& map) {
    const auto is_as_in_file = [&](uint64_t address, const std::string& bytes) {
        const auto there = program_.read(address + image.bias, bytes.size());
        return !there || *there == bytes; // it may have been unmapped meanwhile
    };
    for (PatchedPlace& place : image.places) {
        if (!place.refusal.empty())
            continue;
        const Mapping* const mapping = map.at(place.address + image.bias);
        if (mapping && mapping->writable)
            place.refusal = "the program may change its code there";
        else if (!is_as_in_file(place.address, place.original) ||
                 !std::all_of(place.moved.begin(), place.moved.end(), [&](const Moved& each) {
                     return is_as_in_file(each.address, each.bytes);
                 }))
            place.refusal = "the program has other code there than its file";
    }
}

Status Injection::call(const char* what, long number, const std::array<uint64_t, 6>& arguments) {
    auto done = program_.call(number, arguments);
    if (!done)
        return because(what, done.failure());
    return Done{};
}

// A child of the program gets a page of zeros: it owns no slot.
Status Injection::own_page(unsigned slot) {
    constexpr uint64_t page = 4096;
    constexpr const char* what = "the program cannot map a thread's page";
    const uint64_t at = arena_.owner_page(slot);
    if (auto done = call(what, SYS_mmap,
                         {at, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
                          UINT64_MAX, 0});
        !done)
        return done;
    return call(what, SYS_madvise, {at, page, MADV_WIPEONFORK});
}

// A program that was started has the descriptor, unless what ran before its entry, such as a
// library's constructor, has closed it; another one opens djstap's.
Result<uint64_t> Injection::open_arena() {
    if (program_.was_started() && arena_.is_open(program_.pid(), arena_.file()))
        return static_cast<uint64_t>(arena_.file());
    constexpr uint64_t page = 4096;
    auto memory = program_.call(
        SYS_mmap, {0, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, UINT64_MAX, 0});
    if (!memory)
        return because("the program cannot map memory", memory.failure());
    const std::string path =
        "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(arena_.file());
    if (auto written = program_.write(*memory, {path.c_str(), path.size() + 1}); !written)
        return written.failure();
    auto file = program_.call(SYS_openat, {static_cast<uint64_t>(AT_FDCWD), *memory,
                                           static_cast<uint64_t>(O_RDWR | O_CLOEXEC)});
    if (auto done = call("the program cannot unmap memory", SYS_munmap, {*memory, page}); !done)
        return done.failure();
    const auto cannot_open = [](const std::string& why) {
        return Failure{"the program cannot open djstap's memory: " + why,
                       "a program in another container, or with fewer rights, is not reached; as "
                       "root, without --runtime=process, uprobes reach it"};
    };
    if (!file)
        return cannot_open(file.failure().message);
    // In another container, the same path may name a file of somebody else.
    if (!arena_.is_open(program_.pid(), static_cast<int>(*file))) {
        (void)program_.call(SYS_close, {*file});
        return cannot_open("it finds another file");
    }
    return file;
}

Status Injection::share() {
    constexpr const char* what = "the program cannot map the shared memory";
    const Arena::Part whole = arena_.whole();
    const auto opened = open_arena();
    if (!opened)
        return opened.failure();
    const uint64_t file = *opened;
    if (auto done = call(what, SYS_mmap,
                         {whole.begin, whole.bytes, PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_FIXED_NOREPLACE, file, 0});
        !done)
        return done;
    for (const Arena::Part& code : linked_.code())
        if (auto done = call(what, SYS_mprotect, {code.begin, code.bytes, PROT_READ | PROT_EXEC});
            !done)
            return done;
    for (unsigned slot = 0; slot < DJS_SLOTS; slot++) {
        const Arena::Part data = arena_.ring_data(slot);
        if (auto done = call(what, SYS_mmap,
                             {data.begin + data.bytes, data.bytes, PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_FIXED, file, data.begin - whole.begin});
            !done)
            return done;
        if (auto done = own_page(slot); !done)
            return done;
    }
    // The first slot is djstap's: no thread of the program owns it.
    const djs_thread_owner owner{DJS_NO_THREAD, 0, own_number(program_.pid())};
    if (auto written = program_.write(arena_.owner_page(0),
                                      {reinterpret_cast<const char*>(&owner), sizeof owner});
        !written)
        return written;
    // A core file is the program's.
    if (auto done = call(what, SYS_madvise, {whole.begin, whole.bytes, MADV_DONTDUMP}); !done)
        return done;
    return call(what, SYS_close, {file});
}

Status Injection::share_stubs(const PlacedImage& image, uint64_t at, const Stubs& stubs) {
    constexpr const char* what = "the program cannot map memory for probes";
    if (stubs.code.empty())
        return Done{};
    if (auto done = call(what, SYS_mmap,
                         {at, room_for_stubs(image), PROT_READ | PROT_EXEC,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, UINT64_MAX, 0});
        !done)
        return done;
    return program_.write(at, stubs.code);
}

Status Injection::patch() {
    for (const auto& [at, stubs] : stubs_)
        for (const Patch& patch : stubs.patches)
            if (auto written = program_.write(patch.address, patch.bytes); !written)
                return written;
    return Done{};
}

Status Injection::place() {
    const auto map = MemoryMap::of(program_.threads().front());
    if (map && std::any_of(map->all().begin(), map->all().end(), Arena::is_mapped_at))
        return Failure{"another script probes the program",
                       "its probes are withdrawn when it ends; if that djstap was killed together "
                       "with its djstap-keeper, they stay until the program ends"};
    for (const pid_t thread : program_.threads()) {
        auto registers = arch::StoppedRegisters::of(thread);
        if (!registers)
            return registers.failure();
        if (registers->has_slot_base())
            return Failure{"the program uses the register that finds a thread's counters (gs)",
                           "as root, without --runtime=process, uprobes do not need it"};
        if (has_shadow_stack(thread))
            return Failure{"the processor compares the program's return addresses with a copy "
                           "(shadow stack), which the calls that jumps replace do not change",
                           "as root, without --runtime=process, uprobes do not need that"};
    }
    has_placed_ = true;
    if (auto shared = share(); !shared)
        return shared;
    for (size_t i = 0; i < images_.size(); i++)
        if (auto shared = share_stubs(images_[i], stubs_[i].first, stubs_[i].second); !shared)
            return shared;
    if (auto set = program_.set_slot_base(DJS_NO_SLOT); !set)
        return set;
    if (auto moved = move_threads(); !moved)
        return moved;
    return patch();
}

Status Injection::release() {
    if (program_.was_started()) {
        if (auto placed = place(); !placed)
            return placed;
        return program_.detach();
    }
    if (auto stopped = stop_where_possible(); !stopped)
        return stopped;
    auto placed = place();
    program_.resume();
    if (!placed && has_placed_)
        withdraw();
    return placed;
}

std::vector<AttachedProbe> Injection::probes(const ModuleMeta& meta) const {
    const struct ::djs_script& script = *linked_.script;
    std::vector<std::string> refusals(script.site_count);
    for (const PlacedImage& image : images_) {
        for (const PatchedPlace& place : image.places)
            for (uint32_t site = place.site; site != DJS_NO_INDEX; site = script.sites[site].next)
                refusals[site] = place.refusal;
        for (const ReturningFunction& function : image.returning)
            for (const uint32_t site : function.sites)
                refusals[site] = function.refusal;
    }
    std::vector<AttachedProbe> probes;
    for (size_t i = 0; i < meta.probes.size(); i++) {
        const ModuleMeta::Probe& probe = meta.probes[i];
        AttachedProbe out{.point = probe.point,
                          .mechanism = probe.mechanism,
                          .planned = probe.mechanism,
                          .reason = i < refusals.size() ? refusals[i] : ""};
        out.attached = out.reason.empty();
        probes.push_back(std::move(out));
    }
    return probes;
}

} // namespace djstap::injection
