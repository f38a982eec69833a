// SPDX-License-Identifier: GPL-2.0-or-later
// The control file of a module that is made up.
#include "session/control_file.h"

#include "fake_module.h"
#include "system/file.h"

#include <cerrno>
#include <gtest/gtest.h>
#include <string>
#include <unistd.h>
#include <vector>

namespace djstap {
namespace {

Failure failure_of(const std::string& name) {
    const auto control = ControlFile::open(name);
    EXPECT_FALSE(control);
    return control ? Failure{} : control.failure();
}

Failure failure_of(const FakeModule& module) {
    return failure_of(module.name());
}

const std::string impossible = "/proc/djstap-demo: the module's buffers have an invalid size";

} // namespace

TEST(ControlFile, HasWhatThePageSays) {
    FakeModule module;
    module.page().clock.cycles = 5;
    const auto control = ControlFile::open("demo");
    ASSERT_TRUE(control) << control.failure().message;
    EXPECT_EQ(control->meta().name, "demo");
    EXPECT_EQ(control->clock().cycles, 5u);
    EXPECT_EQ(control->state(), uint32_t{DJS_STATE_LOADED});
    EXPECT_FALSE(control->exit_requested());
    EXPECT_FALSE(control->is_recorder());
    EXPECT_FALSE(control->failed());
    module.page().state = DJS_STATE_RUNNING;
    EXPECT_EQ(control->state(), uint32_t{DJS_STATE_RUNNING});
    module.page().exit_requested = 1;
    EXPECT_TRUE(control->exit_requested());
    module.page().overwrite = 1;
    EXPECT_TRUE(control->is_recorder());
    module.page().error = 1;
    EXPECT_TRUE(control->failed());
}

TEST(ControlFile, OneThatIsNotThereIsNamed) {
    FakeModule module;
    module.open_errors["/proc/djstap-demo"] = ENOENT;
    const Failure failure = failure_of(module);
    EXPECT_EQ(failure.message, "no module 'demo' of djstap is loaded");
    EXPECT_EQ(failure.hint, "no module of djstap is loaded");
}

TEST(ControlFile, OneThatIsReadAlreadyIsNamed) {
    FakeModule module;
    module.open_errors["/proc/djstap-demo"] = EBUSY;
    const Failure failure = failure_of(module);
    EXPECT_EQ(failure.message, "module 'demo' already has a reader");
    EXPECT_EQ(failure.hint, "stop the other djstap or djrun first");
}

TEST(ControlFile, WhatIsMissingToReadItIsNamed) {
    FakeModule module;
    for (int error : {EACCES, EPERM}) {
        module.open_errors["/proc/djstap-demo"] = error;
        module.files["/proc/self/status"] = "Name:\tx\nCapEff:\t000001ffffffffff\n";
        EXPECT_EQ(failure_of(module).message,
                  "module 'demo' can be read only by root (CAP_SYS_ADMIN)");
        module.files["/proc/self/status"] = "Name:\tx\nCapEff:\t0000000000010000\n";
        EXPECT_EQ(failure_of(module).message,
                  std::string("module 'demo' can be read only by root (CAP_SYS_ADMIN): ") +
                      (geteuid() == 0 ? "this process is root without CAP_SYS_ADMIN (a container?)"
                                      : "this process has no CAP_SYS_ADMIN"));
    }
}

TEST(ControlFile, OtherErrorsAreTheSystems) {
    FakeModule module;
    module.open_errors["/proc/djstap-demo"] = EIO;
    EXPECT_EQ(failure_of(module).message, "/proc/djstap-demo: Input/output error");
}

TEST(ControlFile, ADescriptionThatCannotBeReadIsRefused) {
    FakeModule module;
    module.files["/proc/djstap-demo"] = "{";
    EXPECT_EQ(failure_of(module).message, "the module's description cannot be read");
}

TEST(ControlFile, AnotherVersionIsRefusedWithBothNumbers) {
    FakeModule module;
    module.page().abi_version = DJS_ABI_VERSION + 1;
    const std::string ours = std::to_string(DJS_ABI_VERSION),
                      theirs = std::to_string(DJS_ABI_VERSION + 1);
    EXPECT_EQ(failure_of(module).message, "/proc/djstap-demo: the module has version " + theirs +
                                              " of the interface, this program has version " +
                                              ours);
}

TEST(ControlFile, ImpossibleSizesAreRefused) {
    FakeModule module;
    for (uint64_t bytes : {uint64_t{0}, uint64_t{2048}, uint64_t{3 * 4096}, uint64_t{1} << 32}) {
        module.page().ring_bytes = bytes;
        EXPECT_EQ(failure_of(module).message, impossible) << bytes;
    }
    module.page().ring_bytes = 65536;
    module.page().cpus = 8193;
    EXPECT_EQ(failure_of(module).message, impossible);
}

TEST(ControlFile, TheLeastAndMostOfSizesAreTaken) {
    const FakeModule least("least", 1, 4096), most("most", 1, uint64_t{1} << 31);
    EXPECT_TRUE(ControlFile::open("most"));
    FakeModule again("least", 1, 4096);
    EXPECT_TRUE(ControlFile::open("least"));
    again.page().cpus = 8192;
    for (uint32_t cpu = 1; cpu < 8192; cpu++)
        again.absent_cpus.insert(cpu);
    const auto control = ControlFile::open("least");
    ASSERT_TRUE(control);
    EXPECT_EQ(control->rings().size(), 1u);
}

// 256 MiB of them.
TEST(ControlFile, TheMostPagesOfSymbolsAreTaken) {
    FakeModule module;
    module.page().symbol_pages = 1U << 16;
    EXPECT_TRUE(ControlFile::open("demo"));
    module.page().symbol_pages = (1U << 16) + 1;
    EXPECT_EQ(failure_of(module).message,
              "/proc/djstap-demo: the module's table of symbols has an invalid size");
}

TEST(ControlFile, HasARingOfEachCpuThatCanBeThere) {
    FakeModule module("demo", 4);
    module.absent_cpus = {0, 2};
    module.write(0, 11, FakeModule::number(1), 1);
    module.write(0, 33, FakeModule::number(3), 3);
    const auto control = ControlFile::open("demo");
    ASSERT_TRUE(control) << control.failure().message;
    auto rings = control->rings();
    ASSERT_EQ(rings.size(), 2u);
    for (size_t i : {0u, 1u}) {
        ASSERT_EQ(rings[i].state(), Ring::State::Ready);
        EXPECT_EQ(rings[i].bytes(), 65536u);
    }
    EXPECT_EQ(rings[0].cpu(), 1u);
    EXPECT_EQ(rings[0].time(), 11u);
    EXPECT_EQ(rings[1].cpu(), 3u);
    EXPECT_EQ(rings[1].time(), 33u);
}

TEST(ControlFile, MapsTheDataTwiceInARow) {
    FakeModule module("demo", 2, 4096);
    // A record of 32 bytes whose second half is at the ring's begin.
    module.ring_page(1).tail = 4096 - 16;
    auto* record = reinterpret_cast<djs_record*>(module.ring_data(1) + 4096 - 16);
    record->time = 5;
    record->size = 32;
    const int64_t value = 77;
    std::memcpy(module.ring_data(1) + 8, &value, sizeof value);
    const auto control = ControlFile::open("demo");
    ASSERT_TRUE(control) << control.failure().message;
    auto rings = control->rings();
    ASSERT_EQ(rings[1].state(), Ring::State::Ready);
    EXPECT_EQ(*reinterpret_cast<const int64_t*>(
                  reinterpret_cast<const char*>(&rings[1].record() + 1) + 8),
              77);
    rings[1].take();
    rings[1].release();
    EXPECT_EQ(module.ring_page(1).tail, uint64_t{4096 + 16});
}

TEST(ControlFile, MappingThatFailsIsAnError) {
    FakeModule module;
    module.map_error = ENOMEM;
    EXPECT_EQ(failure_of(module).message,
              "/proc/djstap-demo: cannot be mapped: Cannot allocate memory");
    module.map_error = 0;
    module.ring_map_error = EAGAIN;
    EXPECT_EQ(failure_of(module).message,
              "/proc/djstap-demo: a buffer cannot be mapped: Resource temporarily unavailable");
}

TEST(ControlFile, LeavesNothingMapped) {
    FakeModule module("demo", 2);
    module.page().symbol_pages = FakeModule::symbol_pages;
    const auto mapped = [] {
        size_t count = 0;
        const auto maps = read_file("/proc/self/maps");
        for (size_t at = 0; maps && (at = maps->find("memfd:control", at)) != maps->npos; at++)
            count++;
        return count;
    };
    const size_t before = mapped();
    EXPECT_GT(before, 0U) << "the module's own view of it";
    {
        auto control = ControlFile::open("demo");
        ASSERT_TRUE(control);
        EXPECT_GT(mapped(), before);
        const ControlFile moved = std::move(*control);
        EXPECT_EQ(moved.rings().size(), 2U);
        EXPECT_GT(mapped(), before);
    }
    EXPECT_EQ(mapped(), before);
    module.absent_cpus = {1};
    EXPECT_TRUE(ControlFile::open("demo"));
    EXPECT_EQ(mapped(), before);
    module.ring_map_error = EAGAIN;
    EXPECT_FALSE(ControlFile::open("demo"));
    EXPECT_EQ(mapped(), before);
}

TEST(ControlFile, PassesErrorsOfTheModuleOn) {
    FakeModule module;
    module.on_start = [](const djs_start& start) {
        return start.traced_pid == 42 && start.flags == DJS_START_EXECUTES ? EIO : EINVAL;
    };
    module.on_stop = [] { return EBUSY; };
    const auto control = ControlFile::open("demo");
    ASSERT_TRUE(control);
    EXPECT_EQ(control->start(42, true), EIO);
    EXPECT_EQ(control->start(42, false), EINVAL);
    EXPECT_EQ(control->start(43, true), EINVAL);
    EXPECT_EQ(control->stop(), EBUSY);
    module.on_stop = [] { return 0; };
    EXPECT_EQ(control->stop(), 0);
}

TEST(ControlFile, SwitchesProbes) {
    FakeModule module;
    std::vector<std::string> asked;
    module.on_switch = [&](const djs_switch& wanted) {
        asked.push_back(std::to_string(wanted.probe) + (wanted.on == 1 ? " on" : " off") +
                        (wanted.on > 1 ? "?" : ""));
        return wanted.probe == 9 ? ENOENT : 0;
    };
    const auto control = ControlFile::open("demo");
    ASSERT_TRUE(control);
    EXPECT_EQ(control->switch_probe(3, false), 0);
    EXPECT_EQ(control->switch_probe(3, true), 0);
    EXPECT_EQ(control->switch_probe(9, true), ENOENT);
    EXPECT_EQ(asked, (std::vector<std::string>{"3 off", "3 on", "9 on"}));
}

TEST(ControlFile, YieldsCountsWhereThereAreSome) {
    FakeModule module;
    module.counts->errors = 3;
    const auto control = ControlFile::open("demo");
    ASSERT_TRUE(control);
    ASSERT_TRUE(control->counts());
    EXPECT_EQ(control->counts()->errors, 3u);
    module.counts.reset();
    EXPECT_FALSE(control->counts());
}

TEST(ControlFile, ListedProbesHaveTheirSitesState) {
    FakeModule module;
    module.files["/proc/djstap-demo"] = R"json({"version":1,"name":"demo","probes":[
        {"point":"a","mechanism":"djprobe"},{"point":"b","mechanism":"djprobe"},
        {"point":"c","mechanism":"djprobe"},{"point":"d","mechanism":"djprobe"},
        {"point":"e","mechanism":"djprobe"},{"point":"f","mechanism":"timer"}]})json";
    const auto site = [](uint32_t mechanism, int error, uint32_t fallback, uint64_t missed) {
        return djs_site_state{0, mechanism, error, fallback, missed};
    };
    module.sites = {site(DJS_MECHANISM_DJPROBE, 0, DJS_FALLBACK_NONE, 0),
                    site(DJS_MECHANISM_KPROBE, 0, DJS_FALLBACK_BUSY, 4),
                    site(DJS_MECHANISM_KPROBE, 0, DJS_FALLBACK_FTRACE_OFF, 0),
                    site(DJS_MECHANISM_KPROBE, 0, DJS_FALLBACK_TABLE_FULL, 0),
                    site(DJS_MECHANISM_KPROBE, -EINVAL, DJS_FALLBACK_BUSY, 0)};
    const auto control = ControlFile::open("demo");
    ASSERT_TRUE(control);
    const auto probes = control->probes(true);
    ASSERT_EQ(probes.size(), 6u);
    const auto expect = [&](size_t i, const std::string& point, const std::string& mechanism,
                            const std::string& reason, bool attached, uint64_t missed) {
        EXPECT_EQ(probes[i].point, point);
        EXPECT_EQ(probes[i].sites, 1u);
        EXPECT_EQ(probes[i].planned, i < 5 ? "djprobe" : "timer");
        EXPECT_EQ(probes[i].mechanism, mechanism);
        EXPECT_EQ(probes[i].reason, reason);
        EXPECT_EQ(probes[i].attached, attached);
        EXPECT_EQ(probes[i].missed, missed);
    };
    expect(0, "a", "djprobe", "", true, 0);
    expect(1, "b", "kprobe", "another direct user has the function", true, 4);
    expect(2, "c", "kprobe", "kernel.ftrace_enabled is 0", true, 0);
    expect(3, "d", "kprobe", "the kernel's table of direct calls is full", true, 0);
    expect(4, "e", "kprobe", "Invalid argument", false, 0);
    expect(5, "f", "timer", "", true, 0); // the module has no site of it
}

TEST(ControlFile, UnlistedProbesAreCountedByWhatTheyAre) {
    FakeModule module;
    module.files["/proc/djstap-demo"] =
        R"json({"version":1,"name":"demo","probes":[{"point":"a","mechanism":"djprobe"}]})json";
    module.sites = {{0, DJS_MECHANISM_DJPROBE, 0, 0, 100}, {0, DJS_MECHANISM_DJPROBE, 0, 0, 1},
                    {0, DJS_MECHANISM_KPROBE, 0, 0, 2},    {0, DJS_MECHANISM_DJPROBE, 0, 0, 3},
                    {0, DJS_MECHANISM_KPROBE, 5, 0, 4},    {0, DJS_MECHANISM_KPROBE, 0, 1, 5}};
    const auto control = ControlFile::open("demo");
    ASSERT_TRUE(control);
    EXPECT_EQ(control->probes(false).size(), 1u);
    const auto probes = control->probes(true);
    ASSERT_EQ(probes.size(), 5u);
    const auto expect = [&](size_t i, uint64_t sites, const std::string& mechanism,
                            const std::string& reason, uint64_t missed) {
        EXPECT_EQ(probes[i].point, "");
        EXPECT_EQ(probes[i].planned, "");
        EXPECT_EQ(probes[i].sites, sites);
        EXPECT_EQ(probes[i].mechanism, mechanism);
        EXPECT_EQ(probes[i].reason, reason);
        EXPECT_EQ(probes[i].missed, missed);
    };
    expect(1, 2, "djprobe", "", 4);
    expect(2, 1, "kprobe", "", 2);
    expect(3, 1, "kprobe", "Input/output error", 4);
    expect(4, 1, "kprobe", "another direct user has the function", 5);
    EXPECT_TRUE(probes[1].attached);
    EXPECT_FALSE(probes[3].attached);
}

TEST(ControlFile, MechanismsHaveNamesOrNumbers) {
    EXPECT_EQ(mechanism_name(DJS_MECHANISM_KPROBE_INT3), "kprobe-int3");
    EXPECT_EQ(mechanism_name(999), "mechanism 999");
}

} // namespace djstap
