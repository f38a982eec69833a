// SPDX-License-Identifier: GPL-2.0-or-later
// What is placed in a program, and what the runtime is told of it.
#include "made_program.h"

#include <algorithm>
#include <cstring>
#include <sys/mman.h>
#include <sys/syscall.h>

namespace djstap::injection {
namespace {

class Prepared : public MadeProgram {};
class Released : public MadeProgram {
  protected:
    std::string refusal_at(const std::string& symbol) {
        for (const PatchedPlace& each : injection_->images().front().places)
            if (each.address == at(symbol))
                return each.refusal;
        return "no place";
    }
    // What is said of a program that cannot be probed, which goes on as it was.
    std::string failure_of_release() {
        const Status prepared = prepare();
        EXPECT_TRUE(prepared) << prepared.failure().message;
        const Status released = injection_->release();
        EXPECT_FALSE(released);
        EXPECT_TRUE(program().threads().empty());
        EXPECT_EQ(bytes_at("f"), bytes_in_file("f"));
        EXPECT_EQ(mappings_of_process(process_), before_);
        EXPECT_FALSE(injection_->has_placed());
        return released ? "" : released.failure().message;
    }
};

TEST_F(Prepared, TellsTheRuntimeWhereItsPlacesAre) {
    ASSERT_TRUE(prepare());
    ASSERT_EQ(injection_->images().size(), 1u);
    EXPECT_EQ(injection_->images()[0].path, file_.path());
    EXPECT_TRUE(injection_->images()[0].is_mapped());
    ASSERT_EQ(told.file_count, 1u);
    const djs_places& file = told.files[0];
    ASSERT_EQ(file.count, 3u); // of entries, each once
    EXPECT_EQ(file.places[0].site, 0u);
    EXPECT_EQ(file.places[1].site, 2u);
    EXPECT_LT(file.begin, file.places[0].return_address);
    EXPECT_LT(file.places[0].return_address, file.places[1].return_address);
    EXPECT_EQ(file.places[2].site, 6u);
    EXPECT_LT(file.places[1].return_address, file.places[2].return_address);
    EXPECT_LT(file.places[2].return_address, file.end);
    // Five places, two of them of returns, are near to the code and to the arena.
    EXPECT_EQ(injection_->images()[0].places.size(), 5u);
    EXPECT_LE(file.end - file.begin, room_for_stubs(injection_->images()[0]));
    EXPECT_EQ(file.begin % 4096, 0u);
    EXPECT_LT(std::max(file.begin, at("f")) - std::min(file.begin, at("f")), uint64_t{1} << 31);
    for (size_t i = 0; i < 3; i++)
        EXPECT_EQ(told.biases[i], 0u); // it is linked to its addresses
    // The functions whose returns are probed, in the order of their addresses.
    ASSERT_EQ(told.function_count, 2u);
    EXPECT_EQ(told.functions[0].first, 0u);
    EXPECT_EQ(told.functions[0].count, 1u);
    EXPECT_EQ(told.functions[0].address, at("h"));
    EXPECT_EQ(told.functions[1].first, 1u);
    EXPECT_EQ(told.functions[1].count, 2u);
    EXPECT_EQ(told.functions[1].address, at("k"));
    EXPECT_EQ(std::vector<u32>(told.sites, told.sites + 3), (std::vector<u32>{3, 4, 5}));
    // Nothing is placed yet.
    EXPECT_FALSE(injection_->has_placed());
    EXPECT_EQ(mappings_of_process(process_), before_);
    EXPECT_EQ(bytes_at("f"), bytes_in_file("f"));
}

// Tables of files, placements, biases, functions, sites, and the places of the only file.
TEST_F(Prepared, NeedsMemoryForItsTables) {
    for (size_t i = 0; i < 6; i++) {
        told.allocations_left = i;
        const Status prepared = prepare();
        ASSERT_FALSE(prepared) << i;
        EXPECT_EQ(prepared.failure().message, "no memory for the script's places");
    }
    told.allocations_left = 6;
    EXPECT_TRUE(prepare());
    told.allocations_left = 6;
    told.answer_to_returns = -12; // ENOMEM
    const Status prepared = prepare();
    ASSERT_FALSE(prepared);
    EXPECT_EQ(prepared.failure().message, "no memory for what return probes keep from the entry");
}

// A program that has been replaced by one of the same name and form.
TEST_F(Prepared, NoticesAnotherFile) {
    const auto map = MemoryMap::of(process_);
    const auto found = std::find_if(map->all().begin(), map->all().end(), [&](const Mapping& each) {
        return each.path == file_.path() && each.offset == 0;
    });
    ASSERT_NE(found, map->all().end());
    ASSERT_TRUE(program().write(found->range.begin + 0x10, "?"));
    const Status prepared = prepare();
    ASSERT_FALSE(prepared);
    EXPECT_EQ(prepared.failure().message,
              "'" + file_.path() + "' is another file now than that which was analyzed");
}

TEST_F(Prepared, NeedsRoomForStubs) {
    const auto map = MemoryMap::of(process_);
    ASSERT_TRUE(map);
    MemoryMap full = *map;
    full.reserve({0, uint64_t{1} << 47});
    const Status prepared = injection_->prepare(full);
    ASSERT_FALSE(prepared);
    EXPECT_EQ(prepared.failure().message,
              "no free memory is near enough to the code of '" + file_.path() + "'");
}

// The map is that of before.
TEST_F(Prepared, DoesNotPlanForWhatIsUnmappedMeanwhile) {
    const auto map = MemoryMap::of(process_);
    const Range text = map->at(at("f"))->range;
    ASSERT_TRUE(program().stop());
    // What is read there is as before, but it belongs to nothing.
    const auto code = program().read(text.begin, text.end - text.begin);
    ASSERT_TRUE(code);
    ASSERT_TRUE(program().call(SYS_mmap, {text.begin, text.end - text.begin, PROT_READ | PROT_EXEC,
                                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, UINT64_MAX, 0}));
    ASSERT_TRUE(program().write(text.begin, *code));
    program().resume();
    const Status prepared = injection_->prepare(*map);
    EXPECT_TRUE(prepared) << prepared.failure().message;
    ASSERT_EQ(told.file_count, 1u);
    EXPECT_EQ(told.files[0].count, 0u);
    EXPECT_EQ(told.files[0].begin, 0u);
    EXPECT_EQ(told.files[0].end, 0u);
    EXPECT_FALSE(is_jump("f"));
}

// The address space of a program with a script.
TEST_F(Released, MapsTheArenaAndPatches) {
    place();
    EXPECT_TRUE(injection_->has_placed());
    EXPECT_TRUE(program().threads().empty());
    for (const char* symbol : {"f", "g", "w"})
        EXPECT_TRUE(is_jump(symbol)) << symbol;
    for (const char* symbol : {"h", "k"}) {
        EXPECT_EQ(bytes_at(symbol, return_of_h), bytes_in_file(symbol, return_of_h)) << symbol;
        EXPECT_TRUE(is_jump(symbol, return_of_h)) << symbol;
    }
    const auto map = MemoryMap::of(process_);
    ASSERT_TRUE(map);
    const Arena::Part whole = arena_->whole();
    // Code cannot be changed, the rest cannot be executed.
    ASSERT_FALSE(arena_.code().empty());
    for (const Arena::Part& part : arena_.code()) {
        const Mapping* const mapping = map->at(part.begin);
        ASSERT_NE(mapping, nullptr);
        EXPECT_TRUE(mapping->executable && !mapping->writable);
        EXPECT_TRUE(arena_->is_mapped_by(*mapping));
        EXPECT_EQ(map->at(part.begin + part.bytes - 1)->executable, true);
    }
    const Mapping* const heap = map->at(arena_->heap().begin);
    ASSERT_NE(heap, nullptr);
    EXPECT_TRUE(heap->writable && !heap->executable && arena_->is_mapped_by(*heap));
    // Each slot has a page of its own, which children get empty, and its ring twice.
    for (const unsigned slot : {0u, 1u, DJS_SLOTS - 1}) {
        const uint64_t page = arena_->owner_page(slot);
        const Mapping* const own = map->at(page);
        ASSERT_NE(own, nullptr);
        EXPECT_EQ(own->range.begin, page);
        EXPECT_EQ(own->range.end, page + 4096);
        EXPECT_EQ(own->path, "");
        EXPECT_TRUE(own->writable && !own->executable);
        EXPECT_TRUE(has_flag(process_, page, "wf")) << slot;
        EXPECT_FALSE(has_flag(process_, page + 4096, "wf")) << slot;
        EXPECT_TRUE(has_flag(process_, page, "dd")) << slot;
        const Arena::Part data = arena_->ring_data(slot);
        data.as<char>()[7] = 'x';
        EXPECT_EQ(memory_of(program(), data.begin + data.bytes + 7, 1), "x");
        EXPECT_EQ(memory_of(program(), data.begin + 7, 1), "x");
    }
    EXPECT_TRUE(has_flag(process_, whole.begin, "dd"));
    EXPECT_TRUE(has_flag(process_, whole.begin + whole.bytes - 1, "dd"));
    EXPECT_FALSE(has_flag(process_, at("f"), "dd"));
    const auto owner = program().read_as<djs_thread_owner>(arena_->owner_page(0));
    ASSERT_TRUE(owner);
    EXPECT_EQ(owner->base, UINT64_MAX);
    EXPECT_EQ(owner->tid, 0);
    EXPECT_EQ(owner->pid, process_);
    EXPECT_EQ(program().read_as<djs_thread_owner>(arena_->owner_page(1))->base, 0u);
    // Neither the file nor what its name was written to is left.
    for (int descriptor = 0; descriptor < 64; descriptor++)
        EXPECT_FALSE(arena_->is_open(process_, descriptor)) << descriptor;
    std::vector<std::string> others;
    for (const Mapping& each : map->all())
        if (each.range.begin < whole.begin || each.range.end > whole.begin + whole.bytes)
            others.push_back(each.path);
    EXPECT_EQ(others.size(), before_.size() + 1); // the stubs
    const Mapping* const stubs = map->at(told.files[0].begin);
    ASSERT_NE(stubs, nullptr);
    EXPECT_TRUE(stubs->executable && !stubs->writable);
    EXPECT_EQ(stubs->path, "");
    EXPECT_EQ(stubs->range.end - stubs->range.begin, 4096u);
    // The register that finds a thread's slot leads to an owner that no thread is.
    ASSERT_TRUE(program().stop());
    EXPECT_EQ(registers().gs_base, 4096 + offsetof(djs_thread_slot, nobody));
    program().resume();
}

// The first instruction is that which the jump replaces; the second is executed elsewhere.
TEST_F(Released, MovesAThreadThatIsBehindTheFirstInstruction) {
    ASSERT_TRUE(prepare());
    stop_at(at("f") + behind_first);
    const Status released = injection_->release();
    ASSERT_TRUE(released) << released.failure().message;
    ASSERT_TRUE(stops_at(at("spin")));
    EXPECT_EQ(registers().rax, 42u);
    EXPECT_EQ(registers().rdx, 43u);
    EXPECT_TRUE(is_jump("f"));
    program().resume();
}

// A system call that the stop interrupts is repeated: the thread is behind it meanwhile.
TEST_F(Released, MovesAThreadThatRepeatsASystemCall) {
    ASSERT_TRUE(prepare());
    stop_at(at("w"));
    program().resume();
    ASSERT_TRUE(stops_at(at("w") + behind_call));
    ASSERT_EQ(registers().orig_rax, static_cast<unsigned>(SYS_pause));
    const Status released = injection_->release();
    ASSERT_TRUE(released) << released.failure().message;
    EXPECT_TRUE(is_jump("w"));
    ASSERT_TRUE(program().stop());
    const uint64_t now = registers().rip;
    EXPECT_GT(now, told.files[0].begin);
    EXPECT_LT(now, told.files[0].end);
    EXPECT_EQ(memory_of(program(), now - 2, 2), "\x0f\x05");
    program().resume();
}

TEST_F(Released, LeavesAThreadThatIsElsewhere) {
    place();
    ASSERT_TRUE(program().stop());
    const uint64_t where = registers().rip;
    EXPECT_GE(where, at("_start"));
    EXPECT_LT(where, at("f"));
    program().resume();
}

TEST_F(Released, WaitsForAHandlerThatReturnsToWhereAJumpIs) {
    ASSERT_TRUE(prepare());
    ASSERT_TRUE(program().stop());
    put_on_stack({1, at("f") + behind_first, 3});
    const Status released = injection_->release();
    ASSERT_FALSE(released);
    EXPECT_EQ(released.failure().message,
              "a signal's handler has interrupted a thread where a probe is to be placed");
    EXPECT_TRUE(program().threads().empty());
    EXPECT_EQ(bytes_at("f"), bytes_in_file("f"));
}

// A handler of a signal has a stack of its own, and has interrupted something on another one.
TEST_F(Released, LooksAtTheStacksThatSignalsHaveInterrupted) {
    ASSERT_TRUE(prepare());
    ASSERT_TRUE(program().stop());
    const auto other = program().call(
        SYS_mmap, {0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, UINT64_MAX, 0});
    ASSERT_TRUE(other);
    const uint64_t word = at("f") + behind_first;
    // Its last word, and the stack begins within another one.
    ASSERT_TRUE(
        program().write(*other + 8192 - 8, {reinterpret_cast<const char*>(&word), sizeof word}));
    put_signal_frame(*other + 4096 + 3, at("spin"));
    const Status released = injection_->release();
    ASSERT_FALSE(released);
    EXPECT_EQ(released.failure().message,
              "a signal's handler has interrupted a thread where a probe is to be placed");
    // What is below the stack pointer is not used any more, and a stack may not be readable.
    ASSERT_TRUE(program().stop());
    const uint64_t zero = 0;
    ASSERT_TRUE(
        program().write(*other + 8192 - 8, {reinterpret_cast<const char*>(&zero), sizeof zero}));
    ASSERT_TRUE(
        program().write(*other + 4088, {reinterpret_cast<const char*>(&word), sizeof word}));
    for (const std::string& line : mappings_of_process(process_))
        if (line.ends_with("[vvar]"))
            put_signal_frame(strtoull(line.c_str(), nullptr, 16), at("spin"));
    const Status again = injection_->release();
    EXPECT_TRUE(again) << again.failure().message;
}

TEST_F(Released, OneScriptIsEnough) {
    place();
    MadeScript script(file_, file_.path());
    MadeArena arena;
    auto second = TracedProgram::of_running(process_);
    ASSERT_TRUE(second);
    const Range code = injection_->images().front().code;
    // What the runtime was told is that of the first one.
    const ToldRuntime first = told;
    std::unique_ptr<Injection> another = arena.inject(std::move(*second), code, script);
    const auto map = MemoryMap::of(process_);
    ASSERT_TRUE(map);
    const Status prepared = another->prepare(*map);
    ASSERT_TRUE(prepared) << prepared.failure().message;
    const std::vector<std::string> mapped = mappings_of_process(process_);
    // Its entries are those of the first one's jumps.
    EXPECT_EQ(another->images().front().places.front().refusal,
              "the program has other code there than its file");
    const Status released = another->release();
    ASSERT_FALSE(released);
    EXPECT_EQ(released.failure().message, "another script probes the program");
    EXPECT_FALSE(another->has_placed());
    EXPECT_EQ(mappings_of_process(process_), mapped);
    EXPECT_TRUE(another->program().threads().empty());
    another.reset();
    told = first;
}

TEST_F(Released, NeedsARegister) {
    ASSERT_TRUE(program().stop());
    ASSERT_TRUE(program().set_slot_base(0x1000));
    program().resume();
    EXPECT_EQ(failure_of_release(),
              "the program uses the register that finds a thread's counters (gs)");
}

TEST_F(Released, SkipsWhatTheProgramHasChanged) {
    // The last byte that the jump replaces of f, and one of the instruction that reaches beyond it.
    ASSERT_TRUE(program().write(at("g") + 4, "\x01"));
    ASSERT_TRUE(program().write(at("f") + 6, "\x01"));
    place();
    EXPECT_EQ(refusal_at("f"), "the program has other code there than its file");
    EXPECT_EQ(refusal_at("g"), "the program has other code there than its file");
    EXPECT_FALSE(is_jump("f"));
    EXPECT_FALSE(is_jump("g"));
    EXPECT_TRUE(is_jump("h", return_of_h)); // the others are placed
}

TEST_F(Released, SkipsWhatTheProgramMayChange) {
    const auto map = MemoryMap::of(process_);
    const Range text = map->at(at("f"))->range;
    ASSERT_TRUE(program().stop());
    ASSERT_TRUE(program().call(
        SYS_mprotect, {text.begin, text.end - text.begin, PROT_READ | PROT_WRITE | PROT_EXEC}));
    program().resume();
    place();
    EXPECT_EQ(refusal_at("f"), "the program may change its code there");
    EXPECT_FALSE(is_jump("f"));
}

TEST_F(Released, NeedsTheFileToStay) {
    ASSERT_TRUE(prepare());
    const auto map = MemoryMap::of(process_);
    const Range text = map->at(at("f"))->range;
    ASSERT_TRUE(program().stop());
    // Something else is mapped there, which does the same.
    const auto code = program().read(text.begin, text.end - text.begin);
    ASSERT_TRUE(code);
    ASSERT_TRUE(program().call(SYS_mmap, {text.begin, text.end - text.begin, PROT_READ | PROT_EXEC,
                                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, UINT64_MAX, 0}));
    ASSERT_TRUE(program().write(text.begin, *code));
    const Status released = injection_->release();
    ASSERT_FALSE(released);
    EXPECT_EQ(released.failure().message,
              "the program has unmapped '" + file_.path() + "' meanwhile");
    EXPECT_TRUE(program().threads().empty());
    EXPECT_FALSE(injection_->has_placed());
}

// Something that the program has mapped meanwhile is in the way. What was placed before is taken
// back.
TEST_F(Released, NeedsTheMemoryThatWasFree) {
    ASSERT_TRUE(prepare());
    const auto fails_with = [&](uint64_t taken) {
        EXPECT_TRUE(program().stop());
        EXPECT_TRUE(program().call(SYS_mmap, {taken, 4096, PROT_READ,
                                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE,
                                              UINT64_MAX, 0}));
        const Status released = injection_->release();
        EXPECT_FALSE(released);
        EXPECT_TRUE(injection_->has_placed());
        EXPECT_TRUE(program().threads().empty());
        for (int descriptor = 0; descriptor < 64; descriptor++)
            EXPECT_FALSE(arena_->is_open(process_, descriptor)) << descriptor;
        EXPECT_TRUE(program().stop());
        EXPECT_TRUE(program().call(SYS_munmap, {taken, 4096}));
        program().resume();
        EXPECT_EQ(mappings_of_process(process_), before_);
        EXPECT_EQ(bytes_at("f"), bytes_in_file("f"));
        return released ? "" : released.failure().message;
    };
    EXPECT_EQ(fails_with(arena_->heap().begin),
              "the program cannot map the shared memory: File exists");
    EXPECT_EQ(fails_with(told.files[0].begin),
              "the program cannot map memory for probes: File exists");
    const Status released = injection_->release();
    EXPECT_TRUE(released) << released.failure().message;
}

// Each probe has a reason why it is not attached, or none.
TEST_F(Released, TellsHowEachProbeIsAttached) {
    ASSERT_TRUE(program().write(at("f"), "\x90\x90")); // other code
    ASSERT_TRUE(program().write(at("k") + return_of_h, "\x90"));
    place();
    ModuleMeta meta;
    for (const char* point : {"f1", "f2", "g", "h", "k1", "k2", "w", "timer"})
        meta.probes.push_back({point, "jump"});
    const std::vector<AttachedProbe> probes = injection_->probes(meta);
    ASSERT_EQ(probes.size(), 8u);
    std::string attached;
    for (size_t i = 0; i < probes.size(); i++) {
        EXPECT_EQ(probes[i].point, meta.probes[i].point);
        EXPECT_EQ(probes[i].mechanism, "jump");
        EXPECT_EQ(probes[i].planned, "jump");
        EXPECT_EQ(probes[i].attached, probes[i].reason.empty());
        attached += probes[i].attached ? '+' : '-';
    }
    EXPECT_EQ(attached, "--++--++");
    EXPECT_EQ(probes[1].reason, "the program has other code there than its file");
    EXPECT_EQ(probes[5].reason, "the program has other code there than its file");
}

} // namespace
} // namespace djstap::injection
