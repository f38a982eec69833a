// SPDX-License-Identifier: GPL-2.0-or-later
// Converts records to output.
#pragma once
#include "include/record.h"
#include "session/event.h"
#include "session/meta.h"
#include "session/output.h"
#include "session/plain_format.h"
#include "session/ring.h"
#include "session/speculations.h"
#include "session/symbols.h"
#include "session/system_commands.h"

#include <memory>
#include <vector>

namespace djstap {

class RecordPrinter {
  public:
    // `clock` is used if an output needs the time. `commands` runs those of system(); without it,
    // a warning is printed in place of each. `symbols`: of the addresses in records.
    RecordPrinter(const ModuleMeta& meta, const RecordClock& clock, Output& output,
                  SystemCommands* commands = nullptr, Symbols symbols = {});

    // Prints the next record of a ring.
    void print(const Ring& ring) { print(ring.record(), ring.cpu()); }
    // Prints a record whose size is valid; its content is never trusted.
    void print(const djs_record& record, uint32_t cpu) {
        if (record.id < plain_.size() && plain_[record.id] &&
            plain_[record.id]->print(writer_, arguments_of(record)))
            return;
        print_other(record, cpu);
    }
    // Reports what could not be kept. Call it once, after the last record.
    void finish();

    bool exit_requested() const { return exit_requested_; }
    uint64_t errors() const { return errors_; } // error records
    // The message and the place of the last one; "" if there is none.
    const std::string& last_error() const { return last_error_; }
    std::string_view place_of_last_error() const { return place_of_last_error_; }
    uint64_t damaged() const { return damaged_; } // invalid records

  private:
    void print_other(const djs_record& record, uint32_t cpu);
    void damaged(const djs_record& record);
    void speculation(const djs_record& record, uint32_t cpu);
    void print_text(uint32_t cpu, uint64_t cycles, std::string_view arguments);
    void print_stack(const djs_record& record, uint32_t cpu);
    void print_formatted(const djs_record& record, uint32_t cpu);

    const ModuleMeta& meta_;
    const EventFields of_text_; // of what the runtime prints
    const RecordClock& clock_;
    Output& output_;
    SystemCommands* commands_;
    Writer& writer_;
    // Indexed by a record's id; null: the output prints it. Empty: the output prints all, as it
    // does where fields precede the arguments.
    std::vector<std::unique_ptr<PlainFormat>> plain_;
    // The same, with strings in place of what is made of symbols: as the output prints it. Null: no
    // argument is.
    std::vector<std::unique_ptr<ModuleMeta::Format>> expanded_;
    std::string strings_; // of such a record; its memory is kept
    Symbols symbols_;
    Speculations speculations_;
    bool exit_requested_ = false;
    uint64_t errors_ = 0;
    std::string last_error_;
    std::string_view place_of_last_error_; // in meta_
    uint64_t damaged_ = 0;
};

} // namespace djstap
