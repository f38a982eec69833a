// SPDX-License-Identifier: GPL-2.0-or-later
// A kernel's .config.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace djstap {

class Configuration {
  public:
    // `path`: the .config; if it is unreadable, nothing is set.
    explicit Configuration(const std::string& path);
    // Returns the value of CONFIG_name, with or without the prefix ("y", "m", a string without
    // quotes); "" if it is not set.
    std::string value(std::string_view name) const;

  private:
    std::unordered_map<std::string, std::string> values_;
};

// Returns the reasons why the runtime and the code of scripts are incompatible with a kernel, one
// per setting; empty if they are compatible. `value` returns settings like Configuration does;
// unknown settings are assumed to have their usual values.
std::vector<std::string> misfits(const std::function<std::string(std::string_view)>& value);

} // namespace djstap
