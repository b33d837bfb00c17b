#include "evidence/chip/l2_pages.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "evidence/looks/latency.hpp"

namespace gputopo::evidence {
namespace {

constexpr std::uint64_t side_page_bytes = 4096, side_line_bytes = 128;
constexpr std::uint64_t side_pages = 48, side_lines = side_page_bytes / side_line_bytes;

// In a row: whether sides take turns by pages or by two of them, all are among these.
program::Program twice_each_line(const Session& session, std::uint32_t sm, std::uint64_t first_byte) {
  constexpr std::uint64_t word_bytes = 4;
  program::Program p = make_program(fmt::format("l2 pages as SM {} sees them", sm), session.info(), slot_flush);
  p.isolation = Scope::gpu;
  p.agents = {{sm, 0}};
  program::Walk pair = recorded(make_walk(l2_path, 2 * word_bytes, word_bytes, 1), program::Record::latencies, 1);
  pair.first_byte = first_byte;
  for (std::uint64_t line = 0; line < side_pages * side_lines; ++line, pair.first_byte += side_line_bytes)
    p.phases.emplace_back(pair);
  return p;
}

using Rows = std::vector<std::vector<double>>;

// Lines that are far are hits as well, though some may take as long as what was lost.
std::vector<double> page_means(const std::vector<double>& by_line) {
  std::vector<double> means;
  for (auto line = by_line.begin(); line != by_line.end(); line += side_lines)
    means.push_back(std::accumulate(line, line + side_lines, 0.0) / side_lines);
  return means;
}

double row_mean(const std::vector<double>& numbers) {
  return std::accumulate(numbers.begin(), numbers.end(), 0.0) / static_cast<double>(numbers.size());
}

// Without what an SM sees of all pages, and a page shows to all SMs.
void centre(Rows& rows) {
  for (auto& row : rows) {
    const double mean = row_mean(row);
    for (double& x : row) x -= mean;
  }
  for (std::size_t page = 0; page < rows.front().size(); ++page) {
    double sum = 0;
    for (const auto& row : rows) sum += row[page];
    for (auto& row : rows) row[page] -= sum / static_cast<double>(rows.size());
  }
}

Rows products(const Rows& rows) {
  Rows all(rows.size(), std::vector<double>(rows.size()));
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (std::size_t j = 0; j < rows.size(); ++j)
      all[i][j] = std::inner_product(rows[i].begin(), rows[i].end(), rows[j].begin(), 0.0);
  return all;
}

// The greatest eigenvalue of a matrix of products, or a little more: what the trace of its 32nd power says of it.
double greatest_component(Rows matrix) {
  const auto trace = [](const Rows& m) {
    double sum = 0;
    for (std::size_t i = 0; i < m.size(); ++i) sum += m[i][i];
    return sum;
  };
  double log_scale = 0, power = 1;
  for (int squared = 0; squared < 5; ++squared, power *= 2) {
    const double scale = trace(matrix);
    if (scale <= 0) return 0;
    for (auto& row : matrix)
      for (double& x : row) x /= scale;
    log_scale += std::log(scale) / power;
    matrix = products(matrix);  // it is symmetric
  }
  return std::exp(log_scale + std::log(trace(matrix)) / power);
}

}  // namespace

Expected<std::optional<Rows>> hits_by_page(Session& session, const std::vector<std::uint32_t>& sms, const Levels& l2,
                                           double overhead_cycles) {
  const std::uint64_t region = session.fresh_region(slot_flush, (side_pages + 1) * side_page_bytes);
  const std::uint64_t first = (region + side_page_bytes - 1) / side_page_bytes * side_page_bytes;
  constexpr double nearly_all = 0.9;
  Rows by_sm;
  double hits = 0, lines = 0;
  for (const std::uint32_t sm : sms) {
    auto traces = if_available(session.run(program::Batch(looks_at_a_line, twice_each_line(session, sm, first))));
    if (!traces) return tl::unexpected<Error>(traces.error());
    if (!*traces) return std::optional<Rows>();
    LooksByLine looks(side_pages * side_lines);
    for (const auto& trace : **traces)
      for (std::size_t line = 0; line < looks.size(); ++line) looks[line].push_back(trace.phases[line].latencies.at(1));
    std::vector<double> by_line = undisturbed_by_line(std::move(looks));
    for (double& cycles : by_line) {
      hits += cycles < l2.threshold_cycles ? 1 : 0, ++lines;
      cycles -= overhead_cycles;
    }
    by_sm.push_back(page_means(by_line));
  }
  if (hits < nearly_all * lines) return std::optional<Rows>();
  return std::optional(std::move(by_sm));
}

// Of k sides as many SMs and pages each, the pattern of near and far has k - 1 components of a k-th squared of a
// level's square for each SM and page; one that is seen beside any other differences is no less. Shares aren't quite
// alike, of which that leaves out a part.
bool would_sides_show(Rows by_sm) {
  constexpr double most_sides = 4, part = 0.7;
  double nearest = by_sm.front().front();
  for (const auto& row : by_sm) nearest = std::min(nearest, *std::min_element(row.begin(), row.end()));
  const double level = (least_ratio - 1) * nearest;
  const auto looks = static_cast<double>(by_sm.size() * by_sm.front().size());
  centre(by_sm);
  return greatest_component(products(by_sm)) < part * level * level * looks / (most_sides * most_sides);
}

}  // namespace gputopo::evidence
