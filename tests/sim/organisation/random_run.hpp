// Discovers random models and counts what was right, left open and wrong: the body of programs that are run by hand.
#pragma once

#include <functional>

#include <nlohmann/json.hpp>

#include "tests/sim/organisation/found.hpp"

namespace gputopo::test {

/// Options --first, --count and --dump; gives the exit status, 1 where something was wrong.
int run_random(int argc, char** argv, const std::function<nlohmann::json(std::uint64_t)>& drawn,
               const std::function<std::vector<Found>(const sim::Model&)>& found_of);

}  // namespace gputopo::test
