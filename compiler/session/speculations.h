// What speculate() recorded, until the script commits or discards it.
#pragma once
#include <cstdint>
#include <functional>
#include <list>
#include <string>
#include <string_view>
#include <unordered_map>

namespace djstap {

class Speculations {
  public:
    // Keeps `limit` texts, at least 1; then the oldest gives way.
    explicit Speculations(uint64_t limit) : limit_(limit) {}

    void add(int64_t id, std::string_view text);
    // Hands over all texts of `id` in their order and forgets them.
    void commit(int64_t id, const std::function<void(std::string_view)>& print);
    void discard(int64_t id);
    // Texts that gave way.
    uint64_t dropped() const { return dropped_; }

  private:
    struct Kept {
        int64_t id;
        std::string text;
    };
    using Texts = std::list<Kept>;
    uint64_t limit_;
    uint64_t dropped_ = 0;
    Texts texts_; // oldest first
    std::unordered_map<int64_t, std::list<Texts::iterator>> by_id_;
};

} // namespace djstap
