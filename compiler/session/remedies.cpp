// SPDX-License-Identifier: GPL-2.0-or-later
// The messages are those of runtime/access/access.c, runtime/control/session.c and codegen/.
#include "session/remedies.h"

namespace djstap {

namespace {

constexpr std::string_view beginning = "that ended the session: ";
constexpr std::string_view only_handler = "--suppress-handler-errors ends only the handler";

std::string remedy_of_fault(std::string_view error, bool may_wait) {
    // "… of user memory at 0x7fff00001000, which is a kernel address" is no page of a process.
    const bool may_be_absent = !may_wait && error.starts_with("cannot read ") &&
                               error.find(" of user memory at 0x") != std::string_view::npos &&
                               error.find(", which is ") == std::string_view::npos;
    std::string text;
    if (may_be_absent)
        text = "the page may not be in memory, and a handler cannot wait for it: ";
    if (may_be_absent && error.starts_with("cannot read a string "))
        text += "user_string(pointer, \"?\") is \"?\" then, ";
    else
        text += "try { … } catch { … } handles a failed access where it happens, ";
    return text.append(only_handler);
}

} // namespace

std::string remedy_of(std::string_view error, std::string_view place, bool may_wait) {
    std::string text;
    if (error.starts_with("cannot read ") || error.starts_with("cannot write "))
        text = remedy_of_fault(error, may_wait);
    else if (place.empty()) // of error(): the script's own words
        return {};
    else if (error == "MAXACTION exceeded")
        text = "-D MAXACTION=N lets a handler do more, -D MAXACTION_INTERRUPTIBLE=N one of begin, "
               "end or error";
    else if (error == "Array overflow, check MAXMAPENTRIES")
        text = "-D MAXMAPENTRIES=N, or the array's declaration as global name[N], makes room for "
               "more elements";
    else if (error.starts_with("Array overflow, check size limit ("))
        text = "a larger size in the array's declaration, global name[N], makes room for more "
               "elements";
    else if (error == "empty aggregate")
        text = "test it first: if (@count(…)) …";
    else if (error == "division by 0")
        text = "test the divisor first: if (…) …";
    else
        return {};
    return std::string(beginning).append(text);
}

} // namespace djstap
