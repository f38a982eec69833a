// SPDX-License-Identifier: GPL-2.0-or-later
#include "documentation/comments.h"

#include <algorithm>
#include <cctype>
#include <optional>

namespace djstap::documentation {

namespace {

std::vector<std::string_view> lines_of(std::string_view text) {
    std::vector<std::string_view> lines;
    while (!text.empty()) {
        const size_t end = std::min(text.find('\n'), text.size());
        lines.push_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return lines;
}

bool in_name(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
}

std::string_view trimmed(std::string_view text) {
    while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front())))
        text.remove_prefix(1);
    while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())))
        text.remove_suffix(1);
    return text;
}

size_t indentation(std::string_view line) {
    return std::min(line.find_first_not_of(' '), line.size());
}

// Reads "NAME(arguments), .NAME, @NAME: " and moves `at` behind it.
class HeadReader {
  public:
    explicit HeadReader(std::string_view text) : text_(text) {}

    // Returns nothing if this is no list of names with a colon behind it.
    std::optional<std::vector<Entry::Head>> read() {
        std::vector<Entry::Head> heads;
        std::string whole;
        for (;;) {
            Entry::Head head = read_head();
            if (head.name.empty())
                return std::nullopt;
            // ".return" follows the name before it.
            if (head.name[0] != '.')
                whole = head.name;
            else if (!heads.empty())
                head.name = whole + head.name;
            else
                return std::nullopt;
            heads.push_back(std::move(head));
            if (takes(": ") || (rest() == ":" && takes(":")))
                return heads;
            if (!takes(", "))
                return std::nullopt;
        }
    }
    std::string_view rest() const { return text_.substr(at_); }

  private:
    bool takes(std::string_view word) {
        if (!rest().starts_with(word))
            return false;
        at_ += word.size();
        return true;
    }
    Entry::Head read_head() {
        const size_t begin = at_;
        if (at_ < text_.size() && text_[at_] == '@')
            at_++;
        while (at_ < text_.size() &&
               (in_name(text_[at_]) || text_[at_] == '*' ||
                (text_[at_] == '.' && at_ + 1 < text_.size() && text_[at_ + 1] != ' ')))
            at_++;
        Entry::Head head{std::string(text_.substr(begin, at_ - begin)), {}};
        if (at_ < text_.size() && text_[at_] == '(') {
            const size_t end = text_.find(')', at_);
            if (end == std::string_view::npos)
                return {};
            head.arguments = text_.substr(at_, end + 1 - at_);
            at_ = end + 1;
        }
        return head;
    }

    std::string_view text_;
    size_t at_ = 0;
};

// Reads "name, name: text", or nothing.
std::optional<Item> read_item(std::string_view text) {
    Item item;
    size_t at = 0;
    for (;;) {
        const size_t begin = at;
        while (at < text.size() && in_name(text[at]))
            at++;
        if (at == begin)
            return std::nullopt;
        item.names.emplace_back(text.substr(begin, at - begin));
        const std::string_view rest = text.substr(at);
        if (rest.starts_with(": ")) {
            item.text = trimmed(rest.substr(2));
            return item;
        }
        if (!rest.starts_with(", "))
            return std::nullopt;
        at += 2;
    }
}

// Collects the lines of one comment.
class BlockReader {
  public:
    BlockReader(std::string& text, std::vector<Item>& items) : text_(&text), items_(&items) {}

    void begin(std::string& text, std::vector<Item>& items) {
        text_ = &text;
        items_ = &items;
        in_item_ = new_paragraph_ = as_it_is_ = false;
    }
    void add(std::string_view line) {
        constexpr size_t item_indent = 3;
        const size_t indent = indentation(line);
        const std::string_view words = trimmed(line);
        if (words.empty()) {
            in_item_ = as_it_is_ = false;
            new_paragraph_ = true;
        } else if (auto item = indent == item_indent ? read_item(words) : std::nullopt) {
            items_->push_back(std::move(*item));
            in_item_ = true;
        } else if (indent > item_indent && in_item_) {
            items_->back().text += " " + std::string(words);
        } else if (indent > item_indent) {
            // An example keeps its lines.
            *text_ += (text_->empty()   ? ""
                       : new_paragraph_ ? "\n\n"
                                        : "\n") +
                      std::string("    ") + std::string(words);
            new_paragraph_ = false;
            as_it_is_ = true;
        } else {
            in_item_ = false;
            *text_ += text_->empty() ? "" : new_paragraph_ || as_it_is_ ? "\n\n" : " ";
            *text_ += words;
            new_paragraph_ = as_it_is_ = false;
        }
    }

  private:
    std::string* text_;
    std::vector<Item>* items_;
    bool in_item_ = false, new_paragraph_ = false, as_it_is_ = false;
};

// Returns the text behind "probe NAME - ", "sfunction NAME - ".
std::string_view without_title(std::string_view words) {
    const size_t name = words.find(' ');
    const size_t dash = words.find(" - ");
    const std::string_view kind = words.substr(0, name);
    const bool titled =
        dash != std::string_view::npos && name < dash && words.find(' ', name + 1) == dash &&
        (kind == "probe" || kind == "function" || kind == "sfunction" || kind == "macro");
    return titled ? trimmed(words.substr(dash + 3)) : words;
}

bool is_comment(std::string_view line) {
    return line.starts_with("//") && line.find("SPDX-License-Identifier") == std::string_view::npos;
}

} // namespace

Comments read_comments(std::string_view text,
                       const std::function<bool(const std::string&)>& is_defined) {
    Comments out;
    const std::vector<std::string_view> lines = lines_of(text);
    std::string unused;
    std::vector<Item> unused_items;
    bool first = true;
    for (size_t i = 0; i < lines.size(); i++) {
        if (!is_comment(lines[i]))
            continue;
        // Only the file's first comment is about the file.
        BlockReader reader(first ? out.text : unused, first ? out.items : unused_items);
        first = false;
        for (; i < lines.size() && is_comment(lines[i]); i++) {
            const std::string_view line = lines[i].substr(2);
            std::string joined(trimmed(line));
            size_t more = 0;
            // A long list of names continues in the next line.
            while (joined.ends_with(',') && i + more + 1 < lines.size() &&
                   is_comment(lines[i + more + 1]))
                joined += " " + std::string(trimmed(lines[i + ++more].substr(2)));
            HeadReader reader_of_heads(joined);
            auto heads = indentation(line) == 1 ? reader_of_heads.read() : std::nullopt;
            if (!heads || !std::ranges::all_of(*heads, [&](const Entry::Head& head) {
                    return is_defined(head.name);
                })) {
                reader.add(line);
                continue;
            }
            const auto line_number = static_cast<uint32_t>(i + 1);
            i += more;
            const std::string rest(reader_of_heads.rest());
            // The vector may move its entries: the reader is told where the newest one is.
            out.entries.push_back({std::move(*heads), line_number, {}, {}});
            reader.begin(out.entries.back().text, out.entries.back().items);
            reader.add(rest);
        }
    }
    return out;
}

Entry comment_above(std::string_view text, uint32_t line) {
    Entry entry;
    BlockReader reader(entry.text, entry.items);
    const std::vector<std::string_view> lines = lines_of(text);
    size_t end = std::min<size_t>(line - 1, lines.size());
    if (end == 0)
        return entry;
    size_t begin = end;
    const bool block = trimmed(lines[end - 1]).ends_with("*/");
    if (block) {
        while (begin > 0 && !trimmed(lines[begin - 1]).starts_with("/*"))
            begin--;
        if (begin == 0)
            return entry;
        begin--;
    } else {
        while (begin > 0 &&
               (is_comment(lines[begin - 1]) || (lines[begin - 1].starts_with("#") && begin > 1)))
            begin--;
    }
    bool in_item = false;
    for (size_t i = begin; i < end; i++) {
        std::string_view words = trimmed(lines[i]);
        if (block && words.ends_with("*/"))
            words.remove_suffix(2);
        while (!words.empty() && std::string_view("/*#").find(words[0]) != std::string_view::npos)
            words.remove_prefix(1);
        words = trimmed(words);
        // Comments of SystemTap's kind: "probe NAME - text", then "@name: text", which may continue
        // in the next line.
        const bool item = words.starts_with("@") && read_item(words.substr(1));
        in_item = item || (in_item && !words.empty() && !words.starts_with("@"));
        if (item)
            reader.add("   " + std::string(words.substr(1)));
        else if (in_item)
            reader.add("    " + std::string(words));
        else
            reader.add(entry.text.empty() ? without_title(words) : words);
    }
    return entry;
}

} // namespace djstap::documentation
