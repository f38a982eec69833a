// SPDX-License-Identifier: GPL-2.0-or-later
// Options of sockets, as getsockopt(2) tells them.
#include "sockets_for_test.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <sys/socket.h>

namespace {

// Of linux/in.h and linux/tcp.h, which cannot be included beside the C library's.
enum { of_ip = 0, of_tcp = 6, of_udp = 17 };            // protocols and levels
enum { tcp_no_delay = 1, tcp_cork = 3, tcp_info = 11 }; // options
enum { tcp_listens = 10 };                              // a state

class Sockets : public testing::Test {
  protected:
    void SetUp() override {
        test_socket = {};
        test_socket.family = AF_INET;
        test_socket.type = SOCK_STREAM;
        test_socket.protocol = of_tcp;
        test_socket_fault = test_socket_of_user = TEST_SOCKET_ALL_READABLE;
    }
    // Returns the value of an option that is a number, or its error.
    static int option(int level, int name) {
        int value = -999, bytes = sizeof value;
        const int error = test_socket_option(level, name, reinterpret_cast<char*>(&value), &bytes);
        EXPECT_LE(error, 0);
        if (error)
            return error;
        EXPECT_EQ(bytes, 4);
        return value;
    }
    static int option(int name) { return option(SOL_SOCKET, name); }
};

TEST_F(Sockets, HaveFlags) {
    const struct {
        bool test_socket::* flag;
        int level, name;
    } flags[] = {
        {&test_socket::debug, SOL_SOCKET, SO_DEBUG},
        {&test_socket::local_route, SOL_SOCKET, SO_DONTROUTE},
        {&test_socket::broadcast, SOL_SOCKET, SO_BROADCAST},
        {&test_socket::keep_open, SOL_SOCKET, SO_KEEPALIVE},
        {&test_socket::urgent_inline, SOL_SOCKET, SO_OOBINLINE},
        {&test_socket::credentials, SOL_SOCKET, SO_PASSCRED},
        {&test_socket::no_delay, of_tcp, tcp_no_delay},
        {&test_socket::cork, of_tcp, tcp_cork},
    };
    for (const auto& on : flags) {
        SetUp();
        test_socket.*on.flag = true;
        for (const auto& each : flags)
            EXPECT_EQ(option(each.level, each.name), &each == &on) << each.name;
    }
}

TEST_F(Sockets, HaveNumbers) {
    test_socket.reuse = 3;
    test_socket.reuse_port = 4;
    test_socket.send_room = 50000;
    test_socket.receive_room = 60000;
    test_socket.no_check = 7;
    EXPECT_EQ(option(SO_REUSEADDR), 3);
    EXPECT_EQ(option(SO_REUSEPORT), 4);
    EXPECT_EQ(option(SO_TYPE), SOCK_STREAM);
    EXPECT_EQ(option(SO_PROTOCOL), of_tcp);
    EXPECT_EQ(option(SO_DOMAIN), AF_INET);
    EXPECT_EQ(option(SO_SNDBUF), 50000);
    EXPECT_EQ(option(SO_RCVBUF), 60000);
    EXPECT_EQ(option(SO_NO_CHECK), 7);
    EXPECT_EQ(option(SO_ACCEPTCONN), 0);
    test_socket.state = tcp_listens;
    EXPECT_EQ(option(SO_ACCEPTCONN), 1);
}

TEST_F(Sockets, HaveErrors) {
    EXPECT_EQ(option(SO_ERROR), 0);
    test_socket.soft_error = EHOSTUNREACH;
    EXPECT_EQ(option(SO_ERROR), EHOSTUNREACH);
    test_socket.error = ECONNRESET;
    EXPECT_EQ(option(SO_ERROR), ECONNRESET);
}

TEST_F(Sockets, Linger) {
    linger value{9, 9};
    int bytes = sizeof value;
    test_socket.linger_jiffies = 5 * TEST_SOCKET_HZ + 1;
    const auto asked = [&](int level) {
        return test_socket_option(level, SO_LINGER, reinterpret_cast<char*>(&value), &bytes);
    };
    EXPECT_EQ(asked(SOL_SOCKET), 0);
    EXPECT_EQ(bytes, 8);
    EXPECT_EQ(value.l_onoff, 0);
    EXPECT_EQ(value.l_linger, 5);
    test_socket.linger = true;
    bytes = 100;
    EXPECT_EQ(asked(SOL_SOCKET), 0);
    EXPECT_EQ(bytes, 8);
    EXPECT_EQ(value.l_onoff, 1);
    EXPECT_EQ(asked(of_tcp), -ENOPROTOOPT);
}

TEST_F(Sockets, TellNoMoreThanThereIsRoomFor) {
    char value[9] = "........";
    int bytes = 2;
    test_socket.send_room = 0x44434241;
    EXPECT_EQ(test_socket_option(SOL_SOCKET, SO_SNDBUF, value, &bytes), 0);
    EXPECT_EQ(bytes, 2);
    EXPECT_STREQ(value, "AB......");
    bytes = 8;
    EXPECT_EQ(test_socket_option(SOL_SOCKET, SO_SNDBUF, value, &bytes), 0);
    EXPECT_EQ(bytes, 4);
    EXPECT_STREQ(value, "ABCD....");
    bytes = 0;
    EXPECT_EQ(test_socket_option(SOL_SOCKET, SO_SNDBUF, value, &bytes), 0);
    bytes = -1;
    EXPECT_EQ(test_socket_option(SOL_SOCKET, SO_SNDBUF, value, &bytes), -EINVAL);
}

TEST_F(Sockets, OfOtherProtocolsHaveNoneOfTcp) {
    test_socket.family = AF_INET6;
    EXPECT_EQ(option(of_tcp, tcp_no_delay), 0);
    test_socket.family = AF_UNIX;
    EXPECT_EQ(option(of_tcp, tcp_no_delay), -EOPNOTSUPP);
    SetUp();
    test_socket.type = SOCK_RAW;
    EXPECT_EQ(option(of_tcp, tcp_no_delay), -EOPNOTSUPP);
    SetUp();
    test_socket.protocol = of_udp;
    EXPECT_EQ(option(of_tcp, tcp_cork), -EOPNOTSUPP);
    EXPECT_EQ(option(SO_PROTOCOL), of_udp);
}

TEST_F(Sockets, HaveOptionsThatAreNotTold) {
    EXPECT_EQ(option(SO_PEERCRED), -ENOPROTOOPT);
    EXPECT_EQ(option(of_tcp, tcp_info), -ENOPROTOOPT);
    EXPECT_EQ(option(of_ip, SO_TYPE), -ENOPROTOOPT);
}

// C code may have taken anything for a socket.
TEST_F(Sockets, AreReadIfTheyAreTheKernels) {
    for (int byte = TEST_SOCKET_BEGIN; byte <= TEST_TCP_END; byte++) {
        for (int* what : {&test_socket_fault, &test_socket_of_user}) {
            SetUp();
            *what = byte;
            EXPECT_EQ(option(SO_TYPE), byte == TEST_TCP_END ? SOCK_STREAM : -EFAULT) << byte;
            EXPECT_EQ(option(of_tcp, tcp_no_delay), -EFAULT) << byte;
        }
    }
}

} // namespace
