// Records → output.
#pragma once
#include "include/record.h"
#include "session/meta.h"
#include "session/output.h"
#include "session/speculations.h"

namespace djstap {

class RecordPrinter {
  public:
    RecordPrinter(const ModuleMeta& meta, Output& output)
        : meta_(meta), output_(output), speculations_(meta.max_speculations) {}

    // A record whose size is right; its contents are believed nowhere.
    void print(const djs_record& record);
    // Says what could not be kept. Once, after the last record.
    void finish();

    bool exit_requested() const { return exit_requested_; }
    uint64_t errors() const { return errors_; }   // error records
    uint64_t damaged() const { return damaged_; } // records that make no sense

  private:
    void damaged(const djs_record& record);
    void speculation(const djs_record& record);

    const ModuleMeta& meta_;
    Output& output_;
    Speculations speculations_;
    bool exit_requested_ = false;
    uint64_t errors_ = 0;
    uint64_t damaged_ = 0;
};

} // namespace djstap
