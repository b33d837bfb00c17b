#include "program/kernel.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace gputopo::program {

std::uint32_t module_of(const Program& p, const Phase& phase) {
  const auto* walk = std::get_if<Walk>(&phase);
  return walk != nullptr ? p.buffers[walk->buffer].module : 0;
}

std::uint32_t modules_of(const Program& p) {
  std::uint32_t modules = 1;
  for (const Phase& phase : p.phases) modules = std::max(modules, module_of(p, phase) + 1);
  return modules;
}

namespace {

bool walks_a_bank(const Program& p, const Phase& phase) {
  const auto* walk = std::get_if<Walk>(&phase);
  return walk != nullptr && walk->path == Path::constant && walk->lanes == 1 && p.agents[walk->agent].warp == 0 &&
         (walk->record == Record::nothing || walk->record == Record::histogram);
}

bool walks_by(const Program& p, Path path) {
  return std::any_of(p.phases.begin(), p.phases.end(), [&](const Phase& x) {
    const auto* walk = std::get_if<Walk>(&x);
    return walk != nullptr && walk->path == path;
  });
}

bool holds_code(const Program& p) {
  return std::any_of(p.phases.begin(), p.phases.end(), [](const Phase& x) {
    const auto* walk = std::get_if<Walk>(&x);
    return walk != nullptr && walk->holds;
  });
}

}  // namespace

Kernel kernel_of(const Program& p) {
  if (holds_code(p)) return Kernel::held_code;
  if (walks_by(p, Path::instruction)) return walks_by(p, Path::global_l2_only) ? Kernel::paged_code : Kernel::code;
  const auto is_execute = [](const Phase& x) { return std::holds_alternative<Execute>(x); };
  if (std::any_of(p.phases.begin(), p.phases.end(), is_execute)) return Kernel::execute;
  if (std::any_of(p.phases.begin(), p.phases.end(), is_store)) return Kernel::store;
  const auto is_bank = [&](const Phase& x) { return walks_a_bank(p, x); };
  if (modules_of(p) > 1 && std::all_of(p.phases.begin(), p.phases.end(), is_bank)) return Kernel::banks;
  return Kernel::chase;
}

Expected<void> fits_a_kernel(const Program& p) {
  const Kernel kernel = kernel_of(p);
  if (kernel != Kernel::store && std::any_of(p.phases.begin(), p.phases.end(), is_store))
    return fail(Error::Kind::bad_input,
                fmt::format("program '{}' stores beside code; no kernel has both, make it two programs", p.label));
  if (walks_code(kernel)) {
    const auto beside = kernel == Kernel::held_code ? Path::instruction
                        : kernel == Kernel::code    ? Path::constant
                                                    : Path::global_l2_only;
    const auto is_of_another_kernel = [&](const Phase& x) {
      const auto* walk = std::get_if<Walk>(&x);
      return walk == nullptr || (walk->path != Path::instruction && walk->path != beside);
    };
    if (std::any_of(p.phases.begin(), p.phases.end(), is_of_another_kernel))
      return fail(Error::Kind::bad_input, fmt::format("program '{}' walks over code beside more than constants, or "
                                                      "than memory past L1, or than code that others hold; no kernel "
                                                      "has both, make it two programs",
                                                      p.label));
  }
  return {};
}

}  // namespace gputopo::program
