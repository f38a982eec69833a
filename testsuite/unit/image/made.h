// SPDX-License-Identifier: GPL-2.0-or-later
// Files that the tests make with the usual tools.
#pragma once
#include "image/elf_file.h"
#include "system/process.h"
#include "system/temporary.h"

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <gtest/gtest.h>
#include <optional>
#include <string>
#include <vector>

namespace djstap::test {

namespace fs = std::filesystem;

// A folder that is removed at the end.
class Folder {
  public:
    Folder()
        : folder_(
              std::move(*djstap::TemporaryFolder::create(fs::canonical(temporary_directory())))) {}

    const std::string& path() const { return folder_.path(); }
    std::string at(const std::string& name) const { return folder_.file(name); }
    std::string write(const std::string& name, const std::string& text) const {
        fs::create_directories(fs::path(at(name)).parent_path());
        EXPECT_TRUE(write_file(at(name), text));
        return at(name);
    }
    // Runs a shell's commands there, which must succeed.
    void shell(const std::string& commands) const {
        const auto ran = run_program({"env", "-C", path(), "sh", "-ec", commands});
        EXPECT_TRUE(ran && ran->status == 0) << commands << "\n"
                                             << (ran ? ran->output : ran.failure().message);
    }
    std::string bytes(const std::string& name) const {
        auto read = read_file(at(name));
        EXPECT_TRUE(read) << name;
        return read ? *read : "";
    }
    std::unique_ptr<ElfFile> elf(const std::string& name) const {
        auto file = ElfFile::open(at(name));
        EXPECT_TRUE(file) << (file ? "" : file.failure().message);
        return file ? std::move(*file) : nullptr;
    }

  private:
    djstap::TemporaryFolder folder_;
};

// A variable of the environment, while this exists.
class Variable {
  public:
    Variable(const char* name, const std::string& value) : name_(name) {
        if (const char* old = getenv(name))
            before_ = old;
        setenv(name, value.c_str(), 1);
    }
    ~Variable() {
        if (before_)
            setenv(name_, before_->c_str(), 1);
        else
            unsetenv(name_);
    }
    Variable(const Variable&) = delete;
    Variable& operator=(const Variable&) = delete;

  private:
    const char* name_;
    std::optional<std::string> before_;
};

// The headers of an ELF file's sections, to be changed.
class Sections {
  public:
    explicit Sections(std::string& bytes) : bytes_(bytes) {
        std::memcpy(&header_, bytes.data(), sizeof header_);
        all.resize(header_.e_shnum);
        std::memcpy(all.data(), bytes.data() + header_.e_shoff, all.size() * sizeof(Elf64_Shdr));
    }
    std::string name(const Elf64_Shdr& section) const {
        return bytes_.data() + all[header_.e_shstrndx].sh_offset + section.sh_name;
    }
    Elf64_Shdr& operator[](const std::string& wanted) {
        for (Elf64_Shdr& each : all)
            if (name(each) == wanted)
                return each;
        ADD_FAILURE() << "no section " << wanted;
        return all[0];
    }
    void store() const {
        std::memcpy(bytes_.data() + header_.e_shoff, all.data(), all.size() * sizeof(Elf64_Shdr));
    }

    std::vector<Elf64_Shdr> all;

  private:
    std::string& bytes_;
    Elf64_Ehdr header_{};
};

} // namespace djstap::test
