// SPDX-License-Identifier: GPL-2.0-or-later
#include "hosts/remote_shell.h"

#include "system/process.h"

#include <algorithm>
#include <gtest/gtest.h>

namespace djstap::hosts {
namespace {

using Words = std::vector<std::string>;

TEST(RemoteShell, SplitsACommandAsAShellDoes) {
    EXPECT_EQ(*split_words("ssh -i key"), (Words{"ssh", "-i", "key"}));
    EXPECT_EQ(*split_words("  a\t 'b c' \"d 'e\" f\\ g '' "),
              (Words{"a", "b c", "d 'e", "f g", ""}));
    EXPECT_EQ(*split_words("a $(reboot) `x` ;"), (Words{"a", "$(reboot)", "`x`", ";"}));
    EXPECT_EQ(*split_words("'a\\b' \"c\\\"d\" e''f\ng"), (Words{"a\\b", "c\"d", "ef", "g"}));
    EXPECT_EQ(*split_words("\\ "), Words{" "});
    EXPECT_FALSE(split_words(""));
    EXPECT_FALSE(split_words("   "));
    EXPECT_FALSE(split_words("''"));
    EXPECT_FALSE(split_words("a 'b"));
    EXPECT_FALSE(split_words("a \"b"));
    EXPECT_FALSE(split_words("a\\"));
}

TEST(RemoteShell, CallsSshWithoutQuestionsAndWithTheHostBehindTheOptions) {
    const Words words = RemoteShell().command((*parse_node_set("root@web1:2222"))[0], "uname -r");
    EXPECT_EQ(words.front(), "ssh");
    EXPECT_NE(std::find(words.begin(), words.end(), "BatchMode=yes"), words.end());
    EXPECT_EQ(Words(words.end() - 5, words.end()),
              (Words{"-p", "2222", "--", "root@web1", "uname -r"}));
}

TEST(RemoteShell, NamesNoPortToSshUnlessItIsGiven) {
    const Words words = RemoteShell().command((*parse_node_set("web1"))[0], "id");
    EXPECT_EQ(std::find(words.begin(), words.end(), "-p"), words.end());
    EXPECT_EQ(Words(words.end() - 3, words.end()), (Words{"--", "web1", "id"}));
}

TEST(RemoteShell, CallsAnotherCommandWithTheHostAsItWasNamed) {
    EXPECT_EQ(RemoteShell({"rsh", "-x"}).command((*parse_node_set("root@web1:2222"))[0], "id"),
              (Words{"rsh", "-x", "root@web1:2222", "id"}));
}

TEST(RemoteShell, QuotesWhatAShellWouldInterpret) {
    for (const std::string text : {"", "a b", "it's", "$HOME `id` \"x\" \\ !", "'''"}) {
        const auto echoed =
            run_program({"sh", "-c", "printf %s " + quoted_for_shell(text)}, {.line = {}});
        ASSERT_TRUE(echoed);
        EXPECT_EQ(echoed->output, text);
    }
}

} // namespace
} // namespace djstap::hosts
