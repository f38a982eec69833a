// SPDX-License-Identifier: GPL-2.0-or-later
// What a guest is given, and what becomes of the bytes that its reader sends.
#include "driver/guest_plan.h"

#include "../surroundings.h"
#include "parsed_options.h"

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <unistd.h>

namespace djstap::driver {
namespace {

Words reader_of(Words words) {
    words.emplace_back("--guest");
    words.emplace_back("script");
    return reader_command(accept(std::move(words)), "/there/djrun", "/there/module.ko");
}

TEST(ReaderInAGuest, HasTheOptionsThatConcernIt) {
    EXPECT_EQ(reader_of({}), (Words{"/there/djrun", "/there/module.ko"}));
    EXPECT_EQ(reader_of({"-c", "ls -l"}),
              (Words{"/there/djrun", "-c", "ls -l", "/there/module.ko"}));
    EXPECT_EQ(reader_of({"-w"}), (Words{"/there/djrun", "-w", "/there/module.ko"}));
    EXPECT_EQ(reader_of({"-s", "3"}), (Words{"/there/djrun", "-s", "3", "/there/module.ko"}));
    const Words timed = reader_of({"-T", "2"});
    ASSERT_EQ(timed.size(), 4u);
    EXPECT_EQ(timed[1], "-T");
    EXPECT_EQ(strtod(timed[2].c_str(), nullptr), 2.0);
    // The reader is what the last pass runs.
    EXPECT_EQ(reader_of({"--vp", "00001"}), (Words{"/there/djrun", "-v", "/there/module.ko"}));
    EXPECT_EQ(reader_of({"--vp", "11110"}), (Words{"/there/djrun", "/there/module.ko"}));
}

// Only where the output has a file, which is this machine's, do the pieces say what belongs there.
TEST(ReaderInAGuest, SendsPiecesIfThereAreFiles) {
    EXPECT_EQ(reader_of({"--output=json"}),
              (Words{"/there/djrun", "--output=json", "/there/module.ko"}));
    const Words one = reader_of({"-o", "out"});
    ASSERT_EQ(one.size(), 6u);
    EXPECT_EQ(one[1], "--channels");
    EXPECT_EQ((Words{one[3], one[4]}), (Words{"-o", "out"}));
    const Words two = reader_of({"--output=text", "--output=json:events"});
    ASSERT_EQ(two.size(), 6u);
    EXPECT_EQ(two[1], "--channels");
    EXPECT_EQ((Words{two[3], two[4]}), (Words{"--output=text", "--output=json:events"}));
}

// A usual guest has 512 megabytes, of which buffers may take 64.
TEST(MemoryOfAGuest, GrowsWithTheBuffers) {
    Options options;
    Limits limits;
    const auto with = [&](int64_t kilobytes, unsigned cpus) {
        limits.RING_KB = static_cast<decltype(limits.RING_KB)>(kilobytes);
        return guest_memory_mb(options, limits, cpus);
    };
    EXPECT_EQ(with(1024, 4), 512u);
    EXPECT_EQ(with(16384, 4), 512u);           // 64 megabytes
    EXPECT_EQ(with(32768, 2), 512u);           // of all CPUs
    EXPECT_EQ(with(16384 + 256, 4), 2u * 512); // 65 megabytes
    EXPECT_EQ(with(int64_t{512} << 10, 1), 2u * 512);
    EXPECT_EQ(with(int64_t{513} << 10, 1), 3u * 512);
    EXPECT_EQ(with(int64_t{256} << 10, 4), 3u * 512); // a gigabyte
    options.guest_memory_mb = 300;
    EXPECT_EQ(with(int64_t{256} << 10, 4), 300u);
}

TEST(FilesOfAGuest, AreThoseOfTheHostBesideItsOwn) {
    for (const char* own : {"/dev/null", "/proc/self/exe", "/sys/kernel"})
        EXPECT_FALSE(is_seen_in_guest(own)) << own;
    for (const char* of_host : {"/device", "/tmp/dev/x", "/usr/bin/djrun", "/process/x", "dev/x"})
        EXPECT_TRUE(is_seen_in_guest(of_host)) << of_host;
}

std::string piece(uint32_t channel, const std::string& bytes) {
    const PieceHeader header{channel, static_cast<uint32_t>(bytes.size())};
    return std::string(reinterpret_cast<const char*>(&header), sizeof header) + bytes;
}

class ChannelsOfAGuest : public testing::Test {
  protected:
    // A file that has been written before.
    OutputFile file(const std::string& name) const {
        const std::string path = folder_.write(name, "before");
        return {path, FileDescriptor(open(path.c_str(), O_WRONLY | O_CLOEXEC))};
    }
    std::string content(const std::string& name) const {
        std::ifstream in(folder_.file(name));
        return {std::istreambuf_iterator<char>(in), {}};
    }
    bool exists(const std::string& name) const {
        return std::filesystem::exists(folder_.file(name));
    }

    const test::TestFolder folder_;
};

std::vector<OutputFile> both(OutputFile one, OutputFile other) {
    std::vector<OutputFile> files;
    files.push_back(std::move(one));
    files.push_back(std::move(other));
    return files;
}

TEST_F(ChannelsOfAGuest, EachPieceGoesIntoItsFile) {
    const std::string sent = piece(0, "one ") + piece(1, "two ") + piece(0, "") +
                             piece(0, "three") + piece(2, "of no file") + piece(1, "four");
    // Of any size, as a channel of the guest hands them on.
    for (size_t bytes = 1; bytes <= sent.size(); bytes += 3) {
        GuestChannels channels(both(file("a"), file("b")));
        EXPECT_EQ(content("a"), "before");
        for (size_t at = 0; at < sent.size(); at += bytes)
            EXPECT_TRUE(channels.write(std::string_view(sent).substr(at, bytes)));
        EXPECT_FALSE(channels.failure());
        EXPECT_EQ(content("a"), "one three") << bytes;
        EXPECT_EQ(content("b"), "two four") << bytes;
    }
}

// What an earlier run has written is lost as soon as this one has begun, and only then.
TEST_F(ChannelsOfAGuest, FilesAreEmptiedOnce) {
    GuestChannels channels(both(file("a"), file("b")));
    EXPECT_EQ(content("b"), "before");
    channels.begin();
    EXPECT_EQ(content("a"), "");
    EXPECT_EQ(content("b"), "");
    EXPECT_TRUE(channels.write(piece(1, "x")));
    channels.begin();
    EXPECT_EQ(content("b"), "x");
    GuestChannels others(both(file("a"), file("b")));
    EXPECT_TRUE(others.write(""));
    EXPECT_EQ(content("a"), "");
}

TEST_F(ChannelsOfAGuest, AFileIsFollowedByNumberedOnes) {
    GuestChannels channels(both(file("a"), file("b")));
    const std::string next = piece(1 | PieceHeader::next_file, "");
    EXPECT_TRUE(channels.write(piece(1, "first") + next + piece(1, "second") + next +
                               piece(1, "third") + piece(0, "alone")));
    // A file that does not exist has none that follows it.
    EXPECT_TRUE(channels.write(piece(2 | PieceHeader::next_file, "")));
    EXPECT_EQ(content("b"), "first");
    EXPECT_EQ(content("b.1"), "second");
    EXPECT_EQ(content("b.2"), "third");
    EXPECT_EQ(content("a"), "alone");
    EXPECT_FALSE(exists("b.3"));
    EXPECT_FALSE(exists("a.1"));
}

TEST_F(ChannelsOfAGuest, AFileThatCannotBeWrittenIsAFailure) {
    OutputFile full{"/dev/full", FileDescriptor(open("/dev/full", O_WRONLY | O_CLOEXEC))};
    GuestChannels channels(both(file("a"), std::move(full)));
    EXPECT_TRUE(channels.write(piece(0, "one")));
    EXPECT_FALSE(channels.write(piece(1, "two")));
    ASSERT_TRUE(channels.failure());
    EXPECT_EQ(channels.failure()->message, "/dev/full: No space left on device");
    EXPECT_FALSE(channels.write(piece(0, " three"))); // it stays one
    EXPECT_EQ(content("a"), "one three");
}

TEST_F(ChannelsOfAGuest, AFolderThatIsGoneHasNoNextFile) {
    OutputFile alone = file("a");
    std::vector<OutputFile> files;
    alone.path = folder_.file("gone/a");
    files.push_back(std::move(alone));
    GuestChannels channels(std::move(files));
    EXPECT_FALSE(channels.write(piece(PieceHeader::next_file, "")));
    ASSERT_TRUE(channels.failure());
    EXPECT_EQ(channels.failure()->message, folder_.file("gone/a") + ": No such file or directory");
}

// A reader that is gone wants no more, which is no failure; djstap goes on for the others.
TEST_F(ChannelsOfAGuest, ReadersMayBeGone) {
    const auto before = signal(SIGPIPE, SIG_IGN);
    auto pipe = Pipe::open(), other = Pipe::open();
    ASSERT_TRUE(pipe && other);
    pipe->reader.reset();
    GuestChannels channels(both({"", std::move(pipe->writer)}, {"", std::move(other->writer)}));
    EXPECT_TRUE(channels.write(piece(0, "one")));
    EXPECT_TRUE(channels.write(piece(1, "two")));
    char bytes[8] = {};
    EXPECT_EQ(read(other->reader.get(), bytes, sizeof bytes), 3);
    EXPECT_STREQ(bytes, "two");
    other->reader.reset();
    EXPECT_FALSE(channels.write(piece(1, "three")));
    EXPECT_FALSE(channels.failure());
    signal(SIGPIPE, before);
}

// Without a name, it is told as what it is.
TEST_F(ChannelsOfAGuest, OneOutputAlone) {
    GuestOutput full({"", FileDescriptor(open("/dev/full", O_WRONLY | O_CLOEXEC))});
    full.begin(); // a device cannot be emptied
    EXPECT_FALSE(full.is_closed());
    EXPECT_FALSE(full.write("x"));
    EXPECT_TRUE(full.is_closed());
    ASSERT_TRUE(full.failure());
    EXPECT_EQ(full.failure()->message, "the output: No space left on device");
    OutputFile read_only = file("a");
    read_only.descriptor = FileDescriptor(open(folder_.file("a").c_str(), O_RDONLY | O_CLOEXEC));
    GuestOutput refused(std::move(read_only));
    EXPECT_FALSE(refused.write("x"));
    EXPECT_EQ(content("a"), "before");
    GuestOutput standard;
    standard.next_file(); // it is no file
    EXPECT_FALSE(standard.is_closed());
}

} // namespace
} // namespace djstap::driver
