#include "evidence/chip/slice_places.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "change_point/robust.hpp"

namespace gputopo::evidence {
namespace {

// Mean square of what two lines differ by, over the SMs.
double apart(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return sum / static_cast<double>(a.size());
}

struct OnePlace {
  std::vector<double> centre;
  double lines = 0;

  void add(const std::vector<double>& other, double other_lines) {
    for (std::size_t i = 0; i < centre.size(); ++i)
      centre[i] = (centre[i] * lines + other[i] * other_lines) / (lines + other_lines);
    lines += other_lines;
  }
};

class Places {
 public:
  // `variance`: of what a line's looks say.
  Places(const Fingerprints& lines, double variance)
      : lines_(lines), variance_(variance), sms_(static_cast<double>(lines.front().size())) {
    for (const auto& line : lines_) put(line);
    for (int round = 0; round < enough; ++round) {
      merge();
      settle();
    }
    std::erase_if(places_, [](const OnePlace& p) { return p.lines < 2; });
  }

  // Those that several lines lie in by either half of their looks alone: what strangers delay lies somewhere else in
  // one.
  void keep_seen_twice(const Fingerprints& first, const Fingerprints& second) {
    std::vector<std::size_t> lines(places_.size());
    for (std::size_t i = 0; i < first.size(); ++i)
      if (const std::size_t at = nearest(first[i]); at != places_.size() && at == nearest(second[i])) ++lines[at];
    std::size_t i = 0;
    std::erase_if(places_, [&](const OnePlace&) { return lines[i++] < 2; });
  }

  std::size_t count() const { return places_.size(); }

  std::vector<std::size_t> of_line() const {
    std::vector<std::size_t> all;
    for (const auto& line : lines_) all.push_back(nearest(line));
    return all;
  }

 private:
  static constexpr int enough = 4;
  static constexpr double surely = 6;  // standard deviations of a mean square: one line of millions

  // How far lines of one place may lie from its middle.
  double reach() const { return variance_ * (1 + surely * std::sqrt(2 / sms_)); }

  // count() where none is near enough.
  std::size_t nearest(const std::vector<double>& line) const {
    std::size_t best = places_.size();
    double least = 2 * reach();
    for (std::size_t i = 0; i < places_.size(); ++i)
      if (const double d = apart(line, places_[i].centre); d < least) best = i, least = d;
    return best;
  }

  void put(const std::vector<double>& line) {
    const std::size_t at = nearest(line);
    if (at == places_.size())
      places_.push_back({line, 1});
    else
      places_[at].add(line, 1);
  }

  // Two middles between which a line's looks would decide by chance now and then: half of their distance isn't four
  // standard errors.
  void merge() {
    constexpr double standard_errors = 4;
    const double least = 4 * standard_errors * standard_errors * variance_ / sms_;
    for (std::size_t i = 0; i < places_.size(); ++i)
      for (std::size_t j = i + 1; j < places_.size();)
        if (apart(places_[i].centre, places_[j].centre) < least) {
          places_[i].add(places_[j].centre, places_[j].lines);
          places_.erase(places_.begin() + static_cast<std::ptrdiff_t>(j));
        } else {
          ++j;
        }
  }

  // Each line to the nearest, whose middle is that of its lines then.
  void settle() {
    std::vector<OnePlace> settled(places_.size());
    for (const auto& line : lines_) {
      const std::size_t at = nearest(line);
      if (at == places_.size()) continue;
      if (settled[at].lines == 0) settled[at].centre.assign(line.size(), 0);
      settled[at].add(line, 1);
    }
    std::erase_if(settled, [](const OnePlace& p) { return p.lines == 0; });
    places_ = std::move(settled);
  }

  const Fingerprints& lines_;
  double variance_, sms_;
  std::vector<OnePlace> places_;
};

}  // namespace

SlicePlaces slice_places(const Fingerprints& first, const Fingerprints& second) {
  constexpr double few = 0.25;  // of the lines: more places than that are no places of several lines
  constexpr double least_noise = 0.05;
  SlicePlaces found;
  Fingerprints lines;
  std::vector<double> squares;
  for (std::size_t i = 0; i < first.size(); ++i) {
    squares.push_back(apart(first[i], second[i]) / 4);  // of the mean of both
    auto& line = lines.emplace_back(first[i]);
    for (std::size_t k = 0; k < line.size(); ++k) line[k] = (line[k] + second[i][k]) / 2;
  }
  found.noise_cycles = std::max(least_noise, std::sqrt(change_point::median(squares)));
  Places places(lines, found.noise_cycles * found.noise_cycles);
  places.keep_seen_twice(first, second);
  found.of_line = places.of_line();
  found.count = places.count();
  const auto placed = static_cast<std::size_t>(
      std::count_if(found.of_line.begin(), found.of_line.end(), [&](std::size_t p) { return p < found.count; }));
  if (2 * placed < lines.size() || static_cast<double>(found.count) > few * static_cast<double>(lines.size()))
    found.why_open = "hardly any lines take the same from all SMs: there are as many places as lines, or too few looks";
  else if (found.count == 1)
    found.why_open = "lines don't differ in what they take from one SM or another";
  return found;
}

}  // namespace gputopo::evidence
