// What stores do to the L1 and the L2: what a store leaves of a line that wasn't there, what it does to one that was,
// and whether it goes on at once. Told by the loads behind it, which hit or miss as lines do that nobody stored to.
#include "evidence/memory/stores.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "evidence/inference/curves.hpp"
#include "evidence/looks/flush.hpp"
#include "evidence/looks/structure.hpp"
#include "experiments/experiments.hpp"

namespace gputopo::experiments {
namespace {

using namespace evidence;
using program::Path;
using program::Record;
using program::Walk;

constexpr std::uint64_t most_store_lines = 64;

// One word of each of some lines, a stride apart.
struct StoreRows {
  std::uint64_t first_byte = 0, lines = 0, stride_bytes = 0;
  std::uint64_t bytes() const { return (lines + 1) * stride_bytes; }  // with the words behind the last one's first
  StoreRows behind(std::size_t cases) const { return {first_byte + cases * bytes(), lines, stride_bytes}; }
};

Walk over_rows(const CachePath& of, const StoreRows& rows, std::uint64_t offset_bytes) {
  Walk walk = make_walk(of, rows.lines * rows.stride_bytes, rows.stride_bytes, 1);
  walk.first_byte = rows.first_byte + offset_bytes;
  return walk;
}

void add_stores(program::Program& p, const CachePath& of, const StoreRows& rows, const StoreCase& c) {
  for (const std::uint64_t at : c.stored_bytes) {
    Walk walk = over_rows(of, rows, at);
    walk.path = Path::global_store;
    p.phases.emplace_back(walk);
  }
}

// The looks of all runs of a program, one a case in their order, counted and timed.
StoreAnswers count_looks(std::vector<StoreCase> cases, const std::vector<program::ProgramTrace>& runs,
                         std::optional<double> threshold_cycles) {
  StoreAnswers answers;
  answers.cases = std::move(cases);
  answers.timed.resize(answers.cases.size());
  for (const program::ProgramTrace& run : runs) {
    std::size_t at = 0;
    for (const program::PhaseTrace& phase : run.phases) {
      if (phase.histogram.empty() || at == answers.timed.size()) continue;
      answers.timed[at] = merged(answers.timed[at], phase.histogram);
      ++at;
    }
  }
  // Without one: what tells the controls apart. They are the first two.
  const double threshold =
      threshold_cycles ? *threshold_cycles : levels_of(answers.timed[0], answers.timed[1]).threshold_cycles;
  for (const Histogram& loads : answers.timed)
    answers.counted.push_back({static_cast<double>(total(loads)), static_cast<double>(count_from(loads, threshold))});
  return answers;
}

void keep_store_curves(Session& session, std::string_view memory, const StoreAnswers& answers) {
  session.keep(stores_curve(memory, "write_hit", answers, true));
  session.keep(stores_curve(memory, "write_allocate", answers, false));
}

void leave_stores_open(Memory& memory, std::string_view why) {
  for (const char* about : {"write_hit", "write_allocate"}) memory.structure[about] = undecided(stores_method, why);
}

}  // namespace

Expected<void> measure_l1_stores(Session& session, Findings& findings) {
  constexpr std::size_t runs = 8;
  const CacheFacts* l1 = findings.cache("l1");
  if (l1 == nullptr || !l1->present) return {};
  Memory& memory = findings.memory("l1");
  const std::string_view why = l1->sector_bytes == 0  ? "needs the sector size"
                               : !l1->can_be_filled() ? "hits and misses can't be told apart well enough"
                                                      : "";
  if (!why.empty()) {
    leave_stores_open(memory, why);
    return {};
  }
  std::vector<StoreCase> cases = store_cases(l1->sector_bytes, l1->line_bytes);
  // A sixteenth of the cache: what one question brings in pushes nothing of itself out, whatever goes first.
  const std::uint64_t lines = std::clamp<std::uint64_t>(l1->capacity_bytes / l1->stride() / 16, 8, most_store_lines);
  StoreRows rows{0, lines, l1->stride()};
  program::Batch batch;
  for (std::size_t run = 0; run < runs; ++run) {
    program::Program p = make_program(fmt::format("l1 stores {}", run), session.info(), l1->path.slot);
    const std::uint64_t bytes = cases.size() * rows.bytes();
    rows.first_byte = session.fresh_region(l1->path.slot, bytes);
    Walk bring = past_l1(make_walk(l1->path, bytes, 32, 1));
    bring.first_byte = rows.first_byte;
    p.phases.emplace_back(bring);
    for (std::size_t i = 0; i < cases.size(); ++i) {
      const StoreRows own = rows.behind(i);
      for (const std::uint64_t at : cases[i].loaded_bytes) p.phases.emplace_back(over_rows(l1->path, own, at));
      add_stores(p, l1->path, own, cases[i]);
      p.phases.emplace_back(recorded(over_rows(l1->path, own, cases[i].looked_at_byte), Record::histogram, 1));
    }
    batch.push_back(std::move(p));
  }
  auto traces = session.run(batch);
  if (!traces) return tl::unexpected<Error>(traces.error());
  StoreAnswers answers = count_looks(std::move(cases), *traces, l1->levels.threshold_cycles);
  answers.is_line_known = l1->line_bytes != 0;
  memory.structure["write_hit"] = write_hit_of(answers);
  memory.structure["write_allocate"] = write_allocate_of(answers);
  keep_store_curves(session, "l1", answers);
  return {};
}

namespace {

constexpr std::uint64_t l2_store_stride_bytes = 1152;  // nine lines of 128 B: no load finds what a neighbour fetched
constexpr std::uint64_t beside_stores_bytes = 512;     // another line of the same page
constexpr std::string_view found_by_another = "all words of its sector stored by another SM";

// SMs that bring lines in for the first one: of those that share its L2, a few from all over it, so that lines that are
// there and far are among them.
std::vector<std::uint32_t> bringers(const Session& session, const Findings& findings) {
  constexpr std::size_t most = 4;
  std::vector<std::uint32_t> others;
  const auto& sets = findings.l2_sets;
  if (sets && sets->why_open.empty() && !sets->shares && !sets->sets.empty())
    others = sets->sets.front();
  else
    for (std::uint32_t sm = 0; sm < session.info().gpu.sm_count; ++sm) others.push_back(sm);
  std::erase(others, 0U);
  std::vector<std::uint32_t> some;
  for (std::size_t i = 0; i < std::min(most, others.size()); ++i)
    some.push_back(others[(i + 1) * others.size() / std::min(most, others.size()) - 1]);
  return some;
}

// Where the L2 is empty of `rows` of each case: the first SM stores and looks, others bring in what is loaded before,
// and the last question is what one of them finds of its stores.
class L2Stores {
 public:
  L2Stores(Session& session, const Findings& findings, const CacheFacts& l2, std::uint64_t flush_bytes)
      : session_(session),
        others_(bringers(session, findings)),
        cases_(store_cases(l2.sector_bytes, l2.line_bytes)),
        flush_bytes_(flush_bytes),
        rows_{flush_bytes, most_store_lines, l2_store_stride_bytes} {
    if (others_.empty()) return;
    StoreCase by_another = cases_.back();
    by_another.label = found_by_another;
    cases_.push_back(std::move(by_another));
  }

  Expected<StoreAnswers> ask() {
    constexpr std::size_t runs = 4;
    const program::Program p = program();
    const std::uint64_t buffer_bytes = p.buffers[slot_flush].size_bytes;
    std::vector<program::ProgramTrace> traces;
    for (std::size_t run = 0; run < runs; ++run) {
      auto trace = session_.run_in_order([&] {
        return std::vector<program::Batch>{flush_batch(session_.info(), flush_bytes_, buffer_bytes), {p}};
      });
      if (!trace) return tl::unexpected<Error>(trace.error());
      traces.push_back(std::move(trace->back()));
    }
    return count_looks(cases_, traces, std::nullopt);
  }

 private:
  program::Program program() const {
    program::Program p = make_program("l2 stores", session_.info(), slot_flush);
    p.isolation = Scope::gpu;
    p.agents = {{0, 0}};
    for (const std::uint32_t sm : others_) p.agents.push_back({sm, 0});
    const std::uint64_t end = flush_bytes_ + cases_.size() * rows_.bytes();
    p.buffers[slot_flush].size_bytes = std::max(end, slot_bytes);
    for (std::size_t i = 0; i < cases_.size(); ++i) add(p, i);
    return p;
  }
  void add(program::Program& p, std::size_t number) const {
    const StoreRows own = rows_.behind(number);
    const StoreCase& c = cases_[number];
    const std::uint32_t looker = c.label == found_by_another ? 1 : 0;
    Walk translate = over_rows(l2_path, own, beside_stores_bytes);
    translate.agent = looker;
    p.phases.emplace_back(translate);
    for (const std::uint64_t at : c.loaded_bytes) add_bringing(p, own, at);
    add_stores(p, l2_path, own, c);
    Walk look = recorded(over_rows(l2_path, own, c.looked_at_byte), Record::histogram, 1);
    look.agent = looker;
    p.phases.emplace_back(look);
  }
  // Each of the others brings in as many.
  void add_bringing(program::Program& p, const StoreRows& rows, std::uint64_t offset) const {
    const std::size_t parts = std::max<std::size_t>(1, others_.size());
    for (std::size_t part = 0; part < parts; ++part) {
      const std::uint64_t from = rows.lines * part / parts, to = rows.lines * (part + 1) / parts;
      Walk walk =
          over_rows(l2_path, {rows.first_byte + from * rows.stride_bytes, to - from, rows.stride_bytes}, offset);
      walk.agent = others_.empty() ? 0 : static_cast<std::uint32_t>(part + 1);
      p.phases.emplace_back(walk);
    }
  }

  Session& session_;
  std::vector<std::uint32_t> others_;
  std::vector<StoreCase> cases_;
  std::uint64_t flush_bytes_;
  StoreRows rows_;
};

std::string_view why_not_l2_stores(const CacheFacts& l2, const CacheFacts* memory, const Findings& findings) {
  if (memory == nullptr) return "the latency of device memory isn't known";
  if (l2.sector_bytes == 0) return "needs the sector size";
  if (!l2.levels.usable()) return "hits and misses can't be told apart well enough";
  if (l2.next_level || (findings.beyond_own_l2 && !l2.is_before_memory))
    return "what the L2 doesn't keep a cache behind it may";
  return "";
}

std::string said_of(const Memory& memory, const char* about) {
  const auto s = memory.structure.find(about);
  return s == memory.structure.end() ? std::string() : s->second.value;
}

// Whether the L1 brings nothing in for a store, as far as is known: what it does bring in the L2 has by a load.
bool fetches_nothing(const Memory& l1) {
  const std::string kept = said_of(l1, "write_allocate");
  return kept == "none" || kept == "word" || kept == "full_sector";
}

// Whether the L1 passes on what is stored: another SM finds it in the L2. Where the L1 keeps nothing of a cold line,
// that says nothing of lines that it has.
Statement l1_policy(const Memory& l1, const StoreAnswers& answers) {
  const std::string kept = said_of(l1, "write_allocate");
  if (kept == "none" && said_of(l1, "write_hit") == "invalidate") {
    Statement s = l1.structure.at("write_hit");
    s.value = "through";
    s.note = "it keeps nothing that is stored";
    return s;
  }
  if (kept.empty() || kept == "none")
    return undecided(stores_method, "it isn't known to keep what is stored to lines that it lacks");
  if (!fetches_nothing(l1))
    return undecided(stores_method, "a store that misses brings its sector into the L2 as well");
  if (answers.hit(found_by_another) != true)
    return undecided(stores_method,
                     "what an SM stores another one doesn't find in the L2: the L1 keeps it, or the L2 doesn't");
  return decided("through", stores_method, answers.samples());
}

// What is found in the L2 may be what the L1 fetched for a store, and nothing of it what the L1 kept: what loads find
// then is as if nobody had stored, which an invalidation alone contradicts.
void state_l2_stores(Memory& memory, const StoreAnswers& answers, const Memory* l1) {
  memory.structure["write_hit"] = write_hit_of(answers);
  memory.structure["write_allocate"] = write_allocate_of(answers);
  const bool fetches = l1 != nullptr && !fetches_nothing(*l1);
  const bool hides = l1 != nullptr && answers.hit(miss_whole_sector) != true;
  const std::string_view why = fetches ? "what is found there the L1 may have fetched for the store"
                                       : "nothing that was stored is found there: it keeps none of it, or the L1 does";
  Statement &hit = memory.structure["write_hit"], &allocate = memory.structure["write_allocate"];
  if ((fetches || hides) && hit.value == "update") hit = undecided(stores_method, why);
  if (fetches || (hides && allocate.value == "none")) allocate = undecided(stores_method, why);
  memory.structure["write_policy"] =
      undecided(stores_method, "no load waits for what is written to memory: counters of its writes would tell");
}

}  // namespace

Expected<void> measure_l2_stores(Session& session, Findings& findings) {
  const CacheFacts* l2 = findings.cache("l2");
  if (l2 == nullptr || !l2->present) return {};
  const CacheFacts* behind = findings.cache("device_memory");
  const CacheFacts* l1 = findings.cache("l1");
  const bool has_l1 = l1 != nullptr && l1->present;
  if (const std::string_view why = why_not_l2_stores(*l2, behind, findings); !why.empty()) {
    leave_stores_open(findings.memory("l2"), why);
    findings.memory("l2").structure["write_policy"] = undecided(stores_method, why);
    if (has_l1) findings.memory("l1").structure["write_policy"] = undecided(stores_method, why);
    return {};
  }
  auto asked = if_available(L2Stores(session, findings, *l2, behind->capacity_bytes).ask());
  if (!asked) return tl::unexpected<Error>(asked.error());
  if (!*asked) {
    leave_stores_open(findings.memory("l2"), "there is no room or time to empty it");
    return {};
  }
  StoreAnswers& answers = **asked;
  answers.is_line_known = l2->line_bytes != 0;
  state_l2_stores(findings.memory("l2"), answers, has_l1 ? &findings.memory("l1") : nullptr);
  keep_store_curves(session, "l2", answers);
  if (!has_l1) return {};
  findings.memory("l1").structure["write_policy"] = l1_policy(findings.memory("l1"), answers);
  session.keep(stores_curve("l1", "write_policy", answers, false));
  return {};
}

}  // namespace gputopo::experiments
