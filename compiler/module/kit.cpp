// SPDX-License-Identifier: GPL-2.0-or-later
// The cache of runtime kits: one folder for each kernel and state of the runtime's sources.
#include "cache/cache.h"
#include "diagnostics/suggest.h"
#include "image/configuration.h"
#include "module/kit_build.h"
#include "module/kit_files.h"
#include "module/manifest.h"
#include "module/module.h"
#include "module/parts.h"
#include "module/tool.h"
#include "system/stopwatch.h"
#include "system/temporary.h"
#include "system/trust.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace djstap {

namespace fs = std::filesystem;
using namespace module;

namespace {

// Returns the folder with the kernel's headers and tools, which a kit refers to: a kernel may have
// several (-r FOLDER).
std::string build_folder(const Kernel& kernel) {
    std::error_code error;
    const fs::path real = fs::canonical(kernel.files().build_dir, error);
    return error ? kernel.files().build_dir : real.string();
}

std::string key_of(const Kernel& kernel, const std::vector<SourceFile>& sources) {
    uint64_t hash = hash_bytes(build_folder(kernel), hash_bytes(recipe_version));
    for (const SourceFile& file : sources)
        hash = hash_bytes(file.text, hash_bytes(file.name, hash));
    std::string build_id = kernel.build_id().substr(0, 16);
    return kernel.release() + "-" + (build_id.empty() ? "unknown" : build_id) + "-" +
           hexadecimal(hash);
}

// Held while a kit is built.
class KitLock {
  public:
    static Result<KitLock> take(const std::string& path, const std::function<void()>& waiting) {
        FileDescriptor file(open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0600));
        if (!file)
            return path_failure(path, "cannot create");
        if (flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
            waiting();
            while (flock(file.get(), LOCK_EX) != 0)
                if (errno != EINTR)
                    return path_failure(path, "cannot lock");
        }
        return KitLock(std::move(file));
    }

    // Returns nothing if another djstap holds it.
    static std::optional<KitLock> take_if_free(const std::string& path) {
        FileDescriptor file(open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0600));
        if (!file || flock(file.get(), LOCK_EX | LOCK_NB) != 0)
            return std::nullopt;
        return KitLock(std::move(file));
    }

  private:
    explicit KitLock(FileDescriptor file) : file_(std::move(file)) {}
    FileDescriptor file_;
};

// Removes what interrupted builds and damaged kits left behind. Requires the lock.
void remove_leftovers(const std::string& parent, const std::string& key) {
    std::error_code error;
    for (fs::directory_iterator at(parent, error), end; !error && at != end; at.increment(error)) {
        std::error_code ignored;
        if (at->path().filename().string().starts_with("." + key + ".part"))
            fs::remove_all(at->path(), ignored);
    }
}

Status put_in_place(const std::string& part, const std::string& folder) {
    if (rename(part.c_str(), folder.c_str()) == 0)
        return Done{};
    // A damaged kit has this name: replace it.
    std::string old = part + "-old";
    if (rename(folder.c_str(), old.c_str()) == 0 && rename(part.c_str(), folder.c_str()) == 0) {
        std::error_code ignored;
        fs::remove_all(old, ignored);
        return Done{};
    }
    return Failure{folder + ": cannot create: " + std::strerror(errno), ""};
}

// Returns whether everything exists that a kit refers to outside its own folder.
bool is_usable(const RuntimeKit& kit) {
    auto runs = [](const std::vector<std::string>& words) {
        return words.empty() || !find_program(words[0]).empty();
    };
    std::error_code error;
    return runs(kit.linker) && runs(kit.objtool) && fs::is_directory(kit.build_dir, error) &&
           (kit.sign_file.empty() || fs::exists(kit.sign_file, error));
}

} // namespace

std::optional<RuntimeKit> module::load_kit(const std::string& folder, const Kernel& kernel) {
    auto text = read_cached(folder + "/" + std::string(manifest_name));
    if (!text)
        return std::nullopt;
    auto manifest = read_manifest(*text);
    if (!manifest || manifest->kit.release != kernel.release() ||
        manifest->kit.build_id != kernel.build_id() || !is_usable(manifest->kit))
        return std::nullopt;
    auto files = std::make_shared<KitFiles>(folder);
    for (const KitFile& file : manifest->files) {
        const std::string path = folder + "/" + std::string(file.name);
        FileDescriptor descriptor = open_trusted(path);
        auto bytes = MappedFile::map(descriptor, path);
        if (!bytes || (*bytes)->bytes().size() != file.size ||
            hash_bytes((*bytes)->bytes()) != file.checksum)
            return std::nullopt;
        files->add(file.name, std::move(descriptor));
    }
    manifest->kit.directory = folder;
    manifest->kit.files = std::move(files);
    return manifest->kit;
}

namespace {

// The parts that a script needs, which may be known only while the kit is built.
class Wanted {
  public:
    Wanted(const Parts& parts, const NeededSymbols& needed) : parts_(parts), needed_(needed) {}

    const PartNames& names() {
        if (!names_) {
            const auto symbols = needed_ ? needed_() : std::nullopt;
            names_ = symbols ? parts_.providing(*symbols) : parts_.all();
        }
        return *names_;
    }
    bool are_in(const RuntimeKit& kit) {
        return std::includes(kit.parts.begin(), kit.parts.end(), names().begin(), names().end());
    }

  private:
    const Parts& parts_;
    const NeededSymbols& needed_;
    std::optional<PartNames> names_;
};

// Opens the files of a kit that was built or extended just now. Requires the lock.
void hold_files(RuntimeKit& kit) {
    auto files = std::make_shared<KitFiles>(kit.directory);
    for (std::string_view name : {runtime_object, plain_runtime, module_object, linker_script}) {
        const std::string own = file_name(kit, name);
        if (FileDescriptor file = open_trusted(kit.directory + "/" + own))
            files->add(own, std::move(file));
    }
    kit.files = std::move(files);
}

// Removes the kits that a new one replaces: those of its kernel that were built from other sources
// of the runtime. The last of them stays, because two versions of djstap may take turns. Kits that
// are being built or extended stay, too.
void remove_former_kits(const std::string& parent, const std::string& key, const RuntimeKit& kit) {
    const std::string kernel = key.substr(0, key.rfind('-') + 1);
    std::vector<std::pair<fs::file_time_type, std::string>> former;
    std::error_code error;
    for (fs::directory_iterator at(parent, error), end; !error && at != end; at.increment(error)) {
        const std::string name = at->path().filename(), list = at->path() / manifest_name;
        if (!name.starts_with(kernel) || name == key)
            continue;
        const auto text = read_cached(list);
        const auto manifest = text ? read_manifest(*text) : std::nullopt;
        std::error_code unknown;
        const auto written = fs::last_write_time(list, unknown);
        if (!manifest || manifest->kit.build_dir == kit.build_dir)
            former.emplace_back(unknown ? fs::file_time_type::min() : written, name);
    }
    std::sort(former.begin(), former.end());
    for (size_t i = 0; i + 1 < former.size(); i++) {
        const std::string& name = former[i].second;
        const auto lock = KitLock::take_if_free(parent + "/." + name + ".lock");
        std::error_code ignored;
        if (!lock)
            continue;
        // Without its manifest, no djstap takes the folder for a kit.
        fs::remove(parent + "/" + name + "/" + std::string(manifest_name), ignored);
        fs::remove_all(parent + "/" + name, ignored);
    }
}

// Builds a kit in a folder of its own and puts it in place of what is there.
Result<RuntimeKit>
replace_kit(const std::string& part, const std::string& folder,
            const std::function<Result<RuntimeKit>(const std::string& folder)>& build) {
    if (mkdir(part.c_str(), 0755) != 0)
        return Failure{part + ": cannot create: " + std::strerror(errno), ""};
    auto kit = build(part);
    if (kit) {
        if (Status ok = put_in_place(part, folder); !ok)
            kit = ok.failure();
    }
    if (!kit) {
        std::error_code ignored;
        fs::remove_all(part, ignored);
        return kit.failure();
    }
    kit->directory = folder;
    return kit;
}

} // namespace

Result<RuntimeKit> open_runtime_kit(const Kernel& kernel, const RuntimeSources& sources,
                                    const ModuleProgress& progress, const NeededSymbols& needed) {
    Stopwatch whole;
    auto files = read_sources(sources);
    if (!files)
        return files.failure();
    const auto reasons = misfits([&](std::string_view name) { return kernel.config(name); });
    if (!reasons.empty())
        return Failure{"kernel " + kernel.release() + " is not supported: " + reasons.front(),
                       "djstap --info lists the requirements"};
    const std::string parent = cache_directory() + "/runtime";
    const std::string key = key_of(kernel, *files);
    const std::string folder = parent + "/" + key;
    const Parts parts(*files);
    Wanted wanted(parts, needed);
    if (Status ok = check_trusted(folder); !ok)
        return ok.failure();
    if (auto kit = load_kit(folder, kernel); kit && wanted.are_in(*kit)) {
        kit->times.open = whole.lap();
        return *kit;
    }
    if (Status ok = check_requirements(kernel); !ok)
        return ok.failure();
    if (Status ok = make_cache_folder(parent); !ok)
        return ok.failure();
    Stopwatch watch;
    auto lock = KitLock::take(parent + "/." + key + ".lock", [&] {
        if (progress)
            progress("waiting for another djstap to build the runtime for " + kernel.release());
    });
    if (!lock)
        return lock.failure();
    const double waited = watch.lap();
    remove_orphans_in_memory();
    const std::string part = parent + "/." + key + ".part";
    auto kit = [&]() -> Result<RuntimeKit> {
        auto found = load_kit(folder, kernel);
        if (found && wanted.are_in(*found))
            return *found;
        remove_leftovers(parent, key);
        if (!found) {
            auto built = replace_kit(part, folder, [&](const std::string& to) {
                return build_kit(
                    kernel, *files, parts, [&] { return wanted.names(); }, to, progress);
            });
            if (built)
                remove_former_kits(parent, key, *built);
            return built;
        }
        auto extended = extend_kit(*found, kernel, *files, parts, wanted.names(), progress);
        if (extended)
            return extended;
        return replace_kit(part, folder, [&](const std::string& to) {
            return build_kit_by_kbuild(kernel, *files, parts, extended.failure().message, to,
                                       progress);
        });
    }();
    if (!kit)
        return kit.failure();
    if (kit->built)
        hold_files(*kit);
    kit->times.waiting = waited;
    kit->times.open = whole.lap();
    return kit;
}

std::optional<KitOffset> RuntimeKit::offset(std::string_view name) const {
    auto found = std::lower_bound(
        offsets.begin(), offsets.end(), name,
        [](const KitOffset& offset, std::string_view wanted) { return offset.name < wanted; });
    if (found == offsets.end() || found->name != name)
        return std::nullopt;
    return *found;
}

bool RuntimeKit::has_runtime_symbol(std::string_view name) const {
    return std::binary_search(runtime_symbols.begin(), runtime_symbols.end(), name, std::less<>());
}

bool RuntimeKit::has_kernel_symbol(std::string_view name) const {
    return std::binary_search(kernel_symbols.begin(), kernel_symbols.end(), name, std::less<>());
}

} // namespace djstap
