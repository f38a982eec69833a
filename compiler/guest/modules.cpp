// SPDX-License-Identifier: GPL-2.0-or-later
#include "guest/modules.h"

#include "guest/files.h"
#include "image/module_file.h"

#include <filesystem>
#include <map>
#include <set>
#include <sstream>

namespace djstap::guest {

namespace {

Result<std::string> dependency_table(const GuestKernel& kernel) {
    if (Result<std::string> table = read_file(kernel.modules + "/modules.dep"))
        return table;
    // depmod expects the folder that contains lib/modules/RELEASE.
    std::filesystem::path folder(kernel.modules);
    std::filesystem::path root = folder.parent_path().parent_path().parent_path();
    Result<std::string> table = output_of({"depmod", "-n", "-b", root.string(), kernel.release});
    if (!table)
        return Failure{"missing " + kernel.modules +
                           "/modules.dep, which could not be created: " + table.failure().message,
                       "install the kernel's modules and the package kmod"};
    return table;
}

struct Tables {
    std::map<std::string, std::string> paths;                     // name → path below the folder
    std::map<std::string, std::vector<std::string>> dependencies; // name → names
    std::set<std::string> builtin;
};

Result<Tables> read_tables(const GuestKernel& kernel) {
    Tables tables;
    Result<std::string> text = dependency_table(kernel);
    if (!text)
        return text.failure();
    std::istringstream lines(*text);
    std::string line;
    while (std::getline(lines, line)) {
        size_t colon = line.find(':');
        // depmod -n continues with other tables
        if (line.empty() || line[0] == '#' || colon == std::string::npos)
            continue;
        std::string path = line.substr(0, colon);
        if (path.find(".ko") == std::string::npos)
            continue;
        std::string name = module_name_of(path);
        tables.paths[name] = path;
        std::istringstream rest(line.substr(colon + 1));
        while (rest >> path)
            tables.dependencies[name].push_back(module_name_of(path));
    }
    if (Result<std::string> builtin = read_file(kernel.modules + "/modules.builtin")) {
        std::istringstream names(*builtin);
        while (std::getline(names, line))
            tables.builtin.insert(module_name_of(line));
    }
    return tables;
}

// Depth first: the dependencies of a module precede it in `order`.
void visit(const Tables& tables, const std::string& name, std::set<std::string>& seen,
           std::vector<std::string>& order) {
    if (tables.builtin.count(name) || !seen.insert(name).second)
        return;
    if (auto found = tables.dependencies.find(name); found != tables.dependencies.end())
        for (const std::string& needed : found->second)
            visit(tables, needed, seen, order);
    order.push_back(name);
}

} // namespace

Result<std::vector<ModuleFile>> modules_with_dependencies(const GuestKernel& kernel,
                                                          const std::vector<std::string>& names) {
    Result<Tables> tables = read_tables(kernel);
    if (!tables)
        return tables.failure();
    std::set<std::string> seen;
    std::vector<std::string> order;
    for (const std::string& name : names)
        visit(*tables, name, seen, order);
    std::vector<ModuleFile> files;
    for (const std::string& name : order) {
        auto path = tables->paths.find(name);
        if (path == tables->paths.end())
            return Failure{"kernel " + kernel.release + " has no module " + name +
                               ", which a guest needs",
                           "use one of Debian's cloud kernels (scripts/kernels fetches them)"};
        Result<std::string> bytes = module_bytes(kernel.modules + "/" + path->second);
        if (!bytes)
            return bytes.failure();
        std::vector<std::string> needs;
        for (const std::string& needed : tables->dependencies[name])
            if (!tables->builtin.count(needed))
                needs.push_back(needed);
        files.push_back({name, std::move(*bytes), std::move(needs)});
    }
    return files;
}

Status add_for_modprobe(const GuestKernel& kernel, const std::vector<std::string>& names,
                        Archive& archive) {
    Result<std::vector<ModuleFile>> files = modules_with_dependencies(kernel, names);
    if (!files)
        return files.failure();
    const std::string folder = "/lib/modules/" + kernel.release + "/";
    std::string table;
    for (ModuleFile& file : *files) {
        table += file.name + ".ko:";
        for (const std::string& needed : file.needs)
            table += " " + needed + ".ko";
        table += "\n";
        archive.add_text(folder + file.name + ".ko", std::move(file.bytes));
    }
    archive.add_text(folder + "modules.dep", std::move(table));
    return Done{};
}

} // namespace djstap::guest
