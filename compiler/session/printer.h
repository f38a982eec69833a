// Records → output.
#pragma once
#include "include/record.h"
#include "session/meta.h"
#include "session/output.h"

namespace djstap {

class RecordPrinter {
  public:
    RecordPrinter(const ModuleMeta& meta, Output& output) : meta_(meta), output_(output) {}

    // A record whose size is right; its contents are believed nowhere.
    void print(const djs_record& record);

    bool exit_requested() const { return exit_requested_; }
    uint64_t errors() const { return errors_; }   // error records
    uint64_t damaged() const { return damaged_; } // records that make no sense

  private:
    void damaged(const djs_record& record);

    const ModuleMeta& meta_;
    Output& output_;
    bool exit_requested_ = false;
    uint64_t errors_ = 0;
    uint64_t damaged_ = 0;
};

} // namespace djstap
