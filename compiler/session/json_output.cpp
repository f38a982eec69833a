// SPDX-License-Identifier: GPL-2.0-or-later
// Writes the output as JSON, one object per line, all to the writer: docs/json.md.
#include "session/outputs.h"

#include "include/text.h"
#include "session/error_place.h"
#include "session/histogram.h"
#include "session/plain_format.h"

#include <nlohmann/json.hpp>
#include <unordered_map>

namespace djstap {

namespace {

using Object = nlohmann::ordered_json;

// JSON has only UTF-8: other bytes become U+FFFD.
std::string dump(const Object& object) {
    return object.dump(-1, ' ', false, Object::error_handler_t::replace);
}

// Appends a string as dump() writes it. Nearly all are ASCII.
void append_string(std::string& out, std::string_view text) {
    const auto is_plain = [](char byte) {
        return byte >= ' ' && byte <= '~' && byte != '"' && byte != '\\';
    };
    const size_t begin = out.size();
    out += '"';
    for (size_t at = 0; at < text.size();) {
        size_t end = at;
        while (end < text.size() && is_plain(text[end]))
            end++;
        out.append(text, at, end - at);
        if (end == text.size())
            break;
        if (text[end] == '\n') {
            out += "\\n";
        } else if (text[end] == '"' || text[end] == '\\') {
            out += '\\';
            out += text[end];
        } else {
            out.replace(begin, std::string::npos, dump(text));
            return;
        }
        at = end + 1;
    }
    out += '"';
}

Object buckets_of(const HistogramArgument& histogram) {
    Object rows = Object::array();
    for (const HistogramRow& bucket : rows_of(histogram)) {
        Object row = Object::object();
        if (bucket.least)
            row["min"] = *bucket.least;
        if (bucket.most)
            row["max"] = *bucket.most;
        row["count"] = bucket.count;
        rows.push_back(std::move(row));
    }
    return rows;
}

class JsonOutput : public Output {
  public:
    explicit JsonOutput(Writer& writer) : writer_(writer) {}
    JsonOutput(const JsonOutput&) = delete;
    JsonOutput& operator=(const JsonOutput&) = delete;
    ~JsonOutput() override { close_array(); }

    void print(const Event& event) override {
        if (event.is_text())
            return put_text(event.text(), event);
        if (!event.format.shows.empty() && show(event))
            return;
        if (print_plain(event))
            return;
        const char* const text = event.format.text.c_str();
        const char* const types = event.format.types.c_str();
        const std::string_view bytes = event.arguments;
        const size_t length = djs_format(nullptr, 0, text, types, bytes.data(), bytes.size());
        text_.resize(length + 1);
        djs_format(text_.data(), length + 1, text, types, bytes.data(), bytes.size());
        put_text({text_.data(), length}, event);
    }

    void error(std::string_view message, std::string_view place) override {
        Object data{{"message", message}};
        if (const auto parts = split_place(place)) {
            data["place"] = parts->what;
            data["file"] = parts->file;
            data["line"] = parts->line;
            data["column"] = parts->column;
        } else if (!place.empty()) {
            data["place"] = place;
        }
        put("runtime_error", data);
    }

    void warning(std::string_view message) override { put("warning", {{"message", message}}); }

    void probes(const std::vector<AttachedProbe>& probes) override {
        uint64_t attached = 0;
        Object list = Object::array();
        for (const AttachedProbe& probe : probes) {
            attached += probe.attached ? probe.sites : 0;
            list.push_back(describe(probe));
        }
        put("attached_probes", {{"probes", attached}, {"list", std::move(list)}});
    }

    void end() override { close_array(); }

    void counts(const djs_counts& counts) override {
        put("lost_events", {{"events", counts.lost_records},
                            {"oversized", counts.oversized},
                            {"overwritten", counts.overwritten},
                            {"skipped_busy", counts.skipped_busy},
                            {"skipped_locked", counts.skipped_locked},
                            {"skipped_stack", counts.skipped_stack},
                            {"skipped_kretprobe", counts.skipped_kretprobe},
                            {"skipped_kprobe", counts.skipped_kprobe},
                            {"missed_calls", counts.missed_calls},
                            {"not_followed", counts.not_followed},
                            {"deep_hits", counts.deep_hits},
                            {"short_stacks", counts.short_stacks},
                            {"unread_programs", counts.unread_programs},
                            {"errors", counts.errors},
                            {"failed_sites", counts.failed_sites},
                            {"inside", counts.inside},
                            {"pinned", counts.pinned}});
    }

    bool lists_mechanisms() const override { return true; }

    void listed(const ListedPoint& point) override {
        nlohmann::json out = {{"point", point.point}};
        if (!point.mechanism.empty())
            out["mechanism"] = point.mechanism;
        if (!point.reason.empty())
            out["reason"] = point.reason;
        if (point.variables_wanted)
            out["variables"] = point.variables;
        line(out.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    }

    void facts(const std::string& version, const std::string&,
               const std::vector<FactChapter>& chapters) override {
        nlohmann::json out = {{"version", version}};
        for (const FactChapter& chapter : chapters) {
            nlohmann::json facts = nlohmann::json::array();
            for (const Fact& fact : chapter.facts) {
                nlohmann::json each = {
                    {"name", fact.name}, {"present", fact.present}, {"value", fact.value}};
                if (!fact.remedy.empty())
                    each["remedy"] = fact.remedy;
                facts.push_back(each);
            }
            out["chapters"].push_back({{"title", chapter.title}, {"facts", facts}});
        }
        line(out.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
    }

    void tools(const std::vector<ListedTool>& tools) override {
        for (const ListedTool& tool : tools) {
            Object options = Object::array();
            for (const ListedTool::Option& option : tool.options)
                options.push_back({{"name", option.name},
                                   {"type", option.type},
                                   {"default", option.initial},
                                   {"text", option.text}});
            line(dump({{"name", tool.name},
                       {"subject", tool.subject},
                       {"summary", tool.summary},
                       {"options", std::move(options)}}));
        }
    }

    void documented(const std::vector<Documentation>& names, bool) override {
        for (const Documentation& name : names) {
            Object out{{"kind", name_of(name.kind)}, {"name", name.name}};
            if (!name.signatures.empty())
                out["signatures"] = name.signatures;
            out["summary"] = name.summary;
            out["text"] = name.text;
            if (!name.points.empty())
                out["points"] = name.points;
            if (!name.variables.empty() || name.kind == DocumentedKind::Alias) {
                Object variables = Object::array();
                for (const Documentation::Variable& variable : name.variables)
                    variables.push_back({{"name", variable.name},
                                         {"type", variable.type},
                                         {"text", variable.text}});
                out["variables"] = std::move(variables);
            }
            if (!name.file.empty()) {
                out["file"] = name.file;
                out["line"] = name.line;
                out["subject"] = name.subject;
            }
            line(dump(out));
        }
    }

    Writer& writer() override { return writer_; }

  private:
    static Object describe(const AttachedProbe& probe) {
        Object object = Object::object();
        if (probe.point.empty())
            object["more"] = probe.sites;
        else
            object["point"] = probe.point;
        object["mechanism"] = probe.mechanism;
        object["attached"] = probe.attached;
        if (!probe.reason.empty()) {
            if (!probe.planned.empty())
                object["planned"] = probe.planned;
            object["reason"] = probe.reason;
        }
        return object;
    }

    // Returns the beginning of an object: its type and what is known about the hit.
    static std::string head_of(const char* type, const Event& event, bool with_moment = true) {
        const EventFields& fields = event.fields;
        std::string head = R"({"type":")";
        head.append(type).append("\"");
        if (fields.cpu && with_moment)
            head.append(R"(,"cpu":)").append(std::to_string(event.cpu));
        if (fields.time && with_moment)
            head.append(R"(,"time":)").append(std::to_string(event.realtime_ns()));
        if (fields.probe) {
            head += R"(,"probe":)";
            append_string(head, *fields.probe);
        }
        if (fields.pid)
            head.append(R"(,"pid":)").append(std::to_string(*fields.pid));
        if (fields.tid)
            head.append(R"(,"tid":)").append(std::to_string(*fields.tid));
        return head += R"(,"data":)";
    }

    void put(const char* type, const Object& data) {
        close_array();
        writer_.append(dump({{"type", type}, {"data", data}}).append("\n"));
    }

    void put_value(const char* type, const Event& event, const Object& data) {
        close_array();
        writer_.append(head_of(type, event) + dump(data) + "}\n");
    }

    void put_text(std::string_view text, const Event& event) {
        close_array();
        line_ = head_of("printf", event);
        append_string(line_, text);
        writer_.append(line_.append("}\n"));
    }

    // Returns false if the format, or the record, is one for djs_format().
    bool print_plain(const Event& event) {
        auto [known, is_new] = plain_.try_emplace(&event.format);
        if (is_new)
            known->second = PlainFormat::of(event.format);
        if (!known->second)
            return false;
        const size_t room = known->second->room_for(event.arguments);
        if (text_.size() < room)
            text_.resize(room);
        const char* const end = known->second->print(text_.data(), event.arguments);
        if (end)
            put_text({text_.data(), static_cast<size_t>(end - text_.data())}, event);
        return end != nullptr;
    }

    // The elements of an array arrive in one record each, and belong in one object: it is written
    // incrementally, so that its size does not matter, and ended by the next record of any other
    // kind.
    void put_element(const char* type, const Event& event, const std::string& name,
                     const std::string& key, const Object& value) {
        const std::string begin = "{" + dump(name) + ":{";
        // Each element has a moment of its own: the array has that of the first one.
        const std::string head = head_of(type, event, false) + begin;
        if (open_ == head) {
            writer_.append(",");
        } else {
            close_array();
            open_ = head;
            writer_.append(head_of(type, event) + begin);
        }
        writer_.append(dump(key).append(":").append(dump(value)));
    }
    void close_array() {
        if (open_.empty())
            return;
        open_.clear();
        writer_.append("}}}\n");
    }

    // Handles a global that prints itself, or a histogram. Returns false if the record is damaged.
    bool show(const Event& event) {
        const ModuleMeta::Format& format = event.format;
        std::string key;
        Object values = Object::array();
        const char* kind = "map";
        Arguments arguments = event.values();
        for (size_t i = 0, count = arguments.left(); i < count; i++) {
            const auto argument = arguments.next();
            if (!argument)
                return false;
            Object value;
            if (const auto* histogram = std::get_if<HistogramArgument>(&*argument)) {
                value = buckets_of(*histogram);
                kind = "hist";
            } else if (const auto* text = std::get_if<std::string_view>(&*argument)) {
                value = *text;
            } else if (const auto* stack = std::get_if<StackArgument>(&*argument)) {
                value = stack->text();
            } else {
                value = std::get<int64_t>(*argument);
            }
            if (i >= format.keys)
                values.push_back(std::move(value));
            else
                key.append(i ? "," : "")
                    .append(value.is_string() ? value.get<std::string>() : value.dump());
        }
        Object value;
        if (values.size() == 5) {
            kind = "stats";
            value = {{"count", values[0]},
                     {"min", values[1]},
                     {"max", values[2]},
                     {"total", values[3]},
                     {"average", values[4]}};
        } else if (values.size() == 1) {
            value = std::move(values[0]);
        } else {
            return false;
        }
        if (format.keys)
            put_element(kind, event, format.shows, key, value);
        else
            put_value(kind, event, {{format.shows, value}});
        return true;
    }

    Writer& writer_;
    std::string text_, line_; // of a print; their memory is kept
    std::unordered_map<const ModuleMeta::Format*, std::optional<PlainFormat>> plain_;
    std::string open_; // the beginning of the array's object that is being written; empty: none
};

} // namespace

std::unique_ptr<Output> make_json_output(const OutputStreams& streams) {
    return std::make_unique<JsonOutput>(streams.writer);
}

} // namespace djstap
