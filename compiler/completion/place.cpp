// SPDX-License-Identifier: GPL-2.0-or-later
#include "completion/place.h"

#include <algorithm>
#include <cctype>

namespace djstap {

namespace {

bool begins_name(char c) {
    return std::isalpha(static_cast<unsigned char>(c)) || c == '_';
}

bool continues_name(char c) {
    return begins_name(c) || std::isdigit(static_cast<unsigned char>(c));
}

std::string trimmed_front(std::string_view text) {
    const size_t first = text.find_first_not_of(" \t\r\n");
    return first == std::string_view::npos ? "" : std::string(text.substr(first));
}

class PlaceScan {
  public:
    explicit PlaceScan(std::string_view text) : text_(text) {}

    CompletionPlace scan() {
        while (at_ < text_.size())
            step();
        return place();
    }

  private:
    // What the braces and words so far make of the text that follows.
    enum class Within : uint8_t { File, Points, Declaration, Handler };

    std::string_view from(size_t begin) const { return text_.substr(begin); }

    bool skips(std::string_view opening, std::string_view closing) {
        if (!from(at_).starts_with(opening))
            return false;
        const size_t end = text_.find(closing, at_ + opening.size());
        is_open_ = end == std::string_view::npos;
        at_ = is_open_ ? text_.size() : end + closing.size();
        return true;
    }

    // A string may contain \" and ends with its line.
    void skip_string() {
        const size_t begin = at_++;
        for (; at_ < text_.size() && text_[at_] != '"' && text_[at_] != '\n'; at_++)
            at_ += text_[at_] == '\\';
        if (at_ < text_.size()) {
            at_++;
            return;
        }
        at_ = text_.size();
        quote_ = begin;
    }

    void read_word() {
        const size_t begin = at_;
        while (at_ < text_.size() &&
               (continues_name(text_[at_]) || text_[at_] == '$' || text_[at_] == '@'))
            at_++;
        const std::string_view word = text_.substr(begin, at_ - begin);
        if (at_ == text_.size()) { // it is still being typed
            word_ = begin;
            return;
        }
        if (depth_ > 0)
            return;
        if (word == "private") // function or global follows
            return;
        if (word == "probe") {
            within_ = Within::Points;
            point_ = at_;
            expects_name_ = false;
        } else if (within_ != Within::Points && (word == "function" || word == "global")) {
            within_ = Within::Declaration;
            expects_name_ = true;
        } else if (expects_name_ && begins_name(word[0])) {
            declared_.emplace_back(word);
            expects_name_ = false;
        }
    }

    void read_mark(char c) {
        at_++;
        if (c == '{') {
            if (depth_++ == 0) {
                probed_ = within_ == Within::Points
                              ? trimmed_front(text_.substr(point_, at_ - 1 - point_))
                              : "";
                within_ = Within::Handler;
            }
        } else if (c == '}') {
            depth_ -= depth_ > 0;
            if (depth_ == 0)
                within_ = Within::File;
        } else if (c == '(' || c == ')') {
            parentheses_ += c == '(' ? 1 : -1;
        } else if (within_ == Within::Points && (c == ',' || c == '=') && parentheses_ == 0) {
            point_ = at_;
        } else if (within_ == Within::Declaration && c == ',' && parentheses_ == 0) {
            expects_name_ = true;
        }
        if (c == '{' || c == '}' || c == ',')
            parentheses_ = c == ',' ? parentheses_ : 0;
    }

    void step() {
        const char c = text_[at_];
        if (skips("//", "\n") || skips("#", "\n") || skips("/*", "*/") || skips("%{", "%}"))
            return;
        if (c == '"')
            skip_string();
        else if (continues_name(c) || c == '$' || c == '@')
            read_word();
        else
            read_mark(c);
    }

    CompletionPlace place() const {
        CompletionPlace out;
        out.declared = declared_;
        if (is_open_ || (quote_ != none && within_ != Within::Points))
            return out;
        if (quote_ != none) {
            out.what = Completes::Argument;
            out.typed = from(quote_ + 1);
            out.before = trimmed_front(text_.substr(point_, quote_ - point_));
            return out;
        }
        const std::string_view word = word_ == none ? "" : from(word_);
        out.typed = word;
        if (!word.empty() && std::isdigit(static_cast<unsigned char>(word[0])))
            return out;
        if (within_ == Within::File || (within_ == Within::Declaration && !expects_name_)) {
            out.what = parentheses_ == 0 ? Completes::Declaration : Completes::Nothing;
        } else if (within_ == Within::Points) {
            if (parentheses_ != 0)
                return out;
            out.what = Completes::Component;
            const size_t begin = word_ == none ? text_.size() : word_;
            out.before = trimmed_front(text_.substr(point_, begin - point_));
            // Behind a whole component: no name can begin there.
            if (!out.before.empty() && out.before.back() != '.')
                out.what = Completes::Nothing;
        } else if (within_ == Within::Handler &&
                   !text_.substr(0, text_.size() - word.size()).ends_with("->")) {
            out.what = word.starts_with('$') ? Completes::Target : Completes::Name;
            out.before = probed_;
        }
        return out;
    }

    static constexpr size_t none = std::string_view::npos;

    std::string_view text_;
    size_t at_ = 0;
    size_t depth_ = 0; // of braces
    int parentheses_ = 0;
    Within within_ = Within::File;
    size_t point_ = 0;          // where the current point begins
    size_t quote_ = none;       // of a string that does not end
    size_t word_ = none;        // that the text ends with
    bool is_open_ = false;      // a comment or embedded code does not end
    bool expects_name_ = false; // the next word is declared
    std::string probed_;        // the points of the probe whose handler this is
    std::vector<std::string> declared_;
};

} // namespace

CompletionPlace completion_place(std::string_view text) {
    return PlaceScan(text).scan();
}

} // namespace djstap
