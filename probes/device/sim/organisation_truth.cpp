// How a model's caches are organised, in the words in which a discovery says it.
#include <algorithm>
#include <bit>

#include "device/sim/cache_ids.hpp"
#include "device/sim/model.hpp"
#include "device/sim/organisation_words.hpp"
#include "device/sim/set_index.hpp"

namespace gputopo::sim {
namespace {

std::string index_name(const Organisation& o, const SetIndex& index) {
  if (index.sets() == 1) return "none";
  // Sets that differ: no function of address bits fills them in turn.
  const bool in_turn = index.lists_lines() || index.lines() == std::uint64_t{index.most_ways()} * index.sets();
  if (!in_turn) return "hash";
  if (o.index == IndexKind::modulo) return "modulo";
  return o.index == IndexKind::xor_fold && index.lists_lines() && std::has_single_bit(index.sets()) ? "xor" : "hash";
}

// As anybody can see it: with one way there is nothing to choose, and of two the one that wasn't used last is the LRU.
std::string replacement_name(Replacement replacement, std::uint32_t ways) {
  if (ways == 1) return "none";
  switch (replacement) {
    case Replacement::lru:
      return "lru";
    case Replacement::fifo:
      return "fifo";
    case Replacement::random:
      return "random";
    case Replacement::tree_plru:
      return ways == 2 ? "lru" : "tree";
    case Replacement::not_most_recent:
      return ways == 2 ? "lru" : "not_most_recent";
  }
  return "";
}

}  // namespace

Estimate true_number(double value, std::string_view unit) {
  Estimate e;
  e.value = value;
  e.unit = unit;
  e.status = Status::truth;
  e.method = "model";
  return e;
}

Statement true_text(std::string value) {
  Statement s;
  s.value = std::move(value);
  s.status = Status::truth;
  s.method = "model";
  return s;
}

void state_organisation(Memory& memory, const Organisation& organisation, std::uint64_t lines) {
  const SetIndex index(organisation, lines);
  std::vector<std::uint32_t> ways;
  for (std::uint32_t set = 0; set < index.sets(); ++set) ways.push_back(index.ways(set));
  std::sort(ways.begin(), ways.end());
  memory.attributes["sets"] = true_number(index.sets());
  Estimate& middle = memory.attributes["ways"] = true_number(ways[ways.size() / 2]);
  middle.interval = Interval{static_cast<double>(ways.front()), static_cast<double>(ways.back())};
  middle.interval_kind = "range";
  if (index.sets() > 1) memory.attributes["consecutive_lines"] = true_number(organisation.consecutive_lines);
  memory.structure["index"] = true_text(index_name(organisation, index));
  memory.structure["replacement"] = true_text(replacement_name(organisation.replacement, ways.back()));
}

void add_organisation(const Model& model, Topology& truth) {
  for (const CacheId& id : cache_ids) {
    Memory* memory = truth.find(id.id);
    const Estimate* size = memory == nullptr ? nullptr : memory->find("size");
    if (size == nullptr || !size->value) continue;
    const CacheModel& c = model.caches[*(*model.path(id.path))[id.level].cache];
    const std::uint32_t sides = c.partitions.count;
    state_organisation(*memory, c.organisation, static_cast<std::uint64_t>(*size->value) / c.line_bytes / sides);
    // A side numbers the lines that it is home to in an order that addresses don't give; with copies, which have sets
    // by address, a line goes when either loses it.
    if (sides > 1 && c.partitions.mode == PartitionMode::home) memory->structure["index"] = true_text("hash");
    if (sides > 1 && c.partitions.mode == PartitionMode::near_copy) memory->structure.erase("index");
  }
}

}  // namespace gputopo::sim
