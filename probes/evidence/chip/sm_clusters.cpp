#include "evidence/chip/sm_clusters.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "stop/stop.hpp"

namespace gputopo::evidence {

Correlations::Correlations(const std::vector<std::vector<double>>& rows) {
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
  r_.resize(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    stop::look();
    for (std::size_t j = 0; j < i; ++j)
      r_[i].push_back(std::inner_product(unit[i].begin(), unit[i].end(), unit[j].begin(), 0.0));
  }
}

double Correlations::between(const std::vector<std::uint32_t>& a, const std::vector<std::uint32_t>& b) const {
  double sum = 0;
  for (const std::uint32_t i : a)
    for (const std::uint32_t j : b) sum += between(i, j);
  return sum / static_cast<double>(a.size() * b.size());
}

double Correlations::with(std::uint32_t i, const std::vector<std::uint32_t>& others) const {
  double sum = 0;
  std::size_t count = 0;
  for (const std::uint32_t j : others) {
    if (j == i) continue;
    sum += between(i, j);
    ++count;
  }
  return count == 0 ? 1 : sum / static_cast<double>(count);
}

namespace {

// Two clusters, each by one of its members, and the average correlation of their members.
struct Merge {
  std::uint32_t first, second;
  double correlation;
};

// Average linkage by the nearest-neighbour chain (Murtagh, The Computer Journal 26, 1983): every cluster's nearest one
// is looked for a few times in all, so that time goes with the number of pairs, and with no higher power.
std::vector<Merge> average_linkage(const Correlations& r) {
  const std::size_t n = r.size();
  std::vector<std::vector<float>> between(n);  // of clusters, at the places of their last members; the lower triangle
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < i; ++j) between[i].push_back(static_cast<float>(r.between(i, j)));
  const auto at = [&](std::size_t i, std::size_t j) -> float& { return i > j ? between[i][j] : between[j][i]; };
  std::vector<std::size_t> members(n, 1), chain;
  std::vector<Merge> merges;
  while (merges.size() + 1 < n) {
    stop::look();
    if (chain.empty())
      chain.push_back(static_cast<std::size_t>(
          std::find_if(members.begin(), members.end(), [](std::size_t m) { return m != 0; }) - members.begin()));
    const std::size_t last = chain.back();
    // The one before wins a tie, or the chain might go round in circles.
    std::size_t nearest = chain.size() > 1 ? chain[chain.size() - 2] : last;
    for (std::size_t i = 0; i < n; ++i)
      if (i != last && members[i] != 0 && (nearest == last || at(i, last) > at(nearest, last))) nearest = i;
    if (chain.size() < 2 || nearest != chain[chain.size() - 2]) {
      chain.push_back(nearest);
      continue;
    }
    merges.push_back({static_cast<std::uint32_t>(nearest), static_cast<std::uint32_t>(last), at(nearest, last)});
    chain.resize(chain.size() - 2);
    const auto share = static_cast<float>(members[nearest]) / static_cast<float>(members[nearest] + members[last]);
    for (std::size_t i = 0; i < n; ++i)
      if (i != last && i != nearest && members[i] != 0)
        at(i, last) = share * at(i, nearest) + (1 - share) * at(i, last);
    members[last] += members[nearest];
    members[nearest] = 0;
  }
  std::stable_sort(merges.begin(), merges.end(),
                   [](const Merge& a, const Merge& b) { return a.correlation > b.correlation; });
  return merges;
}

}  // namespace

SmSets opposite_sides(const Correlations& r, std::size_t sides) {
  constexpr double against = -0.1;  // of independent vectors of 384 lines, average correlations lie within 0.1 of 0
  SmSets all(1);
  for (std::uint32_t i = 0; i < r.size(); ++i) all[0].push_back(i);
  if (sides < 2 || r.size() < sides) return all;
  // All merges but the last ones, by the sets' union-find.
  std::vector<std::uint32_t> parent = all[0];
  const auto root_of = [&](std::uint32_t i) {
    while (parent[i] != i) i = parent[i] = parent[parent[i]];
    return i;
  };
  const std::vector<Merge> merges = average_linkage(r);
  for (std::size_t m = 0; m + sides <= merges.size(); ++m) {
    if (merges[m].correlation < 0) return all;
    parent[root_of(merges[m].first)] = root_of(merges[m].second);
  }
  SmSets sets;
  std::vector<std::uint32_t> roots;
  for (const std::uint32_t i : all[0]) {
    const auto at = static_cast<std::size_t>(std::find(roots.begin(), roots.end(), root_of(i)) - roots.begin());
    if (at == roots.size()) roots.push_back(root_of(i)), sets.emplace_back();
    sets[at].push_back(i);
  }
  for (std::size_t a = 0; a < sets.size(); ++a)
    for (std::size_t b = 0; b < a; ++b)
      if (r.between(sets[a], sets[b]) > against) return all;
  return separation(r, sets) > 0 ? sets : all;
}

double separation(const Correlations& r, const SmSets& sets) {
  double least = 2;
  for (std::size_t a = 0; a < sets.size(); ++a)
    for (const std::uint32_t i : sets[a]) {
      stop::look();
      double next_best = -1;
      for (std::size_t b = 0; b < sets.size(); ++b)
        if (b != a) next_best = std::max(next_best, r.with(i, sets[b]));
      least = std::min(least, r.with(i, sets[a]) - next_best);
    }
  return least;
}

}  // namespace gputopo::evidence
