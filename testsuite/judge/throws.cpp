// SPDX-License-Identifier: GPL-2.0-or-later
// Throws what it knows, for the static probes of the C++ library; says what a hit's arguments are,
// like passes_notes.c.
#include <cstdio>
#include <typeinfo>

struct Trouble {
    int number;
};

template <class Thrown> static void throw_and_catch(const Thrown& thrown) {
    try {
        try {
            throw thrown;
        } catch (const Thrown& caught) {
            std::printf("known throw %p %p\n", static_cast<const void*>(&caught),
                        static_cast<const void*>(&typeid(Thrown)));
            std::printf("known catch %p %p\n", static_cast<const void*>(&caught),
                        static_cast<const void*>(&typeid(Thrown)));
            throw;
        }
    } catch (const Thrown& caught) {
        std::printf("known rethrow %p %p\n", static_cast<const void*>(&caught),
                    static_cast<const void*>(&typeid(Thrown)));
    }
}

int main() {
    throw_and_catch(Trouble{3});
    throw_and_catch(7);
    throw_and_catch(2.5);
}
