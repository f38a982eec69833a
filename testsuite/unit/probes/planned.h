// SPDX-License-Identifier: GPL-2.0-or-later
// What becomes of a script's probes on a kernel of a few lines.
#pragma once
#include "probes/probes.h"

#include "unit/debuginfo/made_kernel.h"
#include "unit/semantics/analysis.h"

namespace djstap {

// Lines count in none of the tests below.
inline const std::string planned_source = R"c(struct inner { int x; char *text; };
union either { long number; char letters[8]; };
struct outer {
    int number;
    unsigned int flags;
    char name[16];
    char *text;
    void *address;
    struct inner inner;
    struct inner *next;
    int table[10];
    int few[3];
    union either either;
    struct { short hidden; };
    union { int left; char right; };
    enum { ONE = 1 } what;
    unsigned int low : 3, high : 5;
    struct inner many[2];
};
struct outer *made;
int fields(struct outer *o, struct inner by_value, int n) { return o->number + by_value.x + n; }
struct outer *returns(char *text, unsigned char byte) { return text ? made : 0; }
void nothing(void) {}
static int same(int a) { return a; }
int uses_same(void) { return same(1); }
static inline __attribute__((always_inline)) int inlined(int a) { return a + 1; }
int uses_inlined(void) { return inlined(1); }
int labelled(int a) {
    if (a == 3)
        goto three;
    a++;
three:
    a += 7;
four:
    return a;
}
int has_many_labels(int a) {
place1: a += 1;
place2: a *= 2;
place3: a += 3;
place4: a *= 4;
place5: a += 5;
place6: a *= 6;
place7: a += 7;
place8: a *= 8;
place9: a += 9;
place10: return a;
}
)c";

inline const std::string fields = "kernel.function(\"fields\")";

inline MadeKernel& kernel() {
    static MadeKernel made({{"fs/made.c", planned_source}});
    return made;
}

struct Planned {
    explicit Planned(const std::string& script, const ProbeOptions& options = {})
        : images(kernel().folder()), analysis(script) {
        EXPECT_TRUE(analysis.program) << analysis.errors();
        if (analysis.program)
            plan = resolve_probes(*analysis.program, images, options, analysis.diagnostics);
    }
    std::string errors() const { return analysis.errors(); }
    const Site& site(size_t number = 0) const { return plan->sites.at(number); }
    const Payload& payload() const { return plan->variants.at(0).payload; }

    Images images;
    test::Analysis analysis;
    std::optional<ProbePlan> plan;
};

} // namespace djstap
