// SPDX-License-Identifier: GPL-2.0-or-later
// The reasons why no jump may be planted, in words, and what they have in common.
#include "regions/regions.h"

#include <array>

namespace djstap::regions {

namespace {

struct ReasonWords {
    std::string_view tag, text;
};

const ReasonWords& words_of(Reason reason) {
    static constexpr std::array<ReasonWords, static_cast<size_t>(Reason::Count)> words{{
        {},
#define DJS_REASON(name, tag, text) {tag, text},
#include "regions/reasons.def"
#undef DJS_REASON
    }};
    return words[static_cast<size_t>(reason)];
}

} // namespace

std::string_view reason_tag(Reason reason) {
    return words_of(reason).tag;
}

std::string_view reason_text(Reason reason) {
    return words_of(reason).text;
}

bool is_entered(Reason reason) {
    return reason == Reason::UnknownTargets ||
           (reason >= Reason::ReturnInside && reason <= Reason::Symbol);
}

} // namespace djstap::regions
