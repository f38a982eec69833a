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
                           outcome->output.substr(0, outcome->output.find('\n')),
                       ""};
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
