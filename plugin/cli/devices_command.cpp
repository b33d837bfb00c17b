#include <memory>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "cli/output.hpp"
#include "cli/usage.hpp"
#include "device/open/open.hpp"
#include "report/grid.hpp"
#include "report/text.hpp"
#include "topology/json.hpp"

namespace gputopo::cli {
namespace {

void add_row(report::Grid& grid, const device::Listed& listed) {
  const Gpu& gpu = listed.info.gpu;
  grid.add({{listed.spec, {}},
            {report::printable(gpu.name, 40), {}},
            {report::printable(gpu.compute_capability, 12), {}},
            {fmt::format("{}", gpu.sm_count), {}},
            {gpu.pci_bus_id.empty() ? "-" : report::printable(gpu.pci_bus_id, 20), {}}});
}

std::string as_json(const device::DeviceList& list) {
  auto json = nlohmann::ordered_json::array();
  const auto add = [&json](const device::Listed& listed, bool simulated) {
    const Gpu& gpu = listed.info.gpu;
    json.push_back({{"device", listed.spec},
                    {"simulated", simulated},
                    {"name", gpu.name},
                    {"uuid", gpu.uuid},
                    {"pci_bus_id", gpu.pci_bus_id},
                    {"compute_capability", gpu.compute_capability},
                    {"sm_count", gpu.sm_count}});
  };
  for (const device::Listed& listed : list.real) add(listed, false);
  for (const device::Listed& listed : list.simulated) add(listed, true);
  return json_text(json);
}

std::string as_table(const device::DeviceList& list, const Context& context) {
  report::Grid grid({{"Device"}, {"GPU"}, {"CC"}, {"SMs", report::Align::right}, {"PCI address"}});
  for (const device::Listed& listed : list.real) add_row(grid, listed);
  for (const device::Listed& listed : list.simulated) add_row(grid, listed);
  std::string text = list.real.empty() ? "No real GPU: " + list.no_real_reason + "\n\n" : std::string();
  return text + grid.text(context.look);
}

Expected<Exit> devices(const std::string& format, const Context& context) {
  const device::DeviceList list = device::list_devices();
  const std::string text = format == "json" ? as_json(list) : as_table(list, context);
  if (auto written = emit({}, text, context.look); !written) return tl::unexpected<Error>(written.error());
  return Exit::done;
}

}  // namespace

void add_devices_command(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand("devices", "List what discover --device can measure");
  auto format = std::make_shared<std::string>("table");
  command->add_option("--format", *format, "How to print: table or json")
      ->check(one_of({"table", "json"}))
      ->type_name("NAME")
      ->capture_default_str();
  command->callback([format, &context] { context.action = [=, &context] { return devices(*format, context); }; });
}

}  // namespace gputopo::cli
