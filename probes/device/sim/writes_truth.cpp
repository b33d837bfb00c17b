// What a model's caches do with stores, in the words in which a discovery says it.
#include "device/sim/cache_ids.hpp"
#include "device/sim/model.hpp"
#include "device/sim/organisation_words.hpp"
#include "device/sim/stored_words.hpp"

namespace gputopo::sim {
namespace {

// As anybody can see it: what keeps nothing that is stored passes it on.
std::string_view policy_name(const Writes& writes) {
  const bool keeps_some = writes.allocate != WriteAllocate::none || writes.hit == WriteHit::update;
  return writes.policy == WritePolicy::back && keeps_some ? "back" : "through";
}

// Likewise: a line of one sector has no other one, and a sector of one word no other word.
std::string allocate_name(WriteAllocate allocate, const CacheModel& c) {
  const bool by_words = allocate == WriteAllocate::word || allocate == WriteAllocate::full_sector;
  if (by_words && c.sector_bytes <= StoredWords::word_bytes) allocate = WriteAllocate::sector;
  if (allocate == WriteAllocate::sector && c.sector_bytes == c.line_bytes) allocate = WriteAllocate::line;
  switch (allocate) {
    case WriteAllocate::none:
      return "none";
    case WriteAllocate::word:
      return "word";
    case WriteAllocate::full_sector:
      return "full_sector";
    case WriteAllocate::sector:
      return "sector";
    case WriteAllocate::line:
      return "line";
  }
  return "";
}

}  // namespace

bool can_keep_words(const CacheModel& cache) {
  return cache.line_bytes / cache.sector_bytes < 32;
}

Writes writes_of(const Model& model, std::size_t cache) {
  const CacheModel& c = model.caches[cache];
  Writes writes;
  if (is_beyond_sms(model, cache)) writes = {WritePolicy::back, WriteAllocate::full_sector, WriteHit::update};
  if (!can_keep_words(c)) writes.allocate = WriteAllocate::none;
  writes.policy = c.write_policy.value_or(writes.policy);
  writes.allocate = c.write_allocate.value_or(writes.allocate);
  writes.hit = c.write_hit;
  return writes;
}

void add_writes(const Model& model, Topology& truth) {
  for (const CacheId& id : cache_ids) {
    if (id.id != "l1" && id.id != "l2") continue;
    Memory* memory = truth.find(id.id);
    const Estimate* size = memory == nullptr ? nullptr : memory->find("size");
    if (size == nullptr || !size->value) continue;
    const std::size_t cache = *(*model.path(id.path))[id.level].cache;
    const Writes writes = writes_of(model, cache);
    memory->structure["write_policy"] = true_text(std::string(policy_name(writes)));
    memory->structure["write_allocate"] = true_text(allocate_name(writes.allocate, model.caches[cache]));
    memory->structure["write_hit"] = true_text(writes.hit == WriteHit::update ? "update" : "invalidate");
  }
}

}  // namespace gputopo::sim
