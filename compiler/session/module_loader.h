// SPDX-License-Identifier: GPL-2.0-or-later
// Into the kernel and out of it.
#pragma once
#include "diagnostics/result.h"
#include "session/module_file.h"
#include "system/process.h"

#include <chrono>
#include <optional>
#include <string>

namespace djstap {

// What must hold on this machine for any module to be loaded: the capability, modules_disabled.
// Each failure names the one thing that is missing.
Status check_loading_allowed();
// What must hold for this module: release and build-id of the running kernel, a signature under
// lockdown.
Status check_module_fits(const ModuleFile& module);

// "6.1.0-56-cloud-amd64" of the kernel that runs.
std::string running_release();
// Hexadecimal GNU build-id out of ELF notes (/sys/kernel/notes); empty where there is none.
std::string build_id_of_notes(std::string_view notes);

// finit_module. Fails with what the error means and the end of what the kernel logged about it.
Status load_module(const ModuleFile& module, const std::string& parameters);
// What errno of finit_module means for this module, without the kernel's log.
Failure explain_load_error(const std::string& name, int error);

// delete_module, tried again for `patience` while the module is in use. Done when it is gone or was
// never there; otherwise names what keeps it.
Status unload_module(const std::string& name, std::chrono::milliseconds patience);
bool module_is_loaded(const std::string& name);

// A process of its own that unloads the module when this one ends in whatever way without
// dismiss(). It is to be there before the module is.
class Watchdog {
  public:
    // The module parameters that tell who loads it.
    static std::string watched_parameters();

    // `loads`: this process is about to load it, with watched_parameters(); one of the same name
    // that somebody else has loaded is left alone. Otherwise it was attached to, and a flight
    // recorder is left alone.
    Watchdog(const std::string& module, bool loads);
    ~Watchdog() { dismiss(); }
    Watchdog(const Watchdog&) = delete;
    Watchdog& operator=(const Watchdog&) = delete;
    // Nothing is left to unload, or it is to stay.
    void dismiss();
    // It cannot be unloaded yet: the process does so as soon as it can, however long that takes.
    void hand_over();

  private:
    static void watch(int end, const std::string& module, bool loads, const std::string& reader);
    void send(char byte);

    FileDescriptor pipe_;
    std::optional<Process> process_;
};

} // namespace djstap
