// SPDX-License-Identifier: GPL-2.0-or-later
#include "image/libraries.h"

#include "arch/arch.h"
#include "image/elf_file.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

namespace djstap {

namespace {

namespace fs = std::filesystem;

constexpr size_t most_libraries = 512;

// What the dynamic section says.
struct Dynamic {
    std::vector<std::string> needed, search; // search: $ORIGIN is replaced
};

void add_folders(std::string_view list, const std::string& origin, std::vector<std::string>& out) {
    std::istringstream folders{std::string(list)};
    for (std::string folder; std::getline(folders, folder, ':');) {
        for (const std::string_view name : {"$ORIGIN", "${ORIGIN}"})
            if (const size_t at = folder.find(name); at != std::string::npos)
                folder.replace(at, name.size(), origin);
        if (folder.starts_with('/'))
            out.push_back(folder);
    }
}

Dynamic dynamic_of(const ElfFile& elf) {
    Dynamic dynamic;
    const std::string origin = fs::path(elf.path()).parent_path();
    for (const ElfSection& section : elf.sections()) {
        if (section.type != SHT_DYNAMIC || section.link >= elf.sections().size())
            continue;
        const std::string_view names = elf.sections()[section.link].bytes;
        for (size_t at = 0; at + sizeof(Elf64_Dyn) <= section.bytes.size();
             at += sizeof(Elf64_Dyn)) {
            Elf64_Dyn entry;
            std::memcpy(&entry, section.bytes.data() + at, sizeof entry);
            const auto offset = static_cast<uint32_t>(entry.d_un.d_val);
            if (entry.d_tag == DT_NEEDED)
                dynamic.needed.emplace_back(pool_string(names, offset));
            else if (entry.d_tag == DT_RUNPATH || entry.d_tag == DT_RPATH)
                add_folders(pool_string(names, offset), origin, dynamic.search);
        }
    }
    return dynamic;
}

// The folders in /etc/ld.so.conf and the files in its folder, and the loader's own.
const std::vector<std::string>& system_folders() {
    static const std::vector<std::string> folders = [] {
        std::vector<std::string> out;
        std::set<std::string> files;
        std::error_code error;
        for (fs::directory_iterator at("/etc/ld.so.conf.d", error), end; !error && at != end;
             at.increment(error))
            if (at->path().extension() == ".conf")
                files.insert(at->path());
        files.insert("/etc/ld.so.conf");
        for (const std::string& file : files) {
            std::ifstream lines(file);
            for (std::string line; std::getline(lines, line);)
                if (line.starts_with('/'))
                    out.push_back(line.substr(0, line.find_first_of(" \t\r#")));
        }
        for (const char* folder : {"/lib64", "/usr/lib64", "/lib", "/usr/lib"})
            out.emplace_back(folder);
        return out;
    }();
    return folders;
}

std::string find_library(const std::string& name, const std::vector<std::string>& search) {
    auto usable = [](const std::string& path) -> std::string {
        std::error_code error;
        const std::string real = fs::canonical(path, error).string();
        return !error && ElfFile::open(real) ? real : "";
    };
    if (name.find('/') != std::string::npos)
        return usable(name);
    for (const auto* folders : {&search, &system_folders()})
        for (const std::string& folder : *folders)
            if (std::string found = usable(folder + "/" + name); !found.empty())
                return found;
    return {};
}

std::string loader_of(const ElfFile& elf) {
    const ElfSection* section = elf.section(".interp");
    return section ? std::string(section->bytes.substr(0, section->bytes.find('\0'))) : "";
}

} // namespace

std::vector<std::string> libraries_of(const Image& program) {
    std::vector<std::string> found;
    auto add = [&](const std::string& path) {
        if (!path.empty() && found.size() < most_libraries &&
            std::find(found.begin(), found.end(), path) == found.end())
            found.push_back(path);
    };
    auto add_needed = [&](const ElfFile& elf) {
        const Dynamic dynamic = dynamic_of(elf);
        for (const std::string& name : dynamic.needed)
            add(find_library(name, dynamic.search));
    };
    if (!program.elf())
        return found;
    if (const std::string interpreter = loader_of(*program.elf()); !interpreter.empty())
        add(find_library(interpreter, {}));
    add_needed(*program.elf());
    for (size_t i = 0; i < found.size(); i++)
        if (auto elf = ElfFile::open(found[i]))
            add_needed(**elf);
    return found;
}

std::vector<LinkageStub> linkage_stubs(const Image& program) {
    std::vector<LinkageStub> stubs;
    const ElfFile* elf = program.elf();
    if (!elf)
        return stubs;
    std::map<uint64_t, std::string_view>
        slots; // the names of the functions whose addresses they hold
    for (const ElfSection& section : elf->sections()) {
        if (section.type != SHT_RELA || section.link >= elf->sections().size())
            continue;
        const ElfSection& symbols = elf->sections()[section.link];
        if (symbols.type != SHT_DYNSYM || symbols.link >= elf->sections().size())
            continue;
        for (size_t at = 0; at + sizeof(Elf64_Rela) <= section.bytes.size();
             at += sizeof(Elf64_Rela)) {
            Elf64_Rela relocation;
            std::memcpy(&relocation, section.bytes.data() + at, sizeof relocation);
            const uint64_t number = ELF64_R_SYM(relocation.r_info);
            if (number == 0 || number >= symbols.bytes.size() / sizeof(Elf64_Sym))
                continue;
            Elf64_Sym symbol;
            std::memcpy(&symbol, symbols.bytes.data() + number * sizeof symbol, sizeof symbol);
            slots[relocation.r_offset] =
                pool_string(elf->sections()[symbols.link].bytes, symbol.st_name);
        }
    }
    std::set<std::string_view> known;
    constexpr size_t step = 8; // stubs are aligned to it
    for (const char* name : {".plt.sec", ".plt.got", ".plt"}) {
        const ElfSection* section = elf->section(name);
        for (size_t at = 0; section && at < section->bytes.size(); at += step) {
            const uint64_t address = section->address + at;
            const auto slot = arch::slot_of_stub(section->bytes.substr(at), address);
            const auto called = slot ? slots.find(*slot) : slots.end();
            if (called != slots.end() && !called->second.empty() &&
                known.insert(called->second).second)
                stubs.push_back({std::string(called->second), address});
        }
    }
    std::sort(stubs.begin(), stubs.end(),
              [](const LinkageStub& a, const LinkageStub& b) { return a.name < b.name; });
    return stubs;
}

} // namespace djstap
