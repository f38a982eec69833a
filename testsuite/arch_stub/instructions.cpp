// SPDX-License-Identifier: GPL-2.0-or-later
#include "arch/instructions.h"

namespace djstap::arch {

std::unique_ptr<InstructionDecoder> InstructionDecoder::create() {
    return nullptr;
}

GoRegisters go_registers() {
    return {};
}

size_t planted_jump_bytes() {
    return 0;
}

size_t short_jump_bytes() {
    return 1;
}

bool short_jump_reaches(uint64_t, uint64_t) {
    return false;
}

uint8_t space_between_functions() {
    return 0;
}

std::string_view return_instruction() {
    return {};
}

size_t shorter_call_bytes(std::string_view) {
    return 0;
}

} // namespace djstap::arch
