// SPDX-License-Identifier: GPL-2.0-or-later
// Libraries that a program maps and unmaps while it runs: what it asks and what it is answered. The
// program is a copy of this process, which has a dynamic loader; the test does for it what the
// runtime would do there.
#include "made_program.h"

#include <cerrno>
#include <link.h>
#include <sys/mman.h>
#include <sys/syscall.h>

namespace djstap::injection {
namespace {

class LateLibrary : public testing::Test {
  protected:
    static constexpr uint64_t area_bytes = uint64_t{1} << 20;
    static constexpr int area_count = 20;

    void SetUp() override {
        if (is_confined(getpid()))
            GTEST_SKIP() << "a filter confines this process, and so all that it starts";
        descriptor_ = open(file_.path().c_str(), O_RDONLY);
        ASSERT_GE(descriptor_, 0);
        // Where the library may be mapped.
        areas_ =
            mmap(nullptr, area_count * area_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        ASSERT_NE(areas_, MAP_FAILED);
        process_ = fork();
        if (process_ == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            for (;;)
                pause();
        }
        ASSERT_GT(process_, 0);
        auto program = TracedProgram::of_running(process_);
        ASSERT_TRUE(program) << program.failure().message;
        script_.keep_of_entries();
        injection_ = arena_.inject(std::move(*program), {area(0), area(area_count)}, script_);
        ASSERT_NE(injection_, nullptr);
    }
    void TearDown() override {
        injection_.reset();
        if (process_ > 0) {
            kill(process_, SIGKILL);
            waitpid(process_, nullptr, 0);
        }
        munmap(areas_, area_count * area_bytes);
        close(descriptor_);
        told = {};
    }
    TracedProgram& program() { return injection_->program(); }
    const PlacedImage& image() const { return injection_->images().front(); }
    uint64_t area(int number) const {
        return reinterpret_cast<uint64_t>(areas_) + static_cast<uint64_t>(number) * area_bytes;
    }
    uint64_t at(const std::string& symbol, int number) const {
        return file_.address(symbol) + area(number);
    }
    void map_there(uint64_t begin, uint64_t end, uint64_t rights, uint64_t flags, int descriptor,
                   uint64_t offset) {
        const auto mapped = program().call(
            SYS_mmap, {begin, end - begin, rights, flags,
                       static_cast<uint64_t>(static_cast<int64_t>(descriptor)), offset});
        ASSERT_TRUE(mapped) << mapped.failure().message;
        ASSERT_EQ(*mapped, begin);
    }
    void map_library(int number) {
        ASSERT_TRUE(program().stop());
        constexpr uint64_t page = 4096;
        for (const Elf64_Phdr& each : file_.elf().program_headers())
            if (each.p_type == PT_LOAD && !(each.p_flags & PF_W))
                map_there(area(number) + each.p_vaddr / page * page,
                          area(number) + (each.p_vaddr + each.p_memsz + page - 1) / page * page,
                          PROT_READ | (each.p_flags & PF_X ? PROT_EXEC : 0),
                          MAP_PRIVATE | MAP_FIXED, descriptor_, each.p_offset / page * page);
        program().resume();
    }
    void unmap_library(int number) {
        ASSERT_TRUE(program().stop());
        map_there(area(number), area(number + 1), PROT_NONE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        program().resume();
    }
    void place() {
        const auto map = MemoryMap::of(process_);
        ASSERT_TRUE(map);
        const Status prepared = injection_->prepare(*map);
        ASSERT_TRUE(prepared) << prepared.failure().message;
        release();
    }
    void release() {
        const Status released = injection_->release();
        ASSERT_TRUE(released) << released.failure().message;
    }
    // The program's question; returns complaints.
    std::vector<std::string> ask() {
        const u32 question = ++told.loader->asked;
        std::vector<std::string> complaints = injection_->answer_loader();
        EXPECT_EQ(told.loader->answered, question);
        EXPECT_EQ(told.loader->state, DJS_LOADER_WAITS);
        return complaints;
    }
    bool has_nothing_to_do() const {
        return told.loader->map.bytes == 0 && told.loader->unmap.bytes == 0;
    }
    // What the program does if it is asked to map memory for stubs.
    void map_stubs() {
        const djs_loader_range wanted = told.loader->map;
        ASSERT_NE(wanted.bytes, 0u);
        EXPECT_EQ(wanted.bytes, room_for_stubs(image()));
        EXPECT_EQ(told.loader->unmap.bytes, 0u);
        ASSERT_TRUE(program().stop());
        map_there(wanted.at, wanted.at + wanted.bytes, PROT_READ | PROT_EXEC,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
        program().resume();
        told.loader->mapped = static_cast<s64>(wanted.at);
    }
    // Maps the library, and has it probed.
    void map_and_ask(int number) {
        map_library(number);
        EXPECT_EQ(ask(), std::vector<std::string>());
        map_stubs();
        EXPECT_EQ(ask(), std::vector<std::string>());
        EXPECT_TRUE(has_nothing_to_do());
    }
    bool is_probed(int number) {
        const std::string bytes = memory_of(program(), at("f", number), 5);
        if (bytes.size() != 5 || bytes[0] != '\xe9')
            return false;
        int32_t distance = 0;
        memcpy(&distance, bytes.data() + 1, sizeof distance);
        const uint64_t to =
            at("f", number) + 5 + static_cast<uint64_t>(static_cast<int64_t>(distance));
        return to >= told.files[0].begin && to < told.files[0].end &&
               memory_of(program(), to, 1).size() == 1;
    }
    bool is_published() const { return told.files[0].end != 0; }
    std::string complaint(const std::string& what) const {
        return "'" + file_.path() + "' is " + what;
    }

    MadeFile file_{made_program_text, {"-shared"}};
    MadeScript script_{file_, file_.path()};
    MadeArena arena_;
    int descriptor_ = -1;
    void* areas_ = nullptr;
    pid_t process_ = -1;
    std::unique_ptr<Injection> injection_;
};

TEST_F(LateLibrary, IsProbedWhenItIsMapped) {
    place();
    ASSERT_EQ(injection_->images().size(), 2u); // and the dynamic loader
    EXPECT_FALSE(image().is_mapped());
    EXPECT_EQ(told.file_count, 2u);
    EXPECT_FALSE(is_published());
    const auto placed = MemoryMap::of(process_);
    ASSERT_TRUE(placed);
    EXPECT_EQ(placed->at(0), nullptr); // no memory is mapped for stubs that are not there
    EXPECT_NE(told.files[1].end, 0u);
    EXPECT_EQ(memory_of(program(), _r_debug.r_brk, 1) == "\xe9" ||
                  memory_of(program(), _r_debug.r_brk + 4, 1) == "\xe9", // behind a landing pad
              true);
    EXPECT_EQ(injection_->answer_loader(), std::vector<std::string>()); // nobody asks
    EXPECT_EQ(told.loader->answered, 0u);
    EXPECT_EQ(ask(), std::vector<std::string>());
    EXPECT_TRUE(has_nothing_to_do());
    map_library(1);
    EXPECT_EQ(ask(), std::vector<std::string>());
    EXPECT_FALSE(is_published()); // nothing is written before there is memory
    EXPECT_FALSE(is_probed(1));
    const uint64_t stubs = told.loader->map.at;
    map_stubs();
    EXPECT_EQ(ask(), std::vector<std::string>());
    EXPECT_TRUE(has_nothing_to_do());
    EXPECT_TRUE(is_probed(1));
    EXPECT_EQ(image().bias, area(1));
    EXPECT_EQ(told.files[0].begin, stubs);
    EXPECT_GT(told.files[0].end, stubs);
    EXPECT_LE(told.files[0].end, stubs + room_for_stubs(image()));
    EXPECT_EQ(told.files[0].count, 3u);
    // The bias is that of segments of this file.
    EXPECT_EQ(told.biases[0], area(1));
    EXPECT_EQ(told.biases[1], 0u);
    EXPECT_EQ(told.biases[2], area(1));
    EXPECT_EQ(told.functions[0].address, at("h", 1));
    EXPECT_EQ(told.functions[1].address, at("k", 1));
    EXPECT_EQ(memory_of(program(), stubs, 16).size(), 16u);
    EXPECT_NE(memory_of(program(), stubs, 16), std::string(16, '\0'));
    EXPECT_EQ(ask(), std::vector<std::string>());
    EXPECT_TRUE(has_nothing_to_do());
    EXPECT_TRUE(is_probed(1));
    EXPECT_TRUE(injection_->withdraw());
    EXPECT_EQ(memory_of(program(), at("f", 1), 5), file_.elf().bytes_at(file_.address("f"), 5));
    const auto map = MemoryMap::of(process_);
    EXPECT_EQ(map->at(stubs), nullptr);
}

TEST_F(LateLibrary, IsForgottenWhenItIsUnmapped) {
    place();
    map_and_ask(1);
    const uint64_t stubs = told.files[0].begin;
    unmap_library(1);
    EXPECT_EQ(ask(), std::vector<std::string>());
    EXPECT_EQ(told.loader->unmap.at, stubs);
    EXPECT_EQ(told.loader->unmap.bytes, room_for_stubs(image()));
    EXPECT_EQ(told.loader->map.bytes, 0u);
    EXPECT_FALSE(is_published());
    EXPECT_EQ(told.files[0].begin, 0u);
    ASSERT_TRUE(program().stop());
    ASSERT_TRUE(program().call(SYS_munmap, {stubs, 4096}));
    program().resume();
    EXPECT_EQ(ask(), std::vector<std::string>());
    EXPECT_TRUE(has_nothing_to_do());
    // It is mapped elsewhere the next time.
    map_and_ask(2);
    EXPECT_TRUE(is_probed(2));
    EXPECT_EQ(image().bias, area(2));
}

// It has been mapped anew, at the same place.
TEST_F(LateLibrary, IsNotInPlaceWithoutItsJump) {
    place();
    map_and_ask(1);
    map_library(1);
    EXPECT_EQ(ask(), std::vector<std::string>());
    EXPECT_EQ(told.loader->unmap.bytes, room_for_stubs(image()));
    EXPECT_FALSE(is_published());
}

TEST_F(LateLibrary, NeedsMemoryForStubs) {
    place();
    map_library(1);
    EXPECT_EQ(ask(), std::vector<std::string>());
    told.loader->mapped = -ENOMEM;
    EXPECT_EQ(ask(), std::vector<std::string>{
                         complaint("not probed: the program cannot map memory for probes")});
    EXPECT_TRUE(has_nothing_to_do());
    EXPECT_FALSE(is_published());
    // It is not tried again.
    map_library(2);
    EXPECT_EQ(ask(), std::vector<std::string>());
    EXPECT_TRUE(has_nothing_to_do());
    // The program may have told a wrong address.
    EXPECT_FALSE(is_probed(1));
}

// Two files whose stubs are planned at once: the loader's, and those of the library.
TEST_F(LateLibrary, HasStubsApartFromTheLoaders) {
    map_library(1);
    const auto map = MemoryMap::of(process_), own = MemoryMap::of(getpid());
    ASSERT_TRUE(map && own);
    const Mapping* const loader = map->at(_r_debug.r_brk);
    ASSERT_NE(loader, nullptr);
    const Range both{std::min(area(0), loader->range.begin),
                     std::max(area(area_count), loader->range.end)};
    constexpr uint64_t page = 4096;
    const auto gap = find_room(*map, *own, both, 2 * page, 2 * page);
    if (!gap)
        GTEST_SKIP() << "they are too far from each other";
    const auto prepared_with = [&](uint64_t free_bytes) {
        MemoryMap full = *map;
        full.reserve({0, *gap});
        full.reserve({*gap + free_bytes, uint64_t{1} << 47});
        return injection_->prepare(full);
    };
    EXPECT_FALSE(prepared_with(page));
    const Status prepared = prepared_with(2 * page);
    ASSERT_TRUE(prepared) << prepared.failure().message;
    ASSERT_EQ(told.file_count, 2u);
    EXPECT_EQ(told.files[0].begin, *gap);
    EXPECT_EQ(told.files[1].begin, *gap + page);
}

TEST_F(LateLibrary, MemoryThatIsNotThereCannotBeWritten) {
    place();
    map_library(1);
    EXPECT_EQ(ask(), std::vector<std::string>());
    told.loader->mapped = static_cast<s64>(told.loader->map.at); // it does not say the truth
    EXPECT_EQ(ask(), std::vector<std::string>{
                         complaint("not probed: the program cannot map memory for probes")});
    EXPECT_FALSE(is_published());
}

TEST_F(LateLibrary, MayBeUnmappedBeforeItIsProbed) {
    place();
    map_library(1);
    EXPECT_EQ(ask(), std::vector<std::string>());
    map_stubs();
    const uint64_t stubs = told.loader->map.at;
    ASSERT_TRUE(program().stop());
    ASSERT_TRUE(program().call(SYS_munmap, {area(1), area_bytes}));
    program().resume();
    EXPECT_EQ(ask(),
              std::vector<std::string>{complaint("probed in part: its code cannot be written")});
    EXPECT_EQ(told.loader->unmap.at, stubs);
    EXPECT_FALSE(is_published());
}

TEST_F(LateLibrary, HasOneCopyThatIsProbed) {
    place();
    map_and_ask(1);
    map_library(2);
    EXPECT_EQ(ask(), std::vector<std::string>{"another copy of '" + file_.path() +
                                              "' that the program has loaded is not probed"});
    EXPECT_TRUE(has_nothing_to_do());
    EXPECT_FALSE(is_probed(2));
    map_library(3);
    EXPECT_EQ(ask(), std::vector<std::string>()); // it was told
    // The threads may execute the others: they are left alone.
    unmap_library(1);
    EXPECT_EQ(ask(), std::vector<std::string>());
    EXPECT_NE(told.loader->unmap.bytes, 0u);
    EXPECT_EQ(ask(), std::vector<std::string>());
    EXPECT_TRUE(has_nothing_to_do());
    EXPECT_FALSE(is_published());
    map_and_ask(4);
    EXPECT_TRUE(is_probed(4));
}

// Sixteen copies are known, as there are namespaces of glibc; of more, none is new.
TEST_F(LateLibrary, HasAsManyCopiesAsThereAreNamespaces) {
    for (int i = 0; i < 15; i++)
        map_library(i);
    place();
    EXPECT_TRUE(is_published()); // the first one
    unmap_library(0);
    EXPECT_EQ(ask(), std::vector<std::string>());
    EXPECT_NE(told.loader->unmap.bytes, 0u);
    map_library(15);
    map_library(16);
    EXPECT_EQ(ask(), std::vector<std::string>());
    EXPECT_NE(told.loader->map.bytes, 0u); // fifteen were known, and there are sixteen
    map_stubs();
    map_library(17);
    EXPECT_EQ(ask().size(), 1u); // another one, the seventeenth
    unmap_library(15);
    EXPECT_EQ(ask(), std::vector<std::string>());
    EXPECT_NE(told.loader->unmap.bytes, 0u);
    map_library(18);
    map_library(19);
    EXPECT_EQ(ask(), std::vector<std::string>());
    EXPECT_TRUE(has_nothing_to_do()); // there were too many to know which is new
}

TEST_F(LateLibrary, MayBeAnotherFile) {
    place();
    map_library(1);
    ASSERT_TRUE(program().write(area(1) + 0x10, "?"));
    EXPECT_EQ(ask(), std::vector<std::string>{complaint("not probed: '" + file_.path() +
                                                        "' is another file now than that which was "
                                                        "analyzed")});
    EXPECT_TRUE(has_nothing_to_do());
    map_library(2);
    EXPECT_EQ(ask(), std::vector<std::string>()); // it is not looked at any more
    EXPECT_TRUE(has_nothing_to_do());
}

// A program that does not wait any longer may execute what it has mapped.
TEST_F(LateLibrary, IsNotProbedTooLate) {
    place();
    map_library(1);
    for (const u32 state : {DJS_LOADER_IS_DEAF, DJS_LOADER_IS_OVER, DJS_LOADER_IS_ANSWERED}) {
        told.loader->asked = 5;
        told.loader->state = state;
        EXPECT_EQ(injection_->answer_loader(), std::vector<std::string>());
        EXPECT_EQ(told.loader->answered, 0u);
        EXPECT_EQ(told.loader->state, state);
        EXPECT_EQ(told.loader->map.bytes, 0u);
        EXPECT_EQ(injection_->has_missed_loader(), state == DJS_LOADER_IS_DEAF);
    }
    // Whoever was at work was killed: the program does not wait for that.
    injection_->end_answer();
    EXPECT_EQ(told.loader->state, DJS_LOADER_WAITS);
    told.loader->state = DJS_LOADER_IS_DEAF;
    injection_->end_answer();
    EXPECT_EQ(told.loader->state, DJS_LOADER_IS_DEAF);
}

// Between the analysis and the stop of the program.
TEST_F(LateLibrary, MayBeMappedMeanwhile) {
    const auto map = MemoryMap::of(process_);
    ASSERT_TRUE(injection_->prepare(*map));
    map_library(1);
    release();
    EXPECT_TRUE(is_published());
    EXPECT_TRUE(is_probed(1));
    EXPECT_EQ(image().bias, area(1));
    EXPECT_EQ(ask(), std::vector<std::string>());
    EXPECT_TRUE(has_nothing_to_do());
}

TEST_F(LateLibrary, MayBeUnmappedMeanwhile) {
    map_library(1);
    const auto map = MemoryMap::of(process_);
    ASSERT_TRUE(injection_->prepare(*map));
    EXPECT_TRUE(is_published());
    unmap_library(1);
    release();
    EXPECT_FALSE(is_published());
    map_and_ask(2);
    EXPECT_TRUE(is_probed(2));
}

TEST_F(LateLibrary, MayMoveMeanwhile) {
    map_library(1);
    const auto map = MemoryMap::of(process_);
    ASSERT_TRUE(injection_->prepare(*map));
    unmap_library(1);
    map_library(2);
    release();
    EXPECT_TRUE(is_probed(2));
    EXPECT_EQ(image().bias, area(2));
    EXPECT_EQ(told.biases[0], area(2));
}

// Another process has placed the probes since this one was forked.
TEST_F(LateLibrary, IsFreedByWhoeverIsThere) {
    place();
    map_library(1);
    int from[2], to[2];
    ASSERT_EQ(pipe2(from, O_CLOEXEC), 0);
    ASSERT_EQ(pipe2(to, O_CLOEXEC), 0);
    const pid_t keeper = fork();
    if (keeper == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        char byte = 0;
        told.loader->asked++;
        injection_->answer_loader();
        (void)!write(from[1], &byte, 1);
        (void)!read(to[0], &byte, 1);
        told.loader->asked++;
        injection_->answer_loader();
        _exit(0);
    }
    ASSERT_GT(keeper, 0);
    char byte = 0;
    ASSERT_EQ(read(from[0], &byte, 1), 1);
    const djs_loader_range stubs = told.loader->map;
    ASSERT_NE(stubs.bytes, 0u);
    map_stubs();
    ASSERT_EQ(write(to[1], &byte, 1), 1);
    EXPECT_EQ(waitpid(keeper, nullptr, 0), keeper);
    for (const int each : {from[0], from[1], to[0], to[1]})
        close(each);
    EXPECT_TRUE(is_probed(1));
    EXPECT_FALSE(image().is_mapped()); // as far as this process knows
    EXPECT_TRUE(injection_->withdraw());
    EXPECT_EQ(memory_of(program(), at("f", 1), 5), file_.elf().bytes_at(file_.address("f"), 5));
    EXPECT_EQ(memory_of(program(), at("g", 1), 5), file_.elf().bytes_at(file_.address("g"), 5));
    const auto map = MemoryMap::of(process_);
    EXPECT_EQ(map->at(stubs.at), nullptr);
    EXPECT_EQ(map->at(arena_->whole().begin), nullptr);
}

} // namespace
} // namespace djstap::injection
