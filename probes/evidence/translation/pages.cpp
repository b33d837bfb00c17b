#include "evidence/translation/pages.hpp"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "change_point/random.hpp"

namespace gputopo::evidence {

PageProbe::PageProbe(const device::DeviceInfo& info, std::vector<std::uint32_t> sms) {
  program_ = make_program("pages", info, slot_pages);
  program_.isolation = Scope::gpu;
  program_.agents.clear();
  for (const std::uint32_t sm : sms) program_.agents.push_back({sm, 0});
}

PageProbe& PageProbe::touch(std::uint32_t agent, std::uint64_t at) {
  return walk(agent, {at, 4, 1});
}

PageProbe& PageProbe::walk(std::uint32_t agent, const Others& others) {
  if (others.count == 0) return *this;
  program::Walk walk = make_walk({pages_path.id, others.path, pages_path.slot}, others.count * others.stride_bytes,
                                 others.stride_bytes, 1);
  walk.first_byte = others.first_byte;
  walk.agent = agent;
  walk.lanes = others.lanes;
  program_.phases.emplace_back(walk);
  return *this;
}

program::Program PageProbe::look(std::uint64_t at, std::uint64_t before) {
  const std::uint64_t apart = at < before ? before - at : at - before;
  program::Walk walk = recorded(make_walk(pages_path, 2 * apart, apart, 1), program::Record::latencies, 1);
  walk.first_byte = std::min(at, before);
  if (at < before) walk.order = program::Order::reverse;
  program_.phases.emplace_back(walk);
  program_.label = fmt::format("pages, a look at {}", at);
  return program_;
}

Pages::Pages(Session& session, std::uint64_t line_bytes, std::uint64_t lines)
    : session_(&session), bytes_(pages_bytes(session.info())), line_bytes_(line_bytes) {
  constexpr std::uint64_t enough =
      8192;  // more take one lane longer than 2 ms, which processes in turn have the GPU for
  const std::uint64_t room = (bytes_ - margin()) / (16 * line_bytes_);
  most_ = std::min({enough, lines, room});
}

Expected<void> Pages::fit_between_interruptions(std::uint32_t sm) {
  if (session_->disturbance().switches == 0) return {};
  constexpr std::size_t looks = 3;
  for (;; most_ /= 2) {
    const PageProgram longest = [&](std::uint64_t variant) {
      return PageProbe(session_->info(), {sm}).walk(0, spread(most_, variant)).look(0, elsewhere(variant));
    };
    auto seen = run({longest}, looks);
    if (seen) return {};
    if (seen.error().kind != Error::Kind::unavailable || most_ < 2) return tl::unexpected<Error>(seen.error());
  }
}

std::uint64_t Pages::elsewhere(std::uint64_t variant) const {
  const double share = 1 - even_place(variant) / 4;
  return static_cast<std::uint64_t>(share * static_cast<double>(margin())) / line_bytes_ * line_bytes_;
}

Others Pages::spread(std::uint64_t count, std::uint64_t variant) const {
  constexpr double irregular = 0.9187;  // no simple fraction, so that the places' page numbers fall into every set
  if (count == 0) return {};
  constexpr double most_apart = 0x1p33;  // a walk's steps are counted in 32-bit words
  const double apart =
      std::min(most_apart, irregular * static_cast<double>(bytes_ - margin()) / static_cast<double>(count + 1));
  const std::uint64_t stride = (static_cast<std::uint64_t>(apart) / line_bytes_ | 1) * line_bytes_;
  const auto shift =
      static_cast<std::uint64_t>(even_place(variant) * static_cast<double>(stride)) / line_bytes_ * line_bytes_;
  return {margin() + shift, stride, count};
}

Others Pages::spread_quickly(std::uint64_t count, std::uint64_t variant) const {
  constexpr std::uint64_t few = 128;  // 50 us of one lane
  Others others = spread(count, variant);
  if (count > few) others.lanes = program::warp_lanes;
  return others;
}

Expected<std::vector<std::vector<double>>> Pages::run(const std::vector<PageProgram>& programs, std::size_t looks) {
  constexpr std::size_t most_at_once = 512;
  std::vector<std::vector<double>> all(programs.size());
  // In no order: what loads take wanders while programs run, and what one leaves in a TLB the next one finds. Neither
  // is to be one program's share alone.
  std::vector<std::size_t> order(programs.size() * looks);
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i % programs.size();
  change_point::Random(order.size()).shuffle(order);
  for (std::size_t done = 0; done < order.size(); done += most_at_once) {
    const std::size_t end = std::min(order.size(), done + most_at_once);
    program::Batch batch;
    for (std::size_t i = done; i < end; ++i) batch.push_back(programs[order[i]](samples_ + i));
    auto traces = session_->run(batch);
    if (!traces) return tl::unexpected<Error>(traces.error());
    for (std::size_t i = done; i < end; ++i)
      all[order[i]].push_back((*traces)[i - done].phases.back().latencies.back());
  }
  for (auto& values : all) std::sort(values.begin(), values.end());
  samples_ += programs.size() * looks;
  return all;
}

std::uint64_t neighbour_of(std::uint64_t at) {
  constexpr std::uint64_t away = 2048;  // pages are 4 KiB at least
  return at ^ away;
}

PageProgram at_hand(Pages& pages, std::uint32_t sm, std::uint64_t line) {
  return [&pages, sm, line](std::uint64_t variant) {
    PageProbe probe(pages.session().info(), {sm});
    return probe.touch(0, line).touch(0, neighbour_of(line)).look(line, pages.elsewhere(variant));
  };
}

double near_time(const std::vector<double>& ascending) {
  const auto from = ascending.begin() + static_cast<std::ptrdiff_t>(ascending.size() / 8);
  const auto to = ascending.begin() + static_cast<std::ptrdiff_t>(ascending.size() * 3 / 8 + 1);
  return std::accumulate(from, to, 0.0) / static_cast<double>(to - from);
}

ModeTime mode_time(const std::vector<double>& ascending, double reach_cycles, double quartile) {
  constexpr int enough = 4;  // from one end of a level's looks to their middle
  ModeTime mode{ascending.at(static_cast<std::size_t>(quartile * static_cast<double>(ascending.size()))), 1};
  for (int step = 0; step < enough; ++step) {
    const auto from = std::lower_bound(ascending.begin(), ascending.end(), mode.cycles - reach_cycles);
    const auto to = std::upper_bound(ascending.begin(), ascending.end(), mode.cycles + reach_cycles);
    if (from >= to) break;  // looks on either side, just beyond its reach
    mode = {std::accumulate(from, to, 0.0) / static_cast<double>(to - from), static_cast<std::size_t>(to - from)};
  }
  return mode;
}

namespace {

// Strangers' are a twentieth of looks, seldom a fifth of a few.
double shortest(const std::vector<double>& ascending) {
  return ascending.at(ascending.size() / 10);
}

double longest(const std::vector<double>& ascending) {
  return ascending.at(ascending.size() * 4 / 5);
}

}  // namespace

double middle_time(const std::vector<double>& ascending) {
  return (shortest(ascending) + longest(ascending)) / 2;
}

double spread_time(const std::vector<double>& ascending) {
  return longest(ascending) - shortest(ascending);
}

Tally lost_translations(const std::vector<double>& looks, const std::vector<double>& hot, double nearer_cycles,
                        double cycles) {
  // The part of what is lost that single looks took longer, `later` than they did, by which hot ones say what it comes
  // to where none is lost and where all are: looks may differ by as much as that costs.
  const double from = middle_time(hot) + nearer_cycles;
  const auto part = [&](const std::vector<double>& all, double later) {
    double sum = 0;
    for (const double c : all) sum += std::clamp((c + later - from) / cycles, 0.0, 1.0);
    return sum / static_cast<double>(all.size());
  };
  const double none = part(hot, nearer_cycles), all = part(hot, nearer_cycles + cycles);
  if (all <= none) return {};
  // What it takes to tell them apart makes looks worth less, by the variance of what each says.
  const double looked = static_cast<double>(looks.size()) * (all - none) * (all - none);
  return {looked, looked * std::clamp((part(looks, 0) - none) / (all - none), 0.0, 1.0)};
}

}  // namespace gputopo::evidence
