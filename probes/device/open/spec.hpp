// The name a user gives a device: `auto`, `cuda:N`, `sim:NAME`, `sim:FILE.json` or `replay:FILE`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "error/error.hpp"

namespace gputopo::device {

struct Spec {
  enum class Kind { automatic, cuda, sim, replay };
  Kind kind = Kind::automatic;
  int ordinal = 0;   ///< cuda: the driver's number of the GPU
  std::string name;  ///< sim: a built-in model's name or a file; replay: a file
  friend bool operator==(const Spec&, const Spec&) = default;
};

/// `bad_input` for anything else. A sim name with a '/' or ending in ".json" is a file.
Expected<Spec> parse_spec(std::string_view text);

/// What parse_spec reads.
std::string to_string(const Spec& spec);

/// Several devices between commas, as in "cuda:0,cuda:1" (a comma that no kind of device follows belongs to a name).
/// Errors: those of parse_spec; `auto` among others, or one GPU twice, since it can't be measured beside itself.
Expected<std::vector<Spec>> parse_specs(std::string_view text);

/// Whether a sim name means a file ("-": standard input) rather than a built-in model.
bool names_file(std::string_view model);

}  // namespace gputopo::device
