// SPDX-License-Identifier: GPL-2.0-or-later
#include "syntax/token_list.h"

namespace djstap::syntax {

void TokenList::consume() {
    if (position_ + 1 < tokens.size())
        position_++;
}

antlr4::Token* TokenList::LT(ssize_t offset) {
    if (offset < 0) {
        auto back = static_cast<size_t>(-offset);
        return back > position_ ? nullptr : &tokens[position_ - back];
    }
    return &tokens[std::min(position_ + static_cast<size_t>(offset) - 1, tokens.size() - 1)];
}

antlr4::Token* TokenList::get(size_t index) const {
    return const_cast<Token*>(&tokens[std::min(index, tokens.size() - 1)]);
}

} // namespace djstap::syntax
