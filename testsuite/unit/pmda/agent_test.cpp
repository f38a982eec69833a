// SPDX-License-Identifier: GPL-2.0-or-later
// The agent, with a pmcd and programs that are made up: what clients get when they ask.
#include "pmda/agent.h"

#include "session/module_loader.h"
#include "shown.h"
#include "system/file.h"
#include "system/temporary.h"

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <functional>
#include <gtest/gtest.h>
#include <set>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/utsname.h>
#include <thread>

namespace djstap::pmda {
namespace {

// What libpcp_pmda does for the agent, which never calls its own functions here.
struct MadeUpPmcd {
    std::function<int()> request;
    FileDescriptor connection{eventfd(1, EFD_CLOEXEC)}; // there always is a request
    int status = 0;                                     // of connecting
};
MadeUpPmcd* pmcd = nullptr;

class AgentTest : public testing::Test {
  protected:
    AgentTest() {
        std::filesystem::create_directory(scripts_);
        options_.folder = scripts_;
        options_.permissions = folder_.file("allow");
        options_.version = "1.2.3";
        options_.between_looks = std::chrono::milliseconds(50);
        // It runs what is in a script as a shell does.
        program("[ \"$1\" = --info ] && exec cat " + folder_.file("info") +
                "\nfor last; do :; done\nexec sh \"$last\"");
        // PCP's library cannot free what it allocates for it.
        char name[] = "djstap";
        pmdaDaemon(&dispatch_, PMDA_INTERFACE_7, name, next_domain_++, nullptr, nullptr);
        EXPECT_EQ(dispatch_.status, 0);
        kept_.push_back(&dispatch_);
        pmcd = &pmcd_;
    }
    ~AgentTest() override { pmcd = nullptr; }

    void program(const std::string& commands) {
        for (std::string* path : {&options_.programs.djstap, &options_.programs.djrun}) {
            *path = folder_.file(path == &options_.programs.djrun ? "djrun" : "djstap");
            ASSERT_TRUE(write_file(*path, "#!/bin/sh\n" + commands + "\n"));
            ASSERT_EQ(chmod(path->c_str(), 0755), 0);
        }
    }
    // Each is asked until it says that it is done. Then pmcd ends.
    using Steps = std::vector<std::function<bool()>>;
    int run(const Steps& steps) {
        const auto begin = std::chrono::steady_clock::now();
        size_t next = 0;
        pmcd_.request = [&] {
            while (next < steps.size() && steps[next]())
                next++;
            if (next == steps.size())
                return -1;
            if (std::chrono::steady_clock::now() - begin > std::chrono::minutes(1)) {
                ADD_FAILURE() << "step " << next << " is never done";
                return -1;
            }
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
            return 0;
        };
        testing::internal::CaptureStderr();
        const int status = run_agent(dispatch_, options_);
        log_ = testing::internal::GetCapturedStderr();
        if (pmcd_.status == 0) {
            EXPECT_EQ(next, steps.size()) << "it has ended before\n" << log_;
        }
        return status;
    }

    // Returns what a client of this connection is told.
    std::string value(const std::string& name, int context = 0) {
        pmID id = PM_ID_NULL;
        if (calls_.pmid(("djstap." + name).c_str(), &id, calls_.ext) < 0)
            return "no such name";
        calls_.ext->e_context = context;
        pmResult* result = nullptr;
        EXPECT_EQ(calls_.fetch(1, &id, &result, calls_.ext), 0);
        EXPECT_EQ(result->numpmid, 1);
        pmInDom domain = PM_INDOM_NULL;
        for (int i = 0; i < calls_.ext->e_nmetrics; i++)
            if (calls_.ext->e_metrics[i].m_desc.pmid == id)
                domain = calls_.ext->e_metrics[i].m_desc.indom;
        return shown(*result->vset[0], domain);
    }
    std::string state() { return value("agent.script.state"); }
    std::string message() { return value("agent.script.message"); }

    // What a script writes that shows a number.
    static std::string frames_of(int64_t number) {
        DescriptionFrame description;
        description.globals.emplace_back();
        description.globals[0].name = "n";
        description.globals[0].value = "number";
        GlobalsFrame globals;
        globals.globals.emplace_back();
        globals.globals[0].elements.emplace_back();
        globals.globals[0].elements[0].numbers[0] = number;
        globals.globals[0].elements[0].has = 1;
        std::string bytes;
        put_frame(bytes, description);
        put_frame(bytes, globals);
        return bytes;
    }
    // Returns the commands of a script that shows a number.
    std::string showing(int64_t number, const std::string& then = "exec sleep 1000") const {
        const std::string path = folder_.file("frames" + std::to_string(number));
        EXPECT_TRUE(write_file(path, frames_of(number)));
        return "cat " + path + "\n" + then + "\n";
    }
    void script(const std::string& name, const std::string& commands, mode_t mode = 0644) const {
        const std::string path = scripts_ + "/" + name;
        ASSERT_TRUE(write_atomically(path, commands));
        ASSERT_EQ(chmod(path.c_str(), mode), 0);
    }
    std::string recording(const std::string& name, const std::string& bytes) {
        options_.recorded.push_back(folder_.file(name));
        EXPECT_TRUE(write_file(options_.recorded.back(), bytes));
        return options_.recorded.back();
    }

    // What a client stores: a value of a metric.
    struct Stored {
        int metrics = 1, values = 1, format = PM_VAL_DPTR, type = PM_TYPE_STRING;
        std::string name = "agent.store";
        int missing = 0; // bytes of the block
    };
    int store(const std::string& text, int context, const Stored& stored) {
        std::vector<char> block(PM_VAL_HDR_SIZE + text.size());
        auto* const value = reinterpret_cast<pmValueBlock*>(block.data());
        value->vtype = static_cast<unsigned>(stored.type) & 0xffU;
        value->vlen =
            static_cast<unsigned>(static_cast<int>(block.size()) - stored.missing) & 0xffffffU;
        text.copy(block.data() + PM_VAL_HDR_SIZE, text.size());
        pmValueSet set{};
        EXPECT_GE(calls_.pmid(("djstap." + stored.name).c_str(), &set.pmid, calls_.ext), 0);
        set.numval = stored.values;
        set.valfmt = stored.format;
        set.vlist[0].inst = static_cast<int>(PM_IN_NULL);
        set.vlist[0].value.pval = value;
        alignas(pmResult) char memory[sizeof(pmResult) + sizeof(pmValueSet*)] = {};
        auto* const result = reinterpret_cast<pmResult*>(memory);
        result->numpmid = stored.metrics;
        pmValueSet** const sets = result->vset;
        for (int i = 0; i < stored.metrics; i++)
            sets[i] = &set;
        calls_.ext->e_context = context;
        return calls_.store(result, calls_.ext);
    }
    int store(const std::string& text, int context) { return store(text, context, Stored()); }
    void connects(int context, const std::string& user) {
        calls_.attribute(context, PMDA_ATTR_USERNAME, user.c_str(),
                         static_cast<int>(user.size()) + 1, calls_.ext);
    }

    static inline int next_domain_ = 480;
    static inline auto& kept_ = *new std::vector<pmdaInterface*>;
    pmdaInterface& dispatch_ = *new pmdaInterface{};
    decltype(dispatch_.version.seven)& calls_ = dispatch_.version.seven;
    MadeUpPmcd pmcd_;
    TemporaryFolder folder_ = std::move(*TemporaryFolder::create("/tmp"));
    const std::string scripts_ = folder_.file("scripts");
    AgentOptions options_;
    std::string log_;
};

// It looks at its scripts more often than it is asked: a request is read only when there is one.
TEST_F(AgentTest, RunsAsLongAsPmcdDoes) {
    pmcd_.connection = FileDescriptor(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
    const itimerspec often{{0, 200'000'000}, {0, 200'000'000}};
    ASSERT_EQ(timerfd_settime(pmcd_.connection.get(), 0, &often, nullptr), 0);
    int asked = 0;
    const auto request = [&, times = uint64_t{0}]() mutable {
        EXPECT_EQ(::read(pmcd_.connection.get(), &times, sizeof times), 8) << "there is none";
        return ++asked == 3;
    };
    EXPECT_EQ(run({request}), 0);
    EXPECT_EQ(asked, 3);
    EXPECT_TRUE(dispatch_.comm.flags & PMDA_FLAG_AUTHORIZE) << "pmcd tells who its clients are";
    pmcd_.status = -1;
    EXPECT_EQ(run({[&] { return ++asked == 3; }}), 1);
    EXPECT_EQ(asked, 3) << "nobody asks";
}

TEST_F(AgentTest, TellsOfItsMachine) {
    utsname system{};
    ASSERT_EQ(uname(&system), 0);
    ASSERT_TRUE(write_file(folder_.file("info"), R"({"chapters": [{"title": "One", "facts":
        [{"name": "some thing", "present": true, "value": "there"}]}]})"));
    run({[&] { return value("agent.info.value").find("some_thing=there") != std::string::npos; },
         [&] {
             EXPECT_EQ(value("agent.version"), "1.2.3");
             EXPECT_EQ(value("agent.kernel.release"), system.release);
             const auto notes = read_file("/sys/kernel/notes");
             EXPECT_EQ(value("agent.kernel.build_id"), notes ? build_id_of_notes(*notes) : "");
             const std::string facts = value("agent.info.value");
             EXPECT_NE(facts.find("djrun=" + options_.programs.djrun), std::string::npos) << facts;
             return true;
         }});
}

TEST_F(AgentTest, AnswersForEachName) {
    run({[&] {
        char** list = nullptr;
        int* leaves = nullptr;
        EXPECT_EQ(calls_.children("djstap.agent.kernel", 0, &list, &leaves, calls_.ext), 2);
        EXPECT_EQ((std::set<std::string>{list[0], list[1]}),
                  (std::set<std::string>{"build_id", "release"}));
        free(list);
        free(leaves);
        pmID id = PM_ID_NULL;
        EXPECT_EQ(calls_.pmid("djstap.none", &id, calls_.ext), PM_ERR_NAME);
        EXPECT_EQ(calls_.pmid("djstap.agent.store", &id, calls_.ext), 0);
        EXPECT_EQ(calls_.name(id, &list, calls_.ext), 1);
        EXPECT_STREQ(list[0], "djstap.agent.store");
        free(list);
        const auto text = [&](int kind, int of) {
            char* found = nullptr;
            if (calls_.text(of, kind, &found, calls_.ext) < 0)
                return std::string("none");
            const std::string copy = found;
            free(found);
            return copy;
        };
        const int number = static_cast<int>(id);
        const std::string brief = "Whether this connection may store scripts";
        EXPECT_EQ(text(PM_TEXT_PMID | PM_TEXT_ONELINE, number), brief);
        EXPECT_EQ(text(PM_TEXT_PMID | PM_TEXT_HELP, number).find(brief + "\nIts value is"), 0U);
        EXPECT_EQ(text(PM_TEXT_INDOM | PM_TEXT_ONELINE, number), "none");
        EXPECT_EQ(text(PM_TEXT_PMID | PM_TEXT_ONELINE, number + 100), "none");
        return true;
    }});
}

// They are shown at once; what is damaged or cannot be read is, too, as far as it goes.
TEST_F(AgentTest, ShowsRecordings) {
    EndFrame end;
    end.counts.errors = 3;
    std::string whole = frames_of(7);
    put_frame(whole, MessageFrame{false, "careful", ""});
    put_frame(whole, MessageFrame{true, "wrong", "x.stp:1:2"});
    put_frame(whole, end);
    recording("web-1.snapshots", whole);
    const std::string same = recording("web_1.snapshots", frames_of(8));
    const std::string cut = recording("cut.snapshots", whole.substr(0, whole.size() - 1));
    options_.recorded.emplace_back("/nowhere/none.snapshots");
    script("a.stp", "exec sleep 1000"); // which is not run
    run({[&] {
        EXPECT_EQ(state(), "cut=failed none=failed web_1=ended");
        EXPECT_EQ(value("web_1.n"), "7");
        EXPECT_EQ(value("cut.n"), "7");
        EXPECT_EQ(value("agent.script.errors"), "cut=0 none=0 web_1=3");
        EXPECT_EQ(value("agent.script.starts"), "cut=0 none=0 web_1=0");
        EXPECT_EQ(message(), "cut=" + cut +
                                 ": the last frame is incomplete none=/nowhere/none.snapshots: "
                                 "cannot open: No such file or directory web_1=" +
                                 same + " is not shown: its name is that of another recording");
        return true;
    }});
    EXPECT_NE(log_.find("web-1: careful\n"), std::string::npos) << log_;
    EXPECT_NE(log_.find("web-1: wrong near x.stp:1:2\n"), std::string::npos) << log_;
}

TEST_F(AgentTest, LogsTheFirstMessagesOfAScript) {
    std::string bytes;
    put_frame(bytes, MessageFrame{false, "same", ""});
    put_frame(bytes, MessageFrame{false, "same", ""}); // which is nothing new
    for (int i = 2; i <= 12; i++)
        put_frame(bytes, MessageFrame{false, "message " + std::to_string(i), ""});
    recording("a.snapshots", bytes);
    run({[&] {
        EXPECT_EQ(message(), "a=message 12");
        return true;
    }});
    EXPECT_EQ(log_.find("same"), log_.rfind("same")) << log_;
    EXPECT_NE(log_.find("a: message 9\n"), std::string::npos) << log_;
    EXPECT_NE(log_.find("a: message 10 (it says more than the log takes in a minute)\n"),
              std::string::npos)
        << log_;
    EXPECT_EQ(log_.find("message 11"), std::string::npos) << log_;
}

TEST_F(AgentTest, RunsWhatIsInItsFolder) {
    script("good.stp", showing(5));
    script("over.ko", showing(6, "exit 0"));
    script("wrong.stp", showing(7, "echo 'x: error: y' >&2; exit 1"));
    script("open.stp", "exec sleep 1000", 0666);
    run({[&] {
             return state() == "good=running open=refused over=ended wrong=failed" &&
                    value("good.n") == "5" && message().ends_with("wrong=x: error: y");
         },
         [&] {
             EXPECT_EQ(value("over.n"), "6") << "what it showed last";
             EXPECT_EQ(value("wrong.n"), "error " + std::to_string(PM_ERR_VALUE));
             EXPECT_EQ(value("agent.script.owner"), "good=root open=root over=root wrong=root");
             const std::string starts = value("agent.script.starts");
             EXPECT_TRUE(starts.starts_with("good=1 open=0 over=1 wrong=")) << starts;
             EXPECT_EQ(message().find("good= open=refused: " + scripts_ + "/open.stp: "), 0U)
                 << message();
             return true;
         }});
}

TEST_F(AgentTest, WithoutAProgramAScriptFails) {
    options_.programs.djstap = "/nowhere/djstap";
    script("a.stp", "");
    run({[&] {
        EXPECT_EQ(state(), "a=failed");
        EXPECT_EQ(message(), "a=a script is compiled by djstap, which is not installed on this "
                             "machine; without it, only modules (.ko) run");
        EXPECT_EQ(value("agent.script.starts"), "a=0");
        return true;
    }});
}

// A script that has changed begins when the former one has ended, since the kernel may have but one
// module of its name.
TEST_F(AgentTest, SeesWhatChangesInItsFolder) {
    const std::string log = folder_.file("log");
    // It takes its time to end.
    const std::string slow = "trap 'sleep 0.2; echo end >>" + log +
                             "; exit 0' TERM\necho begin >>" + log + "\n",
                      waits = "while :; do sleep 0.05; done";
    script("a.stp", slow + showing(5, waits));
    script("b.stp", showing(5));
    script("c.stp", showing(5));
    run({[&] { return state() == "a=running b=running c=running" && value("a.n") == "5"; },
         [&] {
             script("a.stp", slow + showing(6, waits));
             std::filesystem::remove(scripts_ + "/b.stp");
             script("d.stp", showing(8));
             return true;
         },
         [&] { return value("d.n") == "8"; },
         [&] {
             EXPECT_EQ(value("b.n"), "no such name");
             // The former values are not those of the new script.
             EXPECT_NE(value("a.n"), "5");
             return true;
         },
         [&] { return value("a.n") == "6"; },
         [&] {
             EXPECT_EQ(state(), "a=running c=running d=running");
             EXPECT_EQ(value("agent.script.starts"), "a=2 c=1 d=1");
             return true;
         }});
    EXPECT_EQ(*read_file(log), "begin\nend\nbegin\n");
}

TEST_F(AgentTest, ForgetsWhyAFormerScriptWasRefused) {
    script("a.stp", showing(1), 0666);
    run({[&] { return state() == "a=refused"; },
         [&] {
             EXPECT_NE(message(), "a=");
             script("a.stp", showing(2));
             return true;
         },
         [&] { return state() == "a=running" && value("a.n") == "2"; },
         [&] {
             EXPECT_EQ(message(), "a=");
             return true;
         }});
}

TEST_F(AgentTest, TellsWhoMayStore) {
    ASSERT_TRUE(write_file(options_.permissions, "user alice\n"));
    run({[&] {
        EXPECT_EQ(value("agent.store", 1), "no: this connection is not authenticated");
        connects(1, "alice");
        connects(2, "bob");
        EXPECT_EQ(value("agent.store", 1), "yes");
        EXPECT_EQ(value("agent.store", 2), "no: user bob is not listed in " + options_.permissions);
        EXPECT_EQ(value("agent.store", 3), "no: this connection is not authenticated");
        calls_.ext->e_endCallBack(1);
        EXPECT_EQ(value("agent.store", 1), "no: this connection is not authenticated");
        calls_.attribute(4, PMDA_ATTR_USERNAME, "alice", -1, calls_.ext);
        EXPECT_EQ(value("agent.store", 4), "no: the user of this connection has no plain name");
        std::filesystem::remove(options_.permissions);
        EXPECT_EQ(value("agent.store", 2), "no: users may not store scripts on this machine");
        return true;
    }});
}

TEST_F(AgentTest, TakesTextsOfWhoMayStore) {
    ASSERT_TRUE(write_file(options_.permissions, "user alice\n"));
    script("taken.stp", showing(1));
    run({[&] { return state() == "taken=running"; },
         [&] {
             connects(1, "alice");
             EXPECT_EQ(store("a: x", 2), PM_ERR_PERMISSION);
             EXPECT_EQ(value("agent.refusals"), "1");
             EXPECT_EQ(store("taken: x", 1), -EEXIST);
             EXPECT_EQ(value("agent.refusals"), "2");
             // What is no text, or no value of this metric alone.
             EXPECT_EQ(store("a: x", 1, {.name = "agent.stores"}), PM_ERR_PERMISSION);
             EXPECT_EQ(store("a: x", 1, {.metrics = 2}), -EINVAL);
             EXPECT_EQ(store("a: x", 1, {.metrics = 0}), -EINVAL);
             EXPECT_EQ(store("a: x", 1, {.values = 0}), -EINVAL);
             EXPECT_EQ(store("a: x", 1, {.format = PM_VAL_INSITU}), -EINVAL);
             EXPECT_EQ(store("a: x", 1, {.type = PM_TYPE_AGGREGATE}), PM_ERR_TYPE);
             EXPECT_EQ(store("", 1, {.missing = 1}), PM_ERR_TYPE);
             EXPECT_EQ(value("agent.refusals"), "2");
             EXPECT_EQ(store("", 1), -EINVAL) << "a text without a name";
             EXPECT_EQ(value("agent.refusals"), "3");
             EXPECT_EQ(value("agent.stores"), "0");
             EXPECT_EQ(store(std::string("a: x\0", 5), 1), 0) << "C's clients send the end, too";
             EXPECT_EQ(store("b: x", 1, {.format = PM_VAL_SPTR}), 0);
             EXPECT_EQ(value("agent.stores"), "2");
             return true;
         }});
    EXPECT_NE(log_.find("a: user alice has stored 4 bytes\n"), std::string::npos) << log_;
}

TEST_F(AgentTest, TakesNothingForRecordings) {
    ASSERT_TRUE(write_file(options_.permissions, "user alice\n"));
    recording("a.snapshots", frames_of(1));
    run({[&] {
        connects(1, "alice");
        EXPECT_EQ(store("b: x", 1), PM_ERR_PERMISSION);
        EXPECT_EQ(value("agent.refusals"), "1");
        return true;
    }});
}

// What is stored runs without a folder of root's, too; what root adds later takes its place.
TEST_F(AgentTest, RunsWhatIsStored) {
    ASSERT_TRUE(write_file(options_.permissions, "user alice\n"));
    script("root.stp", showing(1));
    const std::string away = folder_.file("away");
    run({[&] { return value("root.n") == "1"; },
         [&] {
             std::filesystem::rename(scripts_, away);
             connects(1, "alice");
             EXPECT_EQ(store("s: " + showing(5), 1), 0);
             EXPECT_EQ(store("t: " + showing(6), 1), 0);
             return true;
         },
         [&] { return value("s.n") == "5" && value("t.n") == "6"; },
         [&] {
             EXPECT_EQ(value("agent.script.owner"), "root=root s=alice t=alice");
             EXPECT_EQ(value("root.n"), "1") << "it runs as long as its folder is not known";
             std::filesystem::rename(away, scripts_);
             script("s.stp", showing(7));
             return true;
         },
         [&] { return value("s.n") == "7"; },
         [&] {
             EXPECT_EQ(value("agent.script.owner"), "root=root s=root t=alice");
             EXPECT_EQ(value("t.n"), "6");
             std::filesystem::remove(options_.permissions);
             return true;
         },
         [&] { return value("t.n") == "no such name"; },
         [&] {
             EXPECT_EQ(state(), "root=running s=running");
             return true;
         }});
    const std::string gone = scripts_ + ": No such file or directory\n";
    EXPECT_NE(log_.find(gone), std::string::npos) << log_;
    EXPECT_EQ(log_.find(gone), log_.rfind(gone)) << "it is told once: " << log_;
}

} // namespace
} // namespace djstap::pmda

// NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp)
extern "C" {
void __wrap_pmdaConnect(pmdaInterface* dispatch);
int __wrap___pmdaInFd(pmdaInterface* dispatch);
int __wrap___pmdaMainPDU(pmdaInterface* dispatch);

void __wrap_pmdaConnect(pmdaInterface* dispatch) {
    dispatch->status = djstap::pmda::pmcd->status;
}

int __wrap___pmdaInFd(pmdaInterface*) {
    return djstap::pmda::pmcd->connection.get();
}

int __wrap___pmdaMainPDU(pmdaInterface*) {
    return djstap::pmda::pmcd->request();
}
}
// NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp)
