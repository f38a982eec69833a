// SPDX-License-Identifier: GPL-2.0-or-later
// Programs that tests of points in programs compile.
#pragma once
#include "probes/probes.h"

#include "system/temporary.h"
#include "unit/debuginfo/made_kernel.h"
#include "unit/semantics/analysis.h"

#include <cstdlib>
#include <fstream>
#include <string>

namespace djstap::programs {

inline const std::string source = R"c(#include <stdlib.h>
struct shape { int id; const char *name; long sizes[4]; };
int counter = 40;
static struct shape table[3];
__attribute__((noinline)) int sum(int a, long b) { counter++; return a + (int)b; }
static __attribute__((noinline)) int hidden(struct shape *shape) { return shape->id + rand(); }
static inline __attribute__((always_inline)) int inlined(int a) { return a * 3; }
int main(int argc, char **argv) {
    if (argc > 7)
        goto out;
    table[1].name = argv[0];
    argc += sum(inlined(argc), 2);
out:
    return argc + hidden(&table[1]);
}
)c";

inline MadeKernel& kernel() {
    static const std::vector<std::pair<std::string, std::string>> sources{
        {"fs/made.c", "long f(int a) { return a; }\n"}};
    static MadeKernel made(sources);
    return made;
}

// A folder with the source and what was compiled of it.
class Programs : public testing::Test {
  protected:
    void SetUp() override {
        auto made = TemporaryFolder::create(temporary_directory());
        ASSERT_TRUE(made);
        folder = std::move(*made);
        std::ofstream(path("program.c")) << source;
    }
    std::string path(const std::string& name) const { return folder.path() + "/" + name; }
    std::string compile(const std::string& name, const std::string& options) const {
        shell("gcc -w " + options + " program.c -o " + name);
        return path(name);
    }
    void shell(const std::string& command) const {
        EXPECT_EQ(std::system(("cd " + folder.path() + " && " + command).c_str()), 0) << command;
    }

    struct Planned {
        explicit Planned(const std::string& script, const std::string& target = {})
            : images(kernel().folder()), analysis(script) {
            if (!target.empty())
                images.set_target(target);
            EXPECT_TRUE(analysis.program) << analysis.errors();
            if (analysis.program)
                plan = resolve_probes(*analysis.program, images, {}, analysis.diagnostics);
        }
        std::string errors() const { return analysis.errors(); }
        Images images;
        test::Analysis analysis;
        std::optional<ProbePlan> plan;
    };
    static std::string points_of(const std::string& point) {
        const Planned planned("probe " + point + " { println(1) }");
        std::string text = planned.plan ? "" : planned.errors();
        if (planned.plan)
            for (const Site& site : planned.plan->sites)
                text += site.point + " " + std::string(mechanism_name(site.mechanism)) + "\n";
        return text;
    }
    // What is wrong with a point, with the hint.
    static std::string refusal(const std::string& point, const std::string& body = "println(1)") {
        const Planned planned("probe " + point + " { " + body + " }");
        return planned.plan ? "fine" : planned.errors();
    }

    TemporaryFolder folder;
};

} // namespace djstap::programs
