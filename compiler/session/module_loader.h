// SPDX-License-Identifier: GPL-2.0-or-later
// Loads and unloads modules.
#pragma once
#include "diagnostics/result.h"
#include "session/module_file.h"
#include "system/process.h"

#include <chrono>
#include <optional>
#include <string>

namespace djstap {

// Checks what any module needs on this machine: the capability, modules_disabled. Each failure
// names the one thing that is missing.
Status check_loading_allowed();
// The part of it that no privilege changes.
Status check_modules_possible();
// Checks what this module needs: release and build-id of the running kernel, a signature under
// lockdown.
Status check_module_fits(const ModuleFile& module);

// Returns why this kernel loads only modules with a signature: "is locked down (integrity)"; "" if
// it loads others, too.
std::string signature_demand();

// Returns the release of the running kernel: "6.1.0-56-cloud-amd64".
std::string running_release();
// Returns the hexadecimal GNU build-id in ELF notes (/sys/kernel/notes); "" if there is none.
std::string build_id_of_notes(std::string_view notes);

// Calls finit_module. Fails with the meaning of the error and the end of the kernel's log about it.
Status load_module(const ModuleFile& module, const std::string& parameters);
// Returns the meaning of an errno of finit_module for this module, without the kernel's log.
Failure explain_load_error(const std::string& name, int error);

// Calls delete_module, repeatedly for `patience` while the module is in use. Succeeds if the module
// is unloaded or was never loaded; otherwise names its user.
Status unload_module(const std::string& name, std::chrono::milliseconds patience);
bool module_is_loaded(const std::string& name);

// A process that unloads the module if this one ends for whatever reason without dismiss(). It must
// exist before the module is loaded.
class Watchdog {
  public:
    // Returns the module parameters that identify the loading process.
    static std::string watched_parameters();

    // `loads`: this process is about to load it, with watched_parameters(); a module of the same
    // name that another process has loaded is left alone. Otherwise this process attached to it,
    // and a flight recorder is left alone.
    Watchdog(const std::string& module, bool loads);
    ~Watchdog() { dismiss(); }
    Watchdog(const Watchdog&) = delete;
    Watchdog& operator=(const Watchdog&) = delete;
    // Nothing is left to unload, or the module shall stay.
    void dismiss();
    // The module cannot be unloaded yet: the watchdog does so as soon as possible, however long
    // that takes.
    void hand_over();

  private:
    static void watch(int end, const std::string& module, bool loads, const std::string& reader);
    void send(char byte);

    FileDescriptor pipe_;
    std::optional<Process> process_;
};

} // namespace djstap
