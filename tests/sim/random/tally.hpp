// What came out of discoveries of many models: how often right, wrong, open; how often intervals and confidences held.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tests/sim/experiments/comparison.hpp"

namespace gputopo::test {

/// Statements of one confidence: how many, how many right.
struct Reliability {
  std::uint64_t said = 0, right = 0;
  double confidence_sum = 0;
};

struct Tally {
  std::uint64_t models = 0, wrong_models = 0, failed_models = 0;
  std::uint64_t statements = 0, said = 0, wrong = 0;
  std::uint64_t undecided = 0;                        ///< left open although it could have been decided
  std::uint64_t unseen = 0;                           ///< left open because no experiment of today can tell
  std::uint64_t intervals = 0, intervals_missed = 0;  ///< of measured values with an interval
  std::array<Reliability, 12> by_confidence{};        ///< bins() gives their lower ends

  void add(const std::vector<Statement>& statements);
  void add(const Tally& other);
};

/// Lower ends of the bins of confidence; the last one ends at 1.
const std::array<double, 12>& bins();

/// Totals and the table of reliability, for people.
std::string text_of(const Tally& tally);

nlohmann::json to_json(const Tally& tally);
Tally tally_of(const nlohmann::json& json);

}  // namespace gputopo::test
