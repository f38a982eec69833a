// SPDX-License-Identifier: GPL-2.0-or-later
// --enroll-key: a kernel that only loads signed modules trusts a key of one's own.
#pragma once
#include "driver/invocation.h"

#include <optional>
#include <string>
#include <string_view>

namespace djstap::driver {

// Returns the bytes (DER) of a certificate that is written as text between lines of dashes (PEM),
// or that are given as they are; nothing for any other text.
std::optional<std::string> certificate_bytes(std::string_view text);

// Has mokutil ask the firmware to enroll options.signing_certificate, and prints what is to be done
// next. mokutil asks for a password on the terminal. Returns false after reporting an error.
bool enroll_key(Invocation& invocation);

} // namespace djstap::driver
