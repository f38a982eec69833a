// SPDX-License-Identifier: GPL-2.0-or-later
// A value or the reason for its absence, for failures without a place in a script: files, tools,
// kernels.
#pragma once
#include <string>
#include <utility>
#include <variant>

namespace djstap {

struct Failure {
    std::string message; // describes the situation: "/x: cannot open: No such file or directory"
    std::string hint;    // says what to do; may be empty
};

template <class T> class [[nodiscard]] Result {
  public:
    Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
    Result(Failure failure) : state_(std::in_place_index<1>, std::move(failure)) {}

    explicit operator bool() const { return state_.index() == 0; }
    T& operator*() { return std::get<0>(state_); }
    const T& operator*() const { return std::get<0>(state_); }
    T* operator->() { return &std::get<0>(state_); }
    const T* operator->() const { return &std::get<0>(state_); }
    const Failure& failure() const { return std::get<1>(state_); }

  private:
    std::variant<T, Failure> state_;
};

struct Done {};
using Status = Result<Done>;

} // namespace djstap
