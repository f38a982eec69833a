// One function a pass. Each reads what earlier ones left in the state and adds its own; false:
// there are errors in the state's diagnostics.
#pragma once
#include "driver/run_state.h"

namespace djstap::driver {

bool parse(RunState& state);    // script
bool analyze(RunState& state);  // program
bool resolve(RunState& state);  // plan
bool generate(RunState& state); // object
bool link(RunState& state);     // module_path
bool run_module(RunState& state);

// Of each CPU, as the runtime rounds it.
uint64_t buffer_bytes(const Limits& limits);

// False where the command of -c is not there. Adds djstap's own folder to $PATH.
bool check_command(RunState& state);

// What -p1 … -p4 print when they end there.
void print_script(RunState& state);
void print_plan(RunState& state);
void print_ir(RunState& state);
void print_module(RunState& state);

// "kernel.function("f@file.c:1")  djprobe: fentry site"; the reason may be empty.
std::string describe_site(const std::string& point, Mechanism mechanism, const std::string& reason);

} // namespace djstap::driver
