// SPDX-License-Identifier: GPL-2.0-or-later
// Metrics as a client of Performance Co-Pilot gets them, without pmcd: from frames to results.
#pragma once
#include "pmda/metrics.h"

#include "shown.h"

#include <gtest/gtest.h>
#include <string>
#include <utility>
#include <vector>

namespace djstap::pmda {

// The metrics of an agent with a domain of its own: PCP's library remembers instances by domain.
class MetricsTest : public testing::Test {
  protected:
    MetricsTest() : domain_(next_domain_++), metrics_(domain_) {
        // PCP's library cannot free what it allocates for it.
        auto* const dispatch = new pmdaInterface{};
        char name[] = "djstap";
        pmdaDaemon(dispatch, PMDA_INTERFACE_7, name, domain_, nullptr, nullptr);
        EXPECT_EQ(dispatch->status, 0);
        extension_ = dispatch->version.any.ext;
        kept_.push_back(dispatch);
    }

    pmID id(const std::string& name) {
        metrics_.publish(*extension_);
        pmID found = PM_ID_NULL;
        return pmdaTreePMID(metrics_.names(), ("djstap." + name).c_str(), &found) < 0 ? PM_ID_NULL
                                                                                      : found;
    }
    pmDesc description(const std::string& name) {
        const pmID wanted = id(name);
        for (int i = 0; i < extension_->e_nmetrics; i++)
            if (extension_->e_metrics[i].m_desc.pmid == wanted)
                return extension_->e_metrics[i].m_desc;
        ADD_FAILURE() << name;
        return {};
    }
    // The values of a metric, "INSTANCE=VALUE", or an error.
    std::string values(const std::string& name, const pmProfile* profile = nullptr) {
        const pmID asked = id(name);
        if (asked == PM_ID_NULL)
            return "no such name";
        const pmResult* const result = metrics_.fetch({&asked, 1}, profile);
        EXPECT_EQ(result->numpmid, 1);
        EXPECT_EQ(result->vset[0]->pmid, asked);
        return shown(*result->vset[0], description(name).indom);
    }

    static ModuleMeta::Global global(const std::string& name, const std::string& value,
                                     uint64_t keys = 0, const std::string& comment = "") {
        ModuleMeta::Global out;
        out.name = name;
        out.value = value;
        out.keys = keys;
        out.description = comment;
        return out;
    }
    void describe(const std::string& script, std::vector<ModuleMeta::Global> globals) {
        DescriptionFrame frame;
        frame.name = script;
        frame.globals = std::move(globals);
        metrics_.describe(script, frame);
    }
    static GlobalElement element(std::array<int64_t, 5> numbers, const std::string& key = "") {
        GlobalElement out;
        out.numbers = numbers;
        if (!key.empty()) {
            ElementKeys keys;
            keys.add(key);
            out.keys = keys.bytes();
        }
        return out;
    }
    static GlobalValues values_of(uint32_t index, std::vector<GlobalElement> elements) {
        GlobalValues out;
        out.index = index;
        out.elements = std::move(elements);
        return out;
    }
    void show(const std::string& script, std::vector<GlobalValues> globals) {
        GlobalsFrame frame;
        frame.globals = std::move(globals);
        metrics_.show(script, std::move(frame));
    }

    static inline int next_domain_ = 401;
    // Never destroyed: what is lost at the program's end would be a leak.
    static inline auto& kept_ = *new std::vector<pmdaInterface*>;
    int domain_;
    Metrics metrics_;
    pmdaExt* extension_ = nullptr;
};

} // namespace djstap::pmda
