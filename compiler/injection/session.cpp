// SPDX-License-Identifier: GPL-2.0-or-later
#include "injection/session.h"

#include "arch/injection.h"
#include "injection/arena.h"
#include "injection/linked_runtime.h"
#include "injection/places.h"
#include "injection/refusals.h"
#include "injection/stubs.h"
#include "injection/traced_program.h"
#include "inprocess/user_session.h"
#include "session/session_output.h"
#include "session/signals.h"
#include "session/traced_process.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <ctime>
#include <optional>
#include <set>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <thread>

namespace djstap {

using namespace injection;

namespace {

Failure because(const char* what, const Failure& failure) {
    return {std::string(what) + ": " + failure.message, failure.hint};
}

// A program with the arena, and what is patched in it.
class Injection {
  public:
    Injection(TracedProgram program, Arena& arena, LinkedRuntime linked)
        : program_(std::move(program)), arena_(arena), linked_(std::move(linked)) {}

    const LinkedRuntime& linked() const { return linked_; }
    // Determines what can be patched, and prepares the code that places lead to.
    Status prepare(const MemoryMap& map);
    // Maps everything in the program, patches it, and lets it run.
    Status release();
    const std::vector<PlacedImage>& images() const { return images_; }
    // How each probe is attached, by the description's numbers.
    std::vector<AttachedProbe> probes(const ModuleMeta& meta) const;

  private:
    Status prepare_returns();
    Status share();
    Status share_stubs(const PlacedImage& image, uint64_t at, const Stubs& stubs);
    Status call(const char* what, long number, const std::array<uint64_t, 6>& arguments);
    Status own_page(unsigned slot);
    // Of the arena's heap.
    template <class T> T* allocate(size_t count) const {
        return static_cast<T*>(linked_.allocate(count * sizeof(T)));
    }

    TracedProgram program_;
    Arena& arena_;
    LinkedRuntime linked_;
    std::vector<PlacedImage> images_;
    std::vector<std::pair<uint64_t, Stubs>> stubs_; // of each image, and where
};

Status Injection::prepare(const MemoryMap& map) {
    auto images = place_sites(*linked_.script, map);
    if (!images)
        return images.failure();
    images_ = std::move(*images);
    const Callees callees{arena_.owner_page(0), linked_.claim, linked_.hit, linked_.script};
    auto own = MemoryMap::of(getpid()); // with the arena
    if (!own)
        return own.failure();
    std::vector<djs_place> places;
    for (PlacedImage& image : images_) {
        const uint64_t bytes = room_for_stubs(image);
        const auto at = find_room(map, *own, image.code, bytes, bytes);
        if (!at)
            return Failure{"no free memory is near enough to the code of '" + image.path + "'", ""};
        own->reserve({*at, *at + bytes}); // stubs of other images go elsewhere
        stubs_.emplace_back(*at, make_stubs(image, callees, *at));
        const std::vector<djs_place>& of_image = stubs_.back().second.places;
        places.insert(places.end(), of_image.begin(), of_image.end());
    }
    std::sort(places.begin(), places.end(), [](const djs_place& a, const djs_place& b) {
        return a.return_address < b.return_address;
    });
    const struct ::djs_script& script = *linked_.script;
    auto* const table = allocate<djs_place>(places.size());
    auto* const biases = allocate<unsigned long>(script.segment_count);
    if (!table || !biases)
        return Failure{"no memory for the script's places", ""};
    std::copy(places.begin(), places.end(), table);
    for (const PlacedImage& image : images_)
        for (uint32_t i = 0; i < script.segment_count; i++)
            if (image.path == script.images[script.segments[i].image].name)
                biases[i] = image.bias;
    linked_.set_places(table, static_cast<u32>(places.size()), biases);
    return prepare_returns();
}

Status Injection::prepare_returns() {
    size_t functions = 0, sites = 0;
    for (const PlacedImage& image : images_)
        for (const ReturningFunction& each : image.returning) {
            functions++;
            sites += each.sites.size();
        }
    auto* const table = allocate<djs_returning>(functions);
    auto* const list = allocate<u32>(sites);
    if (!table || !list)
        return Failure{"no memory for the script's places", ""};
    uint32_t used = 0;
    for (const PlacedImage& image : images_)
        for (const ReturningFunction& each : image.returning) {
            table[each.number] = {used, static_cast<u32>(each.sites.size()),
                                  each.address + image.bias};
            std::copy(each.sites.begin(), each.sites.end(), list + used);
            used += static_cast<uint32_t>(each.sites.size());
        }
    if (linked_.set_returns(table, static_cast<u32>(functions), list) != 0)
        return Failure{"no memory for what return probes keep from the entry", ""};
    return Done{};
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

Status Injection::share() {
    constexpr const char* what = "the program cannot map the shared memory";
    const Arena::Part whole = arena_.whole();
    const auto file = static_cast<uint64_t>(arena_.file());
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
    const djs_thread_owner owner{DJS_NO_THREAD, 0, program_.pid()};
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
    if (auto written = program_.write(at, stubs.code); !written)
        return written;
    for (const Patch& patch : stubs.patches)
        if (auto written = program_.write(patch.address, patch.bytes); !written)
            return written;
    return Done{};
}

Status Injection::release() {
    if (auto shared = share(); !shared)
        return shared;
    for (size_t i = 0; i < images_.size(); i++)
        if (auto shared = share_stubs(images_[i], stubs_[i].first, stubs_[i].second); !shared)
            return shared;
    if (auto set = program_.set_slot_base(DJS_NO_SLOT); !set)
        return set;
    return program_.detach();
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

djs_arena parts_of(const Arena& arena) {
    djs_arena parts{};
    parts.heap = arena.heap().as<char>();
    parts.heap_bytes = arena.heap().bytes;
    parts.slots = arena.slots().as<char>();
    parts.rings = arena.rings().as<char>();
    const std::time_t now = std::time(nullptr);
    std::tm local{};
    if (localtime_r(&now, &local)) {
        parts.seconds_west = -local.tm_gmtoff;
        strncpy(parts.zone, local.tm_zone ? local.tm_zone : "", sizeof parts.zone - 1);
    }
    return parts;
}

// Waits until no thread of the program is in a handler, at most for a moment: one may have left it
// by a longjmp.
void settle(const LinkedRuntime& linked, bool gone) {
    using namespace std::chrono_literals;
    constexpr int attempts = 500;
    for (int i = 0; i < attempts && linked.settle(gone) > 0; i++)
        std::this_thread::sleep_for(2ms);
}

Result<Range> code_of_program(const MemoryMap& map, uint64_t entry) {
    for (const Mapping& each : map.all())
        if (entry >= each.range.begin && entry < each.range.end) {
            const auto file = map.of_file(each.path);
            return Range{file.front().range.begin, file.back().range.end};
        }
    return Failure{"the program's entry is not mapped", ""};
}

} // namespace

Result<SessionOutcome> run_in_program(const std::string& object, const std::string& meta,
                                      uint64_t ring_bytes, const SessionOptions& options) {
    if (!arch::has_stub_instructions())
        return Failure{"this processor or kernel does not let programs read the base of their "
                       "threads' memory (FSGSBASE)",
                       "as root, without --runtime=process, uprobes do not need it"};
    auto arguments = command_of(options);
    if (!arguments)
        return arguments.failure();
    auto description = parse_meta(meta);
    if (!description)
        return description.failure();
    auto opened = SessionOutput::open(options);
    if (!opened)
        return opened.failure();
    Output& output = (*opened)->output();
    const StopSignals signals;
    auto arena = Arena::create(ring_bytes);
    if (!arena)
        return arena.failure();
    auto command = Command::prepare(*arguments, TracedProgram::options(arena->file()));
    if (!command)
        return command.failure();
    auto program = TracedProgram::run_to_entry(*command);
    if (!program)
        return program.failure();
    auto map = MemoryMap::of(program->pid());
    if (!map)
        return map.failure();
    auto code = code_of_program(*map, program->entry());
    if (!code)
        return code.failure();
    if (auto placed = arena->place_near(*code, *map); !placed)
        return placed.failure();
    auto linked = LinkedRuntime::link(object, *arena);
    if (!linked)
        return linked.failure();
    Injection injection(std::move(*program), *arena, std::move(*linked));
    const LinkedRuntime& here = injection.linked();
    const djs_arena parts = parts_of(*arena);
    here.init(&parts);

    SystemCommands commands;
    std::vector<AttachedProbe> probes;
    const UserSessionParts session_parts{
        .runtime = *here.runtime,
        .rings = DJS_SLOTS,
        .release = [&] { return injection.release(); },
        .before_end = [&] { settle(here, command->ended().has_value()); },
        .probes = [&] { return probes; }};
    UserSession session(options, *description, output, &*command, commands, session_parts);
    djs_user_options runtime_options{};
    runtime_options.ring_bytes = ring_bytes;
    runtime_options.traced_pid = command->pid();
    runtime_options.drain = UserSession::drain;
    runtime_options.data = &session;
    if (here.runtime->load(here.script, &runtime_options) != 0)
        return Failure{here.runtime->complaint(), ""};
    if (auto prepared = injection.prepare(*map); !prepared)
        return prepared.failure();
    probes = injection.probes(*description);
    const size_t most_names = options.verbose > 0 ? SIZE_MAX : 3;
    for (const std::string& refusal :
         describe_refusals(*here.script, injection.images(), most_names))
        output.warning(refusal);
    SessionOutcome outcome = session.run();
    if (const u64 hits = here.unslotted())
        output.warning(std::to_string(hits) + " hits were not handled: more than " +
                       std::to_string(DJS_SLOTS - 1) + " threads ran at the same time");
    if (const u64 returns = here.unmatched())
        output.warning(std::to_string(returns) +
                       " returns were not handled: what their handlers kept from the entry had "
                       "to make room for later calls");
    commands.wait();
    (*opened)->finish(outcome);
    return outcome;
}

} // namespace djstap
