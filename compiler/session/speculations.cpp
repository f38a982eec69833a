// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/speculations.h"

#include <utility>

namespace djstap {

void Speculations::add(int64_t id, Text text) {
    if (texts_.size() >= limit_) {
        // The oldest string of all is also the oldest of its own speculation.
        const auto owner = by_id_.find(texts_.front().id);
        owner->second.pop_front();
        if (owner->second.empty())
            by_id_.erase(owner);
        texts_.pop_front();
        dropped_++;
    }
    texts_.push_back({id, std::move(text)});
    by_id_[id].push_back(std::prev(texts_.end()));
}

void Speculations::commit(int64_t id, const std::function<void(const Text&)>& print) {
    const auto kept = by_id_.find(id);
    if (kept == by_id_.end())
        return;
    for (const Texts::iterator text : kept->second) {
        print(text->text);
        texts_.erase(text);
    }
    by_id_.erase(kept);
}

void Speculations::discard(int64_t id) {
    commit(id, [](const Text&) {});
}

} // namespace djstap
