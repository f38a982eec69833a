// SPDX-License-Identifier: GPL-2.0-or-later
#include "regions/module_text.h"

#include "regions/kernel_tables.h"
#include "regions/loader_writes.h"

#include <algorithm>
#include <vector>

namespace djstap::regions {

namespace {

// Bytes of .text.
struct Field {
    size_t first = 0, end = 0;
};

// Where the loader writes addresses, in order.
std::vector<Field> relocated_fields(const ElfFile& linked, const ElfSection& text) {
    std::vector<Field> fields;
    each_loader_write(linked, [&](const ElfSection& in, uint64_t address, size_t size) {
        const uint64_t offset = address - text.address;
        if (&in == &text && size && offset < text.bytes.size() &&
            size <= text.bytes.size() - offset)
            fields.push_back({offset, offset + size});
    });
    std::sort(fields.begin(), fields.end(),
              [](const Field& a, const Field& b) { return a.first < b.first; });
    return fields;
}

class Merge {
  public:
    Merge(std::string_view file, std::string_view live, const std::vector<Field>& fields)
        : file_(file), live_(live), fields_(fields), merged_(live) {}

    // Takes the file's addresses between `first` and `end` if nothing else differs there.
    void take(size_t first, size_t end) {
        auto field = std::lower_bound(fields_.begin(), fields_.end(), first,
                                      [](const Field& each, size_t at) { return each.first < at; });
        const auto from = field;
        for (size_t at = first; at < end; at++) {
            while (field != fields_.end() && field->end <= at)
                field++;
            const bool relocated = field != fields_.end() && field->first <= at;
            if (!relocated && file_[at] != live_[at])
                return;
        }
        for (field = from; field != fields_.end() && field->first < end; field++)
            merged_.replace(field->first, field->end - field->first, file_, field->first,
                            field->end - field->first);
    }
    std::string take_all() && { return std::move(merged_); }

  private:
    std::string_view file_, live_;
    const std::vector<Field>& fields_;
    std::string merged_;
};

} // namespace

Result<std::string> module_text(const ElfFile& linked, std::string_view live) {
    const ElfSection* text = linked.section(".text");
    if (!text || text->bytes.empty())
        return Failure{linked.path() + ": has no section .text", ""};
    const std::string_view file = text->bytes;
    if (live.size() < file.size())
        return Failure{"the text from memory has " + std::to_string(live.size()) +
                           " bytes, the module's section .text " + std::to_string(file.size()),
                       "it must begin and end with that section"};
    live = live.substr(0, file.size());
    const std::vector<Field> fields = relocated_fields(linked, *text);
    Merge merge(file, live, fields);
    // An address follows the operation: what the kernel writes there has another one. But where it
    // may write any instructions, all bytes of the place must be the file's.
    std::vector<Field> patched;
    for (const auto& [address, bytes] : patched_places(linked)) {
        const uint64_t first = address - text->address;
        if (first < file.size() && bytes <= file.size() - first)
            patched.push_back({first, first + bytes});
    }
    std::sort(patched.begin(), patched.end(),
              [](const Field& a, const Field& b) { return a.first < b.first; });
    size_t next = 0, same = 0, bytes = 0, at = 0;
    for (const Field& field : fields) {
        for (; at < field.first; at++, bytes++)
            same += file[at] == live[at];
        at = std::max(at, field.end);
        while (next < patched.size() && patched[next].end <= field.first)
            next++;
        if (next == patched.size() || patched[next].first >= field.end)
            merge.take(field.first ? field.first - 1 : 0, field.end);
    }
    for (; at < file.size(); at++, bytes++)
        same += file[at] == live[at];
    if (same < bytes / 2)
        return Failure{linked.path() + ": the text from memory is not that of this module",
                       "read it from where /sys/module/NAME/sections/.text says"};
    for (const Field& each : patched)
        merge.take(each.first, each.end);
    return std::move(merge).take_all();
}

} // namespace djstap::regions
