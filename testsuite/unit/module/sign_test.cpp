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

TEST(Signing, NeedsBothAndAProgram) {
    const TestFolder folder;
    const std::string key = folder.path + "/key.pem", program = folder.path + "/sign-file";
    ASSERT_TRUE(write_file(key, "key"));
    RuntimeKit kit;
    kit.release = "6.1.0";
    std::string bytes = "module";
    const auto failure = [&](const SigningKey& own) {
        const Status status = sign_module(kit, own, folder.path + "/module.ko", bytes);
        return status ? "" : status.failure().message;
    };
    EXPECT_EQ(failure({key, ""}), "a module signing key is set, but no certificate");
    EXPECT_EQ(failure({key, "/no/certificate"}),
              "modules cannot be signed: /no/certificate: No such file or directory");
    EXPECT_EQ(failure({"/no/key", key}),
              "modules cannot be signed: /no/key: No such file or directory");
    const std::string none =
        "modules cannot be signed: the kernel headers of 6.1.0 have no scripts/sign-file";
    EXPECT_EQ(failure({key, key}), none);
    EXPECT_EQ(failure({"pkcs11:object=key", key}), none); // no file is looked for
    // One that does something else.
    kit.sign_file = program;
    kit.signature_hash = "sha256";
    ASSERT_TRUE(write_file(program, "#!/bin/sh\n:\n"));
    fs::permissions(program, fs::perms::owner_all);
    EXPECT_EQ(failure({key, key}), "sign-file did not sign the module");
    EXPECT_EQ(bytes, "module");
    ASSERT_TRUE(write_file(program, "#!/bin/sh\nrm \"$4\"\n"));
    EXPECT_EQ(failure({key, key}),
              folder.path + "/module.ko: cannot open: No such file or directory");
    EXPECT_EQ(bytes, "module");
    ASSERT_TRUE(write_file(program,
                           "#!/bin/sh\nprintf ' %s %s %s\\n~Module signature appended~\\n' "
                           "$1 ${2##*/} ${3##*/} >> $4\n"));
    EXPECT_EQ(failure({key, key}), "");
    EXPECT_EQ(bytes, "module sha256 key.pem key.pem\n~Module signature appended~\n");
    EXPECT_EQ(SigningKey().empty(), true);
    EXPECT_EQ((SigningKey{key, ""}).empty(), false);
    kit.sign_file = "/no/sign-file";
    EXPECT_EQ(failure({key, key}), "cannot run /no/sign-file: No such file or directory");
}
