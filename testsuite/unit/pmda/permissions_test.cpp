// SPDX-License-Identifier: GPL-2.0-or-later
#include "pmda/permissions.h"
#include "pmda/stored.h"

#include "../surroundings.h"
#include "pmda/host_info.h"
#include "system/file.h"
#include "system/temporary.h"

#include <cerrno>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <pcp/pmapi.h>
#include <pcp/pmda.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>

namespace djstap::pmda {
namespace {

class PermissionsTest : public testing::Test {
  protected:
    // Returns the failure, or "".
    std::string read(const std::string& text, mode_t mode = 0644) {
        EXPECT_TRUE(write_file(path_, text));
        EXPECT_EQ(chmod(path_.c_str(), mode), 0);
        auto permissions = Permissions::read(path_);
        if (!permissions)
            return permissions.failure().message;
        permissions_ = *permissions;
        return "";
    }

    TemporaryFolder folder_ = std::move(*TemporaryFolder::create("/tmp"));
    std::string path_ = folder_.file("allow");
    Permissions permissions_;
};

TEST_F(PermissionsTest, NameUsersAndGroups) {
    EXPECT_EQ(read("# of root\nuser alice\n\n group  tracers # those\nuser bob@REALM"), "");
    EXPECT_TRUE(permissions_.has({"alice", {}}));
    EXPECT_TRUE(permissions_.has({"carol", {"users", "tracers"}}));
    EXPECT_TRUE(permissions_.has({"bob@REALM", {}}));
    for (const User& other : {User{"bob", {}}, User{"tracers", {"alice"}}, User{"", {}}})
        EXPECT_FALSE(permissions_.has(other)) << other.name;
    EXPECT_EQ(read(""), "");
    EXPECT_FALSE(permissions_.has({"alice", {}}));
}

TEST_F(PermissionsTest, AnythingElsePermitsNothing) {
    for (const char* line : {"alice", "user", "user a b", "users a", "user *", "user a;b", "User a",
                             "group \x01", "group: a"})
        EXPECT_EQ(read("user alice\n" + std::string(line) + "\n"),
                  path_ + ":2: not 'user NAME' or 'group NAME', so the file permits nothing")
            << line;
    EXPECT_EQ(read("user alice\n", 0666),
              path_ + ": others than root can change it, so it permits nothing");
    EXPECT_EQ(read("user alice\n", 0664).empty(), geteuid() != 0 && getegid() == geteuid());
    EXPECT_EQ(Permissions::read(folder_.file("none")).failure().message,
              "users may not store scripts on this machine");
    EXPECT_FALSE(Permissions::read(folder_.path()));
}

TEST(ClientsTest, AreThoseOfWhomPcpTells) {
    const auto name = [](const Clients& clients, int context) {
        const auto user = clients.user_of(context);
        return user ? user->name : "no: " + user.failure().message;
    };
    Clients clients;
    EXPECT_EQ(name(clients, 1), "no: this connection is not authenticated");
    clients.tell(1, PMDA_ATTR_CONTAINER, "root");
    clients.tell(1, PMDA_ATTR_PROCESSID, "0");
    clients.tell(1, PMDA_ATTR_GROUPID, "0");
    EXPECT_EQ(name(clients, 1), "no: this connection is not authenticated");
    clients.tell(1, PMDA_ATTR_USERID, std::string_view("0\0", 2));
    EXPECT_EQ(name(clients, 1), "root");
    EXPECT_EQ(name(clients, 2), "no: this connection is not authenticated");
    // Its own proof of who it is counts more than the process that has the socket.
    clients.tell(1, PMDA_ATTR_USERNAME, "alice@REALM");
    EXPECT_EQ(name(clients, 1), "alice@REALM");
    clients.forget(1);
    EXPECT_EQ(name(clients, 1), "no: this connection is not authenticated");
    for (const char* id : {"", "-1", "0x0", "0 ", "root", "4294967295", "4294967296"}) {
        clients.tell(3, PMDA_ATTR_USERID, id);
        EXPECT_EQ(name(clients, 3), "no: the user of this connection has no name on this machine")
            << id;
    }
    for (const char* odd : {"", "a b", "a\nb", "a;b"}) {
        clients.tell(4, PMDA_ATTR_USERNAME, odd);
        EXPECT_EQ(name(clients, 4), "no: the user of this connection has no plain name") << odd;
    }
}

TEST(ClientsTest, RootIsInItsGroup) {
    const auto root = user_named("root");
    ASSERT_TRUE(root);
    EXPECT_EQ(root->groups.front(), "root");
    EXPECT_FALSE(user_named("pcp"));
}

class StoredTest : public testing::Test {
  protected:
    int store(const std::string& text, const std::string& user = "alice") {
        return stored_.store(text, {user, {}}, [](const auto& name) { return name == "taken"; });
    }
    std::string names() const {
        std::string all;
        for (const ScriptFile& file : stored_.files())
            all += file.name + "(" + file.user + ") ";
        return all;
    }
    StoredScripts stored_;
};

TEST_F(StoredTest, AreFilesOfTheirUsers) {
    EXPECT_TRUE(stored_.empty());
    EXPECT_EQ(store("a: probe begin {}"), 0);
    EXPECT_EQ(store("b_2:\nx: y", "bob"), 0);
    EXPECT_EQ(names(), "a(alice) b_2(bob) ");
    const ScriptFile before = stored_.files()[1];
    EXPECT_FALSE(before.is_module);
    EXPECT_EQ(*read_file(before.path), "\nx: y");
    EXPECT_EQ(store("b_2: z", "bob"), 0);
    EXPECT_NE(stored_.files()[1].changed_ns, before.changed_ns);
    EXPECT_EQ(*read_file(before.path), " z");
    EXPECT_EQ(store("a: ", "bob"), PM_ERR_PERMISSION);
    EXPECT_EQ(store("a: z", "bob"), PM_ERR_PERMISSION);
    EXPECT_EQ(store("b_2: \n", "bob"), 0);
    EXPECT_EQ(store("b_2:", "bob"), -ENOENT);
    EXPECT_FALSE(read_file(before.path));
    EXPECT_EQ(names(), "a(alice) ");
    EXPECT_EQ(stored_.remove_if([](const auto&, const auto& user) { return user == "alice"; }),
              std::vector<std::string>{"a"});
    EXPECT_TRUE(stored_.empty());
}

TEST_F(StoredTest, HaveNamesOfASafeAlphabet) {
    for (const std::string name : {"", "A", "1a", "_a", "a-b", "a.b", "a b", "a/b", "..", "../a",
                                   "$a", "`a`", "agent", "\xc3\xa4", " a", "a\n"})
        EXPECT_EQ(store(name + ": x"), -EINVAL) << name;
    EXPECT_EQ(store("a"), -EINVAL);
    EXPECT_EQ(store(std::string(33, 'a') + ": x"), -EINVAL);
    EXPECT_EQ(store(std::string("a: x\0y", 6)), -EINVAL);
    EXPECT_EQ(store("taken: x"), -EEXIST);
    EXPECT_EQ(store("taken:"), -EEXIST);
    EXPECT_TRUE(stored_.empty());
    EXPECT_EQ(store(std::string(32, 'a') + ": x"), 0);
}

TEST_F(StoredTest, AreBounded) {
    EXPECT_EQ(store("a:" + std::string(StoredScripts::most_bytes, '#')), 0);
    EXPECT_EQ(store("a:" + std::string(StoredScripts::most_bytes + 1, '#')), -E2BIG);
    for (const char* name : {"b", "c", "d"})
        EXPECT_EQ(store(std::string(name) + ":x"), 0);
    EXPECT_EQ(store("e:x"), -ENOSPC);
    EXPECT_EQ(store("d:y"), 0);
    for (int i = 0; i < 12; i++)
        EXPECT_EQ(store("n" + std::to_string(i) + ":x", "user" + std::to_string(i / 4)), 0);
    EXPECT_EQ(store("e:x", "carol"), -ENOSPC);
    EXPECT_EQ(store("a:"), 0);
    EXPECT_EQ(store("e:x", "carol"), 0);
}

TEST(HostInfo, IsWhatDjstapTells) {
    const auto facts = facts_of_info(R"json({"chapters": [
        {"title": "One", "facts": [{"name": "kernel headers", "present": true, "value": "/x"},
                                   {"name": "BTF", "present": false, "value": "none", "remedy": "y"},
                                   {"name": 1, "present": true, "value": ""}, {"name": "x"}, 5]},
        {"title": "Guests (--guest=RELEASE)", "facts": [{"name": "QEMU", "present": true, "value": "z"}]},
        {"facts": [{"name": "cache", "present": true, "value": "c"}]}, 7, {"title": "None"}]
})json");
    std::string all;
    for (const InfoFact& fact : facts)
        all += fact.name + (fact.present ? "+" : "-") + fact.value + " ";
    EXPECT_EQ(all, "kernel_headers+/x BTF-none cache+c ");
    for (const char* other : {"", "{", "[]", "{}", R"({"chapters": 1})", R"({"chapters": [[]]})"})
        EXPECT_TRUE(facts_of_info(other).empty()) << other;
}

TEST(HostInfo, NothingIsLeftOfTheProgramThatTells) {
    auto folder = TemporaryFolder::create("/tmp");
    ASSERT_TRUE(folder);
    const std::string program = folder->file("djstap");
    ASSERT_TRUE(write_file(program,
                           "#!/bin/sh\n[ \"$*\" = '--info --output=json' ] && cat <<'END'\n"
                           R"({"chapters": [{"title": "One", "facts":
    [{"name": "a", "present": true, "value": "b"}]}]})"
                           "\nEND\n"));
    ASSERT_EQ(chmod(program.c_str(), 0755), 0);
    InfoRun run;
    run.start(program);
    std::optional<std::vector<InfoFact>> facts;
    while (!facts) {
        pollfd polled = {run.descriptor(), POLLIN, 0};
        ASSERT_EQ(poll(&polled, 1, 60'000), 1);
        facts = run.read();
    }
    ASSERT_EQ(facts->size(), 1U);
    EXPECT_EQ(facts->front().value, "b");
    EXPECT_EQ(run.descriptor(), -1);
    EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
    EXPECT_EQ(errno, ECHILD);
}

// Nobody waits for the end of what is no answer.
TEST(HostInfo, OfAProgramThatWritesWithoutEndIsNone) {
    auto folder = TemporaryFolder::create("/tmp");
    ASSERT_TRUE(folder);
    const std::string program = folder->file("djstap");
    ASSERT_TRUE(write_file(program, "#!/bin/sh\nexec yes\n"));
    ASSERT_EQ(chmod(program.c_str(), 0755), 0);
    InfoRun run;
    EXPECT_EQ(run.descriptor(), -1);
    run.start("/nowhere/djstap");
    EXPECT_EQ(run.descriptor(), -1);
    run.start(program);
    std::optional<std::vector<InfoFact>> facts;
    while (!facts) {
        pollfd polled = {run.descriptor(), POLLIN, 0};
        ASSERT_EQ(poll(&polled, 1, 60'000), 1);
        facts = run.read();
    }
    EXPECT_TRUE(facts->empty());
    EXPECT_EQ(run.descriptor(), -1);
}

// The agent serves its clients meanwhile.
TEST(HostInfo, IsNotWaitedFor) {
    auto folder = TemporaryFolder::create("/tmp");
    ASSERT_TRUE(folder);
    const std::string program = folder->file("djstap");
    ASSERT_TRUE(write_file(program, "#!/bin/sh\necho '{'\nexec sleep 1000\n"));
    ASSERT_EQ(chmod(program.c_str(), 0755), 0);
    InfoRun run;
    run.start(program);
    ASSERT_NE(fcntl(run.descriptor(), F_GETFL) & O_NONBLOCK, 0);
    pollfd polled = {run.descriptor(), POLLIN, 0};
    ASSERT_EQ(poll(&polled, 1, 60'000), 1);
    EXPECT_FALSE(run.read());
    EXPECT_NE(run.descriptor(), -1);
}

TEST(HostInfo, IsNoneWhereNothingCanBeOpened) {
    InfoRun run;
    {
        const test::Limit none(RLIMIT_NOFILE, 0);
        run.start("/bin/true");
    }
    EXPECT_EQ(run.descriptor(), -1);
}

TEST(HostInfo, TellsWhichProgramsAreMissing) {
    std::string all;
    for (const InfoFact& fact : own_facts({"/nowhere/djstap", "/bin/sh"}))
        if (fact.name.starts_with("dj"))
            all += fact.name + (fact.present ? "+" : "-") + fact.value + " ";
    EXPECT_EQ(all, "djrun+/bin/sh djstap-not installed ");
}

} // namespace
} // namespace djstap::pmda
