// SPDX-License-Identifier: GPL-2.0-or-later
// Classes in classes and namespaces, references, operators.
#define OWN __attribute__((noinline))

namespace shop {

int counter = 5;

struct part {
    int price;
};

class order : public part {
  public:
    struct line {
        int count;
        order* of;
    };
    line first;
    static int total;
    OWN order(int price, int count);
    OWN ~order();
    OWN int operator()(int k) const;
    OWN int operator+(const order& other) const;
    OWN operator const char*() const;
};

int order::total = 9;

template <class T> struct box {
    T value;
    OWN T get() const {
        asm volatile("" : : "r"(this) : "memory");
        return value;
    }
};

namespace {
struct hidden {
    int depth;
};
OWN int reveal(hidden* h) {
    asm volatile("" : : "r"(h) : "memory");
    return h->depth;
}
} // namespace

order::order(int price, int count) : part{price}, first{count, this} {
    total += price;
}

order::~order() {
    asm volatile("" : : "r"(this) : "memory");
    total--;
}

int order::operator()(int k) const {
    return price + k;
}

int order::operator+(const order& other) const {
    return price + other.price;
}

order::operator const char*() const {
    asm volatile("" : : "r"(this) : "memory");
    return "an order";
}

} // namespace shop

int counter = 1;

OWN void where(void* p, const shop::order& o) {
    asm volatile("" : : "r"(p), "r"(&o) : "memory");
}

int main() {
    shop::order a(10, 1), b(20, 2);
    shop::box<int> ints{4};
    shop::box<shop::order::line> lines{{6, &a}};
    shop::hidden h{3};
    where(&ints, b);
    where(&lines, a);
    return a(2) + (a + b) + *static_cast<const char*>(a) + ints.get() + lines.get().count +
               shop::reveal(&h) + counter ==
           0;
}
