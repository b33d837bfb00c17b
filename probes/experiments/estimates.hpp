// From findings to Estimates.
#pragma once

#include <string>
#include <string_view>

#include "change_point/finding.hpp"
#include "topology/estimate.hpp"

namespace gputopo::experiments {

Estimate measured(double value, std::string_view unit, std::string_view method, std::uint64_t samples);
Estimate from_api(double value, std::string_view unit);
Estimate not_supported(std::string_view unit, std::string_view note);
Estimate inconclusive(std::string_view unit, std::string_view method, std::string_view note);

/// A Finding in bytes or cycles.
Estimate to_estimate(const change_point::Finding& finding, std::string_view unit);

}  // namespace gputopo::experiments
