// SPDX-License-Identifier: GPL-2.0-or-later
// What is told if the kernel's sign-file cannot sign.
#include "common.h"
#include "module/sign.h"

using namespace djstap;
namespace fs = std::filesystem;
using namespace djstap::module;
using namespace djstap::module::test;

namespace {

// The message of a failure, if sign-file prints this.
std::string message_of(const std::string& printed) {
    const TestFolder folder;
    const std::string key = folder.path + "/key", module = folder.path + "/module.ko";
    RuntimeKit kit;
    kit.sign_file = folder.path + "/sign-file";
    EXPECT_TRUE(write_file(key, "key"));
    EXPECT_TRUE(write_file(folder.path + "/printed", printed));
    EXPECT_TRUE(
        write_file(kit.sign_file, "#!/bin/sh\ncat '" + folder.path + "/printed'\nexit 1\n"));
    fs::permissions(kit.sign_file, fs::perms::owner_all);
    std::string bytes = "module";
    const Status signed_it = sign_module(kit, {key, key}, module, bytes);
    EXPECT_FALSE(signed_it);
    EXPECT_EQ(bytes, "module");
    const std::string begin = "sign-file cannot sign the module with " + key + ": ";
    const std::string message = signed_it ? "" : signed_it.failure().message;
    EXPECT_TRUE(message.starts_with(begin)) << message;
    return message.substr(std::min(begin.size(), message.size()));
}

} // namespace

TEST(Signing, TheReasonIsWhatTheLastErrorOfOpensslSays) {
    EXPECT_EQ(message_of("At main.c:171:\n"
                         "- SSL error:1E08010C:DECODER routines::unsupported: decode.c:102\n"
                         "- SSL error:0909006C:PEM routines::no start line: pem_lib.c:745\n"
                         "sign-file: key.pem\n"),
              "no start line");
    EXPECT_EQ(message_of("- SSL error:0909006C:PEM routines::no start line"), "no start line");
    EXPECT_EQ(message_of("- SSL error:something else: pem_lib.c:745\nsign-file: key.pem\n"),
              "something else: pem_lib.c:745");
    EXPECT_EQ(message_of("sign-file: key.pem: No such file\nUsage\n"),
              "sign-file: key.pem: No such file");
}
