// `gputopo bench traffic --predict`: bytes between L2 and memory, from a topology alone.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/context.hpp"
#include "device/open/spec.hpp"
#include "error/error.hpp"

namespace gputopo::cli {

struct TrafficQuestion {
  std::vector<std::uint64_t> strides;  ///< in elements of 4 bytes
  std::uint64_t vector_bytes = 0;
  std::string file;     ///< a topology's; empty: the device's
  device::Spec device;  ///< a model's own specification; of anything else L1 and L2 are measured
  std::string format;   ///< "table" or "json"
  std::string output;
  bool quiet = false;
};

/// A whole number from 1 to 2^50 in decimal digits; nothing for anything else.
std::vector<std::uint64_t> parse_counts(const std::vector<std::string>& texts);

Expected<Exit> answer_traffic(const TrafficQuestion& question, const Context& context);

}  // namespace gputopo::cli
