#include "evidence/sm_clusters.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

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
  r_.assign(rows.size(), std::vector<double>(rows.size(), 1));
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      r_[i][j] = r_[j][i] = std::inner_product(unit[i].begin(), unit[i].end(), unit[j].begin(), 0.0);
}

double Correlations::between(const std::vector<std::uint32_t>& a, const std::vector<std::uint32_t>& b) const {
  double sum = 0;
  for (const std::uint32_t i : a)
    for (const std::uint32_t j : b) sum += r_[i][j];
  return sum / static_cast<double>(a.size() * b.size());
}

double Correlations::with(std::uint32_t i, const std::vector<std::uint32_t>& others) const {
  double sum = 0;
  std::size_t count = 0;
  for (const std::uint32_t j : others) {
    if (j == i) continue;
    sum += r_[i][j];
    ++count;
  }
  return count == 0 ? 1 : sum / static_cast<double>(count);
}

SmSets opposite_sides(const Correlations& r) {
  constexpr double against = -0.1;  // of independent vectors of 384 lines, average correlations lie within 0.1 of 0
  SmSets sets;
  for (std::uint32_t i = 0; i < r.size(); ++i) sets.push_back({i});
  SmSets all(1);
  for (std::uint32_t i = 0; i < r.size(); ++i) all[0].push_back(i);
  while (sets.size() > 2) {
    std::size_t first = 0, second = 0;
    double closest = -2;
    for (std::size_t i = 0; i < sets.size(); ++i)
      for (std::size_t j = 0; j < i; ++j)
        if (const double c = r.between(sets[i], sets[j]); c > closest) closest = c, first = j, second = i;
    if (closest < 0) return all;
    sets[first].insert(sets[first].end(), sets[second].begin(), sets[second].end());
    sets.erase(sets.begin() + static_cast<std::ptrdiff_t>(second));
  }
  if (sets.size() < 2 || r.between(sets[0], sets[1]) > against || separation(r, sets) <= 0) return all;
  for (auto& set : sets) std::sort(set.begin(), set.end());
  std::sort(sets.begin(), sets.end());
  return sets;
}

double separation(const Correlations& r, const SmSets& sets) {
  double least = 2;
  for (std::size_t a = 0; a < sets.size(); ++a)
    for (const std::uint32_t i : sets[a]) {
      double next_best = -1;
      for (std::size_t b = 0; b < sets.size(); ++b)
        if (b != a) next_best = std::max(next_best, r.with(i, sets[b]));
      least = std::min(least, r.with(i, sets[a]) - next_best);
    }
  return least;
}

}  // namespace gputopo::evidence
