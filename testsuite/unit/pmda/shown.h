// SPDX-License-Identifier: GPL-2.0-or-later
// The values of a metric as text.
#pragma once
#include <algorithm>
#include <cstring>
#include <gtest/gtest.h>
#include <pcp/pmapi.h>
#include <pcp/pmda.h>
#include <string>
#include <vector>

namespace djstap::pmda {

// "VALUE", or "INSTANCE=VALUE" of all instances, or "error NUMBER".
inline std::string shown(const pmValueSet& set, pmInDom domain) {
    EXPECT_EQ(set.valfmt, PM_VAL_SPTR);
    if (set.numval < 0)
        return "error " + std::to_string(set.numval);
    std::vector<std::string> values;
    for (int i = 0; i < set.numval; i++) {
        const pmValue& value = set.vlist[i];
        const pmValueBlock& block = *value.value.pval;
        EXPECT_EQ(reinterpret_cast<uintptr_t>(&block) % alignof(void*), 0U);
        std::string text;
        if (value.inst != static_cast<int>(PM_IN_NULL)) {
            char* name = nullptr;
            EXPECT_GE(pmdaCacheLookup(domain, value.inst, &name, nullptr), 0);
            text = std::string(name ? name : "?") + "=";
        }
        if (block.vtype == PM_TYPE_STRING) {
            EXPECT_EQ(block.vlen, PM_VAL_HDR_SIZE + strlen(block.vbuf) + 1);
            text += block.vbuf;
        } else {
            EXPECT_TRUE(block.vtype == PM_TYPE_64 || block.vtype == PM_TYPE_U64) << block.vtype;
            EXPECT_EQ(block.vlen, PM_VAL_HDR_SIZE + sizeof(int64_t));
            int64_t number = 0;
            memcpy(&number, block.vbuf, sizeof number);
            text += std::to_string(number);
        }
        values.push_back(text);
    }
    std::sort(values.begin(), values.end());
    std::string all;
    for (const std::string& each : values)
        all += (all.empty() ? "" : " ") + each;
    return all;
}

} // namespace djstap::pmda
