// SPDX-License-Identifier: GPL-2.0-or-later
// What an editor is answered: messages of JSON-RPC 2.0 and of the Language Server Protocol 3.17,
// behind headers that tell their lengths.
#include "driver/language_server.h"

#include "own_library.h"
#include "parsed_options.h"
#include "system/file.h"

#include <csignal>
#include <deque>
#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <optional>
#include <sys/wait.h>
#include <unistd.h>

namespace djstap::driver {
namespace {

using Message = nlohmann::json;

class ServedEditor : public OwnLibrary {
  protected:
    void SetUp() override {
        OwnLibrary::SetUp();
        int questions[2], answers[2];
        ASSERT_EQ(pipe2(questions, O_CLOEXEC), 0);
        ASSERT_EQ(pipe2(answers, O_CLOEXEC), 0);
        server_ = fork();
        if (server_ == 0) {
            dup2(questions[0], STDIN_FILENO);
            dup2(answers[1], STDOUT_FILENO);
            close(questions[1]);
            close(answers[0]);
            _exit(serve_editor(accept({"--lsp"})));
        }
        ASSERT_GT(server_, 0);
        close(questions[0]);
        close(answers[1]);
        asks_ = FileDescriptor(questions[1]);
        answers_ = FileDescriptor(answers[0]);
        pipe_before_ = signal(SIGPIPE, SIG_IGN);
    }
    void TearDown() override {
        signal(SIGPIPE, pipe_before_);
        if (server_ > 0) {
            kill(server_, SIGKILL);
            waitpid(server_, nullptr, 0);
        }
    }
    void send_text(const std::string& body) {
        EXPECT_TRUE(write_all(asks_.get(), "Content-Length: " + std::to_string(body.size()) +
                                               "\r\n\r\n" + body));
    }
    void send(Message message) {
        message["jsonrpc"] = "2.0";
        send_text(message.dump());
    }
    // The next message; nothing if the server is gone.
    std::optional<Message> receive() {
        const std::string begin = "Content-Length: ", end = "\r\n\r\n";
        std::string header;
        char byte = 0;
        while (!header.ends_with(end)) {
            if (read_some(answers_.get(), &byte, 1) != 1)
                return std::nullopt;
            header += byte;
        }
        EXPECT_TRUE(header.starts_with(begin)) << header;
        std::string body(strtoul(header.c_str() + begin.size(), nullptr, 10), '\0');
        for (size_t at = 0; at < body.size();) {
            const ssize_t count = read_some(answers_.get(), &body[at], body.size() - at);
            if (count <= 0)
                return std::nullopt;
            at += static_cast<size_t>(count);
        }
        Message message = Message::parse(body);
        EXPECT_EQ(message["jsonrpc"], "2.0");
        message.erase("jsonrpc");
        return message;
    }
    // The answer without its number, which is that of the request.
    Message request(const std::string& method, const Message& params = Message::object()) {
        send({{"id", ++number_}, {"method", method}, {"params", params}});
        while (auto message = receive()) {
            if (message->contains("method")) {
                notices_.push_back(std::move(*message));
                continue;
            }
            EXPECT_EQ((*message)["id"], number_);
            message->erase("id");
            return std::move(*message);
        }
        ADD_FAILURE() << "the server is gone";
        return {};
    }
    void notify(const std::string& method, const Message& params = Message::object()) {
        send({{"method", method}, {"params", params}});
    }
    void initialize() { EXPECT_TRUE(request("initialize").contains("result")); }
    // What is told of a script next.
    Message diagnostics() {
        if (notices_.empty()) {
            auto message = receive();
            if (!message) {
                ADD_FAILURE() << "the server is gone";
                return {};
            }
            notices_.push_back(std::move(*message));
        }
        Message first = notices_.front();
        notices_.pop_front();
        EXPECT_EQ(first["method"], "textDocument/publishDiagnostics");
        return first["params"];
    }
    static Message document(const std::string& uri = "file:///a") {
        Message params;
        params["textDocument"]["uri"] = uri;
        return params;
    }
    void open_script(const std::string& text) {
        Message params = document();
        params["textDocument"]["text"] = text;
        notify("textDocument/didOpen", params);
    }
    void change(const Words& texts) {
        Message params = document();
        params["contentChanges"] = Message::array();
        for (const std::string& each : texts) {
            Message whole;
            whole["text"] = each;
            params["contentChanges"].push_back(whole);
        }
        notify("textDocument/didChange", params);
    }
    Message at(const std::string& what, int line, int character) {
        Message params = document();
        params["position"]["line"] = line;
        params["position"]["character"] = character;
        return request("textDocument/" + what, params)["result"];
    }
    static Message error(int code, const std::string& message) {
        Message told;
        told["error"]["code"] = code;
        told["error"]["message"] = message;
        return told;
    }
    static Message nothing() {
        Message told;
        told["result"] = nullptr;
        return told;
    }
    static Message range(int line, int begin, int end) {
        return {{"start", {{"line", line}, {"character", begin}}},
                {"end", {{"line", line}, {"character", end}}}};
    }
    int status_of_end() {
        asks_.reset();
        int status = 0;
        EXPECT_EQ(waitpid(server_, &status, 0), server_);
        server_ = -1;
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    }

  private:
    pid_t server_ = -1;
    int number_ = 0;
    FileDescriptor asks_, answers_;
    std::deque<Message> notices_;
    void (*pipe_before_)(int) = SIG_DFL;
};

TEST_F(ServedEditor, BeginsAndEndsInOrder) {
    EXPECT_EQ(request("textDocument/hover"), error(-32002, "the first request must be initialize"));
    notify("textDocument/didOpen"); // is ignored as well
    const Message begun = request("initialize")["result"];
    EXPECT_EQ(begun["serverInfo"]["name"], "djstap");
    const Message& can = begun["capabilities"];
    EXPECT_EQ(can["textDocumentSync"], Message({{"openClose", true}, {"change", 1}}));
    EXPECT_EQ(can["hoverProvider"], true);
    EXPECT_EQ(can["definitionProvider"], true);
    EXPECT_EQ(can["completionProvider"]["resolveProvider"], false);
    EXPECT_EQ(request("workspace/symbol"), error(-32601, "djstap does not know workspace/symbol"));
    for (const std::string method : {"hover", "completion", "definition"})
        EXPECT_EQ(request("textDocument/" + method, document("file:///none")),
                  error(-32600, "this document is not open: file:///none"));
    EXPECT_EQ(request("shutdown"), nothing());
    notify("exit");
    EXPECT_EQ(status_of_end(), 0);
}

TEST_F(ServedEditor, AnswersWhatIsNoMessage) {
    const auto answer_to = [&](const std::string& body) {
        send_text(body);
        return receive().value_or(Message("nothing"));
    };
    const auto refused = [](int code, const std::string& what) {
        Message message = error(code, what);
        message["id"] = nullptr;
        return message;
    };
    const std::string none = "this is not a message of the protocol",
                      number = "the id of a request is a number or a string";
    EXPECT_EQ(answer_to("{"), refused(-32700, none));
    EXPECT_EQ(answer_to(""), refused(-32700, none));
    EXPECT_EQ(answer_to("[1]"), refused(-32600, none));
    EXPECT_EQ(answer_to("7"), refused(-32600, none));
    for (const char* id : {"null", "{}", "[1]", "true"})
        EXPECT_EQ(answer_to(std::string(R"({"method": "shutdown", "id": )") + id + "}"),
                  refused(-32600, number));
    EXPECT_EQ(answer_to(R"({"id": "a", "method": "initialize"})")["id"], "a");
    EXPECT_EQ(answer_to(R"({"id": 1.5, "method": "shutdown"})"),
              Message({{"id", 1.5}, {"result", nullptr}}));
}

// An editor that is gone, or that leaves without a word.
TEST_F(ServedEditor, EndsWithItsEditor) {
    initialize();
    EXPECT_EQ(status_of_end(), 1);
}
TEST_F(ServedEditor, WantsToBeToldOfItsEnd) {
    initialize();
    notify("exit");
    EXPECT_EQ(status_of_end(), 1);
}

TEST_F(ServedEditor, ChecksScriptsThatAreOpen) {
    initialize();
    open_script("global unused\nprobe begin { println(1) }\n");
    Message told = diagnostics();
    EXPECT_EQ(told["uri"], "file:///a");
    ASSERT_EQ(told["diagnostics"].size(), 1u) << told;
    const Message warning = told["diagnostics"][0];
    EXPECT_EQ(warning["severity"], 2);
    EXPECT_EQ(warning["source"], "djstap");
    EXPECT_EQ(warning["range"], range(0, 7, 13));
    EXPECT_EQ(warning["relatedInformation"], Message::array());
    EXPECT_FALSE(warning["message"].get<std::string>().empty());
    EXPECT_FALSE(warning["code"].get<std::string>().empty());
    // The last of the changes is the whole text; none of them is no change.
    change({});
    change({"probe begin {}", "probe a = b {}\nprobe b = a {}\nprobe a {}"});
    told = diagnostics();
    ASSERT_FALSE(told["diagnostics"].empty());
    const Message loop = told["diagnostics"][0];
    EXPECT_EQ(loop["severity"], 1);
    EXPECT_EQ(loop["range"]["start"], Message({{"line", 1}, {"character", 10}}));
    ASSERT_EQ(loop["relatedInformation"].size(), 1u);
    EXPECT_EQ(loop["relatedInformation"][0]["location"]["uri"], "file:///a");
    EXPECT_EQ(loop["relatedInformation"][0]["location"]["range"]["start"],
              Message({{"line", 0}, {"character", 0}}));
    change({"probe begin { println(1) }"});
    EXPECT_EQ(diagnostics(), Message({{"uri", "file:///a"}, {"diagnostics", Message::array()}}));
    notify("textDocument/didClose", document());
    EXPECT_EQ(diagnostics(), Message({{"uri", "file:///a"}, {"diagnostics", Message::array()}}));
    EXPECT_TRUE(at("hover", 0, 0).is_null());
}

// The characters of a line are counted from 0; the cursor is in "half", or behind "ha".
TEST_F(ServedEditor, KnowsWhatIsAtTheCursor) {
    const std::string path =
        tapset("\nfunction half:long (n:long) { return n / 2 }\nprobe own.first = begin {}\n",
               "own file%.stp");
    initialize();
    open_script("function own() { return 1 }\nprobe own.first { println(half(own())) }\n");
    EXPECT_EQ(diagnostics()["diagnostics"], Message::array());
    const Message hover = at("hover", 1, 28);
    EXPECT_EQ(hover["contents"]["kind"], "markdown");
    EXPECT_NE(hover["contents"]["value"].get<std::string>().find("half:long (n:long)"),
              std::string::npos)
        << hover;
    EXPECT_EQ(hover["range"], range(1, 26, 30));
    EXPECT_TRUE(at("hover", 1, 16).is_null());
    EXPECT_EQ(at("definition", 1, 32), Message({{"uri", "file:///a"}, {"range", range(0, 9, 12)}}));
    const std::string folder = path.substr(0, path.rfind('/'));
    EXPECT_EQ(at("definition", 1, 28), Message({{"uri", "file://" + folder + "/own%20file%25.stp"},
                                                {"range", range(1, 0, 0)}}));
    EXPECT_TRUE(at("definition", 1, 16).is_null());
    const Message names = at("completion", 1, 28);
    EXPECT_EQ(names["isIncomplete"], false);
    ASSERT_EQ(names["items"].size(), 1u) << names;
    const Message& item = names["items"][0];
    EXPECT_TRUE(item["label"].get<std::string>().starts_with("half")) << item;
    EXPECT_EQ(item["filterText"], item["label"]);
    EXPECT_EQ(item["textEdit"], Message({{"range", range(1, 26, 28)}, {"newText", item["label"]}}));
    EXPECT_EQ(item["detail"], "function");
    EXPECT_EQ(item["kind"], 3);
    const Message points = at("completion", 1, 11); // behind "own.f"
    ASSERT_EQ(points["items"].size(), 1u) << points;
    EXPECT_EQ(points["items"][0]["label"], "first");
    EXPECT_EQ(points["items"][0]["kind"], 23); // an event
}

} // namespace
} // namespace djstap::driver
