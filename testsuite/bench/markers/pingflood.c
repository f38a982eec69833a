// SPDX-License-Identifier: GPL-2.0-or-later
// pingflood sends ICMP echo requests to this machine's loopback and reads each reply before it
// sends the next: `ping -f 127.0.0.1`, without its output.
//
//   pingflood COUNT
//
// Prints "COUNT NANOSECONDS", the average of a request and its reply.
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/ip_icmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

// As ping's: 56 bytes follow the header.
struct echo {
    struct icmphdr header;
    unsigned char data[56];
};

static uint64_t nanoseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

// The one's complement of the sum of all 16-bit words (RFC 792).
static uint16_t checksum(const struct echo* echo) {
    uint16_t words[sizeof(*echo) / 2];
    uint32_t sum = 0;
    memcpy(words, echo, sizeof(words));
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
        sum += words[i];
    sum = (sum >> 16) + (sum & 0xffff);
    return (uint16_t)~(sum + (sum >> 16));
}

static void fail(const char* what) {
    fprintf(stderr, "pingflood: %s: %s\n", what, strerror(errno));
    exit(1);
}

// Reads until the reply with this number comes: the socket sees the requests, too.
static void await_reply(int socket, uint16_t sequence) {
    for (;;) {
        unsigned char packet[256];
        ssize_t size = recv(socket, packet, sizeof(packet), 0);
        if (size < 0)
            fail("recv");
        size_t start = (size_t)(packet[0] & 15) * 4;
        struct icmphdr header;
        if ((size_t)size < start + sizeof(header))
            continue;
        memcpy(&header, packet + start, sizeof(header));
        if (header.type == ICMP_ECHOREPLY && header.un.echo.sequence == sequence)
            return;
    }
}

int main(int argc, char** argv) {
    char* end = NULL;
    unsigned long count = argc == 2 ? strtoul(argv[1], &end, 10) : 0;
    if (!count || *end) {
        fputs("usage: pingflood COUNT\n", stderr);
        return 2;
    }
    int fd = socket(AF_INET, SOCK_RAW, IPPROTO_ICMP);
    if (fd < 0)
        fail("socket");
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct echo echo = {.header = {.type = ICMP_ECHO}};
    echo.header.un.echo.id = (uint16_t)getpid();
    uint64_t began = nanoseconds();
    for (unsigned long i = 0; i < count; i++) {
        echo.header.un.echo.sequence = (uint16_t)i;
        echo.header.checksum = 0;
        echo.header.checksum = checksum(&echo);
        if (sendto(fd, &echo, sizeof(echo), 0, (struct sockaddr*)&to, sizeof(to)) < 0)
            fail("sendto");
        await_reply(fd, echo.header.un.echo.sequence);
    }
    printf("%lu %.1f\n", count, (double)(nanoseconds() - began) / (double)count);
    return 0;
}
