// SPDX-License-Identifier: GPL-2.0-or-later
// --monitor on a terminal that the test holds the other end of. ncurses keeps much for a process,
// so that each test has one of its own.
#include "session/monitor_screen.h"

#include "record_bytes.h"
#include "session/outputs.h"
#include "system/file.h"
#include "system/process.h"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <termios.h>
#include <thread>
#include <unistd.h>

namespace djstap {
namespace {

using Style = MonitorLine::Style;

class MonitorScreenTest : public testing::Test {
  protected:
    MonitorScreenTest() : ours_(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)) {
        EXPECT_EQ(grantpt(ours_.get()), 0);
        EXPECT_EQ(unlockpt(ours_.get()), 0);
        theirs_ = FileDescriptor(open(ptsname(ours_.get()), O_RDWR | O_NOCTTY | O_CLOEXEC));
        resize(20, 70);
    }
    void resize(uint16_t rows, uint16_t columns) const {
        winsize size{};
        size.ws_row = rows;
        size.ws_col = columns;
        EXPECT_EQ(ioctl(theirs_.get(), TIOCSWINSZ, &size), 0);
    }
    // What was typed before the process reads it.
    void type(const std::string& keys) const {
        termios mode{};
        tcgetattr(theirs_.get(), &mode);
        mode.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
        tcsetattr(theirs_.get(), TCSANOW, &mode);
        EXPECT_EQ(write(ours_.get(), keys.data(), keys.size()), static_cast<ssize_t>(keys.size()));
    }
    // Returns what a process tells that has the terminal, or another file, as its standard input
    // and output.
    std::string told_by(const std::function<std::string()>& work, int input = -1, int output = -1,
                        const char* kind = "xterm") {
        auto answer = Pipe::open();
        EXPECT_TRUE(answer);
        auto child = Process::fork([&] {
            // If the test is ended, the process waits for keys that nobody types.
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            dup2(input < 0 ? theirs_.get() : input, STDIN_FILENO);
            dup2(output < 0 ? theirs_.get() : output, STDOUT_FILENO);
            for (const char* each : {"LINES", "COLUMNS", "ESCDELAY", "LC_ALL", "LC_CTYPE", "LANG"})
                unsetenv(each);
            if (kind)
                setenv("TERM", kind, 1);
            else
                unsetenv("TERM");
            const std::string words = "=" + work();
            const ssize_t sent = write(answer->writer.get(), words.data(), words.size());
            static_cast<void>(sent); // the parent notices
        });
        answer->writer.reset();
        std::string told;
        // The terminal has to be read, too: it takes some of what is drawn only.
        for (bool open = true; open;) {
            pollfd polled[] = {{answer->reader.get(), POLLIN, 0}, {ours_.get(), POLLIN, 0}};
            poll(polled, 2, -1);
            char bytes[4096];
            if (polled[1].revents & POLLIN)
                if (const ssize_t got = read_some(ours_.get(), bytes, sizeof bytes); got > 0)
                    drawn_.append(bytes, static_cast<size_t>(got));
            if (!quits_at_.empty() && drawn_.find(quits_at_) != std::string::npos) {
                quits_at_.clear();
                type("q");
            }
            if (polled[0].revents && !(polled[1].revents & POLLIN)) {
                const ssize_t got = read_some(answer->reader.get(), bytes, sizeof bytes);
                open = got > 0;
                if (open)
                    told.append(bytes, static_cast<size_t>(got));
            }
        }
        if (child)
            child->wait();
        EXPECT_TRUE(told.starts_with("=")) << "it has ended before";
        return told.empty() ? "" : told.substr(1);
    }
    std::string check(int input, int output, const char* kind = "xterm") {
        return told_by(
            [] {
                const Status checked = MonitorScreen::check();
                return checked ? "fine" : checked.failure().message;
            },
            input, output, kind);
    }
    // The attributes that were set last before a text was drawn.
    std::string attributes_of(const std::string& text) const {
        const size_t at = drawn_.find(text);
        if (at == std::string::npos)
            return "not drawn";
        const size_t begin = drawn_.rfind("\x1b[", at), end = drawn_.find('m', begin);
        std::string numbers = ";" + drawn_.substr(begin + 2, end - begin - 2) + ";", all;
        for (const char* each : {"1", "2", "4", "7"})
            if (end < at && numbers.find(";" + std::string(each) + ";") != std::string::npos)
                all += each;
        return all;
    }

    FileDescriptor ours_, theirs_;
    std::string drawn_;
    std::string quits_at_; // when this is drawn, q is typed
};

TEST_F(MonitorScreenTest, NeedsATerminalOnBothSides) {
    const FileDescriptor null(open("/dev/null", O_RDWR | O_CLOEXEC));
    const std::string needs = "the monitor needs a terminal for its keys and its tables, but ";
    EXPECT_EQ(check(-1, -1), "fine");
    EXPECT_EQ(check(null.get(), -1), needs + "standard input is not one");
    EXPECT_EQ(check(-1, null.get()), needs + "standard output is not one");
    EXPECT_EQ(check(null.get(), null.get()), needs + "standard input is not one");
    EXPECT_EQ(check(-1, -1, "none-such"), "the monitor does not know the terminal 'none-such'");
    EXPECT_EQ(told_by(
                  [] {
                      const auto opened = MonitorScreen::open();
                      return opened ? "fine" : opened.failure().message;
                  },
                  null.get()),
              needs + "standard input is not one");
}

// terminfo(5), of xterm: what keys send.
TEST_F(MonitorScreenTest, KnowsItsKeys) {
    type("\x1bOA\x1bOB\x1b[5~\x1b[6~\x1bOH\x1bOF\x1bOD\x1bOC"
         "\x01\x7f p\t"
         "\xc3\xa4q");
    EXPECT_EQ(told_by([] {
                  auto screen = std::move(*MonitorScreen::open());
                  const char* const names[] = {"up",  "down", "page up", "page down", "home",
                                               "end", "left", "right",   "character"};
                  const std::map<MonitorKey, const char*> all = {
                      {MonitorKey::Up, names[0]},       {MonitorKey::Down, names[1]},
                      {MonitorKey::PageUp, names[2]},   {MonitorKey::PageDown, names[3]},
                      {MonitorKey::Home, names[4]},     {MonitorKey::End, names[5]},
                      {MonitorKey::Left, names[6]},     {MonitorKey::Right, names[7]},
                      {MonitorKey::Character, names[8]}};
                  std::string told;
                  bool resized = false;
                  for (char last = 0; last != 'q';) {
                      const auto press = screen->key(resized);
                      if (!press)
                          continue;
                      last = press->character;
                      told += all.at(press->key);
                      if (press->key == MonitorKey::Character)
                          told += " " + std::to_string(last);
                      told += last == 'q' ? "" : ", ";
                  }
                  return told + (screen->key(resized) ? " and more" : "") +
                         (resized ? " resized" : "");
              }),
              "up, down, page up, page down, home, end, left, right, character 1, "
              "character 32, character 112, character 9, character 113");
}

TEST_F(MonitorScreenTest, KnowsItsSize) {
    EXPECT_EQ(told_by([this] {
                  auto screen = std::move(*MonitorScreen::open());
                  const auto size = [&] {
                      return std::to_string(screen->width()) + "x" +
                             std::to_string(screen->height());
                  };
                  std::string told = size();
                  bool resized = false;
                  screen->key(resized);
                  told += resized ? " resized" : "";
                  resize(9, 33);
                  raise(SIGWINCH);
                  screen->key(resized);
                  told += resized ? ", resized: " : ", not resized: ";
                  return told + size();
              }),
              "70x20, resized: 33x9");
}

TEST_F(MonitorScreenTest, DrawsLinesAsTheyAre) {
    told_by([] {
        auto screen = std::move(*MonitorScreen::open());
        const std::vector<MonitorLine> lines = {
            {Style::Title, "titled"}, {Style::Head, "headed"},      {Style::Selected, "selected"},
            {Style::Off, "switched"}, {Style::Message, "messaged"}, {Style::Plain, "plain"}};
        screen->draw(lines);
        return std::string();
    });
    EXPECT_EQ(attributes_of("titled"), "7");
    EXPECT_EQ(attributes_of("headed"), "14");
    EXPECT_EQ(attributes_of("selected"), "7");
    EXPECT_EQ(attributes_of("switched"), "2");
    EXPECT_EQ(attributes_of("messaged"), "1");
    EXPECT_EQ(attributes_of("plain"), "");
    size_t before = 0;
    for (const char* text : {"titled", "headed", "selected", "switched", "messaged", "plain"}) {
        EXPECT_GT(drawn_.find(text), before) << text;
        before = drawn_.find(text);
    }
    EXPECT_NE(drawn_.find("\x1b[?1049l"), std::string::npos) << "the terminal is given back";
}

// The first line is at the top, so that as many fit as there are rows.
TEST_F(MonitorScreenTest, FillsTheTerminal) {
    told_by([] {
        auto screen = std::move(*MonitorScreen::open());
        std::vector<MonitorLine> lines;
        for (size_t i = 1; i <= screen->height(); i++)
            lines.push_back({Style::Plain, "row" + std::to_string(i) + "."});
        screen->draw(lines);
        return std::string();
    });
    for (int i = 1; i <= 20; i++)
        EXPECT_NE(drawn_.find("row" + std::to_string(i) + "."), std::string::npos) << i;
}

// What was drawn before is gone.
TEST_F(MonitorScreenTest, DrawsWhatIsNew) {
    told_by([] {
        auto screen = std::move(*MonitorScreen::open());
        screen->draw(std::vector<MonitorLine>{{Style::Plain, "first"}, {Style::Plain, "second"}});
        screen->draw(std::vector<MonitorLine>{{Style::Plain, "third"}});
        return std::string();
    });
    EXPECT_NE(drawn_.find("third"), std::string::npos);
    const size_t second = drawn_.find("second");
    ASSERT_NE(second, std::string::npos);
    EXPECT_TRUE(drawn_.find("\x1b[J", second) != std::string::npos ||
                drawn_.find("\x1b[K", second) != std::string::npos ||
                drawn_.find("\x1b[2K", second) != std::string::npos)
        << "the second line is erased";
}

// The output of --monitor: events, keys, and what is said when the screen is gone.
class MonitorOutputTest : public MonitorScreenTest {
  protected:
    class Controls : public SessionControls {
      public:
        explicit Controls(int error) : error_(error) {}
        int switch_probe(uint32_t probe, bool on) override {
            asked += std::to_string(probe) + (on ? "+" : "-");
            return error_;
        }
        std::optional<djs_counts> counts() override { return std::nullopt; }
        std::string asked;

      private:
        int error_;
    };
    // Takes snapshots and looks at the keys until the user quits. Returns which probes were to be
    // switched.
    static std::string until_quit(Output& output, int error, bool controls = true) {
        Controls all(error);
        ModuleMeta meta;
        meta.name = "m";
        meta.formats = {{"%d", "l", DJS_SHOWS_BEGIN, 0}};
        const RecordClock clock(djs_clock{1, 1, 1, 1'000'000, 0});
        if (controls)
            output.control(all);
        output.begin(meta, clock);
        const auto print = [&](const ModuleMeta::Format& format, const std::string& arguments) {
            output.print(Event{0, 1, clock, format, arguments});
        };
        print({"%d", "l", DJS_SHOWS_BEGIN, 0}, number(1000));
        for (int64_t i = 0; i < 2; i++)
            print({"", "lslllll", DJS_SHOWS_PROBE, 2}, number(i) + text("p") + number(9 - i) +
                                                           number(1) + number(1) + number(1) +
                                                           number(1));
        print({"%d", "l", DJS_SHOWS_END, 0}, number(1000));
        while (!output.is_closed())
            output.flush();
        print(Event::as_it_is, text("the last line\n"));
        output.error("bad\x1b", "here");
        output.warning("careful");
        output.flush();
        output.end();
        return all.asked;
    }
    // Returns what it wrote, with the messages behind it.
    std::string written_by(const std::function<std::string(Output&)>& work, int input = -1,
                           bool warnings = true) {
        const FileDescriptor out(memfd_create("out", MFD_CLOEXEC)),
            messages(memfd_create("messages", MFD_CLOEXEC));
        asked_ = told_by(
            [&] {
                Writer writer(out.get(), "out"), other(messages.get(), "messages");
                return work(*make_monitor_output(
                    {.writer = writer, .messages = other, .warnings = warnings}));
            },
            input);
        std::string all, more;
        read_from_start(out.get(), all);
        read_from_start(messages.get(), more);
        return all + "|" + more;
    }
    std::string asked_;
};

const std::string monitor_last_words = "the last line\n|ERROR: bad? near here\nWARNING: careful\n";

TEST_F(MonitorOutputTest, SwitchesProbesByKeys) {
    type(" ppq");
    EXPECT_EQ(written_by([](Output& output) { return until_quit(output, 0); }), monitor_last_words);
    EXPECT_EQ(asked_, "0-1-1+") << "what was off stays off";
    EXPECT_NE(drawn_.find("djstap m"), std::string::npos);
}

TEST_F(MonitorOutputTest, TellsWhatCannotBeSwitched) {
    quits_at_ = "the probe cannot be switched: Device or resource busy";
    type(" ");
    written_by([](Output& output) { return until_quit(output, EBUSY); });
    EXPECT_EQ(asked_, "0-");
    EXPECT_EQ(quits_at_, "") << drawn_;
    for (const bool controls : {true, false}) {
        drawn_.clear();
        quits_at_ = "probes cannot be switched with --runtime=user";
        type(" ");
        written_by([&](Output& output) { return until_quit(output, ENOTTY, controls); });
        EXPECT_EQ(asked_, controls ? "0-" : "");
        EXPECT_EQ(quits_at_, "") << drawn_;
    }
}

TEST_F(MonitorOutputTest, SaysNoWarningsIfTheyAreNotWanted) {
    type("q");
    EXPECT_EQ(written_by([](Output& output) { return until_quit(output, 0); }, -1, false),
              "the last line\n|ERROR: bad? near here\n");
}

// They remain when the screen is gone, but nobody has to wait for that.
TEST_F(MonitorOutputTest, ShowsMessagesAtOnce) {
    for (const bool is_error : {false, true}) {
        drawn_.clear();
        quits_at_ = is_error ? "ERROR: bad? near here" : "WARNING: careful";
        written_by([&](Output& output) {
            ModuleMeta meta;
            meta.formats = {{"%d", "l", DJS_SHOWS_BEGIN, 0}};
            output.begin(meta, RecordClock());
            output.flush();
            if (is_error)
                output.error("bad\x1b", "here");
            else
                output.warning("careful");
            const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
            while (!output.is_closed() && std::chrono::steady_clock::now() < end)
                output.flush();
            output.end();
            return std::string();
        });
        EXPECT_EQ(quits_at_, "") << drawn_;
    }
}

// Keys are looked at now and then while many events come.
TEST_F(MonitorOutputTest, LooksAtKeysWhileEventsCome) {
    type("q");
    EXPECT_EQ(written_by([](Output& output) {
                  const RecordClock clock;
                  output.begin(ModuleMeta(), clock);
                  int events = 0;
                  for (; !output.is_closed() && events < 10'000; events++)
                      output.print(Event{0, 1, clock, Event::as_it_is, text("x")});
                  output.end();
                  return std::to_string(events);
              }),
              std::string(512, 'x') +
                  "|WARNING: the module was made without --monitor: it shows neither globals nor "
                  "probes\n");
    EXPECT_EQ(asked_, "512");
}

TEST_F(MonitorOutputTest, WithoutATerminalEndsAtOnce) {
    const FileDescriptor null(open("/dev/null", O_RDWR | O_CLOEXEC));
    const std::string written =
        written_by([](Output& output) { return until_quit(output, 0); }, null.get());
    EXPECT_EQ(written, "the last line\n|ERROR: the monitor needs a terminal for its keys and its "
                       "tables, but standard input is not one; without --monitor, the globals that "
                       "the script never reads are printed at the end\nERROR: bad? near here\n"
                       "WARNING: careful\n");
    EXPECT_EQ(drawn_, "");
}

// The first ones give way.
TEST_F(MonitorOutputTest, KeepsAHundredMessages) {
    type("q");
    const std::string written = written_by([](Output& output) {
        const RecordClock clock;
        ModuleMeta meta;
        meta.formats = {{"%d", "l", DJS_SHOWS_BEGIN, 0}};
        output.begin(meta, clock);
        for (int i = 1; i <= 101; i++)
            output.warning("message " + std::to_string(i));
        djs_counts counts{};
        output.counts(counts);
        output.end();
        return std::string(output.wants_snapshots() ? "snapshots" : "") +
               (output.wants_all_probes() ? " all" : "");
    });
    EXPECT_EQ(asked_, "snapshots");
    EXPECT_TRUE(written.starts_with("|WARNING: message 2\nWARNING: message 3\n")) << written;
    EXPECT_TRUE(written.ends_with("WARNING: message 101\n")) << written;
}

} // namespace
} // namespace djstap
