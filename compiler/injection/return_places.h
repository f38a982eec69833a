// SPDX-License-Identifier: GPL-2.0-or-later
// Where a program is patched for the probes of its functions' returns.
#pragma once
#include "arch/instructions.h"
#include "injection/places.h"
#include "regions/regions.h"

#include <map>
#include <optional>
#include <string_view>
#include <vector>

namespace djstap::injection {

// Returns what makes up the region of a jump, from the place's instruction on; not what follows a
// jump or a return. Empty: it is not known.
std::vector<Moved> moved_by_jump(const regions::Analysis& analysis, const regions::Place& place,
                                 arch::InstructionDecoder& decoder);

// Adds the places of the image's functions whose returns are probed to those of entries. No two
// jumps overlap.
class ReturnPlacer {
  public:
    ReturnPlacer(const struct ::djs_script& script, const regions::Analysis& analysis,
                 arch::InstructionDecoder& decoder, PlacedImage& image);
    // Notes in the functions why their returns cannot be patched.
    void place();

  private:
    // What is patched for one function, until all of it is known to be possible.
    struct Plan {
        std::optional<size_t> entry;                    // the place of an entry that exists
        std::vector<PatchedPlace> places;               // new ones
        std::vector<std::pair<size_t, size_t>> returns; // a place, and an instruction moved there
    };
    std::string plan(const ReturningFunction& function, Plan& plan);
    std::string plan_entry(const ReturningFunction& function, Plan& plan);
    std::string plan_return(const ReturningFunction& function, const regions::Exits::Return& exit,
                            Plan& plan);
    bool is_free(uint64_t address, const Plan& plan) const;
    void accept(const ReturningFunction& function, Plan plan);

    const struct ::djs_script& script_;
    const regions::Analysis& analysis_;
    arch::InstructionDecoder& decoder_;
    PlacedImage& image_;
    std::map<uint64_t, size_t> taken_; // by the address of each jump: the place
};

} // namespace djstap::injection
