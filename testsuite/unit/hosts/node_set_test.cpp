// SPDX-License-Identifier: GPL-2.0-or-later
#include "hosts/node_set.h"

#include <gtest/gtest.h>

namespace djstap::hosts {
namespace {

std::string names_of(std::string_view set) {
    const auto nodes = parse_node_set(set);
    if (!nodes)
        return "error: " + nodes.failure().message;
    std::string all;
    for (const Node& node : *nodes)
        all += (all.empty() ? "" : " ") + node.name;
    return all;
}

TEST(NodeSet, NamesHostsOneByOneAndByRanges) {
    EXPECT_EQ(names_of("db1"), "db1");
    EXPECT_EQ(names_of("web[1-3],db1"), "web1 web2 web3 db1");
    EXPECT_EQ(names_of("web[1-3,7]"), "web1 web2 web3 web7");
    EXPECT_EQ(names_of("web[9-11].example.org"), "web9.example.org web10.example.org "
                                                 "web11.example.org");
    EXPECT_EQ(names_of("r[1-2]n[1-2]"), "r1n1 r1n2 r2n1 r2n2");
    EXPECT_EQ(names_of("n[0-10/5]"), "n0 n5 n10");
    EXPECT_EQ(names_of("n[5]"), "n5");
}

TEST(NodeSet, KeepsTheWidthOfPaddedNumbers) {
    EXPECT_EQ(names_of("n[08-11]"), "n08 n09 n10 n11");
    EXPECT_EQ(names_of("n[001,2]"), "n001 n2");
    EXPECT_EQ(names_of("n[0-1]"), "n0 n1");
    EXPECT_EQ(names_of("n[00]"), "n00");
    EXPECT_EQ(names_of("n[098-100]"), "n098 n099 n100");
}

TEST(NodeSet, NamesEachHostOnce) {
    EXPECT_EQ(names_of("web[1-3],web2,web1"), "web1 web2 web3");
    EXPECT_EQ(names_of("root@web1,web1"), "error: root@web1 and web1 are the same host");
}

TEST(NodeSet, TakesUsersAndPorts) {
    const auto nodes = parse_node_set("root@web[1-2]:2222,db1,::1,admin@fe80::1%eth0");
    ASSERT_TRUE(nodes);
    ASSERT_EQ(nodes->size(), 5u);
    EXPECT_EQ((*nodes)[1].text, "root@web2:2222");
    EXPECT_EQ((*nodes)[1].name, "web2:2222");
    EXPECT_EQ((*nodes)[1].target, "root@web2");
    EXPECT_EQ((*nodes)[1].port, 2222);
    EXPECT_EQ((*nodes)[2].target, "db1");
    EXPECT_FALSE((*nodes)[2].port);
    EXPECT_EQ((*nodes)[3].target, "::1");
    EXPECT_EQ((*nodes)[4].name, "fe80::1%eth0");
}

TEST(NodeSet, SaysWhereItIsWrong) {
    EXPECT_EQ(names_of(""), "error: a host is missing at character 1");
    EXPECT_EQ(names_of("web1,"), "error: a host is missing at character 6");
    EXPECT_EQ(names_of("web1,,web2"), "error: a host is missing at character 6");
    EXPECT_EQ(names_of("web[1-"), "error: a number is missing at character 7");
    EXPECT_EQ(names_of("web[]"), "error: a number is missing at character 5");
    EXPECT_EQ(names_of("web[1-3"), "error: ']' is missing at character 8");
    EXPECT_EQ(names_of("web[3-1]"), "error: a range ends before it begins at character 8");
    EXPECT_EQ(names_of("web[1-3/0]"), "error: the step of a range is 0 at character 10");
    EXPECT_EQ(names_of("web[1234567890]"),
              "error: a number has more than 9 digits at character 15");
    EXPECT_EQ(names_of("web]"), "error: invalid character in the name of a host at character 4");
    EXPECT_EQ(names_of("web1;reboot"),
              "error: invalid character in the name of a host at character 5");
    EXPECT_EQ(names_of("web1 web2"),
              "error: invalid character in the name of a host at character 5");
    EXPECT_EQ(names_of("web[1-9]!web2"), "error: unexpected operator '!' at character 9");
    EXPECT_EQ(names_of("@web"), "error: unexpected group of hosts at character 1");
    EXPECT_EQ(names_of("db1,-oProxyCommand=x"),
              "error: invalid character in the name of a host at character 19");
    EXPECT_EQ(names_of("-lroot"), "error: -lroot: the name of a host begins with '-'");
    EXPECT_EQ(names_of("root@-x"), "error: root@-x: the name of the host is missing");
    EXPECT_EQ(names_of("root@"), "error: root@: the name of the host is missing");
    EXPECT_EQ(names_of(":22"), "error: :22: the name of the host is missing");
    EXPECT_EQ(names_of("web1:0"), "error: web1:0: the port is not a number from 1 to 65535");
    EXPECT_EQ(names_of("web1:70000"),
              "error: web1:70000: the port is not a number from 1 to 65535");
    EXPECT_EQ(names_of("web1:ssh"), "error: web1:ssh: the port is not a number from 1 to 65535");
    EXPECT_NE(names_of(std::string(300, 'a')).find("more than 255 characters"), std::string::npos);
}

TEST(NodeSet, HasABoundedNumberOfHosts) {
    EXPECT_EQ(parse_node_set("n[1-10000]")->size(), 10'000u);
    const std::string too_many = "error: the set has more than 10000 hosts";
    EXPECT_EQ(names_of("n[1-10001]"), too_many);
    EXPECT_EQ(names_of("n[0-999999999]"), too_many);
    EXPECT_EQ(names_of("a[1-1000]b[1-1000]c[1-1000]d[1-1000]"), too_many);
    EXPECT_EQ(names_of("a[1-6000],b[1-6000]"), too_many);
}

// The last that is taken, and the first that is not.
TEST(NodeSet, TakesWhatReachesItsLimits) {
    const std::string longest(255, 'a');
    EXPECT_EQ(names_of(longest), longest);
    EXPECT_EQ(names_of(longest + "a"), "error: " + std::string(20, 'a') +
                                           "…: the name of a host has more than 255 characters");
    EXPECT_EQ(names_of("n[999999999]"), "n999999999");
    EXPECT_EQ(parse_node_set("a[1-5000],b[1-5000]")->size(), 10'000u);
    EXPECT_EQ(parse_node_set("a[1-100]b[1-100]")->size(), 10'000u);
    EXPECT_EQ(names_of("a[1-100]b[0-100]"), "error: the set has more than 10000 hosts");
    EXPECT_EQ((*parse_node_set("web1:1"))[0].port, 1);
    EXPECT_EQ((*parse_node_set("web1:65535"))[0].port, 65535);
    for (const std::string port : {"-1", "65536", ""})
        EXPECT_EQ(names_of("web1:" + port),
                  "error: web1:" + port + ": the port is not a number from 1 to 65535");
}

TEST(NodeSet, TakesTheCharactersOfNames) {
    EXPECT_EQ(names_of("a_b.c-d%e"), "a_b.c-d%e");
    for (const char* bad : {"a/b", "a$b", "a`b", "a\"b", "a~b", "a*b", "a\tb",
                            "a\x80"
                            "b"})
        EXPECT_EQ(names_of(bad), "error: invalid character in the name of a host at character 2");
    for (const std::string name : {"&", "^"})
        EXPECT_EQ(names_of("a" + name + "b"),
                  "error: unexpected operator '" + name + "' at character 2");
}

// A colon with another one belongs to an address of IPv6, wherever they are.
TEST(NodeSet, FindsTheColonOfAPort) {
    EXPECT_EQ((*parse_node_set("::"))[0].target, "::");
    EXPECT_FALSE((*parse_node_set("a:22:b"))[0].port);
    EXPECT_EQ((*parse_node_set("a:b@c:22"))[0].target, "a:b@c");
    EXPECT_EQ((*parse_node_set("a:b@c:22"))[0].name, "c:22");
    EXPECT_EQ(names_of("root@:22"), "error: root@:22: the name of the host is missing");
}

TEST(NodeSet, ExplainsWhatItDoesNotTake) {
    EXPECT_NE(parse_node_set("@web").failure().hint.find("nodeset"), std::string::npos);
    EXPECT_NE(parse_node_set("a!b").failure().hint.find("nodeset"), std::string::npos);
}

} // namespace
} // namespace djstap::hosts
