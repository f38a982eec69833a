// SPDX-License-Identifier: GPL-2.0-or-later
// Executes what handlers do with arrays and statistics.
#include "executed.h"

namespace djstap {
namespace {

using test::execute;
using test::printed_by;

// -1 is stored unlike other numbers, and what collides is searched by the runtime.
TEST(Arrays, NumbersOfAnyKey) {
    for (const char* more : {"", "text = sprintf(\"%d\", n); "})
        EXPECT_EQ(printed_by(std::string(R"(
            global a, n = -100, has, before, after
            probe timer.s(100000) { )") +
                                 more + R"(
                k = n * n * n * 7919
                has[n] = k in a; before[n] = a[k]; a[k] = n; a[k] += 5; a[k]++; after[n] = a[k]
                has[n] += 2 * (k in a)
                if (n & 1) delete a[k]
                n = n + 1
            }
            probe end {
                for (n = -100; n < 100; n++) {
                    if (has[n] != 2 || before[n] || after[n] != n + 6) println("wrong at ", n)
                    if ((n * n * n * 7919 in a) == (n & 1)) println("deleted ", n)
                }
                a[-1] = 3; a[0] = 4
                println(a[-1], -1 in a, -2 in a, a[-2], a[0]); delete a[-1]; println(-1 in a, 0 in a)
                foreach (k in a) count++
                println(count); delete a; foreach (k in a) println("left")
            })",
                             200),
                  "31004\n01\n100\n")
            << more;
}

TEST(Arrays, KeysOfSeveralNumbersAndStrings) {
    EXPECT_EQ(printed_by(R"(
        global a, b, s
        probe begin {
            for (i = 0; i < 20; i++) for (j = 0; j < 5; j++) { a[i, sprintf("k%d", j), j * i] = i * 100 + j; n++ }
            foreach ([x, y, z] in a) if (a[x, y, z] != x * 100 + strtol(substr(y, 1, 9), 10) || z != x * strtol(substr(y, 1, 9), 10)) println("wrong")
            println(n, " ", [3, "k2", 6] in a, [3, "k2", 7] in a, [3, "k1", 6] in a, [4, "k2", 6] in a)
            println([3, *, *] in a, [*, "k9", *] in a, [*, "k4", *] in a, [*, *, 76] in a, [*, *, 77] in a)
            delete a[3, *, *]; delete a[*, "k0", *]; delete a[7, "k1", 7]
            foreach ([x, y, z] in a) m++
            println(m)
            foreach (v = [x, y, z] in a[*, "k4", *]) sum += v
            println(sum)
            foreach ([x, y, z] in a[5, *, *]) t .= y
            println(strlen(t))
            b["x"] = 1; b["y"] = 2; b["x"] += 5; println(b["x"], b["y"], "x" in b, "z" in b); delete b["x"]; println("x" in b, b["x"])
            s[1] = "one"; s[2] = "two"; s[1] .= s[2]; println(s[1], s[3], 3 in s)
        })"),
              "100 1000\n10110\n75\n18" // the sum of 100 x + 4 for 0 … 19 without 3
              "776\n8\n6210\n00\nonetwo0\n");
}

TEST(Arrays, KeysAreLiteralsOfTheirWholeLength) {
    std::string script = "global a\nprobe timer.s(100000) {\n", expected, end = "probe end {\n";
    for (const size_t length : {0, 1, 7, 8, 9, 15, 16, 17, 55, 56, 64}) {
        std::string key;
        for (size_t i = 0; i < length; i++)
            key += static_cast<char>('a' + (i + length) % 23);
        const std::string element = "a[\"" + key + "\"]", other = "\"" + key + "x\"";
        script += element + " += " + std::to_string(length + 1) + "\n";
        script += "a[" + other + "]++; if (" + other + " in a) delete a[" + other + "]\n";
        end += "k = \"" + key + "\"; print(a[k], k . \"x\" in a, \" \")\n";
        expected += std::to_string(3 * (length + 1)) + "0 ";
    }
    EXPECT_EQ(printed_by(script + "}\n" + end + "}\n", 3), expected);
}

TEST(Arrays, KeysAreAsLongAsAnyString) {
    CodegenOptions options;
    options.limits.MAXSTRINGLEN = 16;
    EXPECT_EQ(printed_by(R"(
        global a
        probe timer.s(100000) { a["0123456789abcdefghij"]++; a["0123456789abcde"] += 5; a["01234567"]++ }
        probe end { foreach (k+ in a) println(k, " ", strlen(k), " ", a[k]) })",
                         2, options),
              "01234567 8 2\n0123456789abcde 15 12\n");
}

// Keys are evaluated from left to right.
TEST(Arrays, KeysThatAssign) {
    EXPECT_EQ(printed_by(R"(
        global a, b
        function f:string(s:string) { return s . "!" }
        probe begin {
            s = "old"; n = 1
            a[s, s = "new", s]++; b[n, n = 2, n++, n] = 5
            foreach ([x, y, z] in a) println(x, " ", y, " ", z)
            foreach ([p, q, r, t] in b) println(p, q, r, t)
            println([s, s = "x", f(s)] in a, " ", a["old", s = "new", s], s)
            delete a["old", s = "new", s]; foreach ([x, y, z] in a) println("left")
        })"),
              "old new new\n1223\n0 1new\n");
}

TEST(Arrays, SeveralLiteralKeysAndNumbers) {
    EXPECT_EQ(printed_by(R"(
        global a, n, b
        probe timer.s(100000) {
            a["read", n % 3]++; a["write", n % 3] += 2; a["a name of three words", 1]++; b[n % 2, "x", "yyyyyyyy"] += n
            n = n + 1
        }
        probe end {
            foreach ([s+, i] in a) printf("%s %d: %d\n", s, i, a[s, i])
            println(b[0, "x", "yyyyyyyy"], " ", b[1, "x", "yyyyyyyy"], " ", [1, "x", "y"] in b)
        })",
                         1),
              "a name of three words 1: 1\nread 0: 1\nwrite 0: 2\n0 0 0\n");
}

TEST(Arrays, ForeachInOrderAndUpToALimit) {
    EXPECT_EQ(printed_by(R"(
        global a, s, t, n = 2
        probe begin {
            a["b"] = 3; a["a"] = 1; a["c"] = 2
            foreach (k+ in a) print(k); foreach (k- in a) print(k); foreach (k in a+) print(k); foreach (k in a-) print(k)
            foreach (k+ in a limit 2) print(k, "."); foreach (k+ in a limit n - 1) print(k); foreach (k in a limit -1) print("no"); foreach (k in a limit 0) print("no")
            println("")
            foreach (v = k- in a) print(k, v)
            foreach (k+ in a) { if (k == "b") continue; print(k); if (k == "c") break; print("|") }
            foreach (k+ in a) { if (k == "b") break; print(k) }
            println("")
            t[1] = "z"; t[2] = "y"; foreach (i in t+) print(i); foreach (i in t-) print(i, t[i]); foreach (w = i+ in t) print(w, i)
            s["p"] <<< 5; s["q"] <<< 1; s["q"] <<< 2
            foreach (k in s @count-) print(k); foreach (k in s @sum-) print(k); foreach (k in s @min+) print(k); foreach (k in s @max+) print(k); foreach (k in s @avg-) print(k)
            println("")
        })"),
              "abccbaacbbcaa.b.a\nc2b3a1a|ca\n211z2yz1y2qppqqpqppq\n");
}

TEST(Arrays, HaveAsMuchRoomAsDeclared) {
    CodegenOptions options;
    options.limits.MAXMAPENTRIES = 3;
    const auto executed = execute(R"(
        global a, b[2], c%[2], t
        probe begin {
            for (i = 0; i < 3; i++) { a[i]++; c[i] = i; t[i, "x"] = i }
            b[1] = 1; b[2] = 2
            println(0 in c, 1 in c, 2 in c)
            try { a[9] = 1 } catch (e) { println(e) }
            try { b[9]++ } catch (e) { println(e) }
            try { t[3, "x"] += 1 } catch (e) { println(e) }
            a[0] = 5; println(a[0], 9 in a)
        }
        probe end { a[7]++ })",
                                  0, options);
    EXPECT_EQ(executed.output, "011\nArray overflow, check MAXMAPENTRIES\n"
                               "Array overflow, check size limit (2)\n"
                               "Array overflow, check MAXMAPENTRIES\n50\n");
    EXPECT_NE(executed.messages.find("script.stp:12:"), std::string::npos) << executed.messages;
}

TEST(Statistics, OfNumbersAndArrays) {
    for (const char* place : {"s", "s[1]", "s[\"x\", 2]"}) {
        const std::string p = place;
        EXPECT_EQ(printed_by("global s, n = -2\nprobe timer.s(100000) { " + p +
                                 " <<< n * n * 3; n = n + 1 }\nprobe end { println(@count(" + p +
                                 "), \" \", @sum(" + p + "), \" \", @min(" + p + "), \" \", @max(" +
                                 p + "), \" \", @avg(" + p + ")); delete " + p +
                                 "; println(@count(" + p + ")) }",
                             5),
                  "5 30 0 12 6\n0\n")
            << p;
    }
    // The values of docs/language.md.
    for (const char* p : {"s[1]", "s"})
        for (const char* scaled : {", 1", ""})
            EXPECT_EQ(printed_by(std::string("global s\nprobe begin { for (i = 1; i <= 5; i++) ") +
                                 p + " <<< i; println(@variance(" + p + scaled + ")) }"),
                      *scaled ? "2\n" : "12\n");
    const auto executed = execute("global s\nprobe begin { println(@count(s), @sum(s)); try { "
                                  "println(@avg(s)) } catch (e) { println(\"none\") } s <<< -7; "
                                  "println(@min(s), @max(s), @avg(s)) }");
    EXPECT_EQ(executed.output, "00\nnone\n-7-7-7\n");
}

TEST(Statistics, AnAdditionsValueIsWhatWasAdded) {
    EXPECT_EQ(printed_by("global s, a\nprobe begin { println(s <<< 5, a[1] <<< 6); x = (s <<< "
                         "(a[1] <<< -7)) * 2; println(x, @sum(s), @sum(a[1])) }\n"
                         "probe end { y = (s <<< 3); println(y, @count(s)) }"),
              "56\n-14-2-1\n33\n");
    // As a per-CPU aggregate.
    EXPECT_EQ(printed_by("global s\nprobe begin { println(s <<< 5) }\n"
                         "probe end { println(@sum(s)) }"),
              "5\n5\n");
}

// Bucket n of a logarithmic histogram has the numbers whose highest bit is bit n - 1.
TEST(Statistics, BucketsOfHistograms) {
    for (const char* p : {"s", "s[1]"}) {
        std::string script = std::string("global s, v\nprobe timer.s(100000) { ") + p +
                             " <<< v[0]; v[0] = v[v[0] + 100] }\nprobe begin { v[0] = -9\n";
        const int values[] = {-9, -8, -1, 0, 1, 2, 3, 4, 7, 8};
        for (size_t i = 0; i + 1 < std::size(values); i++)
            script += "v[" + std::to_string(values[i] + 100) +
                      "] = " + std::to_string(values[i + 1]) + "\n";
        script +=
            std::string("}\nprobe end { foreach (h = b in @hist_log(") + p +
            ")) if (h) print(b - zero, \":\", h, \" \")\n zero = 64; foreach (h = b in @hist_log(" +
            p + ")) if (h) print(b - zero, \":\", h, \" \") }\n";
        const std::string printed = printed_by(script, 10);
        EXPECT_NE(printed.find("-4:2 -1:1 0:1 1:1 2:2 3:2 4:1 "), std::string::npos) << printed;
    }
    EXPECT_EQ(printed_by(R"(
        global s
        probe begin {
            foreach (h = b in @hist_linear(s, 10, 40, 10)) print(h)
            s <<< 5; s <<< 10; s <<< 19; s <<< 20; s <<< 39; s <<< 40; s <<< 49; s <<< 50; s <<< 99
            foreach (h = b in @hist_linear(s, 10, 40, 10)) print(b, ":", h, " ")
            foreach (h = b- in @hist_linear(s, 10, 40, 10)) print(b)
            foreach (b in @hist_linear(s, 10, 40, 10) limit 2) print(b)
            foreach (b in @hist_linear(s, 10, 40, 10) limit -2) print(b)
            foreach (b in @hist_linear(s, 10, 40, 10) limit 200) print(b)
            println(" ", @hist_linear(s, 10, 40, 10)[1], 5 in @hist_linear(s, 10, 40, 10), 6 in @hist_linear(s, 10, 40, 10), @hist_linear(s, 10, 40, 10)[2])
        })"),
              "0000000:1 1:2 2:1 3:1 4:2 5:2 54321001012345 2101\n");
}

// Whatever was in the memory in which the buckets of one are copied.
TEST(Statistics, BucketsOfAnAbsentElementAreEmpty) {
    EXPECT_EQ(printed_by(R"(
        global s, t
        probe begin {
            s[1] <<< 5; t = "0123456789abcdef"; for (i = 0; i < 5; i++) t .= t
            println(strlen(t . t) + strlen(t . t . t))
            foreach (h = b in @hist_log(s[2])) if (h) print(b, ":", h, " ")
            foreach (h = b in @hist_log(s[1])) if (h) println(h)
        })"),
              "1022\n1\n");
}

// The bounds are further apart than the largest number.
TEST(Arrays, HistogramsMaySpanAllNumbers) {
    EXPECT_EQ(printed_by(R"(
        @define all %( @hist_linear(s, -9000000000000000000, 9000000000000000000, 9000000000000000000) %)
        @define many %( @hist_linear(t, -9000000000000000000, 4000000000000000000, 4000000000000000) %)
        global s, t
        probe begin {
            s <<< -9200000000000000000; s <<< -9000000000000000000; s <<< -1; s <<< 0; s <<< 9100000000000000000
            foreach (h = b in @all) print(b, ":", h, " ")
            t <<< -9000000000000000001; t <<< 3999999999999999999; t <<< 4004000000000000000
            foreach (h = b in @many) if (h) print(b, ":", h, " ")
            println(4 in @all, 5 in @all, 3252 in @many, 3253 in @many)
        })"),
              "0:1 1:2 2:1 3:1 4:0 0:1 3250:1 3252:1 1010\n");
}

} // namespace
} // namespace djstap
