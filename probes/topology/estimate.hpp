// One measured quantity: the value together with how it was found and how sure it is.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace gputopo {

/// What kind of statement an Estimate makes.
enum class Status {
  measured,       ///< found by experiment
  api,            ///< told by the driver, not measured
  lower_bound,    ///< at least `value`: the experiment never saw the end
  upper_bound,    ///< at most `value`: the experiment began beyond the change
  not_supported,  ///< this GPU has no such thing, or doesn't let it be seen
  inconclusive,   ///< the evidence doesn't decide
  truth,          ///< a simulated model's own specification
};

std::string_view to_string(Status status);
/// The status of that name, or nothing.
std::optional<Status> parse_status(std::string_view name);

/// A closed interval in the Estimate's unit.
struct Interval {
  double low = 0;
  double high = 0;
  friend bool operator==(const Interval&, const Interval&) = default;
};

/// What an interval covers. "95 %" and "50 %" are credible intervals: the posterior probability that the value lies in
/// them. "range" reaches from the least to the greatest observation, "quartiles" over their middle half.
inline constexpr std::array<std::string_view, 4> interval_kinds{"95 %", "50 %", "range", "quartiles"};
bool is_interval_kind(std::string_view name);

/// A quantity with unit, status, method, interval, confidence and sample count.
///
/// `value` is absent for `not_supported` and usually for `inconclusive`; there are no sentinels.
/// Units in use: "B" (bytes), "cycles" (SM cycles), "ns", "B/cycle", "B/s", "" for a plain count.
struct Estimate {
  std::optional<double> value;
  std::string unit;
  Status status = Status::inconclusive;
  std::string method;                ///< the experiment's name, such as "residency" or "change_point"
  std::optional<Interval> interval;  ///< contains `value`; what it covers says `interval_kind`
  std::optional<double>
      confidence;             ///< probability in [0, 1] that `status` and `value` are right, as far as the data says
  std::uint64_t samples = 0;  ///< loads (or launches) that the statement rests on
  std::string note;           ///< one sentence for the reader: why inconclusive, what disagrees
  std::string interval_kind = std::string(interval_kinds.front());  ///< one of `interval_kinds`

  bool has_value() const { return value.has_value(); }
  friend bool operator==(const Estimate&, const Estimate&) = default;
};

/// True where a reader may use `value` as the quantity itself (not as a bound): measured, api or truth.
bool is_usable(const Estimate& estimate);

/// What the note of a size says, alone or at the end, after hardware counters agreed with timing.
inline constexpr std::string_view confirmed_by_counters = "confirmed by counters";
bool is_confirmed_by_counters(const Estimate& estimate);

}  // namespace gputopo
