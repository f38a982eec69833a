// SPDX-License-Identifier: GPL-2.0-or-later
#include "arch/injection.h"

namespace djstap::arch {

Result<std::string> moved_instruction(std::string_view, const Instruction&, uint64_t, uint64_t) {
    return std::string();
}

std::string planted_jump(uint64_t, uint64_t) {
    return {};
}

uint64_t jump_reach() {
    return 0;
}

Stub stub_code(const StubTargets&, uint64_t) {
    return {};
}

std::string stub_approach(const Stub&) {
    return {};
}

size_t stub_stack_bytes() {
    return 0;
}

size_t stub_room() {
    return 0;
}

bool has_stub_instructions() {
    return false;
}

std::string_view stop_instruction() {
    return {};
}

std::string_view kernel_call_instruction() {
    return {};
}

std::string_view visit_code() {
    return {};
}

Result<StoppedRegisters> StoppedRegisters::of(pid_t) {
    return StoppedRegisters();
}

Status StoppedRegisters::store(pid_t) const {
    return Done{};
}

bool is_interrupted_place(std::span<const uint64_t>, size_t) {
    return false;
}

uint64_t interrupted_stack_pointer(std::span<const uint64_t>, size_t) {
    return 0;
}

uint64_t StoppedRegisters::instruction_pointer() const {
    return words_[0];
}

void StoppedRegisters::set_instruction_pointer(uint64_t) {}

WayBack StoppedRegisters::way_back(uint64_t) const {
    return {};
}

void StoppedRegisters::set_stack_pointer(uint64_t) {}

void StoppedRegisters::set_call(long, const std::array<uint64_t, 6>&) {}

int64_t StoppedRegisters::result() const {
    return 0;
}

uint64_t StoppedRegisters::stack_pointer() const {
    return words_[1];
}

bool StoppedRegisters::repeats_call() const {
    return false;
}

bool StoppedRegisters::has_slot_base() const {
    return false;
}

void StoppedRegisters::set_slot_base(uint64_t) {}

} // namespace djstap::arch
