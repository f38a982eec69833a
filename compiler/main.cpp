// SPDX-License-Identifier: GPL-2.0-or-later
#include "driver/options.h"
#include "driver/pipeline.h"

int main(int argc, char** argv) {
    using namespace djstap;
    driver::ParsedOptions parsed = driver::parse_options({argv + (argc > 0), argv + argc});
    if (auto* text = std::get_if<driver::Text>(&parsed))
        return driver::print(*text);
    if (auto* failure = std::get_if<Failure>(&parsed))
        return driver::refuse(*failure);
    return driver::run(std::get<driver::Options>(std::move(parsed)));
}
