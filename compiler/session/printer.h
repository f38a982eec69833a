// Records → output.
#pragma once
#include "include/record.h"
#include "session/arguments.h"
#include "session/meta.h"
#include "session/output.h"
#include "session/plain_format.h"
#include "session/speculations.h"

namespace djstap {

class RecordPrinter {
  public:
    RecordPrinter(const ModuleMeta& meta, Output& output);

    // A record whose size is right; its contents are believed nowhere.
    void print(const djs_record& record) {
        if (record.id < plain_.size() && plain_[record.id] &&
            plain_[record.id]->print(writer_, arguments_of(record)))
            return;
        print_other(record);
    }
    // Says what could not be kept. Once, after the last record.
    void finish();

    bool exit_requested() const { return exit_requested_; }
    uint64_t errors() const { return errors_; }   // error records
    uint64_t faults() const { return faults_; }   // those of memory that is not there
    uint64_t damaged() const { return damaged_; } // records that make no sense

  private:
    void print_other(const djs_record& record);
    void damaged(const djs_record& record);
    void speculation(const djs_record& record);

    const ModuleMeta& meta_;
    Output& output_;
    Writer& writer_;
    std::vector<std::optional<PlainFormat>> plain_; // by a record's id; empty: none is used
    Speculations speculations_;
    bool exit_requested_ = false;
    uint64_t errors_ = 0;
    uint64_t faults_ = 0;
    uint64_t damaged_ = 0;
};

} // namespace djstap
