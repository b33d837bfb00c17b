#include "experiments/chip_map.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "experiments/l2_search.hpp"

namespace gputopo::experiments {
namespace {

using Matrix = std::vector<std::vector<double>>;

// Pearson's correlation of every pair of rows.
Matrix correlations(const std::vector<std::vector<double>>& rows) {
  std::vector<std::vector<double>> unit = rows;
  for (auto& row : unit) {
    const double mean = std::accumulate(row.begin(), row.end(), 0.0) / static_cast<double>(row.size());
    double square = 0;
    for (double& x : row) {
      x -= mean;
      square += x * x;
    }
    const double norm = std::sqrt(square);
    for (double& x : row) x = norm > 0 ? x / norm : 0;
  }
  Matrix r(rows.size(), std::vector<double>(rows.size(), 1));
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      r[i][j] = r[j][i] = std::inner_product(unit[i].begin(), unit[i].end(), unit[j].begin(), 0.0);
  return r;
}

double average_between(const Matrix& r, const std::vector<std::uint32_t>& a, const std::vector<std::uint32_t>& b) {
  double sum = 0;
  for (const std::uint32_t i : a)
    for (const std::uint32_t j : b) sum += r[i][j];
  return sum / static_cast<double>(a.size() * b.size());
}

struct Pair {
  std::size_t first = 0;
  std::size_t second = 0;
  double correlation = -2;
};

// The two sets that are closest by average linkage, of at most `most` members together; equal indices where none are.
Pair closest(const Matrix& r, const SmSets& sets, std::size_t most) {
  Pair best;
  for (std::size_t i = 0; i < sets.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (sets[i].size() + sets[j].size() > most) {
        continue;
      } else if (const double c = average_between(r, sets[i], sets[j]); c > best.correlation)
        best = {j, i, c};
  return best;
}

void merge(SmSets& sets, const Pair& pair) {
  sets[pair.first].insert(sets[pair.first].end(), sets[pair.second].begin(), sets[pair.second].end());
  sets.erase(sets.begin() + static_cast<std::ptrdiff_t>(pair.second));
}

// Merges until the closest two sets correlate less than `least`.
SmSets clustered(const Matrix& r, SmSets sets, double least) {
  while (sets.size() > 1) {
    const Pair pair = closest(r, sets, r.size());
    if (pair.correlation < least) break;
    merge(sets, pair);
  }
  for (auto& set : sets) std::sort(set.begin(), set.end());
  std::sort(sets.begin(), sets.end());
  return sets;
}

double average_with(const Matrix& r, std::uint32_t i, const std::vector<std::uint32_t>& others) {
  double sum = 0;
  std::size_t count = 0;
  for (const std::uint32_t j : others)
    if (j != i) {
      sum += r[i][j];
      ++count;
    }
  return count == 0 ? 1 : sum / static_cast<double>(count);
}

// The least sure member's margin: its average correlation with its own set less that with the next best one.
double separation(const Matrix& r, const SmSets& sets) {
  double least = 2;
  for (std::size_t a = 0; a < sets.size(); ++a)
    for (const std::uint32_t i : sets[a]) {
      double next_best = -1;
      for (std::size_t b = 0; b < sets.size(); ++b)
        if (b != a) next_best = std::max(next_best, average_with(r, i, sets[b]));
      least = std::min(least, average_with(r, i, sets[a]) - next_best);
    }
  return least;
}

// Merges the closest sets of at most `most` members together until `count` are left or none may merge.
SmSets into(const Matrix& r, SmSets sets, std::size_t count, std::size_t most) {
  while (sets.size() > count) {
    const Pair pair = closest(r, sets, most);
    if (pair.first == pair.second) break;
    merge(sets, pair);
  }
  return sets;
}

// Two SMs of a TPC have odd and even latencies of their own; what they have in common tells the TPC's place. Sets of
// one TPC each, where all of them are whole.
SmSets tpcs_of(const std::vector<std::uint32_t>& members) {
  SmSets tpcs;
  for (const std::uint32_t sm : members) {
    const bool whole = std::find(members.begin(), members.end(), sm ^ 1U) != members.end();
    if (!whole) return {};
    if (sm % 2 == 0) tpcs.push_back({sm / 2});
  }
  return tpcs;
}

// Means of neighbouring rows 2k and 2k + 1.
std::vector<std::vector<double>> paired(const std::vector<std::vector<double>>& rows) {
  std::vector<std::vector<double>> pairs(rows.size() / 2, std::vector<double>(rows.front().size()));
  for (std::size_t k = 0; k < pairs.size(); ++k)
    for (std::size_t i = 0; i < pairs[k].size(); ++i) pairs[k][i] = (rows[2 * k][i] + rows[2 * k + 1][i]) / 2;
  return pairs;
}

void label(std::vector<SmPlace>& places, const SmSets& sets, std::optional<std::uint32_t> SmPlace::*member) {
  for (std::uint32_t i = 0; i < sets.size(); ++i)
    for (const std::uint32_t sm : sets[i]) places[sm].*member = i;
}

}  // namespace

Expected<std::vector<std::vector<double>>> measure_latency_vectors(Session& session, std::size_t lines) {
  constexpr std::uint64_t stride = 128;
  constexpr std::size_t repetitions = 3;
  const std::uint32_t sms = session.info().gpu.sm_count;
  program::Program p = make_program("l2 latencies of every SM", session.info(), slot_flush);
  p.isolation = Scope::gpu;
  p.agents.clear();
  for (std::uint32_t sm = 0; sm < sms; ++sm) p.agents.push_back({sm, 0});
  for (std::uint32_t sm = 0; sm < sms; ++sm) {
    program::Walk walk = make_walk(l2_path, lines * stride, stride, 1);
    walk.agent = sm;
    if (sm == 0) p.phases.emplace_back(walk);  // the first SM brings the lines into the L2 for all
    for (std::size_t i = 0; i < repetitions; ++i) p.phases.emplace_back(recorded(walk, program::Record::latencies, 1));
  }
  auto traces = session.run({p});
  if (!traces) return tl::unexpected<Error>(traces.error());
  std::vector<std::vector<double>> least(sms, std::vector<double>(lines, std::numeric_limits<double>::max()));
  for (std::uint32_t sm = 0; sm < sms; ++sm)
    for (std::size_t i = 0; i < repetitions; ++i) {
      const auto& latencies = traces->front().phases[1 + sm * repetitions + i].latencies;
      for (std::size_t k = 0; k < std::min(lines, latencies.size()); ++k)
        least[sm][k] = std::min(least[sm][k], static_cast<double>(latencies[k]));
    }
  return least;
}

ChipMap map_of(const std::vector<std::vector<double>>& latencies, const SmSets& gpcs, const CpcShape& shape) {
  ChipMap map;
  const std::size_t sms = latencies.size();
  const Matrix r = correlations(latencies);
  std::vector<std::uint32_t> all(sms);
  std::iota(all.begin(), all.end(), 0U);
  SmSets single;
  for (const std::uint32_t sm : all) single.push_back({sm});
  // Two sides of the chip see each other's near slices as far ones: their vectors run against each other.
  const SmSets sides = clustered(r, single, 0.0);
  const double across = sides.size() == 2 ? average_between(r, sides[0], sides[1]) : 0;
  if (sides.size() > 2) {
    map.problem = "latencies to L2 lines don't tell where SMs sit";
    return map;
  }
  map.places.resize(sms);
  for (std::uint32_t sm = 0; sm < sms; ++sm) map.places[sm].sm = sm;
  map.partitions = sides.size() == 2 && across < -0.1 ? sides : SmSets{all};
  if (map.partitions.size() == 2) {
    map.partition_separation = separation(r, map.partitions);
    label(map.places, map.partitions, &SmPlace::l2_partition);
  }
  if (gpcs.size() < 2) return map;
  label(map.places, gpcs, &SmPlace::gpc);
  if (shape.cpcs_per_gpc < 2) return map;
  const Matrix by_tpc = correlations(paired(latencies));
  SmSets cpcs;
  double worst = 2;
  for (const auto& gpc : gpcs) {
    const SmSets tpcs = tpcs_of(gpc);
    if (tpcs.size() < shape.cpcs_per_gpc) return map;
    const SmSets parts = into(by_tpc, tpcs, shape.cpcs_per_gpc, shape.tpcs_per_cpc);
    // A TPC by itself always agrees with itself best.
    if (std::all_of(parts.begin(), parts.end(), [](const auto& part) { return part.size() == 1; })) return map;
    worst = std::min(worst, separation(by_tpc, parts));
    for (const auto& part : parts) {
      auto& cpc = cpcs.emplace_back();
      for (const std::uint32_t tpc : part) cpc.insert(cpc.end(), {2 * tpc, 2 * tpc + 1});
      std::sort(cpc.begin(), cpc.end());
    }
  }
  std::sort(cpcs.begin(), cpcs.end());
  map.cpc_separation = worst;
  if (worst > 0) label(map.places, cpcs, &SmPlace::cpc);
  return map;
}

}  // namespace gputopo::experiments
