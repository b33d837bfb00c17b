#include "evidence/looks/search.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include <gtest/gtest.h>

namespace gputopo::evidence {
namespace {

// Counts an LRU cache of `capacity` bytes, `ways` of a set, lines of 128 B.
CountRows lru(double capacity, double ways) {
  return [=](const std::vector<RowRequest>& rows, std::size_t replicates) -> Expected<Counts> {
    Counts counts;
    for (const RowRequest& row : rows)
      for (std::uint32_t i = 0; i < replicates; ++i) {
        const double lines = static_cast<double>(row.footprint_bytes) / 128;
        const double misses = std::min(lines, std::max(0.0, lines - capacity / 128) * (ways + 1));
        counts.push_back({static_cast<double>(row.footprint_bytes), static_cast<std::uint64_t>(lines),
                          static_cast<std::uint64_t>(misses), i});
      }
    return counts;
  };
}

SearchSpec spec_of(CountRows count) {
  SearchSpec spec;
  spec.count = std::move(count);
  spec.sweep = {128, true, {1e-4, 1e-4, 5000}};
  return spec;
}

TEST(Search, FindsCapacitiesToTheLine) {
  for (const double capacity : {2048.0, 3968.0, 24576.0, 117760.0, 246784.0}) {
    auto found = search_capacity(spec_of(lru(capacity, 4)));
    ASSERT_TRUE(found.has_value());
    const Estimate e = estimate_of(*found, "misses");
    ASSERT_EQ(e.status, Status::measured) << capacity;
    EXPECT_EQ(*e.value, capacity);
  }
}

TEST(Search, EndsAtTheLimitWhereEverythingFits) {
  auto found = search_capacity(spec_of(lru(1e9, 4)));
  ASSERT_TRUE(found.has_value());
  const Estimate e = estimate_of(*found, "misses");
  EXPECT_EQ(e.status, Status::lower_bound);
  EXPECT_EQ(*e.value, 1 << 20);
}

// n lines of random replacement leave n / t of them after t laps of what fits.
TEST(Search, WaitsForACacheToSettle) {
  const double capacity = 512 * 128;
  const CountRows settling = [=](const std::vector<RowRequest>& rows, std::size_t replicates) -> Expected<Counts> {
    Counts counts;
    for (const RowRequest& row : rows)
      for (std::uint32_t i = 0; i < replicates; ++i) {
        const double lines = static_cast<double>(row.footprint_bytes) / 128;
        const double full = lines / 512;
        double misses = std::max(0.0, 2 * (lines - 512));
        // What doesn't fit misses no less than what just fits.
        if (full > 0.8 && row.patience < 4) misses = std::max(misses, lines / (10.0 * row.patience));
        counts.push_back({static_cast<double>(row.footprint_bytes), static_cast<std::uint64_t>(lines),
                          static_cast<std::uint64_t>(std::min(lines, misses)), i});
      }
    return counts;
  };
  auto found = search_capacity(spec_of(settling));
  ASSERT_TRUE(found.has_value());
  const Estimate e = estimate_of(*found, "misses");
  if (e.status == Status::measured) {
    EXPECT_EQ(*e.value, capacity);
    EXPECT_GE(found->patience, 4U);
  }
}

// The largest that fits misses a sixteenth at first, which hardly shows in what larger ones miss at any time.
TEST(Search, WaitsForTheLargestThatFits) {
  SearchSpec spec = spec_of([](const std::vector<RowRequest>& rows, std::size_t replicates) -> Expected<Counts> {
    Counts counts;
    for (const RowRequest& row : rows)
      for (std::uint32_t i = 0; i < replicates; ++i) {
        const std::uint64_t lines = row.footprint_bytes / 128, loads = 4096;
        std::uint64_t misses = lines > 18 ? std::min(loads, (lines - 18) * loads / 4) : 0;
        if (lines == 18) misses = loads / 16 / row.patience / row.patience;
        counts.push_back({static_cast<double>(row.footprint_bytes), loads, misses, i});
      }
    return counts;
  });
  spec.most_patience = 64;
  auto found = search_capacity(spec);
  ASSERT_TRUE(found.has_value());
  const Estimate e = estimate_of(*found, "misses");
  EXPECT_EQ(e.status, Status::measured);
  EXPECT_EQ(e.value.value_or(0), 18 * 128);
}

// With four times the laps a quarter more fits. More than three footprints are a sweep; as many tell whether a cache
// settled.
TEST(Search, DoesNotSweepWithLapsThatSettleNothing) {
  for (const bool to_the_last : {true, false}) {
    std::uint32_t longest = 0;
    SearchSpec spec = spec_of([&](const std::vector<RowRequest>& rows, std::size_t replicates) {
      if (rows.size() > 3) longest = std::max(longest, rows.front().patience);
      return lru(rows.front().patience < 4 ? 51200 : 64000, 1)(rows, replicates);
    });
    spec.most_patience = 2;
    spec.narrows_to_the_last = to_the_last;
    auto found = search_capacity(spec);
    ASSERT_TRUE(found.has_value());
    EXPECT_FALSE(found->settled);
    EXPECT_EQ(longest, to_the_last ? 4U : 1U);
    EXPECT_EQ(estimate_of(*found, "misses").status, Status::inconclusive);
  }
}

// Some footprints of what fits miss a tenth of their lines: where that ends may seem to lie on either side of a
// stretch.
TEST(Search, SweepsNoStretchAgainToWiden) {
  std::map<std::uint64_t, int> times;
  SearchSpec spec = spec_of([&](const std::vector<RowRequest>& rows, std::size_t replicates) {
    for (const RowRequest& row : rows) ++times[row.footprint_bytes];
    auto counts = lru(65536, 1)(rows, replicates);
    for (Count& c : *counts)
      if (c.footprint_bytes > 52000 && c.footprint_bytes <= 65536) c.misses = c.loads / 10;
    return counts;
  });
  ASSERT_TRUE(search_capacity(spec).has_value());
  const auto most = std::max_element(times.begin(), times.end(), [](auto& a, auto& b) { return a.second < b.second; });
  EXPECT_LE(most->second, 6) << most->first;
}

// Of what is more than fits, and no more than twice as much, a twelfth misses: where it ends may lie anywhere between,
// and the finest rows of that would be a hundred.
TEST(Search, WalksFewRowsOfAWideStretchWhereTheyTakeLong) {
  constexpr double fits = 262144;
  for (const bool take_long : {false, true}) {
    std::size_t last_rows = 0;
    SearchSpec spec = spec_of([&](const std::vector<RowRequest>& rows, std::size_t replicates) -> Expected<Counts> {
      if (replicates > 1) last_rows = std::max(last_rows, rows.size());
      Counts counts;
      for (const RowRequest& row : rows)
        for (std::uint32_t i = 0; i < replicates; ++i) {
          const auto bytes = static_cast<double>(row.footprint_bytes);
          const double share = bytes <= fits ? 0 : 1.0 / 12 + std::max(0.0, 1 - 2 * fits / bytes);
          counts.push_back({bytes, 512, static_cast<std::uint64_t>(512 * share), i});
        }
      return counts;
    });
    spec.rows = 12;
    spec.rows_take_long = take_long;
    spec.resolution_bytes = 2048;
    spec.most_patience = 1;
    auto found = search_capacity(spec);
    ASSERT_TRUE(found.has_value());
    const Interval likely = found->posterior.credible(0.95);
    EXPECT_LE(likely.low, 2 * fits);
    EXPECT_GE(likely.high, fits);
    if (take_long) {
      EXPECT_LE(last_rows, spec.rows + 2);
    } else {
      EXPECT_GT(last_rows, 24U);  // else this tells nothing
    }
  }
}

// Counts what takes no longer than another process leaves time for: the first of the rows, up to `most` bytes.
CountRows up_to(std::uint64_t most, const CountRows& count) {
  return [=](std::vector<RowRequest> rows, std::size_t replicates) -> Expected<Counts> {
    std::erase_if(rows, [&](const RowRequest& row) { return row.footprint_bytes * row.patience > most; });
    if (rows.empty()) return fail(Error::Kind::unavailable, "busy");
    return count(rows, replicates);
  };
}

TEST(Search, EndsWhereFootprintsCantBeHad) {
  for (const double capacity : {2048.0, 24576.0}) {
    auto found = search_capacity(spec_of(up_to(200'000, lru(capacity, 4))));
    ASSERT_TRUE(found.has_value());
    EXPECT_EQ(*estimate_of(*found, "misses").value, capacity);
  }
  auto all = search_capacity(spec_of(up_to(200'000, lru(400'000, 4))));
  ASSERT_TRUE(all.has_value());
  const Estimate e = estimate_of(*all, "misses");
  EXPECT_EQ(e.status, Status::lower_bound);
  EXPECT_LE(*e.value, 200'000);
}

TEST(Search, PassesErrorsOn) {
  const CountRows failing = [](const std::vector<RowRequest>&, std::size_t) -> Expected<Counts> {
    return fail(Error::Kind::unavailable, "busy");
  };
  EXPECT_FALSE(search_capacity(spec_of(failing)).has_value());
}

}  // namespace
}  // namespace gputopo::evidence
