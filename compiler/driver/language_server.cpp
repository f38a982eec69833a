// SPDX-License-Identifier: GPL-2.0-or-later
#include "driver/language_server.h"

#include "driver/complete.h"
#include "driver/editor.h"
#include "lsp/text.h"
#include "lsp/wire.h"

#include <csignal>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <unistd.h>
#include <utility>

namespace djstap::driver {

namespace {

using RpcValue = nlohmann::json;

// Of JSON-RPC, and of the protocol.
enum ErrorCode {
    ParseError = -32700,
    InvalidRequest = -32600,
    UnknownMethod = -32601,
    NotInitialized = -32002
};
enum ItemKind {
    FunctionItem = 3,
    VariableItem = 6,
    ModuleItem = 9,
    KeywordItem = 14,
    EventItem = 23
};

std::string dumped(const RpcValue& json) {
    return json.dump(-1, ' ', false, RpcValue::error_handler_t::replace);
}

// Of an object that an editor sent, which may be anything.
std::string text_at(const RpcValue& from, const RpcValue::json_pointer& place) {
    return from.contains(place) && from.at(place).is_string() ? from.at(place).get<std::string>()
                                                              : "";
}

uint32_t number_at(const RpcValue& from, const RpcValue::json_pointer& place) {
    return from.contains(place) && from.at(place).is_number_unsigned()
               ? from.at(place).get<uint32_t>()
               : 0;
}

RpcValue object_at(const RpcValue& from, const char* name) {
    const auto found = from.find(name);
    return found != from.end() && found->is_object() ? *found : RpcValue::object();
}

RpcValue place_of(const lsp::Text& text, size_t begin, size_t end) {
    auto shown = [](lsp::Position position) {
        return RpcValue{{"line", position.line}, {"character", position.character}};
    };
    return {{"start", shown(text.position(begin))}, {"end", shown(text.position(end))}};
}

std::string file_uri(const std::string& path) {
    std::string uri = "file://";
    for (const char c : path) {
        const bool plain = std::isalnum(static_cast<unsigned char>(c)) ||
                           std::string_view("/-_.~").find(c) != std::string_view::npos;
        constexpr char digits[] = "0123456789ABCDEF";
        const auto byte = static_cast<unsigned char>(c);
        uri += plain ? std::string(1, c) : std::string{'%', digits[byte >> 4], digits[byte & 15]};
    }
    return uri;
}

int kind_of(const CompletedName& name) {
    return name.what == "function"                                        ? FunctionItem
           : name.what == "statement" || name.what == "declaration"       ? KeywordItem
           : name.what == "operator"                                      ? KeywordItem
           : name.what == "module"                                        ? ModuleItem
           : name.what == "probe point" || name.what.starts_with("alias") ? EventItem
                                                                          : VariableItem;
}

class Server {
  public:
    explicit Server(Options options)
        : options_(options), editor_(std::move(options)), wire_(STDIN_FILENO, STDOUT_FILENO) {}

    int serve() {
        while (!ended_) {
            // Whoever types is answered first.
            while (!changed_.empty() && !wire_.has_more())
                check(*changed_.begin());
            const std::optional<std::string> message = wire_.read();
            if (!message)
                return 1;
            // What is nested more deeply is dropped: values are copied and written recursively.
            constexpr int deepest = 100;
            const RpcValue json = RpcValue::parse(
                *message,
                [](int depth, RpcValue::parse_event_t, RpcValue&) { return depth < deepest; },
                false);
            if (json.is_object())
                take(json);
            else
                fail(nullptr, json.is_discarded() ? ParseError : InvalidRequest,
                     "this is not a message of the protocol");
        }
        return asked_to_end_ ? 0 : 1;
    }

  private:
    void send(RpcValue message) {
        message["jsonrpc"] = "2.0";
        if (!wire_.write(dumped(message)))
            ended_ = true;
    }

    void answer(const RpcValue& id, RpcValue result) {
        send({{"id", id}, {"result", std::move(result)}});
    }

    void fail(const RpcValue& id, int code, const std::string& what) {
        send({{"id", id}, {"error", {{"code", code}, {"message", what}}}});
    }

    void take(const RpcValue& message) {
        const std::string method = text_at(message, "/method"_json_pointer);
        const bool is_request = message.contains("id");
        const RpcValue id = is_request ? message["id"] : RpcValue(nullptr);
        if (is_request && !id.is_number() && !id.is_string()) {
            fail(nullptr, InvalidRequest, "the id of a request is a number or a string");
            return;
        }
        const RpcValue params = object_at(message, "params");
        if (method == "exit") {
            ended_ = true;
        } else if (method == "initialize") {
            initialized_ = true;
            answer(id, capabilities());
        } else if (!initialized_) {
            if (is_request)
                fail(id, NotInitialized, "the first request must be initialize");
        } else if (is_request) {
            request(id, method, params);
        } else {
            notice(method, params);
        }
    }

    static RpcValue capabilities() {
        return {{"capabilities",
                 {{"textDocumentSync", {{"openClose", true}, {"change", 1}}},
                  {"completionProvider",
                   {{"triggerCharacters", {".", "\"", "$", "@", ":"}}, {"resolveProvider", false}}},
                  {"hoverProvider", true},
                  {"definitionProvider", true}}},
                {"serverInfo", {{"name", "djstap"}, {"version", DJSTAP_VERSION}}}};
    }

    void request(const RpcValue& id, const std::string& method, const RpcValue& params) {
        const std::string uri = text_at(params, "/textDocument/uri"_json_pointer);
        if (method == "shutdown") {
            asked_to_end_ = true;
            answer(id, nullptr);
            return;
        }
        if (method != "textDocument/completion" && method != "textDocument/hover" &&
            method != "textDocument/definition") {
            fail(id, UnknownMethod, "djstap does not know " + method);
            return;
        }
        const auto document = documents_.find(uri);
        if (document == documents_.end()) {
            fail(id, InvalidRequest, "this document is not open: " + uri);
            return;
        }
        const lsp::Text& text = document->second;
        const size_t offset = text.offset({number_at(params, "/position/line"_json_pointer),
                                           number_at(params, "/position/character"_json_pointer)});
        answer(id, method == "textDocument/completion" ? completion(text, offset)
                   : method == "textDocument/hover"    ? hover(text, offset)
                                                       : definition(uri, text, offset));
    }

    void notice(const std::string& method, const RpcValue& params) {
        const std::string uri = text_at(params, "/textDocument/uri"_json_pointer);
        if (method == "textDocument/didOpen") {
            documents_[uri] = lsp::Text(text_at(params, "/textDocument/text"_json_pointer));
            changed_.insert(uri);
        } else if (method == "textDocument/didChange") {
            // The last one is the whole text.
            const RpcValue changes = params.value("contentChanges", RpcValue::array());
            if (changes.is_array() && !changes.empty()) {
                documents_[uri] = lsp::Text(text_at(changes.back(), "/text"_json_pointer));
                changed_.insert(uri);
            }
        } else if (method == "textDocument/didClose") {
            documents_.erase(uri);
            changed_.erase(uri);
            publish(uri, RpcValue::array());
        }
    }

    void publish(const std::string& uri, RpcValue diagnostics) {
        send({{"method", "textDocument/publishDiagnostics"},
              {"params", {{"uri", uri}, {"diagnostics", std::move(diagnostics)}}}});
    }

    void check(const std::string& name) {
        const std::string uri = name;
        changed_.erase(uri);
        const lsp::Text& text = documents_[uri];
        RpcValue diagnostics = RpcValue::array();
        for (const EditorMessage& message : editor_.check(text.text())) {
            RpcValue notes = RpcValue::array();
            for (const EditorMessage::Note& note : message.notes)
                notes.push_back(
                    {{"location", {{"uri", uri}, {"range", place_of(text, note.begin, note.end)}}},
                     {"message", note.text}});
            diagnostics.push_back({{"range", place_of(text, message.begin, message.end)},
                                   {"severity", message.is_error ? 1 : 2},
                                   {"code", message.tag},
                                   {"source", "djstap"},
                                   {"message", message.text},
                                   {"relatedInformation", std::move(notes)}});
        }
        publish(uri, std::move(diagnostics));
    }

    RpcValue completion(const lsp::Text& text, size_t offset) const {
        Options options = options_;
        Invocation invocation(std::move(options));
        const CompletedNames found =
            completed_names(invocation, std::string_view(text.text()).substr(0, offset));
        const RpcValue range = place_of(text, offset - found.typed, offset);
        RpcValue items = RpcValue::array();
        for (const CompletedName& name : found.names)
            items.push_back({{"label", name.text},
                             {"kind", kind_of(name)},
                             {"detail", name.what},
                             {"filterText", name.text},
                             {"textEdit", {{"range", range}, {"newText", name.text}}}});
        return {{"isIncomplete", !found.all}, {"items", std::move(items)}};
    }

    RpcValue hover(const lsp::Text& text, size_t offset) {
        const std::string markdown = editor_.describe(text, offset);
        if (markdown.empty())
            return nullptr;
        const lsp::Text::Word word = text.word(offset);
        return {{"contents", {{"kind", "markdown"}, {"value", markdown}}},
                {"range", place_of(text, word.begin, word.end)}};
    }

    RpcValue definition(const std::string& uri, const lsp::Text& text, size_t offset) {
        const std::optional<Definition> found = editor_.define(text, offset);
        if (!found)
            return nullptr;
        if (found->file.empty())
            return {{"uri", uri}, {"range", place_of(text, found->begin, found->end)}};
        const RpcValue line{{"line", found->line - 1}, {"character", 0}};
        return {{"uri", file_uri(found->file)}, {"range", {{"start", line}, {"end", line}}}};
    }

    Options options_;
    Editor editor_;
    lsp::Wire wire_;
    std::map<std::string, lsp::Text> documents_; // by URI
    std::set<std::string> changed_;              // those that have not been checked since
    bool initialized_ = false, asked_to_end_ = false, ended_ = false;
};

} // namespace

int serve_editor(Options options) {
    signal(SIGPIPE, SIG_IGN); // an editor that is gone is seen when it is written to
    return Server(std::move(options)).serve();
}

} // namespace djstap::driver
