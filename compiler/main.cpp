// SPDX-License-Identifier: GPL-2.0-or-later
#include "driver/options.h"
#include "driver/pipeline.h"
#include "driver/regions_command.h"
#include "system/streams.h"

#include <string_view>

namespace {

int run_regions(std::vector<std::string> arguments) {
    using namespace djstap;
    driver::ParsedRegionsOptions parsed = driver::parse_regions_options(std::move(arguments));
    if (auto* text = std::get_if<driver::Text>(&parsed))
        return driver::print(*text);
    if (auto* failure = std::get_if<Failure>(&parsed))
        return driver::refuse(*failure);
    return driver::run_regions(std::get<driver::RegionsOptions>(parsed));
}

} // namespace

int main(int argc, char** argv) {
    using namespace djstap;
    prepare_streams();
    if (argc > 1 && std::string_view(argv[1]) == "regions")
        return run_regions({argv + 2, argv + argc});
    driver::ParsedOptions parsed = driver::parse_options({argv + (argc > 0), argv + argc});
    if (auto* text = std::get_if<driver::Text>(&parsed))
        return driver::print(*text);
    if (auto* failure = std::get_if<Failure>(&parsed))
        return driver::refuse(*failure);
    return driver::run(std::get<driver::Options>(std::move(parsed)));
}
