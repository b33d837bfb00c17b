#include "cli/bench_traffic.hpp"

#include <charconv>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/device_option.hpp"
#include "cli/output.hpp"
#include "cli/places.hpp"
#include "cli/progress.hpp"
#include "cli/simulated.hpp"
#include "cli/topology_files.hpp"
#include "device/open/open.hpp"
#include "experiments/discover.hpp"
#include "report/grid.hpp"
#include "report/text.hpp"
#include "throughput/traffic.hpp"
#include "topology/json.hpp"

namespace gputopo::cli {
namespace {

using Json = nlohmann::ordered_json;
using throughput::predict_traffic;
using throughput::Traffic;
using throughput::TrafficProperties;

constexpr std::uint64_t most = std::uint64_t{1} << 50U;

Expected<Topology> measured(const TrafficQuestion& q, const Context& context) {
  ProgressBar bar(context.stderr_is_terminal && !q.quiet);
  auto opened =
      device::open(q.device, open_options(context, q.quiet, [&bar](std::string_view what) { bar.show(0, what); }));
  if (!opened) return tl::unexpected<Error>(opened.error());
  if (!q.quiet) context.remarks.add(opened->headline);
  experiments::DiscoverOptions options;
  options.only = {"l1", "l2"};
  options.extras = false;
  options.stop = context.stop;
  // A recording holds one discovery as a whole.
  if (opened->device->info().kind == "replay") options = {};
  options.stop = context.stop;
  options.progress = [&bar](double done, std::string_view label) { bar.show(done, label); };
  return experiments::discover(*opened->device, options);
}

Expected<Topology> topology_of(const TrafficQuestion& q, const Context& context) {
  if (!q.file.empty()) {
    auto read = read_topology_file(q.file, "predict", context.remarks);
    if (!read) return tl::unexpected<Error>(read.error());
    if (read->size() != 1)
      return fail(Error::Kind::bad_input,
                  fmt::format("'{}' holds {} GPUs; predict for one at a time", q.file, read->size()));
    return std::move(read->front());
  }
  if (q.device.kind == device::Spec::Kind::sim) return simulated_truth(q.device.name);
  return measured(q, context);
}

std::string megabytes(double bytes) {
  return fmt::format("{:.6g}", bytes / 1e6);
}

std::string table_text(const TrafficQuestion& q, const Topology& topology, const TrafficProperties& p) {
  using report::Align;
  report::Grid grid({{"Stride", Align::right, "floats"},
                     {"Read", Align::right, "MB"},
                     {"by loads", Align::right, "MB"},
                     {"by stores", Align::right, "MB"},
                     {"Written", Align::right, "MB"},
                     {"after the end", Align::right, "at most MB"}});
  for (const std::uint64_t stride : q.strides) {
    const Traffic t = predict_traffic(p, static_cast<double>(q.vector_bytes), stride);
    grid.add({{fmt::format("{}", stride), {}},
              {megabytes(t.read()), {}},
              {megabytes(t.read_by_loads), {}},
              {megabytes(t.read_by_stores), {}},
              {megabytes(t.written), {}},
              {megabytes(t.waiting), {}}});
  }
  return fmt::format(
      "{}\nPredicted traffic between L2 and memory of c[i s] = a[i s] * b[i s], three vectors of {} MB:\n\n{}\n"
      "From a fetch granularity of {} B (the L2's sector) and sectors of {} B (the L1's); MB are 10^6 bytes.\n",
      report::headline(topology), megabytes(static_cast<double>(q.vector_bytes)), grid.text({}), p.fetch_bytes,
      p.sector_bytes);
}

std::string json_of(const TrafficQuestion& q, const Topology& topology, const TrafficProperties& p) {
  Json j;
  j["schema"] = "gputopo-traffic/1";
  j["gpu"] = topology.gpu.name;
  j["simulated"] = p.simulated;
  j["status"] = "predicted";
  j["vector_bytes"] = q.vector_bytes;
  j["fetch_granularity"] = p.fetch_bytes;
  j["sector_size"] = p.sector_bytes;
  j["l2_size"] = p.l2_bytes;
  j["strides"] = Json::array();
  for (const std::uint64_t stride : q.strides) {
    const Traffic t = predict_traffic(p, static_cast<double>(q.vector_bytes), stride);
    j["strides"].push_back({{"stride", stride},
                            {"read_bytes", t.read()},
                            {"read_by_loads_bytes", t.read_by_loads},
                            {"read_by_stores_bytes", t.read_by_stores},
                            {"written_bytes", t.written},
                            {"at_most_waiting_bytes", t.waiting}});
  }
  return json_text(j);
}

}  // namespace

std::vector<std::uint64_t> parse_counts(const std::vector<std::string>& texts) {
  std::vector<std::uint64_t> counts;
  for (const std::string& text : texts) {
    std::uint64_t value = 0;
    const char* end = text.data() + text.size();
    const auto [stopped, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc() || stopped != end || value == 0 || value > most) return {};
    counts.push_back(value);
  }
  return counts;
}

Expected<Exit> answer_traffic(const TrafficQuestion& q, const Context& context) {
  const std::vector<std::string> inputs = q.file.empty() ? files_of({q.device}) : std::vector<std::string>{q.file};
  if (auto ok = check_places({result_output(q.output)}, inputs); !ok) return tl::unexpected<Error>(ok.error());
  const auto topology = topology_of(q, context);
  if (!topology) return tl::unexpected<Error>(topology.error());
  const auto properties = throughput::traffic_properties(*topology);
  if (!properties) return tl::unexpected<Error>(properties.error());
  const std::string text =
      q.format == "json" ? json_of(q, *topology, *properties) : table_text(q, *topology, *properties);
  if (auto written = emit(q.output, text); !written) return tl::unexpected<Error>(written.error());
  return Exit::done;
}

}  // namespace gputopo::cli
