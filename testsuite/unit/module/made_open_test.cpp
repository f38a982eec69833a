// SPDX-License-Identifier: GPL-2.0-or-later
// The cache of kits, with kits for a kernel which is made up.
#include "made_kbuild.h"
#include "module/kit_files.h"

#include <chrono>
#include <csignal>
#include <pthread.h>
#include <sys/file.h>
#include <thread>
#include <unistd.h>

namespace djstap::module {
namespace {

using Names = std::vector<std::string>;
namespace fs = std::filesystem;

class MadeOpen : public test::MadeKbuild {
  protected:
    MadeOpen() {
        // Nothing of it is compiled: what is looked at is where kits are.
        fs::remove(own("runtime/offsets.c"));
        change("runtime/Kbuild", "djs-cold-objects := offsets.o\n", "");
        change("runtime/Kbuild", " offsets.o", "");
        change("build/scripts/mod.S", "\n.section __versions",
               "\n" + versions({"vfs_read", "kfree"}) + ".section __versions");
    }
    Result<RuntimeKit> open(const NeededSymbols& needed = nullptr) {
        return open_runtime_kit(*kernel_, sources(), telling(), needed);
    }
    static NeededSymbols only(const std::set<std::string>& symbols) {
        return [symbols] { return symbols; };
    }
    std::string said() {
        const auto kit = open();
        return kit ? "" : kit.failure().message;
    }
    // Other sources: another kit of the same kernel.
    void change_runtime(const std::string& text) const {
        put("runtime/own.h", content(own("runtime/own.h")) + "// " + text + "\n");
    }
    Names kits() const {
        std::set<std::string> names;
        for (const auto& each : fs::directory_iterator(cache_.path + "/runtime"))
            if (each.is_directory())
                names.insert(each.path().filename());
        return {names.begin(), names.end()};
    }
    static std::string name_of(const RuntimeKit& kit) { return fs::path(kit.directory).filename(); }
    static bool exists(const RuntimeKit& kit) { return fs::exists(kit.directory); }
    static void set_age(const RuntimeKit& kit, int hours) {
        fs::last_write_time(kit.directory + "/manifest",
                            fs::file_time_type::clock::now() - std::chrono::hours(hours));
    }
    std::string lock_of(const RuntimeKit& kit) const {
        return cache_.path + "/runtime/." + name_of(kit) + ".lock";
    }
};

TEST_F(MadeOpen, AKitIsTakenFromTheCache) {
    const auto first = open();
    ASSERT_TRUE(first) << first.failure().message;
    EXPECT_TRUE(first->built);
    EXPECT_EQ(first->indirect_because, "");
    EXPECT_EQ(first->parts, PartNames{"extra"});
    EXPECT_TRUE(first->directory.starts_with(cache_.path + "/runtime/6.1.0-made-unknown-"));
    EXPECT_EQ(name_of(*first).size(), std::string("6.1.0-made-unknown-").size() + 16);
    const auto second = open();
    ASSERT_TRUE(second);
    EXPECT_FALSE(second->built);
    EXPECT_EQ(second->directory, first->directory);
    EXPECT_TRUE(told_.empty());
    EXPECT_GT(second->times.open, 0);
    EXPECT_EQ(second->times.waiting, 0);
    EXPECT_EQ(kits(), Names{name_of(*first)});
    // Both hold its files open.
    fs::remove_all(first->directory);
    for (const RuntimeKit* kit : {&*first, &*second}) {
        for (const char* name : {"runtime.o", "module.o", "module.lds"})
            EXPECT_TRUE(kit->files->path(name).starts_with("/proc/")) << name;
        EXPECT_EQ(kit->files->path("manifest"), kit->directory + "/manifest");
        EXPECT_TRUE(ElfObject::read(content(kit->files->path("runtime.o")), "runtime.o"));
    }
}

// The same folder by another path, and another one.
TEST_F(MadeOpen, AKitIsThatOfItsBuildFolder) {
    const auto first = open();
    ASSERT_TRUE(first);
    fs::create_directory_symlink(own("build"), own("link"));
    KernelFiles files = kernel_->files();
    files.build_dir = own("link");
    kernel_ = std::move(*Kernel::open(files));
    EXPECT_FALSE(open()->built);
    fs::copy(own("build"), own("other"), fs::copy_options::recursive);
    files.build_dir = own("other");
    kernel_ = std::move(*Kernel::open(files));
    const auto other = open();
    ASSERT_TRUE(other) << other.failure().message;
    EXPECT_TRUE(other->built);
    EXPECT_NE(other->directory, first->directory);
    // Neither replaces the other.
    fs::copy(own("build"), own("third"), fs::copy_options::recursive);
    files.build_dir = own("third");
    kernel_ = std::move(*Kernel::open(files));
    ASSERT_TRUE(open());
    EXPECT_EQ(kits().size(), 3U);
}

TEST_F(MadeOpen, AKitIsThatOfItsSources) {
    const auto first = open();
    ASSERT_TRUE(first);
    const std::string text = content(own("runtime/own.h"));
    change_runtime("x");
    EXPECT_NE(open()->directory, first->directory);
    put("runtime/own.h", text);
    EXPECT_EQ(open()->directory, first->directory);
    // A name matters as much as a content.
    put("runtime/unused.h", "");
    EXPECT_NE(open()->directory, first->directory);
}

TEST_F(MadeOpen, PartsAreAddedWhenTheyAreNeeded) {
    const auto first = open(only({"djs_double"}));
    ASSERT_TRUE(first) << first.failure().message;
    EXPECT_TRUE(first->parts.empty());
    EXPECT_FALSE(open(only({}))->built);
    const auto second = open(only({"djs_extra"}));
    ASSERT_TRUE(second) << second.failure().message;
    EXPECT_TRUE(second->built);
    EXPECT_EQ(told_, Names{"adding to the runtime for 6.1.0-made (once): extra"});
    EXPECT_EQ(second->state, 1U);
    EXPECT_EQ(second->directory, first->directory);
    EXPECT_TRUE(second->files->path("1-runtime.o").starts_with("/proc/"));
    // More than is needed is enough, and what may be anything needs all.
    EXPECT_FALSE(open(only({}))->built);
    EXPECT_FALSE(open()->built);
    EXPECT_FALSE(open([] { return std::nullopt; })->built);
    change_runtime("x");
    EXPECT_EQ(open([] { return std::nullopt; })->parts, PartNames{"extra"});
}

TEST_F(MadeOpen, KbuildBuildsAllIfAPartCannotBeAdded) {
    put("runtime/extra.c",
        content(own("runtime/extra.c")) +
            "_Static_assert(sizeof(KBUILD_BASENAME) != sizeof(\"stub\"), \"\");\n");
    const auto first = open(only({}));
    ASSERT_TRUE(first) << first.failure().message;
    EXPECT_EQ(first->indirect_because, "");
    const auto second = open(only({"djs_extra"}));
    ASSERT_TRUE(second) << second.failure().message;
    EXPECT_TRUE(second->indirect_because.starts_with("djs_handler_1:\n"))
        << second->indirect_because;
    EXPECT_EQ(second->parts, PartNames{"extra"});
    EXPECT_EQ(second->state, 0U);
    EXPECT_EQ(second->directory, first->directory);
    EXPECT_EQ(kits(), Names{name_of(*first)}) << "nothing is left of the building";
    EXPECT_FALSE(open()->built);
}

// What a kit must be to be taken: that of this kernel, with all to which it refers.
TEST_F(MadeOpen, AKitIsIntactAndUsable) {
    put("build/scripts/sign-file", "");
    const auto kit = open();
    ASSERT_TRUE(kit);
    const std::string path = kit->directory + "/manifest", text = content(path);
    const Manifest manifest = *read_manifest(text);
    const auto loads = [&] { return load_kit(kit->directory, *kernel_).has_value(); };
    const auto with = [&](const auto& change) {
        Manifest changed = manifest;
        change(changed.kit);
        EXPECT_TRUE(write_file(path, write_manifest(changed.kit, changed.files)));
        const bool loaded = loads();
        EXPECT_TRUE(write_file(path, text));
        return loaded;
    };
    EXPECT_EQ(manifest.kit.sign_file, own("build/scripts/sign-file"));
    EXPECT_TRUE(with([](RuntimeKit&) {}));
    EXPECT_FALSE(with([](RuntimeKit& own) { own.release = "6.1.0"; }));
    EXPECT_FALSE(with([](RuntimeKit& own) { own.build_id = "00"; }));
    EXPECT_FALSE(with([](RuntimeKit& own) { own.linker[0] = "no-such-ld"; }));
    EXPECT_FALSE(with([](RuntimeKit& own) { own.objtool[0] = "/no/objtool"; }));
    EXPECT_TRUE(with([](RuntimeKit& own) { own.objtool.clear(); }));
    EXPECT_FALSE(with([](RuntimeKit& own) { own.build_dir = "/no/build"; }));
    EXPECT_FALSE(with([&](RuntimeKit& own) { own.build_dir = path; })) << "it is a file";
    EXPECT_FALSE(with([](RuntimeKit& own) { own.sign_file = "/no/sign-file"; }));
    EXPECT_TRUE(with([](RuntimeKit& own) { own.sign_file.clear(); }));
    for (const KitFile& file : manifest.files) {
        SCOPED_TRACE(file.name);
        const std::string name = kit->directory + "/" + file.name, whole = content(name);
        std::string flipped = whole;
        flipped[whole.size() / 2] ^= 1;
        for (const std::string& damaged : {flipped, whole + '\0', std::string()}) {
            ASSERT_TRUE(write_file(name, damaged));
            EXPECT_FALSE(loads());
        }
        fs::remove(name);
        EXPECT_FALSE(loads());
        ASSERT_TRUE(write_file(name, whole));
        fs::permissions(name, fs::perms::others_write, fs::perm_options::add);
        EXPECT_FALSE(loads()) << "anyone may change it";
        fs::permissions(name, fs::perms::others_write, fs::perm_options::remove);
        EXPECT_TRUE(loads());
    }
    fs::remove(path);
    EXPECT_FALSE(loads());
}

TEST_F(MadeOpen, ADamagedKitIsReplaced) {
    const auto kit = open();
    ASSERT_TRUE(kit);
    const std::string parent = cache_.path + "/runtime/", name = name_of(*kit);
    ASSERT_TRUE(write_file(kit->directory + "/runtime.o", "x"));
    put("left", "");
    // What interrupted builds of it have left goes, too; what may be others' stays.
    for (const std::string& left : {"." + name + ".part", "." + name + ".part-old"})
        fs::create_directory(parent + left);
    fs::create_directory(parent + ".other.part");
    fs::create_directory(kit->directory + "/folder");
    const auto anew = open();
    ASSERT_TRUE(anew) << anew.failure().message;
    EXPECT_TRUE(anew->built);
    EXPECT_EQ(anew->directory, kit->directory);
    EXPECT_FALSE(fs::exists(anew->directory + "/folder"));
    EXPECT_EQ(kits(), (Names{".other.part", name}));
    EXPECT_FALSE(open()->built);
}

// If neither the new one can get the name nor the old one another.
TEST_F(MadeOpen, AKitThatCannotBePutInPlaceIsAFailure) {
    const auto kit = open();
    ASSERT_TRUE(kit) << kit.failure().message;
    const std::string damaged = kit->directory + "/runtime.o",
                      part = cache_.path + "/runtime/." + name_of(*kit) + ".part";
    ASSERT_TRUE(write_file(damaged, "x"));
    const auto again = open_runtime_kit(
        *kernel_, sources(), [&](const std::string&) { fs::create_directories(part + "-old/x"); });
    ASSERT_FALSE(again);
    EXPECT_TRUE(again.failure().message.starts_with(kit->directory + ": cannot create: "))
        << again.failure().message;
    EXPECT_FALSE(fs::exists(part)) << "nothing is left of the building";
    EXPECT_EQ(content(damaged), "x");
    const auto later = open();
    ASSERT_TRUE(later) << later.failure().message;
    EXPECT_TRUE(later->built);
    EXPECT_FALSE(fs::exists(part + "-old"));
}

TEST_F(MadeOpen, OfFormerKitsTheLastOneStays) {
    std::vector<RuntimeKit> all;
    for (const char* text : {"1", "2", "3"}) {
        change_runtime(text);
        all.push_back(*open());
        ASSERT_TRUE(all.back().built);
        if (all.size() == 2) // the one that was written later is older
            set_age(all[0], 1);
        if (all.size() == 2)
            set_age(all[1], 2);
    }
    EXPECT_TRUE(exists(all[0]));
    EXPECT_FALSE(exists(all[1]));
    EXPECT_TRUE(exists(all[2]));
}

TEST_F(MadeOpen, FormerKitsThatAreInUseStay) {
    std::vector<RuntimeKit> all;
    const std::string parent = cache_.path + "/runtime/";
    for (const char* text : {"1", "2"}) {
        change_runtime(text);
        all.push_back(*open());
    }
    set_age(all[0], 2);
    set_age(all[1], 1);
    // Another kernel's, and one that nobody can read.
    const std::string start = "6.1.0-made-unknown-";
    fs::create_directory(parent + "6.1.0-other-unknown-0");
    fs::create_directory(parent + start + "0");
    FileDescriptor held(::open(lock_of(all[0]).c_str(), O_RDWR | O_CLOEXEC));
    ASSERT_EQ(flock(held.get(), LOCK_EX | LOCK_NB), 0);
    change_runtime("3");
    all.push_back(*open());
    EXPECT_TRUE(exists(all[0])) << "another djstap builds it";
    EXPECT_TRUE(exists(all[1]));
    EXPECT_TRUE(fs::exists(parent + "6.1.0-other-unknown-0"));
    EXPECT_FALSE(fs::exists(parent + start + "0"));
    held.reset();
    change_runtime("4");
    all.push_back(*open());
    EXPECT_FALSE(exists(all[0]));
    EXPECT_FALSE(exists(all[1]));
    EXPECT_TRUE(exists(all[2]));
    EXPECT_TRUE(exists(all[3]));
}

// Who holds the lock gives it back when he hears that another one waits.
TEST_F(MadeOpen, OneBuildsWhileOthersWait) {
    const auto kit = open();
    ASSERT_TRUE(kit);
    fs::remove_all(kit->directory);
    FileDescriptor held(::open(lock_of(*kit).c_str(), O_RDWR | O_CLOEXEC));
    ASSERT_EQ(flock(held.get(), LOCK_EX | LOCK_NB), 0);
    Names told;
    const auto second = open_runtime_kit(*kernel_, sources(), [&](const std::string& step) {
        told.push_back(step);
        held.reset();
    });
    ASSERT_TRUE(second) << second.failure().message;
    ASSERT_GE(told.size(), 2U);
    EXPECT_EQ(told[0], "waiting for another djstap to build the runtime for 6.1.0-made");
    EXPECT_GT(second->times.waiting, 0);
    EXPECT_GE(second->times.open, second->times.waiting);
    // What the other one has built meanwhile is taken.
    fs::rename(second->directory, own("kept"));
    held = FileDescriptor(::open(lock_of(*kit).c_str(), O_RDWR | O_CLOEXEC));
    ASSERT_EQ(flock(held.get(), LOCK_EX | LOCK_NB), 0);
    const auto third = open_runtime_kit(*kernel_, sources(), [&](const std::string&) {
        fs::copy(own("kept"), second->directory);
        held.reset();
    });
    ASSERT_TRUE(third) << third.failure().message;
    EXPECT_FALSE(third->built);
}

// Several signals come, as the first may be there before the wait begins.
TEST_F(MadeOpen, SignalsDoNotEndTheWait) {
    const auto kit = open();
    ASSERT_TRUE(kit) << kit.failure().message;
    fs::rename(kit->directory, own("kept"));
    FileDescriptor held(::open(lock_of(*kit).c_str(), O_RDWR | O_CLOEXEC));
    ASSERT_EQ(flock(held.get(), LOCK_EX | LOCK_NB), 0);
    struct sigaction noticed = {}, before = {};
    noticed.sa_handler = [](int) {}; // without SA_RESTART
    ASSERT_EQ(sigaction(SIGUSR1, &noticed, &before), 0);
    const pthread_t waits = pthread_self();
    std::thread other;
    const auto again = open_runtime_kit(*kernel_, sources(), [&](const std::string&) {
        if (other.joinable())
            return;
        other = std::thread([&] {
            for (int i = 0; i < 20; i++) {
                pthread_kill(waits, SIGUSR1);
                usleep(5000);
            }
            std::error_code error;
            fs::rename(own("kept"), kit->directory, error);
            held.reset();
        });
    });
    ASSERT_TRUE(other.joinable()) << "nobody waited";
    other.join();
    sigaction(SIGUSR1, &before, nullptr);
    ASSERT_TRUE(again) << again.failure().message;
    EXPECT_FALSE(again->built);
    EXPECT_GE(again->times.waiting, 100);
}

TEST_F(MadeOpen, HeadersOfAnotherKernelAreRefused) {
    put("build/include/generated/utsrelease.h", "#define UTS_RELEASE \"6.1.0-other\"\n");
    EXPECT_EQ(said(), "the kernel headers in " + own("build") +
                          " are those of 6.1.0-other, the kernel is 6.1.0-made");
    EXPECT_FALSE(fs::exists(cache_.path + "/runtime"));
}

TEST_F(MadeOpen, NothingIsLeftOfWhatCannotBeBuilt) {
    put("runtime/main.c", "int djs_main(void) { return none; }\n");
    EXPECT_TRUE(said().starts_with("building the runtime for 6.1.0-made failed:\n")) << said();
    EXPECT_TRUE(kits().empty());
    open_kernel("CONFIG_MODVERSIONS=y\nCONFIG_OBJTOOL=y\nCONFIG_CC_IS_CLANG=y\n");
    EXPECT_TRUE(said().starts_with("kernel 6.1.0-made is not supported: CONFIG_CC_IS_CLANG: "));
    open_kernel("CONFIG_MODVERSIONS=y\nCONFIG_OBJTOOL=y\n");
    fs::remove(own("build/Module.symvers"));
    EXPECT_EQ(said(), "the kernel headers of 6.1.0-made are incomplete: missing " +
                          own("build/Module.symvers"));
    fs::permissions(cache_.path + "/runtime", fs::perms::others_write, fs::perm_options::add);
    EXPECT_TRUE(said().starts_with(cache_.path + "/runtime: is writable by others")) << said();
}

} // namespace
} // namespace djstap::module
