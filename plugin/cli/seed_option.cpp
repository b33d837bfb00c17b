#include "cli/seed_option.hpp"

#include <charconv>

#include <fmt/format.h>

namespace gputopo::cli {
namespace {

// CLI11 itself takes 010 for eight and -1 for 2^64 - 1.
std::string decimal(std::string& text) {
  std::uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stopped != end)
    return fmt::format("'{}' is no seed: write a whole number from 0 to 18446744073709551615", text);
  text = fmt::format("{}", value);
  return {};
}

}  // namespace

void add_seed_option(CLI::App& command, std::uint64_t& seed, const std::string& what) {
  command.add_option("--seed", seed, what)
      ->transform(CLI::Validator(decimal, ""))
      ->type_name("N")
      ->capture_default_str();
}

}  // namespace gputopo::cli
