#include "tests/sim/random/tally.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace gputopo::test {

const std::array<double, 12>& bins() {
  static const std::array<double, 12> lower{0, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.925, 0.95, 0.975, 0.99, 0.999};
  return lower;
}

void Tally::add(const std::vector<Statement>& all) {
  ++models;
  bool any_wrong = false;
  for (const Statement& s : all) {
    ++statements;
    any_wrong = any_wrong || is_wrong(s);
    wrong += is_wrong(s) ? 1 : 0;
    undecided += is_undecided(s) ? 1 : 0;
    unseen += s.verdict == Verdict::inconclusive && !s.decidable ? 1 : 0;
    said += s.verdict == Verdict::inconclusive ? 0 : 1;
    if (s.in_interval) {
      ++intervals;
      intervals_missed += *s.in_interval ? 0 : 1;
    }
    if (!s.confidence || s.verdict == Verdict::inconclusive) continue;
    const auto above = std::upper_bound(bins().begin(), bins().end(), *s.confidence);
    Reliability& r = by_confidence[static_cast<std::size_t>(std::max<std::ptrdiff_t>(1, above - bins().begin()) - 1)];
    ++r.said;
    r.right += is_wrong(s) ? 0 : 1;
    r.confidence_sum += *s.confidence;
  }
  wrong_models += any_wrong ? 1 : 0;
}

void Tally::add(const Tally& other) {
  models += other.models;
  wrong_models += other.wrong_models;
  failed_models += other.failed_models;
  statements += other.statements;
  said += other.said;
  wrong += other.wrong;
  undecided += other.undecided;
  unseen += other.unseen;
  intervals += other.intervals;
  intervals_missed += other.intervals_missed;
  for (std::size_t i = 0; i < by_confidence.size(); ++i) {
    by_confidence[i].said += other.by_confidence[i].said;
    by_confidence[i].right += other.by_confidence[i].right;
    by_confidence[i].confidence_sum += other.by_confidence[i].confidence_sum;
  }
}

std::string text_of(const Tally& t) {
  const auto percent = [](std::uint64_t part, std::uint64_t whole) {
    return whole == 0 ? 0.0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
  };
  std::string text =
      fmt::format("{} models, {} with wrong values, {} failed\n", t.models, t.wrong_models, t.failed_models);
  text += fmt::format("{} values: {} said, {} wrong, {} undecided ({:.1f} %), {} more that nothing tells\n",
                      t.statements, t.said, t.wrong, t.undecided, percent(t.undecided, t.statements), t.unseen);
  text += fmt::format("{} intervals, {} without the truth ({:.1f} %)\n", t.intervals, t.intervals_missed,
                      percent(t.intervals_missed, t.intervals));
  text += "confidence from     said   right   mean confidence\n";
  for (std::size_t i = 0; i < bins().size(); ++i) {
    const Reliability& r = t.by_confidence[i];
    if (r.said == 0) continue;
    text += fmt::format("{:<15} {:>8} {:>6.1f} % {:>10.3f}\n", bins()[i], r.said, percent(r.right, r.said),
                        r.confidence_sum / static_cast<double>(r.said));
  }
  return text;
}

nlohmann::json to_json(const Tally& t) {
  nlohmann::json j = {t.models, t.wrong_models, t.failed_models, t.statements, t.said,
                      t.wrong,  t.undecided,    t.unseen,        t.intervals,  t.intervals_missed};
  for (const Reliability& r : t.by_confidence) j.push_back({r.said, r.right, r.confidence_sum});
  return j;
}

Tally tally_of(const nlohmann::json& j) {
  Tally t;
  std::size_t i = 0;
  for (std::uint64_t* n : {&t.models, &t.wrong_models, &t.failed_models, &t.statements, &t.said, &t.wrong, &t.undecided,
                           &t.unseen, &t.intervals, &t.intervals_missed})
    *n = j.at(i++).get<std::uint64_t>();
  for (Reliability& r : t.by_confidence) {
    const nlohmann::json& entry = j.at(i++);
    r = {entry.at(0).get<std::uint64_t>(), entry.at(1).get<std::uint64_t>(), entry.at(2).get<double>()};
  }
  return t;
}

}  // namespace gputopo::test
