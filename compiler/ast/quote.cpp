// SPDX-License-Identifier: GPL-2.0-or-later
#include "ast/printer.h"

namespace djstap::ast {

std::string quote(const std::string& value) {
    std::string out = "\"";
    for (char c : value) {
        auto byte = static_cast<unsigned char>(c);
        switch (c) {
        case '"':
        case '\\':
            out += '\\';
            out += c;
            break;
        case '\n':
            out += "\\n";
            break;
        case '\t':
            out += "\\t";
            break;
        default:
            // Always three octal digits: a digit that follows is then not part of the escape.
            if (byte < ' ' || byte == 0x7f) {
                out += '\\';
                for (int shift : {6, 3, 0})
                    out += static_cast<char>('0' + ((byte >> shift) & 7));
            } else {
                out += c;
            }
        }
    }
    return out + '"';
}

} // namespace djstap::ast
