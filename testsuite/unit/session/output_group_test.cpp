// SPDX-License-Identifier: GPL-2.0-or-later
// Several outputs of one session: each receives everything that it wants.
#include "session/output_group.h"

#include "session/kernel_log.h"
#include "session/outputs.h"

#include "fake_module.h"

#include <cerrno>
#include <gtest/gtest.h>
#include <memory>
#include <sys/socket.h>
#include <unistd.h>

namespace djstap {
namespace {

class NoControls : public SessionControls {
  public:
    int switch_probe(uint32_t, bool) override { return 0; }
    std::optional<djs_counts> counts() override { return std::nullopt; }
};

// Notes what it receives.
class Noting : public Output {
  public:
    Noting(std::string& notes, bool wants) : notes_(notes), wants_(wants) {}

    void control(SessionControls&) override { notes_ += "control "; }
    void begin(const ModuleMeta& meta, const RecordClock&) override {
        notes_ += "begin(" + meta.name + ") ";
    }
    void print(const Event& event) override {
        std::string memory;
        notes_ += "print(" + std::string(event.printed(memory)) + ") ";
    }
    bool print_stack(const Event&, std::span<const std::string> lines) override {
        if (wants_)
            notes_ += "stack(" + std::to_string(lines.size()) + ") ";
        return wants_;
    }
    void error(std::string_view message, std::string_view place) override {
        notes_ += "error(" + std::string(message) + "," + std::string(place) + ") ";
    }
    void warning(std::string_view message) override {
        notes_ += "warning(" + std::string(message) + ") ";
    }
    void switch_file() override { notes_ += "switch "; }
    void probes(const std::vector<AttachedProbe>& probes) override {
        notes_ += "probes(" + std::to_string(probes.size()) + ") ";
    }
    void counts(const djs_counts& counts) override {
        notes_ += "counts(" + std::to_string(counts.errors) + ") ";
    }
    void end() override { notes_ += "end "; }
    bool wants_all_probes() const override { return wants_; }
    bool wants_snapshots() const override { return wants_; }
    Writer& writer() override { return writer_; }
    void flush() override { notes_ += "flush "; }
    bool is_closed() override { return closed; }

    bool closed = false;

  private:
    std::string& notes_;
    bool wants_;
    Writer writer_{-1, "nowhere"};
};

class OutputGroupTest : public testing::Test {
  protected:
    OutputGroup group(bool first_wants, bool second_wants) {
        std::vector<std::unique_ptr<Output>> outputs;
        for (const bool wants : {first_wants, second_wants}) {
            auto one = std::make_unique<Noting>(notes_[outputs.size()], wants);
            noting_[outputs.size()] = one.get();
            outputs.push_back(std::move(one));
        }
        return OutputGroup(std::move(outputs));
    }
    RecordClock clock_;
    std::string notes_[2];
    Noting* noting_[2] = {};
};

TEST_F(OutputGroupTest, EachReceivesEverything) {
    OutputGroup both = group(true, false);
    NoControls controls;
    ModuleMeta meta;
    meta.name = "m";
    djs_counts counts{};
    counts.errors = 7;
    both.control(controls);
    both.begin(meta, clock_);
    both.print(Event{0, 1, clock_, {"hello", ""}, ""});
    both.error("wrong", "there");
    both.warning("careful");
    both.switch_file();
    both.probes(std::vector<AttachedProbe>(2));
    both.counts(counts);
    both.flush();
    both.end();
    EXPECT_EQ(notes_[0], "control begin(m) print(hello) error(wrong,there) warning(careful) switch "
                         "probes(2) counts(7) flush end ");
    EXPECT_EQ(notes_[1], notes_[0]);
}

TEST_F(OutputGroupTest, SnapshotsAreForThoseThatWantThem) {
    OutputGroup both = group(false, true);
    ModuleMeta::Format format{"n", ""};
    format.in_snapshot = true;
    both.print(Event{0, 1, clock_, format, ""});
    EXPECT_EQ(notes_[0], "");
    EXPECT_EQ(notes_[1], "print(n) ");
    EXPECT_TRUE(both.wants_snapshots());
    EXPECT_TRUE(both.wants_all_probes());
    EXPECT_TRUE(group(true, false).wants_snapshots());
    EXPECT_FALSE(group(false, false).wants_snapshots());
    EXPECT_FALSE(group(false, false).wants_all_probes());
}

// An output that does not take a stack as a whole prints its lines.
TEST_F(OutputGroupTest, StacksAreTakenWholeOrAsLines) {
    OutputGroup both = group(false, true);
    const std::vector<std::string> lines = {"inner\n", "outer\n"};
    EXPECT_TRUE(both.print_stack(Event{0, 1, clock_, Event::as_it_is, {}}, lines));
    EXPECT_EQ(notes_[0], "print(inner\n) print(outer\n) ");
    EXPECT_EQ(notes_[1], "stack(2) ");
}

TEST_F(OutputGroupTest, IsClosedWhenNothingCanBeWritten) {
    OutputGroup both = group(true, true);
    EXPECT_FALSE(both.is_closed());
    noting_[0]->closed = true; // of an error that is not a reader's end
    EXPECT_TRUE(both.is_closed());
    noting_[1]->closed = true;
    EXPECT_TRUE(both.is_closed());
    noting_[0]->closed = false;
    EXPECT_TRUE(both.is_closed());
}

// The kernel's log: each read of /dev/kmsg returns one record, "priority,sequence,time,flags;text",
// with lines behind it that tell its device (Documentation/ABI/testing/dev-kmsg).
class KernelLogTest : public testing::Test {
  protected:
    KernelLogTest() {
        int ends[2];
        EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
        ours_ = FileDescriptor(ends[0]);
        log_ = FileDescriptor(ends[1]);
        kernel_.descriptors["/dev/kmsg"] = log_.get();
    }
    void say(const std::string& record) const {
        ASSERT_EQ(write(ours_.get(), record.data(), record.size()),
                  static_cast<ssize_t>(record.size()));
    }
    FakeModule kernel_;
    FileDescriptor ours_, log_;
};

TEST_F(KernelLogTest, HasTheTextOfItsRecords) {
    KernelLog log;
    EXPECT_EQ(log.tail(), "");
    say("6,339,5140900,-;a module: fails\n SUBSYSTEM=pci\n DEVICE=+pci:0000\n");
    say("no record");
    say("4,340,5690716,-;one; two");
    EXPECT_EQ(log.tail(), "a module: fails\none; two\n");
    EXPECT_EQ(log.tail(), "") << "they have been read";
}

TEST_F(KernelLogTest, ShowsTheLastFiveLines) {
    KernelLog log;
    for (int i = 1; i <= 7; i++)
        say("6,1,1,-;line " + std::to_string(i) + "\n");
    EXPECT_EQ(log.tail(), "line 3\nline 4\nline 5\nline 6\nline 7\n");
    for (int i = 1; i <= 3; i++)
        say("6,1,1,-;" + std::to_string(i) + "\n");
    EXPECT_EQ(log.tail(2), "2\n3\n");
}

TEST_F(KernelLogTest, OfNobodyIsEmpty) {
    kernel_.descriptors.clear();
    kernel_.open_errors["/dev/kmsg"] = EACCES;
    KernelLog log;
    EXPECT_EQ(log.tail(), "");
}

} // namespace
} // namespace djstap
