#include "throughput/search.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "change_point/robust.hpp"

namespace gputopo::throughput {
namespace {

using program::Region;
using program::Stream;

constexpr std::array<std::pair<std::uint32_t, std::uint32_t>, 7> shapes{
    {{64, 1}, {256, 1}, {256, 4}, {512, 1}, {512, 2}, {1024, 1}, {1024, 2}}};  // threads, blocks an SM
constexpr std::array<std::uint32_t, 6> unrollings{1, 2, 4, 8, 16, 32};
// Blocks begin and end within a microsecond or two, which is part of what a short run takes; grids in a row have what
// lies between them.
constexpr std::uint32_t laps_in_one = 32, laps_in_brief = 2;
constexpr std::uint32_t grids_in_one = 8;
constexpr double enough_seconds = 0.01;  // beside which the microseconds between two grids are less than a thousandth
constexpr double most_bytes = 75e9;

// What takes long enough by itself stays as it is: over many laps of all memory the blocks get out of step.
Stream longer(Stream s, double bytes_per_second, Effort effort) {
  if (s.one_shot && effort == Effort::full)
    s.laps *= static_cast<std::uint32_t>(std::clamp<double>(
        std::ceil(enough_seconds * bytes_per_second / static_cast<double>(program::counted_bytes(s))), 1,
        grids_in_one));
  else if (!s.one_shot && s.laps > 1)
    s.laps *= static_cast<std::uint32_t>(std::clamp<double>(most_bytes / static_cast<double>(program::counted_bytes(s)),
                                                            1, effort == Effort::full ? laps_in_one : laps_in_brief));
  return s;
}

// What tells candidates apart: of one lap over memory as much as no cache keeps, which the slowest of them walk in a
// few milliseconds.
Stream tried(Stream s, const device::DeviceInfo& info, Effort effort) {
  constexpr std::uint32_t quick = 4;  // times as quick, and as far off: blocks begin and end within a tenth of it
  if (effort == Effort::brief && !s.one_shot && s.laps > 1) s.laps = std::max(2U, s.laps / quick);
  constexpr std::uint64_t beyond_caches = 32;  // times the L2: it keeps 3 %
  const std::uint64_t enough = std::max<std::uint64_t>(beyond_caches * info.l2_bytes, 1 << 30);
  const std::uint64_t bytes = program::buffer_bytes(s);
  if (s.one_shot || s.laps > 1 || bytes <= enough) return s;
  const double share = static_cast<double>(enough) / static_cast<double>(bytes);
  return program::fitted(s, static_cast<std::uint64_t>(static_cast<double>(s.footprint_bytes) * share));
}

// Of the same bytes the greatest rate. By bytes that the loads of an SM's threads ask for before the first has to be
// there; copies of the host by their size. A grid in one shot has as many blocks as there is memory, and copies in bulk
// have stages: neither is comparable.
void add_to(ByBytes& by, const Stream& s, std::uint32_t sm_count, double rate) {
  const bool is_copy = s.operation == program::Operation::upload || s.operation == program::Operation::download;
  if (!is_copy && (s.one_shot || s.arrangement == program::Arrangement::bulk)) return;
  by.what = is_copy ? "copied at once" : "in flight, of an SM";
  const double threads = static_cast<double>(s.threads) * s.blocks / std::max(1U, sm_count);
  const double bytes = is_copy ? static_cast<double>(s.footprint_bytes) : threads * s.unroll * s.access_bytes;
  const auto known = std::find_if(by.points.begin(), by.points.end(), [&](auto& p) { return p.first == bytes; });
  if (known == by.points.end())
    by.points.emplace_back(bytes, rate);
  else
    known->second = std::max(known->second, rate);
}

// The footprint that this grid can walk of what is wanted; 0 where one step is more.
std::uint64_t footprint_for(const Stream& s, std::uint64_t wanted, std::uint32_t blocks_of_sm) {
  const std::uint64_t own = s.region == Region::block ? wanted / blocks_of_sm : wanted;
  const std::uint64_t step = program::step_bytes(s);
  return own < step ? 0 : own / step * step;
}

}  // namespace

std::vector<Stream> candidates_of(const Grid& grid, std::uint32_t sm_count) {
  std::vector<Stream> streams;
  for (const std::uint64_t footprint : grid.footprints)
    for (std::uint32_t width = grid.least_width; width <= 16; width *= 2)
      for (const auto& [threads, blocks_of_sm] : shapes)
        for (const std::uint32_t unroll : unrollings) {
          Stream s = grid.base;
          s.access_bytes = width;
          s.threads = threads;
          s.blocks = blocks_of_sm * sm_count;
          s.items = s.unroll = unroll;
          if (grid.broadcast) s.arrangement = program::Arrangement::broadcast;
          s.footprint_bytes = footprint_for(s, footprint, blocks_of_sm);
          if (s.footprint_bytes == 0) continue;
          s.laps = grid.bytes > 0 ? laps_for(s, grid.bytes) : 1;
          streams.push_back(std::move(s));
        }
  return streams;
}

std::vector<Stream> bulk_copies(const Stream& base, std::uint64_t footprint_bytes, std::uint32_t sm_count) {
  std::vector<Stream> streams;
  for (const std::uint32_t bytes : {2U << 10U, 8U << 10U, 32U << 10U, 64U << 10U})
    for (const std::uint32_t stages : {2U, 3U, 6U, 12U})
      for (const std::uint32_t blocks_of_sm : {1U, 4U}) {
        Stream s = base;
        s.path = program::Path::global_l2_only;
        s.arrangement = program::Arrangement::bulk;
        s.access_bytes = 16;
        s.bulk_bytes = bytes;
        s.unroll = stages;
        s.threads = program::warp_lanes;
        s.blocks = blocks_of_sm * sm_count;
        s.carve_out_percent = 100;
        s = program::fitted(s, footprint_bytes);
        s.laps = 1;
        streams.push_back(std::move(s));
      }
  return streams;
}

std::vector<Stream> one_shots(const Stream& base, std::uint64_t footprint_bytes, std::uint32_t laps) {
  std::vector<Stream> streams;
  for (const std::uint32_t width : {4U, 8U, 16U})
    for (const std::uint32_t threads : {128U, 256U, 512U}) {
      Stream s = base;
      s.region = Region::grid;
      s.one_shot = true;
      s.access_bytes = width;
      s.threads = threads;
      s.items = s.unroll = 1;
      s.blocks = static_cast<std::uint32_t>(footprint_bytes / (std::uint64_t{threads} * width));
      s.footprint_bytes = program::step_bytes(s);
      s.laps = laps;
      streams.push_back(std::move(s));
    }
  return streams;
}

namespace {

struct Ran {
  double value;
  const Stream* stream;
  bool is_whole;  // it walked all of the stream's footprint
};

// Runs candidates once, those that this device can run.
class Trials {
 public:
  Trials(Meter& meter, Rate rate, Effort effort, std::string& why)
      : meter_(meter), rate_(rate), effort_(effort), why_(why) {}

  // Whether this device can.
  Expected<bool> run(const Stream& s) {
    if (std::any_of(ran_.begin(), ran_.end(), [&](const Ran& r) { return r.stream == &s; })) return true;
    const Stream trial = tried(s, meter_.info(), effort_);
    const auto value = meter_.once(trial, rate_);
    if (value)
      ran_.push_back({*value, &s, trial.footprint_bytes == s.footprint_bytes});
    else if (!leaves_open(value.error()))
      return tl::unexpected<Error>(value.error());
    else if (why_.empty())
      why_ = value.error().message;
    return value.has_value();
  }

  // The greatest rates first.
  std::vector<Ran> sorted() const {
    std::vector<Ran> all = ran_;
    std::stable_sort(all.begin(), all.end(), [](const Ran& a, const Ran& b) { return a.value > b.value; });
    return all;
  }

 private:
  Meter& meter_;
  Rate rate_;
  Effort effort_;
  std::string& why_;
  std::vector<Ran> ran_;
};

// The properties that a search chooses, but for the footprint; what is left is the kind.
struct Properties {
  std::array<std::uint64_t, 3> chosen;  // width, in flight, threads and blocks
  std::array<std::uint64_t, 3> kind;
};

Properties properties_of(const Stream& s) {
  // A grid in one shot has as many blocks as its threads and width leave over.
  const std::uint64_t blocks = s.one_shot ? 0 : s.blocks;
  const std::uint64_t width = s.arrangement == program::Arrangement::bulk ? s.bulk_bytes : s.access_bytes;
  return {{width, s.unroll, std::uint64_t{s.threads} << 32U | blocks},
          {static_cast<std::uint64_t>(s.region), static_cast<std::uint64_t>(s.arrangement), s.one_shot}};
}

bool differ_in_one(const Stream& a, const Stream& b, std::size_t which) {
  const Properties of_a = properties_of(a), of_b = properties_of(b);
  if (of_a.kind != of_b.kind) return false;
  for (std::size_t i = 0; i < of_a.chosen.size(); ++i)
    if ((of_a.chosen[i] != of_b.chosen[i]) != (i == which)) return false;
  return true;
}

// From the middle of each kind's candidates; from the fastest of these to the best in one property, from there in the
// next.
Expected<std::vector<Ran>> climb(Trials trials, const std::vector<Stream>& candidates) {
  std::map<std::array<std::uint64_t, 3>, std::vector<const Stream*>> kinds;
  for (const Stream& s : candidates) kinds[properties_of(s).kind].push_back(&s);
  for (const auto& [kind, members] : kinds) {
    bool runs = false;
    for (std::size_t i = members.size() / 2; !runs && i < members.size(); ++i) {
      const auto ran = trials.run(*members[i]);
      if (!ran) return tl::unexpected<Error>(ran.error());
      runs = *ran;
    }
  }
  for (std::size_t property = 0; property < Properties().chosen.size(); ++property) {
    const auto ran = trials.sorted();
    if (ran.empty()) return ran;
    const Stream& best = *ran.front().stream;
    for (const Stream& s : candidates)
      if (differ_in_one(best, s, property))
        if (auto ok = trials.run(s); !ok) return tl::unexpected<Error>(ok.error());
  }
  return trials.sorted();
}

Expected<std::vector<Ran>> run_all(Trials trials, const std::vector<Stream>& candidates) {
  for (const Stream& s : candidates)
    if (auto ok = trials.run(s); !ok) return tl::unexpected<Error>(ok.error());
  return trials.sorted();
}

}  // namespace

Expected<std::optional<Best>> search_best(Meter& meter, const std::vector<Stream>& candidates, Rate rate,
                                          std::string& why, Effort effort, std::size_t finalists) {
  const bool is_brief = effort == Effort::brief;
  const Trials trials(meter, rate, effort, why);
  const auto ran = is_brief ? climb(trials, candidates) : run_all(trials, candidates);
  if (!ran) return tl::unexpected<Error>(ran.error());
  std::optional<Best> best;
  double fastest = 0;
  for (std::size_t i = 0; i < std::min(is_brief ? 1 : finalists, ran->size()); ++i) {
    const Ran& r = (*ran)[i];
    const Stream s = longer(*r.stream, r.value, effort);
    const auto sample = meter.measure(s, rate, is_brief ? runs_in_brief : runs_of_a_figure);
    if (!sample) return tl::unexpected<Error>(sample.error());
    fastest = std::max(fastest, sample->range.high);
    if (!best || sample->median > best->sample.median) best = Best{s, *sample, ran->size(), {}};
  }
  if (!best) return best;
  // Others may reach more now and then, and less in most of their runs; and blocks that walk the same bytes get out of
  // step in a long run, where those of a short one still share what is fetched. The greatest rates come first. A brief
  // search's range says how far its few runs lie apart.
  const auto whole = std::find_if(ran->begin(), ran->end(), [](const Ran& r) { return r.is_whole; });
  if (!is_brief) best->sample.range.high = std::max(fastest, whole == ran->end() ? 0 : whole->value);
  for (const Ran& r : *ran) add_to(best->by_bytes, *r.stream, meter.info().gpu.sm_count, r.value);
  std::sort(best->by_bytes.points.begin(), best->by_bytes.points.end());
  return best;
}

Expected<Sample> over_places(Meter& meter, const Best& best, Rate rate, int places) {
  constexpr std::uint64_t page_bytes = std::uint64_t{2} << 20;
  constexpr int runs_of_a_place = 2;
  Sample all = best.sample;
  std::vector<double> medians{all.median};
  Stream other = best.stream;
  const std::uint64_t apart = (program::buffer_bytes(other) + page_bytes - 1) / page_bytes * page_bytes;
  for (int place = 1; place < places; ++place) {
    other.first_byte += apart;
    const auto sample = meter.measure(other, rate, runs_of_a_place);
    if (!sample && !leaves_open(sample.error())) return tl::unexpected<Error>(sample.error());
    if (!sample) break;
    medians.push_back(sample->median);
    all.range.low = std::min(all.range.low, sample->range.low);
    all.range.high = std::max(all.range.high, sample->range.high);
    all.runs += sample->runs;
  }
  all.median = change_point::median(std::move(medians));
  return all;
}

}  // namespace gputopo::throughput
