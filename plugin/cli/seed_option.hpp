// The option --seed, shared by the commands that draw random numbers.
#pragma once

#include <cstdint>
#include <string>

#include <CLI/CLI.hpp>

namespace gputopo::cli {

/// Adds `--seed N`, whose default is `seed`: a decimal number from 0 to 2^64 - 1; anything else is a usage error.
/// `seed` must outlive the parse; `what` is the help.
void add_seed_option(CLI::App& command, std::uint64_t& seed, const std::string& what);

}  // namespace gputopo::cli
