// SPDX-License-Identifier: GPL-2.0-or-later
#include "arch/arch.h"

namespace djstap::arch {

const Names& names() {
    static constexpr Names none{"", "", "", "", "", "", "", ""};
    return none;
}

uint16_t elf_machine() {
    return 0;
}

size_t saved_register_count() {
    return 0;
}

std::span<const PtReg> argument_registers() {
    return {};
}

PtReg stack_pointer() {
    return {};
}

PtReg instruction_pointer() {
    return {};
}

PtReg result_register() {
    return {};
}

std::optional<uint64_t> slot_of_stub(std::string_view, uint64_t) {
    return std::nullopt;
}

Location location_of_operand(std::string_view, const SymbolAddress&) {
    return {};
}

uint64_t frame_pointer_in_dwarf() {
    return 0;
}

int64_t frame_pointer_from_entry() {
    return 0;
}

std::optional<PtReg> register_of_dwarf(uint64_t) {
    return std::nullopt;
}

std::string_view dwarf_register_names() {
    return {};
}

size_t return_address_bytes() {
    return 0;
}

std::vector<Location> argument_locations(const std::vector<ArgumentShape>&, const ArgumentShape&) {
    return {};
}

bool is_returned_in_memory(const ArgumentShape&) {
    return false;
}

std::string_view syscall_wrapper_prefix() {
    return {};
}

PtReg syscall_number_register() {
    return {};
}

std::span<const PtReg> syscall_argument_registers() {
    return {};
}

std::string_view landing_pad() {
    return {};
}

std::string_view landing_pad_option() {
    return {};
}

bool runs_without_exceptions(std::string_view) {
    return false;
}

bool is_between_tasks(std::string_view) {
    return false;
}

bool is_left_without_return(std::string_view) {
    return false;
}

bool is_uncalled(std::string_view) {
    return false;
}

bool is_in_tracers(std::string_view) {
    return false;
}

bool handles_faults(std::string_view) {
    return false;
}

std::string relocation_name(uint32_t) {
    return {};
}

bool is_loadable_relocation(uint32_t) {
    return false;
}

bool is_branch_relocation(uint32_t) {
    return false;
}

size_t absolute_relocation_bytes(uint32_t) {
    return 0;
}

size_t distance_relocation_bytes(uint32_t) {
    return 0;
}

bool is_relative_relocation(uint32_t) {
    return false;
}

std::vector<DirectBranch> direct_branches_before(uint64_t, std::string_view, bool) {
    return {};
}

size_t longest_direct_branch() {
    return 0;
}

Thunk thunk_of(std::string_view) {
    return Thunk::None;
}

uint64_t longest_branch_opcode() {
    return 0;
}

} // namespace djstap::arch
