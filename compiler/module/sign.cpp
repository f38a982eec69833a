// SPDX-License-Identifier: GPL-2.0-or-later
#include "module/sign.h"

#include "module/tool.h"
#include "system/file.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

namespace djstap {

SigningKey signing_key_from_environment() {
    auto value = [](const char* name) -> std::string {
        const char* found = std::getenv(name);
        return found ? found : "";
    };
    return {value("DJSTAP_MODULE_KEY"), value("DJSTAP_MODULE_CERT")};
}

namespace module {

namespace {

// Returns the reason from what sign-file prints: places in its source, and a line for each of
// OpenSSL's errors, of which the last one says the most. "- SSL error:CODE:LIBRARY::REASON:
// FILE:LINE"
std::string reason_of(const std::string& output) {
    constexpr std::string_view error = "- SSL error:", before_reason = "::";
    const size_t begin = output.rfind(error);
    if (begin == std::string::npos)
        return output.substr(0, output.find('\n'));
    const std::string line =
        output.substr(begin + error.size(), output.find('\n', begin) - begin - error.size());
    const size_t reason = line.find(before_reason);
    if (reason == std::string::npos)
        return line;
    const size_t at = reason + before_reason.size();
    return line.substr(at, line.find(": ", at) - at);
}

} // namespace

Status sign_module(const RuntimeKit& kit, const SigningKey& key, const std::string& path,
                   std::string& bytes) {
    if (key.certificate.empty())
        return Failure{"a module signing key is set, but no certificate",
                       "set DJSTAP_MODULE_CERT to the certificate that was enrolled for the key"};
    for (const std::string& file : {key.key, key.certificate}) {
        if (!file.starts_with("pkcs11:") && access(file.c_str(), R_OK) != 0)
            return Failure{"modules cannot be signed: " + file + ": " + std::strerror(errno), ""};
    }
    if (kit.sign_file.empty())
        return Failure{"modules cannot be signed: the kernel headers of " + kit.release +
                           " have no scripts/sign-file",
                       "apt-get install linux-headers-" + kit.release};
    if (Status ok = write_file(path, bytes); !ok)
        return ok;
    auto outcome = run_tool({kit.sign_file, kit.signature_hash, key.key, key.certificate, path});
    if (!outcome)
        return outcome.failure();
    if (outcome->status != 0)
        return Failure{"sign-file cannot sign the module with " + key.key + ": " +
                           reason_of(outcome->output),
                       "the private key comes first, then its certificate; docs/running.md tells "
                       "how both are made"};
    auto result = read_file(path);
    if (!result)
        return result.failure();
    if (!result->ends_with("~Module signature appended~\n"))
        return Failure{"sign-file did not sign the module", ""};
    bytes = std::move(*result);
    return Done{};
}

} // namespace module

} // namespace djstap
