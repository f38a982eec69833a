// SPDX-License-Identifier: GPL-2.0-or-later
// A script's object and the runtime, built once for each kernel, become a kernel module.
#pragma once
#include "diagnostics/result.h"
#include "image/kernel.h"

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace djstap {

// Where the runtime's C sources and its Kbuild are.
struct RuntimeSources {
    std::string directory;
};

// A number or an address that the runtime's compiler knows (a field's offset in a kernel structure,
// the place of a per-CPU variable), looked up by name in the runtime's section .djstap.offsets.
struct KitOffset {
    std::string name;
    int64_t value = 0;  // the number itself, or what is added to the symbol's address
    std::string symbol; // empty: a plain number
};

// Milliseconds of wall time.
struct KitTimes {
    double open = 0;    // all of open_runtime_kit
    double waiting = 0; // for another djstap that was building the same kit
    double kbuild = 0;  // make
    double finish = 0;  // linking, annotating and checking the runtime, writing the kit
};

// The runtime as built for one kernel, ready to be linked with script objects.
struct RuntimeKit {
    std::string directory; // where its files are
    std::string release;   // of the kernel
    std::string build_id;  // of the kernel, hexadecimal
    bool ibt = false;      // the kernel expects a landing pad at every address-taken function

    std::vector<std::string>
        linker; // program and flags, as Kbuild links a .ko, without -T and files
    std::vector<std::string> objtool; // program and flags, without the file; empty: none is needed
    bool delayed_objtool = false;     // Kbuild runs objtool on the whole module, not on each object
    std::string compiler;  // how Kbuild compiles a source, in its build folder; without the files
    std::string build_dir; // that folder
    std::string sign_file; // the kernel's signing program; empty where there is none
    std::string signature_hash; // "sha256"

    // Sorted. What script objects may use of the runtime, and of the kernel; and everything of the
    // kernel that the module's version table covers.
    std::vector<std::string> runtime_symbols;
    std::vector<std::string> runtime_functions; // of these, those that are code
    std::vector<std::string> kernel_symbols;
    std::vector<std::string> versioned_symbols;
    std::vector<KitOffset> offsets; // sorted by name

    bool embedded_code = false; // by add_embedded_code(): C code has more kinds of sections
    KitTimes times;
    bool built = false;    // by this call
    bool combined = false; // built from few large sources made of all the small ones

    // The offset of that name; nothing where the runtime has none.
    std::optional<KitOffset> offset(std::string_view name) const;
    bool has_runtime_symbol(std::string_view name) const;
    bool has_kernel_symbol(std::string_view name) const;
};

using ModuleProgress = std::function<void(const std::string&)>;

// The kit of `kernel` for these sources: from the cache, or built there (seconds; `progress` is
// told). A damaged kit is built anew. Several djstaps may ask at once: one builds, the others wait.
// Fails, with the Debian package to install as a hint, where headers, compiler or tools are
// missing, where the runtime does not compile, or where the kit cannot be written.
Result<RuntimeKit> open_runtime_kit(const Kernel& kernel, const RuntimeSources& sources,
                                    const ModuleProgress& progress = nullptr);

// Fails where the headers that lay out what a script's object hands to the runtime are not those
// that this program was built with: the runtime would take it for something else.
Status check_agreement(const RuntimeSources& sources);

// Fails where `name` cannot be a module's: letters, digits and _ only, at most 55 of them.
Status check_module_name(std::string_view name);

// The key that signs modules: both paths, or a PKCS#11 URI as the key. Empty: modules stay
// unsigned.
struct SigningKey {
    std::string key;
    std::string certificate;
    bool empty() const { return key.empty(); }
};

// What $DJSTAP_MODULE_KEY and $DJSTAP_MODULE_CERT name.
SigningKey signing_key_from_environment();

struct ModuleRequest {
    std::string name;        // of the module
    std::string_view object; // what codegen made
    std::string output;      // where the .ko goes; empty: it is only yielded
    SigningKey signing_key;
    // Let objtool see runtime and script in one even where that is not needed (for comparison).
    bool whole_objtool = false;
};

// Milliseconds of wall time.
struct ModuleTimes {
    double write = 0; // the object, to a temporary file
    double objtool = 0;
    double link = 0;  // all runs of ld
    double check = 0; // of the finished module, and its name
    double sign = 0;
    double output = 0;
    double total = 0;
};

struct BuiltModule {
    std::string bytes; // the .ko
    std::string path;  // where it was written; empty where no output was asked for
    bool is_signed = false;
    bool whole_objtool = false; // objtool saw runtime and script in one
    ModuleTimes times;
};

// An object that the script's own C code is part of, and the kit with what that needs of the
// kernel.
struct EmbeddedObject {
    std::string object;
    RuntimeKit kit;
};

// Compiles C code with the kernel's compiler (from the cache, where it was compiled before) and
// joins it with the script's object. Fails with what the compiler says, and where the code refers
// to what the kernel does not export to modules.
Result<EmbeddedObject> add_embedded_code(const RuntimeKit& kit, const RuntimeSources& sources,
                                         std::string_view c_source, std::string_view object);

// Links, annotates, names, checks and signs a module. Fails where the object refers to anything
// that neither runtime nor kernel offers to scripts, where a tool fails or warns, or where the
// output cannot be written (an older file of that name is then left as it was).
Result<BuiltModule> link_module(const RuntimeKit& kit, const ModuleRequest& request);

} // namespace djstap
