// SPDX-License-Identifier: GPL-2.0-or-later
// Handlers find an array's elements themselves where the first look is enough: the runtime searches
// only for what is new.
#include "executed.h"
#include "include/map.h"

#include <string>
#include <vector>

namespace {

unsigned finds, inserts; // searches of the runtime

} // namespace

extern "C" {

void* __real_djs_map_find(djs_map* map, const djs_value* keys);
void* __real_djs_map_insert(djs_map* map, const djs_value* keys);
void* __real_djs_map_find_slot(djs_map* map, s64 key);
void* __real_djs_map_insert_slot(djs_map* map, s64 key);

void* __wrap_djs_map_find(djs_map* map, const djs_value* keys) {
    finds++;
    return __real_djs_map_find(map, keys);
}
void* __wrap_djs_map_insert(djs_map* map, const djs_value* keys) {
    inserts++;
    return __real_djs_map_insert(map, keys);
}
void* __wrap_djs_map_find_slot(djs_map* map, s64 key) {
    finds++;
    return __real_djs_map_find_slot(map, key);
}
void* __wrap_djs_map_insert_slot(djs_map* map, s64 key) {
    inserts++;
    return __real_djs_map_insert_slot(map, key);
}

} // extern "C"

namespace djstap {
namespace {

// Changes and reads one element of each array in a handler that runs five times.
std::string use_elements(const std::vector<std::string>& keys, const std::string& more) {
    std::string globals = "global n = 0", handler = "probe timer.s(100000) { " + more,
                end = "probe end { ";
    for (size_t i = 0; i < keys.size(); i++) {
        const std::string array = "a" + std::to_string(i), element = array + "[" + keys[i] + "]";
        globals += ", " + array;
        handler += element + "++; n = n + " + element + "; ";
        const std::string one = "k" + std::to_string(i), two = "l" + std::to_string(i);
        const bool is_pair = keys[i].find(',') != std::string::npos;
        end += "foreach (v = " + (is_pair ? "[" + one + ", " + two + "]" : one) + " in " + array +
               ") print(v, \" \"); ";
    }
    finds = inserts = 0;
    return test::printed_by(globals + "\n" + handler + "}\n" + end + "println(n) }", 5);
}

std::string five_of(size_t count) {
    std::string text;
    for (size_t i = 0; i < count; i++)
        text += "5 ";
    return text + std::to_string(15 * count) + "\n";
}

} // namespace

TEST(Searches, NumbersAreFoundInTheirSlots) {
    const std::vector<std::string> keys{
        "0", "1", "-2", "7919", "-12345678901234", "0x7fffffffffffffff", "0x8000000000000000"};
    for (const char* more : {"", "s = sprintf(\"%d\", n); "}) {
        EXPECT_EQ(use_elements(keys, more), five_of(keys.size()));
        EXPECT_EQ(inserts, keys.size()) << more;
        EXPECT_EQ(finds, 0u) << more;
    }
}

TEST(Searches, LiteralsAreFoundInTheirBuckets) {
    const std::vector<std::string> keys{
        R"("")",
        R"("a")",
        R"("1234567")",
        R"("12345678")",
        R"("123456789")",
        R"("fifteen letters")",
        R"("sixteen letters!")",
        R"("sixty-three bytes that take the eight words that are looked at.")",
        R"("x", 5)",
        R"(7, "12345678")",
        R"("one of eleven", "another")"};
    for (const char* more : {"", "s = sprintf(\"%d\", n); "}) {
        EXPECT_EQ(use_elements(keys, more), five_of(keys.size()));
        EXPECT_EQ(inserts, keys.size()) << more;
        EXPECT_EQ(finds, 0u) << more;
    }
}

} // namespace djstap
