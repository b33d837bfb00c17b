#include "device/open/open.hpp"

#include <utility>

#include <fmt/format.h>

#include "device/open/installed.hpp"
#include "device/replay/replay_device.hpp"
#include "device/sim/sim_device.hpp"
#ifdef GPUTOPO_HAS_CUDA
#include "device/cuda/cuda_device.hpp"
#endif

namespace gputopo::device {
namespace {

using OpenedDevice = Expected<std::unique_ptr<Device>>;

#ifdef GPUTOPO_HAS_CUDA
OpenedDevice open_real(int ordinal, const OpenOptions& options) {
  cuda::GpuLockOptions lock;
  lock.waiting = options.waiting;
  lock.notice = options.notice;
  lock.stop = options.stop;
  return open_cuda(ordinal, lock);
}
Expected<std::vector<DeviceInfo>> list_real() {
  return list_cuda();
}
#else
tl::unexpected<Error> built_without_cuda() {
  return fail(
      Error::Kind::unavailable,
      "this gputopo was built without its cuda device; build it again without GPUTOPO_WITH_CUDA=OFF to measure a GPU");
}
OpenedDevice open_real(int /*ordinal*/, const OpenOptions& /*options*/) {
  return built_without_cuda();
}
Expected<std::vector<DeviceInfo>> list_real() {
  return built_without_cuda();
}
#endif

OpenedDevice open_simulated(const std::string& name) {
  auto model = names_file(name) ? sim::load_model(name) : sim::builtin_model(name);
  if (!model) return tl::unexpected<Error>(model.error());
  return sim::make_device(std::move(*model));
}

std::string name_of(const DeviceInfo& info) {
  return info.gpu.name.empty() ? "unnamed GPU" : info.gpu.name;
}

Expected<Opened> with_headline(OpenedDevice device, std::string_view what) {
  if (!device) return tl::unexpected<Error>(device.error());
  std::string headline = fmt::format("{} ({})", name_of((*device)->info()), what);
  return Opened{std::move(*device), std::move(headline)};
}

Expected<Opened> open_automatic(const OpenOptions& options) {
  const auto real = list_real();
  if (!real || real->empty()) {
    const std::string why = real ? "CUDA finds no GPU" : real.error().message;
    if (const std::string gpu = installed_gpu(options.root); !gpu.empty())
      return fail(Error::Kind::unavailable, fmt::format("can't measure the NVIDIA GPU {}: {}", gpu, why));
    return with_headline(open_simulated(fallback_model),
                         fmt::format("simulated, since there is no GPU to measure: {}", why));
  }
  tl::unexpected<Error> first_error = fail(Error::Kind::unavailable, {});
  for (int ordinal = 0; ordinal < static_cast<int>(real->size()); ++ordinal) {
    auto device = open_real(ordinal, options);
    if (device) return with_headline(std::move(device), fmt::format("real GPU, cuda:{}", ordinal));
    if (ordinal == 0) first_error = tl::unexpected<Error>(device.error());
  }
  return first_error;
}

}  // namespace

Expected<Opened> open(const Spec& spec, const OpenOptions& options) {
  switch (spec.kind) {
    case Spec::Kind::automatic:
      return open_automatic(options);
    case Spec::Kind::cuda:
      return with_headline(open_real(spec.ordinal, options), fmt::format("real GPU, cuda:{}", spec.ordinal));
    case Spec::Kind::sim:
      return with_headline(open_simulated(spec.name), fmt::format("simulated, model {}", spec.name));
    case Spec::Kind::replay: {
      auto device = replay::open_replay(spec.name);
      const bool simulated = device && (*device)->info().simulated;
      return with_headline(std::move(device), fmt::format("replayed from {}, recorded on a {} GPU", spec.name,
                                                          simulated ? "simulated" : "real"));
    }
  }
  return fail(Error::Kind::bad_input, "unknown kind of device");
}

DeviceList list_devices() {
  DeviceList list;
  auto real = list_real();
  if (!real) list.no_real_reason = real.error().message;
  if (real && real->empty()) list.no_real_reason = "no NVIDIA GPU is installed";
  if (real)
    for (std::size_t i = 0; i < real->size(); ++i)
      list.real.push_back({fmt::format("cuda:{}", i), std::move((*real)[i])});
  for (const auto& name : sim::builtin_models())
    if (auto device = open_simulated(std::string(name)))
      list.simulated.push_back({fmt::format("sim:{}", name), (*device)->info()});
  return list;
}

}  // namespace gputopo::device
