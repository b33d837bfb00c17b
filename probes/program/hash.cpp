#include "program/hasher.hpp"
#include "program/program.hpp"
#include "program/stream.hpp"

namespace gputopo::program {
namespace {

void add(Hasher& h, const Walk& w) {
  h.add(1);
  for (const std::uint64_t word :
       {std::uint64_t{w.agent}, std::uint64_t{w.buffer}, static_cast<std::uint64_t>(w.path), w.first_byte,
        w.footprint_bytes, w.stride_bytes, static_cast<std::uint64_t>(w.order), w.order_seed, w.loads_per_lap,
        std::uint64_t{w.laps}, std::uint64_t{w.lanes}, static_cast<std::uint64_t>(w.record)})
    h.add(word);
  // Walks that hold nothing and have no lead have the hash that they had before there were any.
  constexpr std::uint64_t holding = 0x686f6c64;
  if (w.holds) h.add(holding);
  if (w.lead_loads == 0) return;
  for (const std::uint64_t word : {w.lead_loads, w.tail_first, w.tail_step}) h.add(word);
}

void add(Hasher& h, const Execute& e) {
  h.add(2);
  for (const std::uint64_t word :
       {std::uint64_t{e.agent}, e.code_bytes, std::uint64_t{e.laps}, std::uint64_t{e.timed ? 1U : 0U}})
    h.add(word);
}

}  // namespace

std::uint64_t hash(const Program& program) {
  Hasher h;
  h.add(program.buffers.size());
  for (const Buffer& b : program.buffers) {
    h.add(static_cast<std::uint64_t>(b.space));
    h.add(b.size_bytes);
    h.add(b.module);
  }
  h.add(program.agents.size());
  for (const Agent& a : program.agents) {
    h.add(a.sm ? std::uint64_t{*a.sm} + 1 : 0);
    h.add(a.warp);
  }
  h.add(program.phases.size());
  for (const Phase& phase : program.phases) std::visit([&](const auto& p) { add(h, p); }, phase);
  h.add(program.carve_out_percent);
  h.add(static_cast<std::uint64_t>(program.isolation));
  if (program.asks_address) h.add(1);  // the others have the hash that they had before any did
  return h.value();
}

std::uint64_t hash(const Stream& s) {
  constexpr std::uint64_t stream_mark =
      0x73747265616dULL;  // more than any program has buffers, which its hash begins with
  Hasher h;
  for (const std::uint64_t word :
       {stream_mark, static_cast<std::uint64_t>(s.path), static_cast<std::uint64_t>(s.operation),
        std::uint64_t{s.access_bytes}, static_cast<std::uint64_t>(s.region), s.footprint_bytes,
        static_cast<std::uint64_t>(s.arrangement), std::uint64_t{s.lane_group}, s.lane_stride_bytes,
        s.group_stride_bytes, s.warp_stride_bytes, std::uint64_t{s.items}, std::uint64_t{s.unroll},
        std::uint64_t{s.threads}, std::uint64_t{s.blocks}, std::uint64_t{s.laps}, std::uint64_t{s.carve_out_percent},
        std::uint64_t{s.one_shot ? 1U : 0U}, std::uint64_t{s.bulk_bytes}})
    h.add(word);
  // Streams of before there were any have the hash that they had.
  if (s.in_turn) h.add(1);
  if (s.first_byte != 0) h.add(s.first_byte);
  return h.value();
}

}  // namespace gputopo::program
