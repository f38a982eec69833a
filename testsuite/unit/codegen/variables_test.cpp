// SPDX-License-Identifier: GPL-2.0-or-later
// Where variables are that have no register, executed: in the kernel, in a module, in a program, in
// each CPU's memory; and counters of perf.
#include "kernel_code.h"

#include "arch/arch.h"
#include "include/script.h"

namespace djstap {
namespace {

class PlacesOfVariables : public InKernel {
  public: // for the functions of the kernel
    static inline PlacesOfVariables* test_ = nullptr;
    djs_ctx ctx_ = {};
    std::vector<uint32_t> perf_reads_;

  protected:
    void SetUp() override {
        InKernel::SetUp();
        test_ = this;
        ctx_.scratch = code_.variable("scratch", 4096);
        code_.function("djs_enter", +[](const void*, const void*) { return &test_->ctx_; });
        code_.function("djs_leave", +[](djs_ctx*) {});
        code_.function(
            "djs_perf_read", +[](uint32_t counter) {
                test_->perf_reads_.push_back(counter);
                return uint64_t{1000} + counter;
            });
        plan_.images.resize(3);
        plan_.images[0] = kernel_.image;
        plan_.images[1].kind = ImageKind::Module;
        plan_.images[1].name = "m";
        plan_.images[1].segments = {{.symbol = "m_code",
                                     .check_symbol = "",
                                     .begin = 0x1000,
                                     .end = 0x2000,
                                     .executable = true},
                                    {.symbol = "m_data",
                                     .check_symbol = "",
                                     .begin = 0x3000,
                                     .end = 0x4000,
                                     .executable = false}};
        plan_.images[2].kind = ImageKind::Program;
        plan_.images[2].name = "p";
        plan_.images[2].segments = {{.symbol = "",
                                     .check_symbol = "",
                                     .begin = 0x400000,
                                     .end = 0x500000,
                                     .executable = true}};
    }
    static Access address_in(uint32_t image, uint64_t address) {
        Access access;
        access.base = Access::Base::ImageAddress;
        access.image = image;
        access.constant = address;
        return access;
    }
    // The same as part of a computation.
    static Access computed_in(uint32_t image, uint64_t address) {
        Access access;
        access.base = Access::Base::Computed;
        access.image = image;
        access.operations = {{.kind = LocationOperation::Kind::Address, .number = address},
                             {.kind = LocationOperation::Kind::Constant, .number = 1},
                             {.kind = LocationOperation::Kind::Add}};
        return access;
    }
    // Loads a handler of function 0 that adds what is found in these ways to counters of their own.
    void load_with(const std::vector<Access>& accesses) {
        probe_of(HandlerKind::Entry, 0);
        for (size_t i = 0; i < accesses.size(); i++)
            add_found(global("n" + std::to_string(i), Type::Long, Storage::PerCpu), accesses[i]);
        load();
    }
    int64_t added(unsigned number) {
        const int64_t before = counter(number);
        EXPECT_EQ(call(0, 30, 12), 42u);
        return counter(number) - before;
    }
};

} // namespace

// The kernel may have been relocated as a whole, as it is here.
TEST_F(PlacesOfVariables, InTheKernel) {
    load_with({address_in(0, linked + 0x40), address_in(0, linked - 16),
               computed_in(0, linked + 0x123456)});
    const auto here = reinterpret_cast<int64_t>(code_.at("memset"));
    EXPECT_EQ(added(0), here + 0x40);
    EXPECT_EQ(added(1), here - 16);
    EXPECT_EQ(added(2), here + 0x123457);
}

// A module's segments have a place each, once it is loaded.
TEST_F(PlacesOfVariables, InAModule) {
    load_with({address_in(1, 0x1010), address_in(1, 0x3020), computed_in(1, 0x1ff0)});
    uint64_t biases[3] = {};
    code_.as<uint64_t*>("djs_biases") = biases;
    for (const unsigned number : {0u, 1u})
        EXPECT_EQ(added(number), 0) << "it is not loaded";
    EXPECT_EQ(added(2), 1);
    biases[0] = 0x10000000; // the kernel's
    biases[1] = 0xc0000000;
    biases[2] = 0xd0000000;
    EXPECT_EQ(added(0), 0xc0001010);
    EXPECT_EQ(added(1), 0xd0003020);
    EXPECT_EQ(added(2), 0xc0001ff1);
}

// The hit tells where its process has the program.
TEST_F(PlacesOfVariables, InAProgram) {
    load_with({address_in(2, 0x450000), computed_in(2, 0x400010)});
    djs_site site = {};
    site.address = 0x401000;
    ctx_.site = &site;
    ctx_.address = 0x555555401000;
    EXPECT_EQ(added(0), 0x555555450000);
    EXPECT_EQ(added(1), 0x555555400011);
    ctx_.address = 0x401000; // where it was linked to be
    EXPECT_EQ(added(0), 0x450000);
}

TEST_F(PlacesOfVariables, OfEachCpu) {
    Access access;
    access.base = Access::Base::PerCpu;
    access.constant = 0x120;
    offsets_["djs_cpu.variables"] = {"", 56};
    load_with({access});
    of_cpu("variables") = 0x7000;
    EXPECT_EQ(added(0), 0x7120);
    offsets_.erase("djs_cpu.variables");
    EXPECT_FALSE(generate());
    EXPECT_NE(render_all(diagnostics_).find("djs_cpu.variables"), std::string::npos);
}

TEST_F(PlacesOfVariables, CountersOfPerfAreRead) {
    Access access;
    access.base = Access::Base::PerfCounter;
    access.constant = 3;
    // What follows is not part of it.
    access.steps = {{AccessStep::Kind::Add, 5}};
    load_with({access});
    EXPECT_EQ(added(0), 1003);
    EXPECT_EQ(perf_reads_, std::vector<uint32_t>{3});
}

// Sums of steps are added once, also behind an index.
TEST_F(PlacesOfVariables, StepsAreAdded) {
    const auto index = number(3);
    index->type = Type::Long;
    Access access;
    access.base = Access::Base::Register;
    access.reg = arch::argument_registers()[0];
    Access indexed = access;
    access.steps = {{AccessStep::Kind::Add, 8}, {AccessStep::Kind::Add, -3}};
    indexed.steps = {{AccessStep::Kind::Add, 8},
                     {AccessStep::Kind::AddIndex, 16, index.get()},
                     {AccessStep::Kind::Add, 1}};
    load_with({access, indexed});
    EXPECT_EQ(added(0), 30 + 5);
    EXPECT_EQ(added(1), 30 + 8 + 48 + 1);
}

} // namespace djstap
