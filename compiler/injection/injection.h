// SPDX-License-Identifier: GPL-2.0-or-later
// A program in which a script's handlers are placed.
#pragma once
#include "arch/injection.h"
#include "injection/arena.h"
#include "injection/linked_runtime.h"
#include "injection/places.h"
#include "injection/stubs.h"
#include "injection/traced_program.h"
#include "session/session.h"

#include <array>
#include <chrono>
#include <utility>
#include <vector>

namespace djstap::injection {

// A program with the arena, and what is patched in it.
class Injection {
  public:
    Injection(TracedProgram program, Arena& arena, LinkedRuntime linked)
        : program_(std::move(program)), arena_(arena), linked_(std::move(linked)) {}

    const LinkedRuntime& linked() const { return linked_; }
    // Determines what can be patched, and prepares the code that places lead to.
    Status prepare(const MemoryMap& map);
    // Maps everything in the program, patches it, and lets it run.
    Status release();
    // Restores what was patched, and unmaps everything, if the program still runs. Threads that are
    // in handlers go on; what they use stays mapped if that does not end. Returns false if the
    // program cannot be stopped: what was patched stays.
    bool withdraw();
    // Does the same for the processes that the program has created and that have what was placed in
    // it. Returns those that cannot be stopped, or keep the jumps for another reason.
    std::vector<pid_t> withdraw_from_heirs();
    // Lets the program's dynamic loader go on if it has mapped or unmapped something: places the
    // probes of files that are there now. Returns what cannot be probed; empty: nothing.
    std::vector<std::string> answer_loader();
    // If djstap was killed meanwhile, the program does not wait any longer.
    void end_answer();
    // Whether the program did not wait for that.
    bool has_missed_loader() const { return linked_.loader()->state == DJS_LOADER_IS_DEAF; }
    // Whether release() has changed anything in the program.
    bool has_placed() const { return has_placed_; }
    TracedProgram& program() { return program_; }
    const std::vector<PlacedImage>& images() const { return images_; }
    // How each probe is attached, by the description's numbers.
    std::vector<AttachedProbe> probes(const ModuleMeta& meta) const;

  private:
    // Where a file is, or is no longer, for the process that withdraws the probes.
    struct Placement {
        uint64_t bias = 0;
        Range code;
        FileIdentity file;
        uint64_t stubs = 0;
        bool is_placed = false;
        // Copies that the program has mapped: code that may run already is not changed any more.
        static constexpr size_t most_copies = 16; // the namespaces of glibc
        std::array<uint64_t, most_copies> copies{};
        size_t copy_count = 0;
        bool was_retracted = false;
        bool is_told = false; // that there is another copy, without probes
        void note(const std::vector<MappedCopy>& all);
        bool knows(uint64_t bias) const;
    };
    bool may_change() const;
    bool is_still_mapped(const PlacedImage& image) const;
    Status make_tables();
    Callees callees() const;
    Status plan_image(size_t number, const MemoryMap& map, MemoryMap& own);
    void publish(size_t number);
    // Of files that are mapped or unmapped while the program runs: late_images.cpp.
    std::optional<MappedCopy> new_copy(size_t number, const MemoryMap& map);
    std::vector<std::string> settle_images(const MemoryMap& map, djs_loader& loader);
    bool is_at(size_t number, const MemoryMap& map) const;
    bool is_in_place(size_t number, const MemoryMap& map);
    std::string complete_image(size_t number, bool is_mapped);
    void adopt_placements();
    void retract(size_t number);
    Status follow_changes();
    void skip_changed_code(PlacedImage& image, const MemoryMap& map);
    Status place();
    Result<uint64_t> open_arena();
    Status share();
    Status share_stubs(const PlacedImage& image, uint64_t at, const Stubs& stubs);
    Status patch();
    // Of a program that runs: running.cpp.
    Status check_allowed() const;
    Status stop_where_possible();
    Result<bool> plan_moves();
    Status move_threads();
    std::vector<uint64_t> stack_of(TracedProgram& program, const arch::StoppedRegisters& registers,
                                   const MemoryMap& map);
    // Of the program, or of another process that has what was placed in it: withdrawal.cpp.
    // It tries to stop it until `latest`, and once at least.
    bool withdraw_from(TracedProgram& program, std::chrono::steady_clock::time_point latest);
    // AllButOthers: somebody else has written over a jump, and may still lead to its stub.
    enum class Restored : uint8_t { Nothing, AllButOthers, All };
    Restored restore(TracedProgram& program, const MemoryMap& map);
    bool is_used_by(TracedProgram& program, pid_t thread, const MemoryMap& map);
    void close_arena(TracedProgram& program);
    void unmap(TracedProgram& program);
    std::vector<pid_t> heirs() const;
    bool is_left_in(pid_t process) const;
    Status call(const char* what, long number, const std::array<uint64_t, 6>& arguments);
    Status own_page(unsigned slot);
    // Of the arena's heap.
    template <class T> T* allocate(size_t count) const {
        return static_cast<T*>(linked_.allocate(count * sizeof(T)));
    }

    TracedProgram program_;
    Arena& arena_;
    LinkedRuntime linked_;
    std::vector<PlacedImage> images_;
    std::vector<std::pair<uint64_t, Stubs>> stubs_; // of each image, and where
    bool has_placed_ = false;
    // In the arena.
    djs_places* files_ = nullptr;
    djs_returning* returning_ = nullptr;
    unsigned long* biases_ = nullptr;
    Placement* placements_ = nullptr;
    std::optional<size_t> loader_image_; // the place of the dynamic loader, if it is watched
    std::optional<size_t> pending_;      // the file for whose stubs the program maps memory
    std::vector<size_t> given_up_;       // files
    // Threads that are where jumps are to be, and where they go on.
    std::vector<std::pair<pid_t, uint64_t>> moves_;
};

} // namespace djstap::injection
