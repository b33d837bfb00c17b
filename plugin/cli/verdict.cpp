#include "cli/verdict.hpp"

#include <algorithm>

namespace gputopo::cli {
namespace {

bool undecided(const Estimate& e) {
  return e.status == Status::inconclusive;
}

bool undecided(const Memory& m) {
  return std::any_of(m.attributes.begin(), m.attributes.end(), [](const auto& a) { return undecided(a.second); }) ||
         std::any_of(m.carve_outs.begin(), m.carve_outs.end(), [](const CarveOut& c) {
           return undecided(c.shared_bytes) || undecided(c.usable_bytes) || undecided(c.reserved_bytes);
         });
}

}  // namespace

Exit verdict(const Topology& topology) {
  const auto& memories = topology.memories;
  const bool any = std::any_of(memories.begin(), memories.end(), [](const Memory& m) { return undecided(m); });
  return any ? Exit::inconclusive : Exit::done;
}

}  // namespace gputopo::cli
