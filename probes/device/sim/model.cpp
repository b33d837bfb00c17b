#include "device/sim/model.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "catalog/limits.hpp"
#include "device/sim/builtin.hpp"
#include "device/sim/random.hpp"
#include "device/sim/reader.hpp"
#include "files/files.hpp"
#include "json/value.hpp"
#include "text/printable.hpp"

namespace gputopo::sim {
namespace {

constexpr std::string_view schema = "gputopo-model/1";
constexpr std::size_t file_limit_bytes = std::size_t{1} << 20;
constexpr int depth_limit = 12;

// A GPU-like UUID that depends on the model's name alone.
std::string uuid_of(std::string_view name) {
  std::uint64_t h = 0x6770752d73696dULL;
  for (const char c : name) h = mix(h ^ static_cast<unsigned char>(c));
  const std::uint64_t g = mix(h);
  return fmt::format("GPU-{:08x}-{:04x}-{:04x}-{:04x}-{:012x}", h >> 32, h >> 16 & 0xffff, h & 0xffff, g >> 48,
                     g & 0xffffffffffffULL);
}

void read_gpu(Fields& root, Model& model) {
  Fields fields(root.require("gpu", "add the GPU's name, sm_count and memory"), root.at("gpu"));
  Gpu& g = model.gpu;
  g.name = read_text(fields.require("name", "write the GPU's name"), fields.at("name"));
  g.uuid = uuid_of(model.name);
  g.compute_capability = fields.text("compute_capability", "");
  g.limits = catalog::published_limits(g.compute_capability);
  g.sm_count = static_cast<std::uint32_t>(
      read_count(fields.require("sm_count", "write the number of SMs"), fields.at("sm_count"), {1, most_sms}));
  g.clock_khz = fields.count("clock_khz", {0, 1e8}, 0);
  g.memory_clock_khz = fields.count("memory_clock_khz", {0, 1e8}, 0);
  g.memory_bus_bits = static_cast<std::uint32_t>(fields.count("memory_bus_bits", {0, 65536}, 0));
  model.memory_bytes = read_bytes(fields.require("memory", "write the device memory's bytes"), fields.at("memory"),
                                  {0x1p20, most_memory_bytes});
  model.api_l2_bytes = fields.bytes("l2", {0, most_cache_bytes}, 0);
  fields.finish();
}

void read_limits(Fields& root, Model& model) {
  model.texture_elements = model.path(program::Path::texture) ? std::uint64_t{1} << 27 : 0;
  model.largest_buffer_bytes = std::min(model.memory_bytes / 4 * 3, std::uint64_t{1} << 40);
  model.largest_recording = 16384;
  const Json empty = Json::object();
  const Json* j = root.find("limits");
  Fields fields(j == nullptr ? empty : *j, root.at("limits"));
  model.constant_bytes_per_module = fields.bytes("constant_bank", {4, 0x1p24}, 65536);
  model.gpu.limits.constant_bytes = model.constant_bytes_per_module;
  if (!model.shared) model.gpu.limits.shared_bytes_per_block = 0;
  model.constant_modules = static_cast<std::uint32_t>(fields.count("constant_modules", {1, 1024}, 8));
  model.texture_elements = fields.count("texture_elements", {0, 0x1p40}, model.texture_elements);
  model.largest_buffer_bytes = fields.bytes(
      "largest_buffer", {4, std::min(0x1p40, static_cast<double>(model.memory_bytes))}, model.largest_buffer_bytes);
  model.largest_recording =
      static_cast<std::uint32_t>(fields.count("largest_recording", {1, 0x1p24}, model.largest_recording));
  model.warps_per_block = static_cast<std::uint32_t>(fields.count("warps_per_block", {1, 1024}, 32));
  fields.finish();
  if (!model.path(program::Path::constant)) model.constant_modules = 0;
  if (!model.path(program::Path::texture)) model.texture_elements = 0;
}

Model read_model(const Json& j, std::string_view name) {
  Fields root(j, "");
  const Json& version = root.require("schema", fmt::format("write \"schema\": \"{}\"", schema));
  if (!version.is_string() || version.get_ref<const std::string&>() != schema)
    refuse("/schema", "isn't a version that this program reads", fmt::format("write \"{}\"", schema));
  Model model;
  model.name = root.text("name", name);
  if (const Json* sources = root.find("sources")) {
    if (!sources->is_array()) refuse("/sources", "is no list", "write a list of texts");
    for (const Json& source : *sources) model.sources.push_back(read_text(source, "/sources"));
  }
  read_gpu(root, model);
  read_groups(root, model);
  read_caches(root, model);
  read_shared(root, model);
  read_paths(root, model);
  check_room(model);
  read_variation(root, model);
  read_disturbance(root, model);
  read_limits(root, model);
  read_throughput(root, model);
  root.finish();
  if (model.api_l2_bytes == 0) {
    const Level& first = model.path(program::Path::global_l2_only)->front();
    if (first.cache) model.api_l2_bytes = usable_bytes(model.caches[*first.cache], 0);
  }
  return model;
}

}  // namespace

Expected<Model> parse_model(std::string_view text, std::string_view name) {
  const auto refused = [&](std::string_view why) {
    return fail(Error::Kind::bad_input, text::message(fmt::format("model '{}': {}", name, why)));
  };
  if (text.size() > file_limit_bytes) return refused("is over 1 MiB; a model is a short description, shorten it");
  if (const auto valid = json::parse(text, {.depth = depth_limit}); !valid)
    return refused(valid.error().message + "; correct the file (docs/models.md)");
  try {
    return read_model(Json::parse(text), name);
  } catch (const BadField& e) {
    return refused(e.message);
  }
}

Expected<Model> load_model(const std::string& path) {
  const auto text = files::read_input(path, file_limit_bytes);
  if (!text) return tl::unexpected<Error>(text.error());
  return parse_model(*text, path);
}

Expected<Model> builtin_model(std::string_view name) {
  const auto names = builtin_models();
  for (std::size_t i = 0; i < names.size(); ++i)
    if (names[i] == name) return parse_model(builtin_model_texts()[i], name);
  std::string list;
  for (const std::string_view n : names) list += (list.empty() ? "" : ", ") + std::string(n);
  return fail(Error::Kind::bad_input, text::message(fmt::format("there is no model '{}'; use one of {}", name, list)));
}

std::uint64_t carve_out_bytes(const SharedModel& shared, std::uint32_t percent, std::uint64_t needed_bytes) {
  const std::uint64_t largest = shared.carve_outs_bytes.back();
  for (const std::uint64_t bytes : shared.carve_outs_bytes)
    if (bytes >= needed_bytes && bytes * 100 >= largest * percent) return bytes;
  return largest;
}

std::uint64_t fetch_bytes(const Model& model, const PathModel& path) {
  return path.front().cache ? model.caches[*path.front().cache].sector_bytes : 32;
}

std::uint64_t usable_bytes(const CacheModel& cache, std::uint64_t carve_out) {
  return cache.size_bytes - cache.reserved_bytes - carve_out;
}

}  // namespace gputopo::sim
