// SPDX-License-Identifier: GPL-2.0-or-later
#include "image/debug_file.h"

#include "image/debuginfod.h"
#include "image/decompress.h"
#include "image/elf_file.h"
#include "image/kernel.h"
#include "image/module_file.h"
#include "system/hash.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <unistd.h>
#include <zlib.h>

namespace djstap {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view copy_version = "1"; // of the files that copy_of() writes
constexpr std::string_view debug_folder = "/usr/lib/debug";

bool is_readable(const std::string& path) {
    std::error_code error;
    return access(path.c_str(), R_OK) == 0 && fs::is_regular_file(path, error);
}

// The content of .gnu_debuglink.
struct DebugLink {
    std::string name;
    uint32_t crc = 0;
};

std::optional<DebugLink> debug_link(const ElfFile& elf) {
    const ElfSection* section = elf.section(".gnu_debuglink");
    if (!section)
        return std::nullopt;
    const std::string_view bytes = section->bytes, name = bytes.substr(0, bytes.find('\0'));
    const size_t at = (name.size() + 1 + 3) / 4 * 4; // the CRC is aligned
    DebugLink link{std::string(name), 0};
    if (name.empty() || name.find('/') != std::string_view::npos ||
        at + sizeof link.crc > bytes.size())
        return std::nullopt;
    std::memcpy(&link.crc, bytes.data() + at, sizeof link.crc);
    return link;
}

uint32_t crc_of(std::string_view bytes) {
    return static_cast<uint32_t>(
        crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

// One search.
class Search {
  public:
    Search(const Image& image, void (*progress)(const std::string&))
        : image_(image), progress_(progress) {
        const std::string& root = image.kernel().files().root;
        if (!root.empty())
            roots_.push_back(root);
        roots_.emplace_back();
        std::error_code error;
        const fs::path absolute = fs::absolute(image.file(), error);
        path_ = error || image.file().empty() ? "" : absolute.lexically_normal().string();
    }

    DebugFileSearch run(DebugServers servers) {
        const ElfFile* own = image_.elf();
        const bool complete = own && own->section(".debug_info");
        if (complete && !has_compressed_sections(*own)) {
            result_.found = DebugFile{own->path(), image_.file()};
        } else if (complete) {
            take(image_.file());
        } else {
            for (const std::string& path : paths_by_name())
                if (consider(path))
                    return std::move(result_);
            if (!by_link())
                by_build_id(servers);
        }
        return std::move(result_);
    }

  private:
    // The image's path in its own file system, without the suffix of compressed files.
    std::string path_in_root() const {
        const std::string& root = roots_.front();
        std::string path =
            !root.empty() && path_.starts_with(root + "/") ? path_.substr(root.size()) : path_;
        for (std::string_view suffix : compressed_suffixes)
            if (path.ends_with(suffix))
                path.resize(path.size() - suffix.size());
        return path;
    }

    std::vector<std::string> paths_by_name() const {
        std::vector<std::string> names;
        if (image_.kind() == ImageKind::Kernel) {
            const std::string& release = image_.kernel().release();
            names = {"/boot/vmlinux-" + release, "/lib/modules/" + release + "/vmlinux",
                     "/usr/lib/modules/" + release + "/vmlinux"};
        } else if (!path_.empty()) {
            const std::string path = path_in_root();
            names.push_back(path);
            constexpr std::string_view merged = "/usr"; // /lib may be a link to /usr/lib
            if (path.starts_with("/lib/"))
                names.push_back(std::string(merged) + path);
            else if (path.starts_with("/usr/lib/"))
                names.push_back(path.substr(merged.size()));
        }
        std::vector<std::string> paths;
        for (const std::string& root : roots_)
            for (const std::string& name : names)
                for (const char* kind : {"", ".debug"}) {
                    const std::string path = root + std::string(debug_folder) + name + kind;
                    paths.push_back(path);
                    for (std::string_view suffix : compressed_suffixes)
                        paths.push_back(path + std::string(suffix));
                }
        return paths;
    }

    bool by_link() {
        const auto link = image_.elf() ? debug_link(*image_.elf()) : std::nullopt;
        if (!link || path_.empty())
            return false;
        const std::string folder = fs::path(path_).parent_path();
        const std::string in_root = fs::path(path_in_root()).parent_path();
        std::vector<std::string> paths{folder + "/" + link->name, folder + "/.debug/" + link->name};
        for (const std::string& root : roots_)
            paths.push_back(fs::path(root + std::string(debug_folder) + in_root) / link->name);
        return std::any_of(paths.begin(), paths.end(),
                           [&](const std::string& path) { return consider(path, link->crc); });
    }

    void by_build_id(DebugServers servers) {
        for (const std::string& path : build_id_paths(roots_, image_.build_id()))
            if (consider(path))
                return;
        if (servers == DebugServers::Ignore)
            return;
        auto fetched = fetch_debug_file(image_.build_id(), image_.title(), progress_);
        if (!fetched)
            result_.refused.push_back(fetched.failure().message);
        else if (*fetched)
            consider(**fetched);
    }

    // Uses a file if it exists and belongs to the image. A file that is found in several ways is
    // refused once.
    bool consider(const std::string& path, std::optional<uint32_t> crc = std::nullopt) {
        std::error_code error;
        const std::string real = is_readable(path) ? fs::canonical(path, error).string() : "";
        if (real.empty() || error || fs::equivalent(real, path_, error) ||
            std::find(considered_.begin(), considered_.end(), real) != considered_.end())
            return false;
        // Without a build-id only the CRC can tell: the same file may come again with one.
        if (!image_.build_id().empty() || crc)
            considered_.push_back(real);
        return check(path, crc) && take(path);
    }

    bool check(const std::string& path, std::optional<uint32_t> crc) {
        auto elf = open_debug_file(path);
        if (!elf)
            return refuse(elf.failure().message);
        if (!(*elf)->section(".debug_info"))
            return refuse(path + " has no DWARF");
        if ((*elf)->section(".gnu_debugaltlink"))
            return refuse(path + " cannot be read: a part of it is in an alternate file (dwz -m)");
        const std::string id = (*elf)->build_id().digits;
        if (!image_.build_id().empty() && !id.empty())
            return id == image_.build_id() ||
                   refuse(path + " is of another build of " + image_.title() +
                          ": its build-id is " + id + ", not " + image_.build_id());
        if (!crc)
            return refuse(path + " is not used: without a build-id in " +
                          (id.empty() ? path : image_.file()) +
                          " nothing shows that it belongs to " + image_.title());
        auto file = MappedFile::open(path);
        if (!file)
            return refuse(file.failure().message);
        return crc_of((*file)->bytes()) == *crc ||
               refuse(path + " is of another build of " + image_.title() +
                      ": its CRC is not that in .gnu_debuglink of " + image_.file());
    }

    bool refuse(std::string reason) {
        result_.refused.push_back(std::move(reason));
        return false;
    }

    static Result<std::unique_ptr<ElfFile>> open_debug_file(const std::string& path) {
        const bool compressed =
            std::any_of(compressed_suffixes.begin(), compressed_suffixes.end(),
                        [&](std::string_view suffix) { return path.ends_with(suffix); });
        if (!compressed)
            return ElfFile::open(path);
        auto bytes = module_bytes(path);
        if (!bytes)
            return bytes.failure();
        return ElfFile::hold(std::move(*bytes), path);
    }

    bool take(const std::string& path) {
        auto copy = copy_of(path);
        if (!copy)
            return refuse(copy.failure().message);
        result_.found = DebugFile{*copy, path};
        return true;
    }

    // Returns the path of what libdw can read.
    Result<std::string> copy_of(const std::string& path) {
        const bool is_module = image_.kind() == ImageKind::Module;
        if (!is_module) {
            auto elf = ElfFile::open(path);
            if (elf && !has_compressed_sections(**elf))
                return path;
        }
        // A module's copy has the addresses of the image.
        const std::string name = "debug/" + image_.name() + "-" + image_.build_id() + "-" +
                                 hexadecimal(hash_bytes(image_.file()));
        return cached_copy(image_.kernel(), path, name, "-v" + std::string(copy_version),
                           [&](std::string whole) -> Result<std::string> {
                               if (!is_module)
                                   return whole;
                               return link_module_image(std::move(whole), path, image_.elf());
                           });
    }

    const Image& image_;
    void (*progress_)(const std::string&);
    std::vector<std::string> roots_; // the kernel's own, and this machine's
    std::string path_;               // of the image, absolute
    std::vector<std::string> considered_;
    DebugFileSearch result_;
};

} // namespace

std::vector<std::string> build_id_paths(const std::vector<std::string>& roots,
                                        const std::string& build_id) {
    std::vector<std::string> paths;
    constexpr size_t shortest = 6, folder = 2;
    if (build_id.size() < shortest)
        return paths;
    for (const std::string& root : roots)
        paths.push_back(root + std::string(debug_folder) + "/.build-id/" +
                        build_id.substr(0, folder) + "/" + build_id.substr(folder) + ".debug");
    return paths;
}

DebugFolder module_debug_folder(const KernelFiles& kernel) {
    DebugFolder folder{kernel.root + std::string(debug_folder) + "/lib/modules/" + kernel.release,
                       0};
    std::error_code error;
    for (fs::recursive_directory_iterator at(folder.path, error), end; !error && at != end;
         at.increment(error))
        folder.files += at->path().filename().string().find(".ko") != std::string::npos;
    return folder;
}

DebugFileSearch find_debug_file(const Image& image, DebugServers servers,
                                void (*progress)(const std::string&)) {
    return Search(image, progress).run(servers);
}

std::optional<std::string> find_vmlinux(const std::string& root, const std::string& build_id,
                                        const std::string& title,
                                        void (*progress)(const std::string&)) {
    std::vector<std::string> roots{root};
    if (!root.empty())
        roots.emplace_back();
    auto fits = [&](const std::string& path) {
        if (!is_readable(path))
            return false;
        auto elf = ElfFile::open(path);
        const ElfSection* text = elf ? (*elf)->section(".text") : nullptr;
        return text && !text->bytes.empty() && !(*elf)->symbols().empty() &&
               (*elf)->build_id().digits == build_id;
    };
    for (const std::string& path : build_id_paths(roots, build_id))
        if (fits(path))
            return path;
    auto fetched = fetch_debug_file(build_id, title, progress);
    if (!fetched && progress)
        progress(fetched.failure().message);
    if (fetched && *fetched && fits(**fetched))
        return **fetched;
    return std::nullopt;
}

} // namespace djstap
