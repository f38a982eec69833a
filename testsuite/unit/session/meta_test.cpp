// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/meta.h"

#include "include/record.h"
#include "module_files.h"
#include "session/module_file.h"
#include "session/module_loader.h"

#include <cerrno>
#include <cstring>
#include <elf.h>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <random>
#include <unistd.h>

using namespace djstap;

namespace {

const std::string example = R"json({"version":1,"name":"demo","release":"6.1.0","build_id":"ab12",
    "formats":[{"text":"%s %d\n","types":"sl"},{"text":"bye"}],"places":["operator '/' at <input>:1:24"],"sites":1,
    "probes":[{"point":"kernel.function(\"x\")","mechanism":"djprobe"}],"script":"<input>","later":true})json";

class ModuleFiles : public testing::Test {
  protected:
    void SetUp() override {
        folder_ = std::filesystem::temp_directory_path() /
                  ("djstap-session-test-" + std::to_string(getpid()));
        std::filesystem::create_directories(folder_);
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }
    std::string put(const std::string& name, const std::string& contents) {
        const auto path = folder_ / name;
        std::ofstream(path, std::ios::binary) << contents;
        return path.string();
    }
    std::filesystem::path folder_;
};

} // namespace

TEST(Meta, ReadsEveryMember) {
    const auto meta = parse_meta(example + std::string(3, '\0'));
    ASSERT_TRUE(meta) << meta.failure().message;
    EXPECT_EQ(meta->name, "demo");
    EXPECT_EQ(meta->build_id, "ab12");
    ASSERT_EQ(meta->formats.size(), 2u);
    EXPECT_EQ(meta->formats[0].text, "%s %d\n");
    EXPECT_EQ(meta->formats[0].types, "sl");
    EXPECT_EQ(meta->places[0], "operator '/' at <input>:1:24");
    EXPECT_EQ(meta->probes[0].mechanism, "djprobe");
}

TEST(Meta, ReadsTextThatIsNotUtf8ByteByByte) {
    const auto with = [](const char* bytes) {
        return parse_meta(R"({"version":1,"name":"demo","formats":[{"text":"?","bytes":)" +
                          std::string(bytes) + "}]}");
    };
    const auto meta = with("[255,37,115]");
    ASSERT_TRUE(meta) << meta.failure().message;
    EXPECT_EQ(meta->formats[0].text, "\xff%s");
    EXPECT_FALSE(with("[256]"));
    EXPECT_FALSE(with("[-1]"));
    EXPECT_FALSE(with("[\"x\"]"));
    EXPECT_FALSE(with("7"));
}

// What older modules do not say is so.
TEST(Meta, WhatIsNotSaidIsNotSo) {
    const auto meta = parse_meta(R"({"version":1,"name":"demo","formats":[{"text":"x"}],
        "globals":[{"name":"n","value":"number"}]})");
    ASSERT_TRUE(meta) << meta.failure().message;
    EXPECT_FALSE(meta->takes_input);
    EXPECT_FALSE(meta->lines);
    EXPECT_EQ(meta->formats[0].keys, 0U);
    EXPECT_FALSE(meta->formats[0].in_snapshot);
    EXPECT_EQ(meta->globals[0].keys, 0U);
    EXPECT_FALSE(meta->globals[0].histogram);
    EXPECT_FALSE(meta->globals[0].adds_up);
    EXPECT_EQ(meta->globals[0].initial, 0);
}

TEST(Meta, ReadsNumbersAndWhatIsSo) {
    const auto meta = parse_meta(R"({"version":1,"name":"demo","takes_input":1,"lines":1,
        "max_speculations":7,"formats":[{"text":"x","keys":2,"in_snapshot":1}],
        "globals":[{"name":"n","value":"number","keys":3,"histogram":1,"adds_up":1,"initial":-5}]})");
    ASSERT_TRUE(meta) << meta.failure().message;
    EXPECT_TRUE(meta->takes_input);
    EXPECT_TRUE(meta->lines);
    EXPECT_EQ(meta->max_speculations, 7U);
    EXPECT_EQ(meta->formats[0].keys, 2U);
    EXPECT_TRUE(meta->formats[0].in_snapshot);
    EXPECT_EQ(meta->globals[0].keys, 3U);
    EXPECT_TRUE(meta->globals[0].histogram);
    EXPECT_TRUE(meta->globals[0].adds_up);
    EXPECT_EQ(meta->globals[0].initial, -5);
    for (const char* wrong : {"\"takes_input\":-1", "\"lines\":\"1\"", "\"max_speculations\":0.5",
                              "\"globals\":[{\"name\":\"n\",\"value\":\"v\",\"initial\":0.5}]"})
        EXPECT_NE(parse_meta(std::string(R"({"version":1,"name":"demo",)") + wrong + "}")
                      .failure()
                      .message.find("is not a number"),
                  std::string::npos)
            << wrong;
}

TEST(Meta, HasTheFieldsOfEvents) {
    const auto none = parse_meta(example);
    ASSERT_TRUE(none);
    EXPECT_EQ(none->fields, 0u);
    EXPECT_TRUE(none->points.empty());
    const auto all = parse_meta(
        R"({"version":2,"name":"x","fields":["tid","probe","pid"],"points":["begin",""]})");
    ASSERT_TRUE(all) << all.failure().message;
    EXPECT_EQ(all->fields, DJS_EVENT_PROBE | DJS_EVENT_PID | DJS_EVENT_TID);
    EXPECT_EQ(all->points, (std::vector<std::string>{"begin", ""}));
    EXPECT_EQ(parse_meta(R"({"version":2,"name":"x","fields":["pid"]})")->fields, DJS_EVENT_PID);
}

TEST(Meta, NonsenseFailsWithAReason) {
    const std::pair<const char*, const char*> cases[] = {
        {"", "cannot be read"},
        {"[]", "cannot be read"},
        {"{\"version\":1", "cannot be read"},
        {"{}", "a version that"},
        {"{\"version\":0,\"name\":\"x\"}", "a version that"},
        {"{\"version\":3,\"name\":\"x\"}", "a version that"},
        {"{\"version\":\"1\"}", "a version that"},
        {"{\"version\":1}", "'name' is missing"},
        {"{\"version\":1,\"name\":5}", "'name' is not a string"},
        {"{\"version\":1,\"name\":\"x\",\"formats\":{}}", "'formats' is not a list"},
        {"{\"version\":1,\"name\":\"x\",\"formats\":[1]}",
         "'formats' contains an element that is not an object"},
        {"{\"version\":1,\"name\":\"x\",\"formats\":[{}]}", "'text' is missing"},
        {"{\"version\":1,\"name\":\"x\",\"places\":[1]}", "'places' contains an element"},
        {"{\"version\":2,\"name\":\"x\",\"fields\":[\"uid\"]}",
         "'fields' contains an unknown field"},
        {"{\"version\":2,\"name\":\"x\",\"fields\":\"pid\"}", "'fields' is not a list"},
        {"{\"version\":2,\"name\":\"x\",\"points\":[1]}",
         "'points' contains an element that is not a string"},
        {"{\"version\":1,\"name\":\"x\",\"probes\":[{\"point\":[]}]}", "'point' is not a string"},
    };
    for (auto& [text, reason] : cases) {
        const auto meta = parse_meta(text);
        ASSERT_FALSE(meta) << text;
        EXPECT_NE(meta.failure().message.find(reason), std::string::npos)
            << text << ": " << meta.failure().message;
    }
}

TEST(Meta, RandomDamageNeverCrashes) {
    std::mt19937_64 random(2);
    for (int i = 0; i < 5000; i++) {
        std::string text = example;
        for (int n = 0; n < 3; n++)
            text[random() % text.size()] = static_cast<char>(random());
        if (const auto meta = parse_meta(text); !meta) {
            EXPECT_FALSE(meta.failure().message.empty());
        }
    }
}

TEST_F(ModuleFiles, NameMetaAndSignature) {
    const std::string info("license=GPL\0name=other\0vermagic=x\0", 34);
    auto bytes = elf({{".djstap.meta", example}, {".modinfo", info}});
    auto file = read_module_file(put("a.ko", bytes));
    ASSERT_TRUE(file) << file.failure().message;
    EXPECT_EQ(file->name, "other");
    EXPECT_EQ(file->meta.name, "demo");
    EXPECT_FALSE(file->is_signed);
    // Words of other names, and without a value, which end the section.
    const std::string odd("named=x\0name=right\0name\0", 24), none("names=x\0name", 12);
    EXPECT_EQ(
        read_module_file(put("c.ko", elf({{".djstap.meta", example}, {".modinfo", odd}})))->name,
        "right");
    EXPECT_EQ(
        read_module_file(put("d.ko", elf({{".djstap.meta", example}, {".modinfo", none}})))->name,
        "demo");
    file = read_module_file(put("b.ko", bytes + "~Module signature appended~\n"));
    ASSERT_TRUE(file);
    EXPECT_TRUE(file->is_signed);
}

TEST_F(ModuleFiles, WhatIsNoModule) {
    put("gtod.ko", "x");
    auto file = read_module_file((folder_ / "gtdo.ko").string());
    ASSERT_FALSE(file);
    EXPECT_NE(file.failure().message.find("No such file"), std::string::npos);
    EXPECT_EQ(file.failure().hint, "did you mean 'gtod.ko'?");
    EXPECT_NE(read_module_file(put("c.ko", "text")).failure().message.find("not a kernel module"),
              std::string::npos);
    EXPECT_NE(read_module_file(put("d.ko", elf({{".text", "x"}})))
                  .failure()
                  .message.find("not one that djstap built"),
              std::string::npos);
    EXPECT_NE(read_module_file(put("e.ko", elf({{".djstap.meta", "{"}})))
                  .failure()
                  .message.find("cannot be read"),
              std::string::npos);
    EXPECT_FALSE(read_module_file(folder_.string()));
    // The names of its sections would be behind the table of them.
    std::string short_table = elf({{".djstap.meta", example}});
    reinterpret_cast<Elf64_Ehdr*>(short_table.data())->e_shnum--;
    EXPECT_NE(read_module_file(put("f.ko", short_table)).failure().message.find("not a kernel"),
              std::string::npos);
}

TEST_F(ModuleFiles, DamagedFilesNeverCrash) {
    const std::string whole =
        elf({{".djstap.meta", example}, {".modinfo", std::string("name=x\0", 7)}});
    for (size_t size = 0; size < whole.size(); size += 13)
        EXPECT_FALSE(read_module_file(put("cut.ko", whole.substr(0, size))));
    std::mt19937_64 random(3);
    for (int i = 0; i < 500; i++) {
        std::string damaged = whole;
        for (int n = 0; n < 4; n++)
            damaged[random() % 2 ? random() % 64 : damaged.size() - 1 - random() % 256] =
                static_cast<char>(random());
        const auto file = read_module_file(put("bad.ko", damaged));
        if (!file) {
            EXPECT_FALSE(file.failure().message.empty());
        }
    }
}

TEST_F(ModuleFiles, AModuleOfAnotherKernelIsRefusedWithBothNames) {
    ModuleFile module;
    module.path = "x.ko";
    module.meta.release = "1.2.3-none";
    const auto fits = check_module_fits(module);
    ASSERT_FALSE(fits);
    EXPECT_NE(fits.failure().message.find("1.2.3-none"), std::string::npos);
    EXPECT_NE(fits.failure().message.find(running_release()), std::string::npos);
}

TEST(ModuleLoader, BuildIdOfNotes) {
    const auto note = [](uint32_t type, const std::string& name, const std::string& data) {
        const uint32_t header[] = {static_cast<uint32_t>(name.size() + 1),
                                   static_cast<uint32_t>(data.size()), type};
        std::string bytes(reinterpret_cast<const char*>(header), sizeof(header));
        bytes.append(name).append(1, '\0').resize((bytes.size() + 3) / 4 * 4);
        bytes.append(data).resize((bytes.size() + 3) / 4 * 4);
        return bytes;
    };
    const std::string notes =
        note(6, "Linux", "abcde") + note(NT_GNU_BUILD_ID, "GNU", "\x12\xab\xff");
    EXPECT_EQ(build_id_of_notes(notes), "12abff");
    EXPECT_EQ(build_id_of_notes(note(6, "Xen", "abcd")), "");
    for (size_t size = 0; size < notes.size() - 4; size++)
        EXPECT_EQ(build_id_of_notes(notes.substr(0, size)), "");
}

TEST(ModuleLoader, EveryLoadErrorHasAReason) {
    for (int error :
         {EEXIST, EPERM, EKEYREJECTED, ENOKEY, EBADMSG, ENOEXEC, ENOENT, EINVAL, ENOMEM, EBUSY}) {
        const auto failure = explain_load_error("demo", error);
        EXPECT_NE(failure.message.find("module demo cannot be loaded: "), std::string::npos);
        EXPECT_FALSE(failure.hint.empty()) << error;
    }
    EXPECT_NE(explain_load_error("demo", EEXIST).hint.find("--attach demo"), std::string::npos);
}
