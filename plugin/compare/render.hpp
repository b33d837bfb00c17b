// A comparison as text: for people and for programs.
#pragma once

#include <span>
#include <string>

#include "compare/comparison.hpp"

namespace gputopo::compare {

/// One of the GPUs, as the renderings name it.
struct Subject {
  std::string source;  ///< the file it came from, or "stored"
  const Topology* topology = nullptr;
};

/// A line for each GPU, then each quantity that differs with what its GPUs say; at most `width` columns where it can
/// be.
std::string render_table(std::span<const Subject> gpus, const Comparison& comparison, std::size_t width);

/// An object of schema "gputopo-comparison/1" (docs/formats.md).
std::string render_json(std::span<const Subject> gpus, const Comparison& comparison);

}  // namespace gputopo::compare
