// SPDX-License-Identifier: GPL-2.0-or-later
// Scans every unit with two threads and merges the results into one sorted index.
#include "debuginfo/dwarf_scan.h"
#include "debuginfo/index.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <thread>
#include <tuple>

#include <dwarf.h>

namespace djstap {

namespace {

constexpr size_t all_threads = 2;
constexpr size_t units_at_once = 16;

// A string of one thread. Most comparisons are of the first bytes.
struct PoolString {
    uint64_t begin; // the first eight bytes, as a number in their order
    std::string_view text;
    uint32_t thread, number;

    bool operator<(const PoolString& other) const {
        return begin != other.begin ? begin < other.begin : text < other.text;
    }
};

// Returns a thread's strings in their order.
std::vector<PoolString> sorted_strings(const StringSet& strings, uint32_t thread) {
    std::vector<PoolString> sorted;
    sorted.reserve(strings.all().size());
    for (const std::string_view text : strings.all()) {
        uint64_t begin = 0;
        for (size_t i = 0; i < sizeof begin; i++)
            begin = begin << 8 | (i < text.size() ? static_cast<unsigned char>(text[i]) : 0);
        sorted.push_back({begin, text, thread, static_cast<uint32_t>(sorted.size())});
    }
    std::sort(sorted.begin(), sorted.end());
    return sorted;
}

// The strings of all threads in one sorted pool, so that neighbouring names are adjacent.
struct StringPool {
    std::string bytes;
    std::vector<std::vector<uint32_t>> offsets; // by thread, then by the thread's number

    explicit StringPool(const std::vector<std::vector<PoolString>>& sorted) {
        std::vector<PoolString> all;
        for (const auto& part : sorted) {
            offsets.emplace_back(part.size());
            const auto middle = static_cast<ptrdiff_t>(all.size());
            all.insert(all.end(), part.begin(), part.end());
            std::inplace_merge(all.begin(), all.begin() + middle, all.end());
        }
        uint32_t place = 0;
        for (size_t i = 0; i < all.size(); i++) {
            if (i == 0 || all[i].text != all[i - 1].text) {
                place = bytes.size();
                bytes.append(all[i].text).push_back('\0');
            }
            offsets[all[i].thread][all[i].number] = place;
        }
    }
};

// Returns `records` in the order of `order`.
template <class Record>
std::vector<Record> permuted(const std::vector<Record>& records,
                             const std::vector<uint32_t>& order) {
    std::vector<Record> sorted;
    sorted.reserve(records.size());
    for (uint32_t index : order)
        sorted.push_back(records[index]);
    return sorted;
}

std::vector<uint32_t> numbers(size_t count) {
    std::vector<uint32_t> all(count);
    std::iota(all.begin(), all.end(), 0);
    return all;
}

// Offsets into a sorted pool compare like the strings.
struct Merged {
    std::vector<FunctionRecord> functions;
    std::vector<uint32_t> by_symbol;
    std::vector<RangeRecord> ranges;
    std::vector<ParameterRecord> parameters;
    std::vector<SyscallRecord> syscalls;
    std::vector<ScanResult::Inline> inlined;
    std::vector<InlineRecord> inlines;
    std::vector<InstanceRecord> instances;
    std::vector<TypeRecord> types;
    std::vector<VariableRecord> variables;
    std::vector<EnumeratorRecord> enumerators;

    void add(ScanResult& part, const std::vector<uint32_t>& text) {
        uint32_t first_parameter = parameters.size(), first_function = functions.size();
        for (FunctionRecord function : part.functions) {
            function.name = text[function.name];
            function.symbol = text[function.symbol];
            function.file = text[function.file];
            function.first_parameter += first_parameter;
            functions.push_back(function);
        }
        for (RangeRecord range : part.ranges) {
            range.function += first_function;
            ranges.push_back(range);
        }
        for (ParameterRecord parameter : part.parameters) {
            parameter.name = text[parameter.name];
            parameter.why = text[parameter.why];
            parameters.push_back(parameter);
        }
        for (SyscallRecord syscall : part.syscalls) {
            syscall.name = text[syscall.name];
            syscall.file = text[syscall.file];
            syscall.first_parameter += first_parameter;
            syscalls.push_back(syscall);
        }
        for (const auto& each : part.inlines)
            inlined.push_back(
                {text[each.name], text[each.file], each.line, each.die, each.address});
        for (const TypeRecord& type : part.types)
            types.push_back({text[type.name], type.die, type.tag});
        for (VariableRecord variable : part.variables) {
            variable.name = text[variable.name];
            variables.push_back(variable);
        }
        for (const EnumeratorRecord& each : part.enumerators)
            enumerators.push_back({each.value, text[each.name], each.die});
    }

    void sort() {
        sort_functions();
        sort_enumerators();
        std::sort(syscalls.begin(), syscalls.end(), [](auto& a, auto& b) {
            return std::tuple(a.name, ~a.parameter_count, a.first_parameter) <
                   std::tuple(b.name, ~b.parameter_count, b.first_parameter);
        });
        std::sort(inlined.begin(), inlined.end(), [](auto& a, auto& b) {
            return std::tuple(a.name, a.file, a.line, a.address == 0, a.die) <
                   std::tuple(b.name, b.file, b.line, b.address == 0, b.die);
        });
        for (const auto& each : inlined) {
            if (inlines.empty() || inlines.back().name != each.name ||
                inlines.back().file != each.file || inlines.back().line != each.line)
                inlines.push_back({each.address, each.name, each.file, each.line,
                                   uint32_t(instances.size()), 0, 0});
            inlines.back().instance_count++;
            inlines.back().placed_count += each.address != 0;
            instances.push_back(
                {each.die,
                 each.address ? static_cast<int32_t>(each.address - inlines.back().address) : 0});
        }
        std::sort(types.begin(), types.end(), [](auto& a, auto& b) {
            return std::tuple(a.name, a.tag, a.die) < std::tuple(b.name, b.tag, b.die);
        });
        types.erase(
            std::unique(types.begin(), types.end(),
                        [](auto& a, auto& b) { return a.name == b.name && a.tag == b.tag; }),
            types.end());
        std::sort(variables.begin(), variables.end(), [](auto& a, auto& b) {
            return std::tuple(a.name, !a.external, a.address) <
                   std::tuple(b.name, !b.external, b.address);
        });
    }

    void sort_enumerators() {
        std::sort(enumerators.begin(), enumerators.end(), [](auto& a, auto& b) {
            return std::tuple(a.name, a.die) < std::tuple(b.name, b.die);
        });
        enumerators.erase(std::unique(enumerators.begin(), enumerators.end(),
                                      [](auto& a, auto& b) { return a.name == b.name; }),
                          enumerators.end());
    }

    void sort_functions() {
        std::vector<uint32_t> order = numbers(functions.size());
        std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
            const FunctionRecord &x = functions[a], &y = functions[b];
            return std::tuple(x.name, x.entry, x.die) < std::tuple(y.name, y.entry, y.die);
        });
        std::vector<uint32_t> place(order.size());
        for (uint32_t i = 0; i < order.size(); i++)
            place[order[i]] = i;
        functions = permuted(functions, order);
        for (RangeRecord& range : ranges)
            range.function = place[range.function];
        std::sort(ranges.begin(), ranges.end(), [](auto& a, auto& b) { return a.begin < b.begin; });
        by_symbol = numbers(functions.size());
        std::sort(by_symbol.begin(), by_symbol.end(), [&](uint32_t a, uint32_t b) {
            return std::tuple(functions[a].symbol, a) < std::tuple(functions[b].symbol, b);
        });
    }
};

// Returns how many units are only skeletons of units in other files (-gsplit-dwarf).
size_t split_units(Dwarf* dwarf, const std::vector<Dwarf_Off>& units) {
    size_t count = 0;
    for (const Dwarf_Off offset : units) {
        Dwarf_Die unit;
        if (dwarf_offdie(dwarf, offset, &unit) &&
            (dwarf_hasattr(&unit, DW_AT_dwo_name) || dwarf_hasattr(&unit, DW_AT_GNU_dwo_name)))
            count++;
    }
    return count;
}

} // namespace

Result<std::string> build_index(const Image& image, const std::string& path,
                                const std::vector<uint64_t>& wanted) {
    const size_t thread_count = wanted.empty() ? all_threads : 1;
    std::vector<std::unique_ptr<DwarfFile>> files;
    for (size_t i = 0; i < thread_count; i++) {
        auto file = DwarfFile::open(path);
        if (!file)
            return file.failure();
        files.push_back(std::move(*file));
    }
    std::vector<Dwarf_Off> units = unit_offsets(files[0]->get());
    if (units.empty())
        return Failure{path + ": has no debug information", "install the kernel's debug symbols"};
    if (units.back() > UINT32_MAX)
        return Failure{path + ": has more than 4 GB of debug information", ""};
    if (const size_t split = split_units(files[0]->get(), units))
        return Failure{path + ": " + std::to_string(split) + " of its " +
                           std::to_string(units.size()) +
                           " units have their debug information in .dwo files, which are not read",
                       "build the kernel without CONFIG_DEBUG_INFO_SPLIT"};
    if (!wanted.empty())
        units.assign(wanted.begin(), wanted.end());
    std::vector<ScanResult> parts(thread_count);
    std::vector<std::vector<PoolString>> strings(thread_count);
    std::atomic<size_t> next = 0;
    auto scan = [&](size_t which) {
        DwarfScanner scanner(files[which]->get(), image);
        for (size_t first; (first = next.fetch_add(units_at_once)) < units.size();) {
            for (size_t i = first; i < std::min(first + units_at_once, units.size()); i++)
                scanner.scan_unit(units[i]);
        }
        parts[which] = scanner.take();
        strings[which] = sorted_strings(parts[which].strings, which);
    };
    std::vector<std::thread> threads;
    for (size_t i = 1; i < thread_count; i++)
        threads.emplace_back(scan, i);
    scan(0);
    for (std::thread& thread : threads)
        thread.join();
    StringPool pool(strings);
    Merged merged;
    for (size_t i = 0; i < parts.size(); i++)
        merged.add(parts[i], pool.offsets[i]);
    merged.sort();
    if (merged.functions.empty())
        return Failure{path + ": its debug information has no functions",
                       "install the kernel's debug symbols"};
    TableWriter writer(index_format);
    writer.add(merged.functions);
    writer.add(merged.by_symbol);
    writer.add(merged.ranges);
    writer.add(merged.parameters);
    writer.add(merged.syscalls);
    writer.add(merged.inlines);
    writer.add(merged.instances);
    writer.add(merged.types);
    writer.add(merged.variables);
    writer.add(merged.enumerators);
    writer.add(std::move(pool.bytes));
    return writer.finish();
}

} // namespace djstap
