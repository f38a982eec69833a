// One CPU's ring as its reader sees it (runtime/include/record.h has the protocol).
#pragma once
#include "include/record.h"

#include <cstdint>

namespace djstap {

class Ring {
  public:
    // `tail` is the word that reader and writer share; `data` is `bytes` long and mapped twice in a
    // row.
    Ring(uint64_t* tail, char* data, uint64_t bytes);

    enum class State {
        Empty,
        InFlight, // reserved at `time`, not yet complete
        Ready,
        Corrupt, // the next size is impossible; nothing more can be read
    };
    State state();
    const djs_record& record() const { return *next_; }
    uint64_t time() const { return time_; } // of the record that is ready or in flight

    // Steps over the record that is ready. Its memory stays valid until release().
    void take();
    // Gives the memory of everything taken back to the writer: zeroed first, as the protocol wants
    // it.
    void release();
    // Bytes taken and not yet released.
    uint64_t taken() const { return read_ - released_; }
    uint64_t bytes() const { return bytes_; }

  private:
    uint64_t* tail_;
    char* data_;
    uint64_t bytes_;
    uint64_t read_;
    uint64_t released_;
    const djs_record* next_ = nullptr;
    uint32_t size_ = 0;
    uint64_t time_ = 0;
    bool corrupt_ = false;
};

} // namespace djstap
