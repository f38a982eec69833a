// SPDX-License-Identifier: GPL-2.0-or-later
#include "regions/go_states.h"

#include "system/byte_reader.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace djstap::regions {

namespace {

// A number up to an offset in a function.
struct Value {
    uint64_t end = 0;
    int64_t value = 0;
};

constexpr int64_t none = -1; // what a table says by saying nothing

// Each entry is what to add to the number, which begins at -1, and for how many bytes that holds.
// What is added has its sign in the lowest bit: 1 means the complement of the rest.
std::vector<Value> read_values(const GoTable& go, uint32_t at, uint64_t size) {
    std::vector<Value> values;
    if (at == 0 || at >= go.numbers.size())
        return {{size, none}};
    ByteReader reader(go.numbers.substr(at));
    auto value = static_cast<uint64_t>(none);
    uint64_t offset = 0;
    while (offset < size) {
        const uint64_t change = reader.uleb();
        if (reader.failed() || (change == 0 && offset != 0))
            break;
        value += change & 1 ? ~(change >> 1) : change >> 1;
        const uint64_t bytes = reader.uleb();
        if (reader.failed() || bytes == 0)
            break;
        // The table counts the space up to the next function, too.
        offset += std::min(bytes, size - offset);
        values.push_back({offset, static_cast<int64_t>(value)});
    }
    return values;
}

// Of Go's runtime: whether preemption is safe. Other values tell where a sequence restarts.
constexpr int64_t safe = -1, unsafe = -2;

class StateReader {
  public:
    StateReader(const Code& code, const GoTable& go) : code_(code), go_(go) {}

    std::vector<GoState> run() {
        for (const GoFunction& function : go_.functions)
            if (const auto first = code_.index(function.address)) {
                const uint64_t size =
                    std::min<uint64_t>(function.size, code_.section_at(*first).end() - *first);
                numbers_.clear();
                read(function, *first, size);
                add(*first + static_cast<Index>(size), 0);
            }
        return std::move(states_);
    }

  private:
    void add(Index first, uint32_t number) {
        if (!states_.empty() && states_.back().first == first)
            states_.back().number = number;
        else
            states_.push_back({first, number});
    }
    void read(const GoFunction& function, Index first, uint64_t size);

    const Code& code_;
    const GoTable& go_;
    uint32_t next_ = 1;
    std::map<std::tuple<int64_t, int64_t, int64_t>, uint32_t> numbers_;
    std::vector<GoState> states_;
};

void StateReader::read(const GoFunction& function, Index first, uint64_t size) {
    add(first, 0);
    if (!function.compiled || function.stack == 0)
        return;
    const std::vector<Value> stack = read_values(go_, function.stack, size);
    const std::vector<Value> preemption = read_values(go_, function.unsafe, size);
    const std::vector<Value> inlined = read_values(go_, function.inlined, size);
    size_t a = 0, b = 0, c = 0;
    for (uint64_t at = 0; at < size;) {
        while (a < stack.size() && stack[a].end <= at)
            a++;
        while (b < preemption.size() && preemption[b].end <= at)
            b++;
        while (c < inlined.size() && inlined[c].end <= at)
            c++;
        if (a == stack.size() || b == preemption.size() || c == inlined.size()) {
            add(first + static_cast<Index>(at), 0);
            return;
        }
        const int64_t preempts = preemption[b].value;
        uint32_t number = 0;
        if (preempts == safe || preempts == unsafe) {
            const auto [known, added] =
                numbers_.try_emplace({stack[a].value, preempts, inlined[c].value}, next_);
            next_ += added;
            number = known->second;
        }
        add(first + static_cast<Index>(at), number);
        at = std::min({stack[a].end, preemption[b].end, inlined[c].end});
    }
}

} // namespace

std::vector<GoState> go_states(const Code& code, const GoTable& go) {
    return go.understood ? StateReader(code, go).run() : std::vector<GoState>{};
}

} // namespace djstap::regions
