// SPDX-License-Identifier: GPL-2.0-or-later
// Calls getpriority() from functions with names of all kinds.
//   named        once, and ends in a function that nothing follows
//   named spin   never ends, and calls nothing
#include <string>
#include <sys/syscall.h>
#include <unistd.h>

namespace shop {

[[noreturn]] void close_door();

struct Till {
    int sum = 0;
    [[gnu::noinline]] int ring(const std::string& item, int price) const {
        return static_cast<int>(syscall(SYS_getpriority, 0, 0)) + price + sum +
               static_cast<int>(item.size());
    }
    int operator+(int price) const;
};

[[gnu::noinline]] int Till::operator+(int price) const {
    return ring("bread", price) + 1;
}

template <class Item> [[gnu::noinline]] int sell(const Till& till, Item item) {
    return (till + static_cast<int>(item)) * 2;
}

// The last instruction is a call, which returns to the next function if it does.
[[gnu::noinline, noreturn]] void close_shop(int sold) {
    if (sold == 77)
        close_door();
    syscall(SYS_getpriority, 0, 0);
    close_door();
}

[[gnu::noinline, noreturn]] void close_door() {
    syscall(SYS_getpriority, 0, 0);
    _exit(0);
}

volatile unsigned long turns;

[[gnu::noinline]] void spin() {
    for (;;)
        turns = turns + 1;
}

[[gnu::noinline]] int keep_busy() {
    spin();
    return static_cast<int>(turns);
}

} // namespace shop

int main(int argc, char**) {
    if (argc > 1)
        return shop::keep_busy();
    shop::close_shop(shop::sell(shop::Till(), 5L));
}
