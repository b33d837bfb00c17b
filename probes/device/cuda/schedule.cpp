#include "device/cuda/schedule.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

namespace gputopo::device::cuda {
namespace {

using program::Batch;
using program::Phase;
using program::Program;
using program::Walk;

// More than this and a launch's results no longer fit the staging buffer comfortably.
constexpr std::size_t phases_per_launch = 2048;

// Where the words of a chase lie, and what they hold: a texture's are elements, all others addresses. The place is the
// buffer's slot or the constant bank's module.
using Memory = std::pair<program::Space, std::uint32_t>;

Memory memory_of(const Program& p, const Walk& walk) {
  const program::Buffer& buffer = p.buffers[walk.buffer];
  return {buffer.space, buffer.space == program::Space::constant ? buffer.module : walk.buffer};
}

// Programs use one texture at most; a second one would need a launch of its own.
std::optional<std::uint32_t> texture_slot(const Program& p) {
  for (const Phase& phase : p.phases)
    if (const auto* walk = std::get_if<Walk>(&phase); walk != nullptr && walk->path == program::Path::texture)
      return walk->buffer;
  return std::nullopt;
}

bool is_private(const Program& p) {
  if (p.isolation != Scope::sm || modules_of(p) > 1) return false;
  return std::all_of(p.agents.begin(), p.agents.end(), [&](const auto& a) { return a.sm == p.agents.front().sm; });
}

struct Draft {
  PlannedLaunch launch;
  bool is_private = true;
  std::map<Memory, program::ChangedWords> changed;
  std::uint32_t turn = 0;
};

bool fits(const Draft& draft, const Program& p, bool isolated) {
  if (draft.launch.carve_out_percent != p.carve_out_percent || draft.is_private != isolated ||
      draft.launch.kernel != kernel_of(p) || draft.launch.modules != modules_of(p) ||
      draft.launch.phases.size() + p.phases.size() > phases_per_launch)
    return false;
  const auto slot = texture_slot(p);
  if (slot && draft.launch.texture_slot && slot != draft.launch.texture_slot) return false;
  return std::all_of(p.phases.begin(), p.phases.end(), [&](const Phase& phase) {
    const Walk* walk = program::changed_words(phase);
    const auto words = walk == nullptr ? draft.changed.end() : draft.changed.find(memory_of(p, *walk));
    return words == draft.changed.end() || words->second.may_be_joined_by(*walk);
  });
}

void append(Draft& draft, std::size_t index, const Program& p, std::uint32_t home_sm) {
  PlannedLaunch& launch = draft.launch;
  launch.programs.push_back(index);
  if (const auto slot = texture_slot(p)) launch.texture_slot = slot;
  for (std::size_t i = 0; i < p.phases.size(); ++i) {
    PlannedPhase planned{index, i, p.agents[agent_of(p.phases[i])].sm.value_or(home_sm), module_of(p, p.phases[i]),
                         0,     0};
    if (!draft.is_private && !launch.phases.empty() &&
        (launch.phases.back().sm != planned.sm || launch.phases.back().module != planned.module)) {
      // The turn passes to another SM: the one before announces it, this one waits for it.
      launch.phases.back().post_value = ++draft.turn;
      planned.wait_value = draft.turn;
      launch.crosses_sms = true;
    }
    launch.phases.push_back(planned);
    if (const Walk* walk = program::changed_words(p.phases[i])) draft.changed[memory_of(p, *walk)].add(*walk);
  }
}

}  // namespace

bool has_wide_words(const Walk& walk) {
  const bool holds_addresses =
      walk.path != program::Path::texture && walk.path != program::Path::constant && walk.path != program::Path::shared;
  return holds_addresses && walk.stride_bytes % 8 == 0 && walk.first_byte % 8 == 0 && walk.footprint_bytes >= 8;
}

Expected<std::vector<PlannedLaunch>> plan(const Batch& batch, std::uint32_t sm_count, std::uint32_t warps) {
  std::vector<Draft> drafts;
  std::uint32_t next_sm = 0;
  for (std::size_t index = 0; index < batch.size(); ++index) {
    const Program& p = batch[index];
    if (auto ok = program::validate(p); !ok) return tl::unexpected<Error>(ok.error());
    for (const auto& agent : p.agents)
      if (agent.sm.value_or(0) >= sm_count || agent.warp >= warps)
        return fail(Error::Kind::bad_input,
                    fmt::format("program '{}' names SM {} warp {}, the GPU has {} SMs and {} warps a block", p.label,
                                agent.sm.value_or(0), agent.warp, sm_count, warps));
    if (auto ok = program::fits_a_kernel(p); !ok) return tl::unexpected<Error>(ok.error());
    const Kernel kernel = kernel_of(p);
    const bool isolated = is_private(p);
    const std::uint32_t home = isolated ? p.agents.front().sm.value_or(next_sm) : 0;
    if (isolated && !p.agents.front().sm) next_sm = (next_sm + 1) % sm_count;
    auto draft = std::find_if(drafts.begin(), drafts.end(), [&](const Draft& d) { return fits(d, p, isolated); });
    if (draft == drafts.end()) {
      drafts.emplace_back();
      draft = std::prev(drafts.end());
      draft->is_private = isolated;
      draft->launch.carve_out_percent = p.carve_out_percent;
      draft->launch.kernel = kernel;
      draft->launch.modules = modules_of(p);
    }
    append(*draft, index, p, home);
  }
  std::vector<PlannedLaunch> launches;
  launches.reserve(drafts.size());
  for (Draft& draft : drafts) launches.push_back(std::move(draft.launch));
  return launches;
}

}  // namespace gputopo::device::cuda
