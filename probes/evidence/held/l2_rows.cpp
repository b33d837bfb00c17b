#include "evidence/held/l2_rows.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "program/order.hpp"

namespace gputopo::evidence {
namespace {

using program::Record;
using program::Walk;

constexpr std::uint64_t most_stretches = 8, counted_stretches = 64;

// Not in order: what a look brought in a cache may keep until the next one, which must not be at the same lines.
template <class T>
void shuffle(std::vector<T>& all) {
  if (all.empty()) return;
  const program::Stepping order = program::stepping(program::Order::shuffled, all.size(), all.size());
  std::vector<T> shuffled;
  for (std::uint64_t at = order.first; shuffled.size() < all.size(); at = program::advance(at, order.step, all.size()))
    shuffled.push_back(all[at]);
  all = std::move(shuffled);
}

// What overfull sets lost lies together: places that are alike in all footprints may miss it in all.
constexpr std::uint64_t parts_of_a_place = 1024;
std::uint64_t shift_of(std::uint64_t bytes) {
  return static_cast<std::uint64_t>(even_place(bytes / l2_unit_bytes) * parts_of_a_place);
}

void add_look(program::Program& p, std::uint64_t byte, std::uint64_t length, std::uint64_t stride) {
  Walk look = recorded(make_walk(l2_path, length, stride, 1), Record::histogram, 1);
  look.first_byte = byte;
  p.phases.emplace_back(look);
}

// Lines of a page, `on` bytes behind where its quarters begin, of which one translates. That is any in turns: the
// border of what a cache holds may lie in the same quarter of all pages that it passes through.
void add_counted_page(program::Program& p, std::uint64_t page, std::uint64_t on, std::uint64_t translating) {
  constexpr std::uint64_t quarters = counted_page_bytes / counted_apart_bytes;
  Walk first = make_walk(l2_path, 4, 4, 1);
  first.first_byte = page + translating * counted_apart_bytes + on;
  p.phases.emplace_back(first);
  for (const auto& [from, to] : {std::pair{translating + 1, quarters}, std::pair{std::uint64_t{0}, translating}})
    if (from < to)
      add_look(p, page + from * counted_apart_bytes + on, (to - from) * counted_apart_bytes, counted_apart_bytes);
}

}  // namespace

std::uint64_t L2Rows::stretches(std::uint64_t bytes, Purpose purpose) const {
  return std::clamp<std::uint64_t>(bytes / stride_ / 64 / lines_of(purpose), 1,
                                   purpose == Purpose::count ? counted_stretches : most_stretches);
}

std::uint64_t L2Rows::sharing(std::uint64_t bytes) const {
  constexpr std::uint64_t one_in = 64;
  const std::uint64_t all = stretches(bytes, Purpose::count);
  const std::uint64_t pushed_out = all * lines_of(Purpose::count) * most_sectors * stride_;
  return std::clamp<std::uint64_t>((pushed_out * one_in + bytes - 1) / bytes, 1, all);
}

// Of `parts` programs that together look at stretches spread evenly over the footprint, the one of that number. The
// newest lines first: a cache that throws out the oldest has none of what comes behind its first miss.
void L2Rows::add_neighbours(program::Program& p, std::uint64_t bytes, std::uint64_t part, std::uint64_t parts) const {
  const std::uint64_t length = std::min(bytes, searched_lines * stride_);
  const std::uint64_t count = stretches(bytes, Purpose::search), own = (bytes - length) / stride_ / count;
  for (std::uint64_t i = count; i-- > 0;) {
    // The oldest lines always: by age they go first.
    const std::uint64_t shift = i + part == 0 ? 0 : shift_of(bytes);
    const std::uint64_t at = own * (part * parts_of_a_place + shift) / (parts * parts_of_a_place);
    add_look(p, (i * own + at) * stride_, length, stride_);
  }
}

// Pages spread as evenly, in the middle of each part: what decides on which side a line lives goes by powers of two,
// and even distances have of each kind what there is of it. Not so which set it falls into: of every stretch one
// further on, and any line, else many would be of the same few sets and push out one another.
void L2Rows::add_pages(program::Program& p, std::uint64_t bytes, std::uint64_t program, std::uint64_t programs) const {
  const std::uint64_t count = stretches(bytes, Purpose::count), pages = bytes / counted_page_bytes;
  const std::uint64_t shared_by = sharing(bytes), part = program / shared_by, parts = programs / shared_by;
  for (std::uint64_t i = count; i-- > 0;) {
    // Neighbours: of stretches apart some fall into the same few sets.
    if (i * shared_by / count != program % shared_by) continue;
    // Stretches are as long as one another, though no whole pages: else those of the shorter ones counted more often.
    const double own = static_cast<double>(pages) / static_cast<double>(count);
    const double on = (static_cast<double>(part) + 0.5) / static_cast<double>(parts) + static_cast<double>(i) / own;
    const auto page =
        std::min(pages - 1, static_cast<std::uint64_t>(own * (static_cast<double>(i) + on - std::floor(on))));
    const auto line =
        static_cast<std::uint64_t>(even_place(part * count + i) * static_cast<double>(counted_apart_bytes / stride_));
    // Walks take as much as all of their strides: behind the last page there is nothing.
    const std::uint64_t behind = page + 1 < pages ? line * stride_ : 0;
    add_counted_page(p, page * counted_page_bytes, behind, (part + i) % lines_of(Purpose::count));
  }
}

program::Program L2Rows::program(std::uint64_t bytes, std::uint32_t patience, std::uint64_t part, std::uint64_t parts,
                                 Purpose purpose) const {
  program::Program p = make_program(fmt::format("l2 {} B", bytes), session_.info(), slot_flush);
  p.isolation = Scope::gpu;
  p.agents.front().sm = sm_;
  p.buffers[slot_flush].size_bytes = std::max(bytes, slot_bytes);
  const Walk warm = by_all_lanes(make_walk(l2_path, bytes, stride_, l2_warm_laps * patience), session_.info());
  if (purpose == Purpose::search) {
    p.phases = {warm};
    add_neighbours(p, bytes, part, parts);
    return p;
  }
  // More laps: what replaces at random keeps a line in fourteen through two of twice its size, and a tree of bits may
  // keep what none of several equal laps asks for. Large ones have time for one.
  Walk before = warm;
  if (bytes <= l2_patient_bytes)
    before.order = program::Order::shuffled;
  else
    before.laps = 1;
  p.phases = {before, warm};
  add_pages(p, bytes, part, parts);
  return p;
}

Expected<std::vector<Histogram>> L2Rows::histograms(const std::vector<RowRequest>& rows, std::size_t replicates,
                                                    Purpose purpose, Asked& asked) {
  program::Batch batch;
  std::vector<std::pair<std::size_t, Key>> walked;  // place in the answer
  std::vector<Histogram> all;
  for (const RowRequest& row : rows)
    for (std::size_t i = 0; i < replicates; ++i) {
      const Key key{row.footprint_bytes, row.patience, i, replicates, purpose};
      const std::size_t before = asked[key]++;
      const auto& looks = seen_[key];
      all.push_back(before < looks.size() ? looks[before] : Histogram{});
      if (before < looks.size()) continue;
      walked.emplace_back(all.size() - 1, key);
    }
  shuffle(walked);
  for (const auto& [place, key] : walked) {
    const auto& [bytes, patience, part, parts, why] = key;
    batch.push_back(program(bytes, patience, part, parts, why));
  }
  auto traces = session_.run(batch);
  if (!traces) return tl::unexpected<Error>(traces.error());
  for (std::size_t i = 0; i < walked.size(); ++i) {
    const auto& [place, key] = walked[i];
    all[place] = recorded_histogram((*traces)[i]);
    seen_[key].push_back(all[place]);
  }
  return all;
}

CountRows L2Rows::counter(double threshold_cycles, Asked& asked) {
  return [this, threshold_cycles, &asked](const std::vector<RowRequest>& rows,
                                          std::size_t replicates) -> Expected<Counts> {
    if (!rows.empty() && rows.back().footprint_bytes <= l2_patient_bytes)
      replicates =
          std::max<std::size_t>(replicates, l2_least_places / stretches(rows.back().footprint_bytes, Purpose::search));
    auto all = histograms(rows, replicates, Purpose::search, asked);
    if (!all) return tl::unexpected<Error>(all.error());
    Counts counts;
    for (std::size_t i = 0; i < all->size(); ++i)
      counts.push_back({static_cast<double>(rows[i / replicates].footprint_bytes), total((*all)[i]),
                        count_from((*all)[i], threshold_cycles), static_cast<std::uint32_t>(i % replicates)});
    return counts;
  };
}

}  // namespace gputopo::evidence
