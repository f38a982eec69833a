// Functions in which no probe is safe, by any mechanism: a CPU runs them while it can take no
// exception.
#pragma once
#include <string_view>

namespace djstap {

// True where a CPU runs code of the function with this symbol while it has no IDT, or none that its
// page tables map, or no base for its per-CPU variables: it comes up, resumes, or hands the machine
// over. A breakpoint is a triple fault there, and so is what a handler behind a direct call would
// be forgiven anywhere else: the fault of a read that may fail, somebody's breakpoint in a function
// that it calls. A part that the compiler split off ("f.cold") is held to what is said of f.
bool runs_without_idt(std::string_view symbol);

} // namespace djstap
