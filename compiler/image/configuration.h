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
    // `path`: the .config; nothing is set where it cannot be read.
    explicit Configuration(const std::string& path);
    // Value of CONFIG_name, with or without the prefix ("y", "m", a string without quotes); empty
    // where unset.
    std::string value(std::string_view name) const;

  private:
    std::unordered_map<std::string, std::string> values_;
};

// Why the runtime and the code of scripts do not fit a kernel, a setting a reason; empty where they
// do. `value` yields settings as Configuration does; what it does not know is taken to be as usual.
std::vector<std::string> misfits(const std::function<std::string(std::string_view)>& value);

} // namespace djstap
