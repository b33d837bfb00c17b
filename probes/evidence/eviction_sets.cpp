#include "evidence/eviction_sets.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "evidence/footprint.hpp"
#include "evidence/histogram.hpp"

namespace gputopo::evidence {
namespace {

using program::Record;
using program::Walk;

constexpr std::size_t votes = 3;                 // a stranger in twenty outvotes two others once in 130
constexpr std::size_t most_set_lines = 65;       // of one set: each is a phase of every program
constexpr std::uint64_t apart_lines = 4099;      // between lines whose sets are looked for
constexpr std::uint64_t translate_bytes = 2048;  // away from a line, and still on its page

Walk one_line(const EvictedCache& cache, std::uint64_t line) {
  Walk walk = make_walk(l2_path, cache.line_bytes, cache.line_bytes, 1);
  walk.first_byte = line * cache.line_bytes;
  return walk;
}

program::Program empty_program(Session& session, const EvictedCache& cache, std::uint64_t end_line) {
  program::Program p = make_program("l2 set", session.info(), slot_flush);
  p.isolation = Scope::gpu;
  p.agents = {{cache.sm, 0}};
  p.buffers[slot_flush].size_bytes = std::max(end_line * cache.line_bytes, slot_bytes);
  return p;
}

// Lines one by one, in that order; what the second half of them takes is recorded.
program::Program sequence_program(Session& session, const EvictedCache& cache, std::span<const std::uint64_t> lines,
                                  std::span<const std::uint32_t> order) {
  program::Program p = empty_program(session, cache, *std::max_element(lines.begin(), lines.end()) + apart_lines);
  for (std::size_t i = 0; i < order.size(); ++i) {
    const Walk walk = one_line(cache, lines[order[i]]);
    p.phases.emplace_back(2 * i < order.size() ? walk : recorded(walk, Record::histogram, 1));
  }
  return p;
}

std::vector<std::uint32_t> round_and_round(std::size_t lines, std::size_t without) {
  constexpr std::size_t rounds = 6;
  std::vector<std::uint32_t> order;
  for (std::size_t i = 0; i < rounds * lines; ++i)
    if (i % lines != without) order.push_back(static_cast<std::uint32_t>(i % lines));
  return order;
}

// How often in a row a line has to be gone: a stranger looks like a miss, nothing like a hit, and some hundred
// questions have to be answered rightly.
std::uint32_t looks_to_believe(double false_miss) {
  constexpr double wrong_of_a_question = 1e-4;
  std::uint32_t looks = 1;
  for (double wrong = std::min(false_miss, 0.5); wrong > wrong_of_a_question; wrong *= false_miss) ++looks;
  return looks;
}

// Looks for the lines that push one out. Asks again and again whether the lines found so far and the first so many of
// the stretch do.
class Halving {
 public:
  Halving(std::uint64_t line, std::uint64_t walked_lines, std::uint32_t looks)
      : line_(line), high_(walked_lines), looks_(looks) {}

  bool is_done() const { return step_ == Step::done; }
  const std::string& why_open() const { return why_open_; }
  std::uint64_t asks_for() const { return asks_for_; }
  std::uint64_t line() const { return line_; }
  const std::vector<std::uint64_t>& members() const { return members_; }

  void hear(bool is_pushed_out) {
    if (is_pushed_out && ++gone_ < looks_) return;
    gone_ = 0;
    switch (step_) {
      case Step::nothing:
        if (is_pushed_out) return leave_open("a line is gone at its next look, whatever comes in between");
        step_ = Step::all;
        asks_for_ = high_;
        return;
      case Step::all:
        if (!is_pushed_out) return leave_open("lines stay though far more was walked than is held");
        return halve();
      case Step::part:
        (is_pushed_out ? high_ : low_) = asks_for_;
        return halve();
      case Step::members:
        if (!is_pushed_out) return halve();
        step_ = Step::done;
        return;
      case Step::done:
        return;
    }
  }

 private:
  enum class Step { nothing, all, part, members, done };

  // The first `high_` lines do, the first `low_` don't.
  void halve() {
    if (high_ - low_ > 1) {
      step_ = Step::part;
      asks_for_ = low_ + (high_ - low_) / 2;
      return;
    }
    if (high_ == 0) return leave_open("no line of what pushes it out is left to be found");
    members_.push_back(--high_);
    if (members_.size() >= most_set_lines)
      return leave_open(fmt::format("more than {} lines push one out together", most_set_lines - 1));
    low_ = 0;
    step_ = Step::members;
    asks_for_ = 0;
  }
  void leave_open(std::string why) {
    why_open_ = std::move(why);
    step_ = Step::done;
  }

  std::uint64_t line_, low_ = 0, high_;
  std::uint32_t looks_, gone_ = 0;  // in a row, of the present question
  Step step_ = Step::nothing;
  std::uint64_t asks_for_ = 0;
  std::vector<std::uint64_t> members_;
  std::string why_open_;
};

// Of a hash each set gets that many times its ways, more or less.
std::uint64_t stretch_lines_of(const EvictedCache& cache) {
  constexpr std::uint64_t times_capacity = 3;
  return times_capacity * cache.capacity_lines;
}

// A line, the first `walked` lines and some others; then whether it is still there.
program::Program test_program(Session& session, const EvictedCache& cache, std::uint64_t line, std::uint64_t walked,
                              std::span<const std::uint64_t> others, std::uint64_t end_line) {
  program::Program p = empty_program(session, cache, end_line);
  const Walk look = one_line(cache, line);
  p.phases.emplace_back(look);
  if (walked != 0)
    p.phases.emplace_back(
        by_all_lanes(make_walk(l2_path, walked * cache.line_bytes, cache.line_bytes, 1), session.info()));
  for (const std::uint64_t other : others) p.phases.emplace_back(one_line(cache, other));
  Walk translates = look;
  translates.first_byte ^= translate_bytes;
  p.phases.emplace_back(translates);
  p.phases.emplace_back(recorded(look, Record::histogram, 1));
  return p;
}

bool is_gone(const EvictedCache& cache, const program::ProgramTrace& trace) {
  return count_from(trace.phases.back().histogram, cache.threshold_cycles) != 0;
}

}  // namespace

Expected<void> push_everything_out(Session& session, const EvictedCache& cache, std::uint64_t sector_bytes) {
  const std::uint64_t lines = stretch_lines_of(cache);
  program::Program p = empty_program(session, cache, lines);
  p.phases.emplace_back(by_all_lanes(make_walk(l2_path, lines * cache.line_bytes, sector_bytes, 1), session.info()));
  auto traces = session.run({p});
  if (!traces) return tl::unexpected<Error>(traces.error());
  return {};
}

Expected<std::vector<bool>> are_pushed_out(Session& session, const EvictedCache& cache,
                                           std::span<const std::vector<std::uint64_t>> lines) {
  const std::uint32_t looks = looks_to_believe(cache.false_miss);
  std::uint64_t end = 0;
  for (const auto& some : lines) end = std::max(end, *std::max_element(some.begin(), some.end()) + apart_lines);
  program::Batch batch;
  for (const auto& some : lines)
    batch.insert(batch.end(), looks, test_program(session, cache, some.front(), 0, std::span(some).subspan(1), end));
  auto traces = session.run(batch);
  if (!traces) return tl::unexpected<Error>(traces.error());
  std::vector<bool> gone(lines.size(), true);
  for (std::size_t i = 0; i < traces->size(); ++i) gone[i / looks] = gone[i / looks] && is_gone(cache, (*traces)[i]);
  return gone;
}

Expected<std::vector<std::vector<std::uint64_t>>> misses_of_sequences(
    Session& session, const EvictedCache& cache, std::span<const std::uint64_t> lines,
    std::span<const std::vector<std::uint32_t>> sequences, std::size_t looks) {
  program::Batch batch;
  for (const auto& order : sequences)
    for (std::size_t i = 0; i < looks; ++i) batch.push_back(sequence_program(session, cache, lines, order));
  auto traces = session.run(batch);
  if (!traces) return tl::unexpected<Error>(traces.error());
  std::vector<std::vector<std::uint64_t>> misses(sequences.size());
  for (std::size_t i = 0; i < traces->size(); ++i)
    misses[i / looks].push_back(count_from(recorded_histogram((*traces)[i]), cache.threshold_cycles));
  return misses;
}

namespace {

// All of them together push one another out, and without any one of them none goes: then they are of one set, a line
// more than it has ways, whatever it replaces.
Expected<std::string> check_set(Session& session, const EvictedCache& cache, const std::vector<std::uint64_t>& lines) {
  constexpr double most = 0.5, hardly_any = 0.15;  // of the loads; strangers are one in twenty at most
  std::vector<std::vector<std::uint32_t>> orders{round_and_round(lines.size(), lines.size())};
  for (std::size_t without = 0; without < lines.size(); ++without)
    orders.push_back(round_and_round(lines.size(), without));
  auto misses = misses_of_sequences(session, cache, lines, orders, votes);
  if (!misses) return tl::unexpected<Error>(misses.error());
  for (std::size_t i = 0; i < orders.size(); ++i) {
    auto& seen = (*misses)[i];
    std::nth_element(seen.begin(), seen.begin() + votes / 2, seen.end());
    const double share = static_cast<double>(seen[votes / 2]) / static_cast<double>(orders[i].size() / 2);
    if (i == 0 && share < most) return std::string("the lines found don't push one another out each time");
    if (i != 0 && share > hardly_any) return std::string("more lines were found than a set has room for");
  }
  return std::string();
}

}  // namespace

Expected<EvictionSets> find_eviction_sets(Session& session, const EvictedCache& cache, std::size_t count) {
  const std::uint64_t walked = stretch_lines_of(cache);
  const std::uint64_t end = walked + (count + 1) * apart_lines;
  EvictionSets found;
  if (end * cache.line_bytes > session.info().largest_buffer_bytes / 2) return found;
  std::vector<Halving> searches;
  const std::uint32_t looks = looks_to_believe(cache.false_miss);
  for (std::size_t i = 0; i < count; ++i) searches.emplace_back(walked + i * apart_lines + i, walked, looks);
  for (;;) {
    program::Batch batch;
    std::vector<Halving*> asked;
    for (Halving& search : searches) {
      if (search.is_done()) continue;
      asked.push_back(&search);
      batch.push_back(test_program(session, cache, search.line(), search.asks_for(), search.members(), end));
    }
    if (batch.empty()) break;
    auto traces = session.run(batch);
    if (!traces) return tl::unexpected<Error>(traces.error());
    for (std::size_t i = 0; i < asked.size(); ++i) asked[i]->hear(is_gone(cache, (*traces)[i]));
    found.samples += asked.size();
  }
  for (const Halving& search : searches) {
    EvictionSet set{search.members(), search.why_open()};
    set.lines.push_back(search.line());
    if (set.why_open.empty()) {
      auto why = check_set(session, cache, set.lines);
      if (!why) return tl::unexpected<Error>(why.error());
      set.why_open = *why;
    }
    found.sets.push_back(std::move(set));
  }
  return found;
}

}  // namespace gputopo::evidence
