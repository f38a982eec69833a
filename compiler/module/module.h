// SPDX-License-Identifier: GPL-2.0-or-later
// Builds a kernel module from a script's object and the runtime, which is built once per kernel.
#pragma once
#include "diagnostics/result.h"
#include "image/kernel.h"

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace djstap {

namespace module {
class KitFiles;
}

// The location of the runtime's C sources and its Kbuild.
struct RuntimeSources {
    std::string directory;
};

// A number or an address that the runtime's compiler knows (the offset of a field in a kernel
// structure, the location of a per-CPU variable), by its name in the runtime's section
// .djstap.offsets.
struct KitOffset {
    std::string name;
    int64_t value = 0;  // the number itself, or an offset from the symbol's address
    std::string symbol; // empty: the value is a plain number
};

// Milliseconds of wall time.
struct KitTimes {
    double open = 0;    // all of open_runtime_kit
    double waiting = 0; // for another djstap that builds the same kit
    double kbuild = 0;  // make
    double finish = 0;  // linking the runtime, objtool, checks, writing the kit
};

// The runtime as built for one kernel, ready to be linked with script objects.
struct RuntimeKit {
    std::string directory;                         // the location of its files
    std::shared_ptr<const module::KitFiles> files; // those that modules are linked from
    std::string release;                           // of the kernel
    std::string build_id;                          // of the kernel, hexadecimal
    // the kernel expects a landing pad at every function whose address is taken
    bool ibt = false;

    // program and flags with which Kbuild links a .ko, without -T and files
    std::vector<std::string> linker;
    std::vector<std::string> objtool; // program and flags, without the file; empty: not needed
    bool delayed_objtool = false;     // Kbuild runs objtool on the whole module, not on each object
    // Kbuild's command for compiling a source, in its build folder; without the files
    std::string compiler;
    std::string build_dir;      // that folder
    std::string sign_file;      // the kernel's signing program; empty if there is none
    std::string signature_hash; // "sha256"

    // Sorted. The symbols of the runtime, and of the kernel, that script objects may use; and all
    // kernel symbols in the module's version table.
    std::vector<std::string> runtime_symbols;
    std::vector<std::string> runtime_functions; // the functions among these
    std::vector<std::string> kernel_symbols;
    std::vector<std::string> versioned_symbols;
    // The parts of the runtime that it contains, of those that kits may lack (module/parts.h), and
    // how often some were added.
    std::set<std::string> parts;
    uint32_t state = 0;
    std::vector<KitOffset> offsets; // sorted by name

    bool embedded_code = false; // set by add_embedded_code(): C code has more kinds of sections
    KitTimes times;
    bool built = false;    // by this call
    bool combined = false; // built from a few large sources that include the small ones
    // Built by this call by Kbuild alone, which takes longer: the reason.
    std::string indirect_because;

    // Returns the offset of that name; nothing if the runtime has none.
    std::optional<KitOffset> offset(std::string_view name) const;
    bool has_runtime_symbol(std::string_view name) const;
    bool has_kernel_symbol(std::string_view name) const;
};

using ModuleProgress = std::function<void(const std::string&)>;

// Returns the symbols of the runtime that a script refers to, or that its tables require; symbols
// that the runtime does not have are ignored. Nothing: it may refer to any. Called once; may wait.
using NeededSymbols = std::function<std::optional<std::set<std::string>>()>;

// Returns the kit of `kernel` for these sources: from the cache, or built now (takes seconds;
// `progress` is called). It contains at least what defines the symbols that are needed: if the
// cached kit does not, parts of the runtime are added to it. Without `needed` it contains the whole
// runtime. A damaged kit is rebuilt. If several djstaps need it at once, one builds it while the
// others wait. Fails, with the Debian package to install as a hint, if headers, compiler or tools
// are missing, if the runtime does not compile, or if the kit cannot be written.
Result<RuntimeKit> open_runtime_kit(const Kernel& kernel, const RuntimeSources& sources,
                                    const ModuleProgress& progress = nullptr,
                                    const NeededSymbols& needed = nullptr);

// Returns the symbols of the runtime that a script's object refers to.
Result<std::set<std::string>> needed_symbols(std::string_view object);

// Fails if the headers that define the data between a script's object and the runtime differ from
// those that this program was built with: the runtime would misinterpret the data.
Status check_agreement(const RuntimeSources& sources);

// Fails if `name` is not a valid module name: letters, digits and _ only, at most 55 of them.
Status check_module_name(std::string_view name);

// The key that signs modules: two paths, or a PKCS#11 URI as the key. Empty: modules are not
// signed.
struct SigningKey {
    std::string key;
    std::string certificate;
    bool empty() const { return key.empty(); }
};

// Returns the key that $DJSTAP_MODULE_KEY and $DJSTAP_MODULE_CERT name.
SigningKey signing_key_from_environment();

struct ModuleRequest {
    std::string name;        // of the module
    std::string_view object; // codegen's output
    std::string output;      // path of the .ko; empty: it is only returned
    SigningKey signing_key;
    // Runs objtool on runtime and script together even if that is not needed (for comparison).
    bool whole_objtool = false;
};

// Milliseconds of wall time.
struct ModuleTimes {
    double write = 0; // writing the object to a temporary file
    double objtool = 0;
    double link = 0;  // all runs of ld
    double check = 0; // checking the finished module, and its name
    double sign = 0;
    double output = 0;
    double total = 0;
};

struct BuiltModule {
    std::string bytes; // the .ko
    std::string path;  // where it was written; empty if no output was requested
    bool is_signed = false;
    bool whole_objtool = false; // objtool processed runtime and script together
    ModuleTimes times;
};

// An object that includes the script's own C code, and the kit with the kernel symbols this code
// needs.
struct EmbeddedObject {
    std::string object;
    RuntimeKit kit;
};

// Compiles C code with the kernel's compiler (or takes it from the cache) and links it with the
// script's object. Fails with the compiler's errors, and if the code refers to symbols that the
// kernel does not export to modules.
Result<EmbeddedObject> add_embedded_code(const RuntimeKit& kit, const RuntimeSources& sources,
                                         std::string_view c_source, std::string_view object);

// Returns the path of an object with the debug information of all types in headers of the kernel,
// or of user space, which are included in their order: from the cache, or compiled now. Fails with
// the compiler's errors.
Result<std::string> compile_kernel_headers(const RuntimeKit& kit,
                                           const std::vector<std::string>& headers);
Result<std::string> compile_user_headers(const std::vector<std::string>& headers);

// Links a module, runs objtool on it, names, checks and signs it. Fails if the object refers to
// anything that neither runtime nor kernel offers to scripts, if a tool fails or warns, or if the
// output cannot be written (an existing file of that name is then unchanged).
Result<BuiltModule> link_module(const RuntimeKit& kit, const ModuleRequest& request);

} // namespace djstap
