// SPDX-License-Identifier: GPL-2.0-or-later
// Executes what handlers do with strings, and prints.
#include "executed.h"

#include <cstdio>
#include <vector>

namespace djstap {
namespace {

using test::execute;
using test::printed_by;

// What a string operation reads is the value before it, also if it is the operation's own place.
TEST(Texts, OperandsMayBeThePlaceItself) {
    EXPECT_EQ(printed_by(R"(
        global g, a
        function f:string(s:string, t:string) { s = t . s; return s . "!" }
        probe begin {
            s = "ab"; t = "cd"
            s = s . s; println(s)
            s = t . s; println(s)
            t .= t; println(t)
            t .= s; println(t)
            t = (s = "x") . t; println(t, s)
            s = f(s, s = "y"); println(s)
            println(s . (s = "z") . s)
            println(s == (s = "q"), s, f(s, s), s)
            s = s == "q" ? "yes" : "no"; println(s)
            s = s == "q" ? "a much longer string than the other one" : "short"; println(s)
            s = sprintf("%s-%s", s, s); println(s)
            g = "12"; g = g . g; println(g); g .= "3"; println(g); g .= g; println(g)
            a["12"] = "x"; a["12"] .= a["12"] . "y"; println(a["12"]); a[a["12"]] = a["12"]; println(a["xxy"], "[", a["no"], "]")
            u = v = "same"; println(u, v)
        })"),
              "abab\ncdabab\ncdcd\ncdcdcdabab\nxcdcdcdababx\nyx!\nyx!zz\n0qqq!q\nyes\nshort\n"
              "short-short\n1212\n12123\n1212312123\nxxy\nxxy[]\nsamesame\n");
}

// Literals are copied in pieces of the processor's words, without a call if they are short.
TEST(Texts, OfEachLength) {
    CodegenOptions options;
    const std::vector<unsigned> few{0, 1, 7, 8, 9, 31, 32, 33, 55, 56, 62, 63, 64, 65};
    using Lengths = std::pair<unsigned, std::vector<unsigned>>;
    for (const auto& [most, lengths] :
         {Lengths{512, few}, {16, {14, 15, 16}}, {33, {31, 32, 33}}}) {
        options.limits.MAXSTRINGLEN = most;
        const auto cut = [most = most](const std::string& whole) {
            return whole.substr(0, most - 1);
        };
        std::string script = "global a, g\nprobe begin {\n", expected;
        for (const unsigned length : lengths) {
            std::string text;
            for (unsigned i = 0; i < length; i++)
                text += static_cast<char>('a' + (i + length) % 26);
            const std::string literal = "\"" + text + "\"";
            script += "s = " + literal + "; u = \"0\" . s; g = " + literal + "; a[s] = s; a[" +
                      literal + "] .= " + literal +
                      "; println(s, \" \", g, \" \", strlen(s), \" \", " + literal +
                      "); println(u, \" \", a[g], s == g)\n";
            expected += cut(text) + " " + cut(text) + " " + std::to_string(cut(text).size()) + " " +
                        cut(text) + "\n" + cut("0" + text) + " " + cut(text + text) + "1\n";
        }
        EXPECT_EQ(printed_by(script + "}", 0, options), expected);
    }
}

// A choice between two literals selects the one that is copied if they have the same number of
// words.
TEST(Texts, ChosenOfLiteralsOfEachLength) {
    const std::vector<size_t> lengths{0, 7, 8, 15, 16, 62, 63, 64, 100};
    std::string script = "global on = 1, off = 0\nprobe begin {\n", expected;
    for (const size_t one : lengths)
        for (const size_t other : lengths)
            for (const bool first : {true, false}) {
                const std::string yes(one, 'y'), no(other, 'n');
                script += "s = sprintf(\"%0110d\", on); s = " + std::string(first ? "on" : "off") +
                          " ? \"" + yes + "\" : \"" + no + "\"; println(s)\n";
                expected += (first ? yes : no) + "\n";
            }
    CodegenOptions options;
    options.limits.MAXACTION = options.limits.MAXACTION_INTERRUPTIBLE = 100000;
    EXPECT_EQ(printed_by(script + "}", 0, options), expected);
}

// Formats are C's.
TEST(Texts, NumbersAreFormattedAsByC) {
    const std::vector<const char*> formats{
        "%d", "%8d", "%-8d", "%+d", "% d", "%08d",   "%.5d",   "%8.5d", "%-+8d", "%x",   "%#x",
        "%X", "%#X", "%o",   "%#o", "%u",  "%#010x", "%-#10x", "%i",    "%5c",   "%-5c", "%c"};
    for (const long number : {65L, -1L, 100000000000L, -65L}) {
        std::string arguments, script = "probe begin {", expected;
        for (const char* format : formats) {
            const std::string f = format;
            if (f.back() == 'c' && number != 65)
                continue;
            char text[100];
            const std::string wide =
                f.back() == 'c' ? f : f.substr(0, f.size() - 1) + "l" + f.back();
            if (f.back() == 'c')
                snprintf(text, sizeof text, f.c_str(), static_cast<int>(number));
            else
                snprintf(text, sizeof text, wide.c_str(), number);
            expected += "[" + std::string(text) + "]100%\n";
            script += "printf(\"[" + f + "]100%%\\n\", " + std::to_string(number) + ")\n";
        }
        EXPECT_EQ(printed_by(script + "}"), expected);
        std::string in_text = script;
        for (size_t at = 0; (at = in_text.find("printf(", at)) != std::string::npos; at += 20)
            in_text.replace(at, 7, "print(sprintf(");
        for (size_t at = 0; (at = in_text.find(")\n", at)) != std::string::npos; at += 3)
            in_text.replace(at, 2, "))\n");
        EXPECT_EQ(printed_by(in_text + "}"), expected);
    }
}

TEST(Texts, StringsAreFormattedAsByC) {
    EXPECT_EQ(printed_by(R"(probe begin {
        s = "abcdef"
        printf("[%s][%8s][%-8s][%.3s][%8.3s][%-8.3s]\n", s, s, s, s, s, s)
        printf("[%*s][%.*s][%-*d][%*.*s]%d\n", 8, s, 2, s, 5, 42, 8, 3, s, 7)
        print(sprintf("[%*s][%.*s][%-*d][%*.*s]%d\n", 8, s, 2, s, 5, 42, 8, 3, s, 7))
        printf("%s%d%s%d%s\n", "", 1, "1234", 2, "12345")
        printf("%s|%s|%s|%d\n", s . s, "123456789012345678901234567890123", "12345678901234567890123456789012", 3)
        println("a", 1, "b", 2); printd(":", 1, "x", 2); printdln("--", "x", 3, "y"); print("", 5, "\n")
    })"),
              "[abcdef][  abcdef][abcdef  ][abc][     abc][abc     ]\n"
              "[  abcdef][ab][42   ][     abc]7\n[  abcdef][ab][42   ][     abc]7\n112342"
              "12345\nabcdefabcdef|123456789012345678901234567890123|"
              "12345678901234567890123456789012|3\na1b2\n1:x:2x--3--y\n5\n");
}

TEST(Texts, MemoryIsShownAsBytes) {
    static const char bytes[] = "AB\0Cdefghijklmnopqrstuvwxyz0123456789";
    const std::string address = std::to_string(reinterpret_cast<uintptr_t>(bytes));
    EXPECT_EQ(printed_by("probe begin { printf(\"%.4m|%.*m|%.2M|%.*M\\n\", " + address + ", 2, " +
                         address + ", " + address + ", 4, " + address + ") }"),
              std::string("AB\0C|AB|4142|41420043\n", 22));
    EXPECT_EQ(printed_by("probe begin { printf(\"%*d|%.2m|%-*.*s|%.2m|%*.2m\\n\", 5, 7, " +
                         address + ", 4, 2, \"abc\", " + address + " + 4, 4, " + address + ") }"),
              "    7|AB|ab  |de|  AB\n");
    CodegenOptions options;
    options.limits.MAXSTRINGLEN = 16;
    EXPECT_EQ(printed_by("probe begin { n = 0; printf(\"%.*m|%.*M|%.*M\\n\", 20, " + address +
                             " + 3, n, " + address + ", 20, " + address + ") }",
                         0, options),
              "Cdefghijklmnopq|41|414200436465666768696a6b6c6d6e\n");
    const auto failed = execute("probe begin {\nprintf(\"%.4m\", 8) }");
    EXPECT_EQ(failed.output, "");
    EXPECT_NE(failed.messages.find("script.stp:2:"), std::string::npos) << failed.messages;
    EXPECT_NE(failed.messages.find("%m"), std::string::npos) << failed.messages;
}

TEST(Texts, ComparisonsAreOfBytes) {
    EXPECT_EQ(printed_by(R"(probe begin {
        a = "abc"; b = "abd"; c = "ab"
        print(a < b, a <= b, a > b, a >= b, a == b, a != b, " ")
        print(a < c, a <= c, a > c, a >= c, a == c, a != c, " ")
        print(a < a, a <= a, a > a, a >= a, a == a, a != a, " ")
        print("\xff" > "a", "" < "a", a . "" == "ab" . "c")
    })"),
              "110001 001101 010110 111");
}

TEST(Texts, RegularExpressionsMatchAndGiveTheirParts) {
    EXPECT_EQ(printed_by(R"s(probe begin {
        if ("key=value" =~ "^([a-z]+)=([a-z]*)$") println(matched(0), " ", matched(1), " ", matched(2))
        println("abc" =~ "b", "abc" !~ "b", "abc" =~ "^b", "abc" !~ "^b")
    })s"),
              "key=value key value\n1001\n");
}

// A variable that has one value is that literal; not if it can be read before.
TEST(Texts, VariablesThatAreSetOnce) {
    EXPECT_EQ(printed_by(R"(
        global n
        probe timer.s(100000) {
            { name = "alias" }
            printf("%s[%s]%s;", name, late, name . "!")
            late = "late"
            if (n++ == 1) { some = "some" }
            while (i++ < 2) { print("<", in_loop, ">"); in_loop = "loop" }
            try { error("text") } catch (why) { }
            why2 = "x"; why2 = why
            print(some, why2, late, "\n")
        })",
                         2),
              "alias[]alias!;<><loop>textlate\nalias[]alias!;<><loop>sometextlate\n");
}

// A call that fails has not changed the variable that it is assigned to.
TEST(Texts, OfFailedCallsAreNotAssigned) {
    EXPECT_EQ(printed_by(R"(
        function f:string(n) { r = "begun"; return r . sprintf("%d", 1 / n) }
        probe begin {
            s = "old"
            try { s = f(0) } catch { println(s) }
            s = f(1); println(s)
            try { s = user_string(8) . f(0) } catch (e) { println(s, " ", e != "") }
        })"),
              "old\nbegun1\nbegun1 1\n");
}

} // namespace
} // namespace djstap
