// SPDX-License-Identifier: GPL-2.0-or-later
// Passes the session's standard input to the script: input.char and input.line.
#pragma once
#include "session/meta.h"
#include "system/descriptor.h"

#include <termios.h>
#include <thread>

namespace djstap {

// During its life, each byte of standard input is written to the script's file procfs("__stdin"),
// one at a time, until the input ends. A terminal then passes on keys at once, without showing
// them.
class TypedInput {
  public:
    // Starts; does nothing if the file cannot be opened, or if the process is in the background of
    // its terminal.
    explicit TypedInput(const ModuleMeta& meta);
    ~TypedInput();
    TypedInput(const TypedInput&) = delete;
    TypedInput& operator=(const TypedInput&) = delete;

  private:
    void forward();

    FileDescriptor file_;
    FileDescriptor stop_read_, stop_write_; // a pipe; closing its end stops the thread
    termios before_{};
    bool changed_ = false; // the terminal
    std::thread thread_;
};

} // namespace djstap
