// SPDX-License-Identifier: GPL-2.0-or-later
// Kbuild's questions all go through try-run (scripts/Makefile.compiler), which runs a command and
// returns one of two texts. A make that runs nothing (-n) is given a try-run that prints the
// command and assumes success; what is assumed is then tried, all compiler options in one run of
// the compiler. An answer changes the questions after it, which contain all options so far: this is
// repeated until all that was assumed proves right.
#include "module/option_tries.h"

#include "module/tool.h"

#include <algorithm>
#include <future>
#include <map>
#include <set>
#include <sstream>

namespace djstap::module {

namespace {

// What make prints: begin, question, end, value, end, yes or no.
constexpr std::string_view line_begin = "djs-try <", line_separator = "> djs <",
                           line_end = "> djs-end";
constexpr std::string_view option_test_end = " -c -x c /dev/null -o \"$TMP\"";
constexpr int most_rounds = 6;

std::vector<std::string> words_of(std::string_view text) {
    std::istringstream stream{std::string(text)};
    std::vector<std::string> words;
    for (std::string word; stream >> word;)
        words.push_back(word);
    return words;
}

// Text as the value of one of make's variables.
std::string escaped_for_make(std::string_view text) {
    std::string out;
    for (const char c : text)
        out += c == '$' ? "$$" : std::string(1, c);
    return out;
}

// The command of a question whether the compiler has certain options; nothing for other questions.
std::optional<std::vector<std::string>> option_test(std::string_view question) {
    std::string_view text = question;
    while (text.ends_with(' '))
        text.remove_suffix(1);
    if (!text.ends_with(option_test_end))
        return std::nullopt;
    text.remove_suffix(option_test_end.size());
    if (text.find_first_of("|&;<>()`$\"'\\*?[]#~") != std::string_view::npos)
        return std::nullopt;
    std::vector<std::string> words = words_of(text);
    if (words.size() < 3 || words[1] != "-Werror")
        return std::nullopt;
    return words;
}

// Options that the compiler says it does not have.
std::set<std::string> unknown_options(std::string_view output) {
    std::set<std::string> found;
    for (const std::string_view sign :
         {"unrecognized command-line option '", "unrecognized command line option '"}) {
        for (size_t at = 0; (at = output.find(sign, at)) != std::string_view::npos;) {
            at += sign.size();
            const size_t end = output.find('\'', at);
            if (end == std::string_view::npos)
                break;
            found.insert(std::string(output.substr(at, end - at)));
        }
    }
    return found;
}

struct Question {
    std::string text, value; // the command; what its success gives
    bool accepted;           // make's assumption
};

class Answers {
  public:
    Answers(std::string build_dir, std::string scratch)
        : build_dir_(std::move(build_dir)), scratch_(std::move(scratch)) {}

    bool knows(const std::string& question) const { return answers_.contains(question); }
    bool accepts(const std::string& question) const { return answers_.at(question); }
    const std::set<std::string>& refused_options() const { return refused_; }

    // Answers new questions: those for options first. If an answer to these is not what make
    // assumed, the others are of no interest: they contain options that the compiler does not have.
    // Returns false if a question cannot be answered for certain.
    bool find(const std::vector<Question>& questions) {
        std::vector<std::string> tests;
        for (const Question& question : questions)
            if (!knows(question.text) && option_test(question.text))
                tests.push_back(question.text);
        if (!find_options(tests))
            return false;
        for (const Question& question : questions)
            if (knows(question.text) && accepts(question.text) != question.accepted)
                return true;
        std::vector<std::pair<std::string, std::future<std::optional<bool>>>> others;
        for (const Question& question : questions)
            if (!knows(question.text))
                others.emplace_back(question.text,
                                    std::async(std::launch::async, [this, text = question.text] {
                                        return run_as_asked(text);
                                    }));
        bool found = true;
        for (auto& [text, future] : others) {
            const std::optional<bool> answer = future.get();
            found = found && answer;
            answers_[text] = answer.value_or(false);
        }
        return found;
    }

  private:
    // Runs a question as Kbuild would.
    std::optional<bool> run_as_asked(const std::string& question) const {
        const std::string folder = quoted_for_shell(
            scratch_ + "/.try-" + std::to_string(std::hash<std::string>()(question)));
        auto outcome =
            run_tool({"sh", "-c",
                      "cd " + quoted_for_shell(build_dir_) + " && set -e; TMP=" + folder +
                          "/tmp; trap 'rm -rf " + folder + "' EXIT; mkdir -p " + folder + "; if (" +
                          question + ") >/dev/null 2>&1; then echo y; else echo n; fi"});
        if (!outcome || outcome->status != 0 ||
            (outcome->output != "y\n" && outcome->output != "n\n"))
            return std::nullopt;
        return outcome->output == "y\n";
    }

    // If the compiler takes all of the options together, then also each of them. A test's options
    // are those of the test before and one more: only what differs is repeated.
    bool find_options(const std::vector<std::string>& tests) {
        for (int round = 0; round < most_rounds; round++) {
            std::vector<std::string> command, before;
            for (const std::string& test : tests) {
                std::vector<std::string> words = *option_test(test);
                if (is_refused(words))
                    continue;
                if (!command.empty() && words[0] != command[0])
                    return false;
                const auto differs =
                    std::mismatch(words.begin(), words.end(), before.begin(), before.end()).first;
                command.insert(command.end(), differs, words.end());
                before = std::move(words);
            }
            if (command.empty() || command == accepted_)
                break;
            accepted_ = command;
            std::string text = "cd " + quoted_for_shell(build_dir_) + " && exec";
            for (const std::string& word : command)
                text += " " + word;
            auto outcome = run_tool(
                {"sh", "-c",
                 text + " -c -x c /dev/null -o " + quoted_for_shell(scratch_ + "/.tries.o")});
            if (!outcome)
                return false;
            if (outcome->status == 0)
                break;
            const std::set<std::string> unknown = unknown_options(outcome->output);
            const size_t known = refused_.size();
            refused_.insert(unknown.begin(), unknown.end());
            accepted_.clear();
            // something else is wrong: only Kbuild's own tries can tell
            if (refused_.size() == known || round + 1 == most_rounds)
                return false;
        }
        for (const std::string& test : tests)
            answers_[test] = !is_refused(*option_test(test));
        return true;
    }

    bool is_refused(const std::vector<std::string>& words) const {
        return std::any_of(words.begin(), words.end(),
                           [this](const std::string& word) { return refused_.contains(word); });
    }

    std::string build_dir_, scratch_;
    std::map<std::string, bool> answers_;
    std::set<std::string> refused_;     // options
    std::vector<std::string> accepted_; // the command that succeeded
};

// Separates the questions from other output. Returns nothing if one of them is not understood.
std::optional<std::vector<Question>> take_questions(std::string& output,
                                                    std::vector<std::string>& printed) {
    std::vector<Question> questions;
    std::string rest;
    std::istringstream lines(output);
    for (std::string line; std::getline(lines, line);) {
        if (!line.starts_with(line_begin)) {
            rest.append(line).append("\n");
            continue;
        }
        const size_t value = line.find(line_separator), end = line.rfind(line_end);
        if (value == std::string::npos || end == std::string::npos || end < value)
            return std::nullopt;
        const std::string answer = line.substr(end + line_end.size());
        if (answer != " yes" && answer != " no")
            return std::nullopt;
        const size_t value_begin = value + line_separator.size();
        questions.push_back({line.substr(line_begin.size(), value - line_begin.size()),
                             line.substr(value_begin, end - value_begin), answer == " yes"});
        printed.push_back(line);
    }
    output = std::move(rest);
    return questions;
}

// Makes make refuse options, and questions that would give certain values; both are assumptions.
std::vector<std::string> variables_for(const std::set<std::string>& options,
                                       const std::set<std::string>& values) {
    std::string words, texts;
    for (const std::string& option : options)
        words += escaped_for_make(option) + " ";
    for (const std::string& value : values)
        texts += "<" + escaped_for_make(value) + ">";
    return {"djs-refused-options=" + words, "djs-refused-values=" + texts,
            "djs-refused=$(filter $(djs-refused-options),$(1))$(findstring "
            "<$(2)>,$(djs-refused-values))",
            "try-run=$(info " + std::string(line_begin) + "$(1)" + std::string(line_separator) +
                "$(2)" + std::string(line_end) +
                " $(if $(djs-refused),no,yes))$(if $(djs-refused),$(3),$(2))"};
}

} // namespace

std::optional<OptionTries> answer_option_tries(const std::vector<std::string>& make,
                                               const std::string& build_dir,
                                               const std::string& scratch) {
    Answers answers(build_dir, scratch);
    std::set<std::string> values;
    for (int round = 0; round < most_rounds; round++) {
        OptionTries tries;
        tries.variables = variables_for(answers.refused_options(), values);
        std::vector<std::string> words = make;
        words.push_back("-n");
        words.insert(words.end(), tries.variables.begin(), tries.variables.end());
        auto outcome = run_tool(words);
        if (!outcome)
            return std::nullopt;
        tries.commands = std::move(outcome->output);
        const auto questions = take_questions(tries.commands, tries.questions);
        if (!questions || questions->empty() || !answers.find(*questions))
            return std::nullopt;
        bool right = true;
        for (const auto& [question, value, accepted] : *questions) {
            if (answers.knows(question) && answers.accepts(question) == accepted)
                continue;
            right = false;
            if (!answers.knows(question) || option_test(question))
                continue;
            if (accepted)
                values.insert(value);
            else
                values.erase(value);
        }
        if (right)
            return tries;
    }
    return std::nullopt;
}

bool asked_nothing_else(const OptionTries& tries, std::string& output) {
    std::vector<std::string> printed;
    if (!take_questions(output, printed))
        return false;
    return std::all_of(printed.begin(), printed.end(), [&](const std::string& line) {
        return std::find(tries.questions.begin(), tries.questions.end(), line) !=
               tries.questions.end();
    });
}

} // namespace djstap::module
