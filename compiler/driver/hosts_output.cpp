// SPDX-License-Identifier: GPL-2.0-or-later
#include "driver/hosts_output.h"

#include "diagnostics/plain_text.h"
#include "session/error_place.h"

#include <nlohmann/json.hpp>

namespace djstap::driver {

namespace {

class HostsText : public HostsOutput {
  public:
    explicit HostsText(Writer& writer) : writer_(writer) {}

    void printed(const std::string& host, int64_t, const std::string& text) override {
        writer_.append(lines_of(host, text));
    }
    void message(const std::string&, bool, const std::string&, const std::string&) override {}
    void values(const std::vector<fleet::MergedGlobal>& globals) override {
        writer_.append(text_of(globals));
    }
    void missing(const fleet::Missing&) override {}

  private:
    Writer& writer_;
};

// The envelope of docs/json.md, with the host.
class HostsJson : public HostsOutput {
  public:
    explicit HostsJson(Writer& writer) : writer_(writer) {}

    void printed(const std::string& host, int64_t time_ns, const std::string& text) override {
        put({{"type", "printf"}, {"host", host}, {"time", time_ns}, {"data", text}});
    }
    void message(const std::string& host, bool is_error, const std::string& text,
                 const std::string& place) override {
        Object data{{"message", text}};
        if (const auto parts = is_error ? split_place(place) : std::nullopt) {
            data["place"] = parts->what;
            data["file"] = parts->file;
            data["line"] = parts->line;
            data["column"] = parts->column;
        } else if (is_error && !place.empty()) {
            data["place"] = place;
        }
        put({{"type", is_error ? "runtime_error" : "warning"}, {"host", host}, {"data", data}});
    }
    void values(const std::vector<fleet::MergedGlobal>& globals) override {
        for (const fleet::MergedGlobal& global : globals)
            for (const fleet::HostValues& of : global.by_host)
                put({{"type", "map"},
                     {"host", of.host},
                     {"data", {{global.description.name, value_of(global, of)}}}});
    }
    void missing(const fleet::Missing& missing) override {
        put({{"type", "host_missing"},
             {"host", missing.host},
             {"data", {{"message", missing.what}}}});
    }

  private:
    using Object = nlohmann::ordered_json;

    static Object value_of(const fleet::MergedGlobal& global, const GlobalElement& element) {
        return global.description.value == "text" ? Object(element.text)
                                                  : Object(element.numbers[0]);
    }
    static Object value_of(const fleet::MergedGlobal& global, const fleet::HostValues& of) {
        if (!global.description.keys)
            return of.elements.empty() ? Object() : value_of(global, of.elements.front());
        Object elements = Object::object();
        for (const GlobalElement& element : of.elements)
            elements[key_of(element.keys)] = value_of(global, element);
        return elements;
    }
    // As JSON output joins them: with commas.
    static std::string key_of(std::string_view bytes) {
        std::string key;
        const auto parts = keys_of(bytes);
        if (!parts)
            return key;
        for (size_t i = 0; i < parts->size(); i++) {
            key += i ? "," : "";
            if (const auto* number = std::get_if<int64_t>(&(*parts)[i]))
                key += std::to_string(*number);
            else
                key += std::get<std::string_view>((*parts)[i]);
        }
        return key;
    }
    void put(const Object& object) {
        writer_.append(object.dump(-1, ' ', false, Object::error_handler_t::replace) + "\n");
    }

    Writer& writer_;
};

} // namespace

std::unique_ptr<HostsOutput> make_hosts_output(const OutputKind& kind, Writer& writer) {
    if (&kind == &text_kind())
        return std::make_unique<HostsText>(writer);
    return std::make_unique<HostsJson>(writer);
}

} // namespace djstap::driver
