// SPDX-License-Identifier: GPL-2.0-or-later
#include "system/demangle.h"

#include <csetjmp>
#include <cstring>

#define HAVE_DECL_BASENAME 1 // by <cstring>, and with another type than in libiberty.h
#include <libiberty/demangle.h>

namespace djstap {

namespace {

struct Room {
    std::jmp_buf full;
    char* text;
    size_t length, most;
};

// libiberty allocates nothing while it calls back and has no other way to be stopped.
void add(const char* piece, size_t length, void* opaque) {
    auto* room = static_cast<Room*>(opaque);
    if (length > room->most - room->length)
        std::longjmp(room->full, 1);
    std::memcpy(room->text + room->length, piece, length);
    room->length += length;
}

using Demangler = int (*)(const char*, int, demangle_callbackref, void*);

// A function of its own without destructors, which the jump would leave out.
Demangling run(Demangler demangler, const char* symbol, Room& room) {
    if (setjmp(room.full))
        return Demangling::TooLong;
    return demangler(symbol, DMGL_PARAMS, add, &room) ? Demangling::Done : Demangling::Unknown;
}

} // namespace

Demangled demangle(std::string_view symbol, size_t most) {
    if (!symbol.starts_with("_Z") && !symbol.starts_with("_R"))
        return {};
    const std::string terminated(symbol);
    std::string text(most, '\0');
    // Older symbols of Rust are valid in C++, too, where they end with a hash.
    for (const Demangler demangler : {rust_demangle_callback, cplus_demangle_v3_callback}) {
        Room room{{}, text.data(), 0, most};
        const Demangling result = run(demangler, terminated.c_str(), room);
        if (result == Demangling::Unknown)
            continue;
        text.resize(result == Demangling::Done ? room.length : 0);
        return {result, std::move(text)};
    }
    return {};
}

} // namespace djstap
