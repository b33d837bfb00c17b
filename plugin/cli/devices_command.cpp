#include <memory>
#include <string>

#include <fmt/format.h>

#include "cli/commands.hpp"
#include "cli/output.hpp"
#include "device/open/open.hpp"
#include "report/grid.hpp"
#include "report/text.hpp"

namespace gputopo::cli {
namespace {

void add_row(report::Grid& grid, const device::Listed& listed) {
  const Gpu& gpu = listed.info.gpu;
  grid.add({{listed.spec, {}},
            {report::printable(gpu.name, 40), {}},
            {gpu.compute_capability, {}},
            {fmt::format("{}", gpu.sm_count), {}},
            {gpu.pci_bus_id.empty() ? "-" : gpu.pci_bus_id, {}}});
}

Expected<Exit> devices(const Context& context) {
  const device::DeviceList list = device::list_devices();
  report::Grid grid({{"Device"}, {"GPU"}, {"CC"}, {"SMs", report::Align::right}, {"PCI address"}});
  for (const device::Listed& listed : list.real) add_row(grid, listed);
  for (const device::Listed& listed : list.simulated) add_row(grid, listed);
  std::string text = list.real.empty() ? "No real GPU: " + list.no_real_reason + "\n\n" : std::string();
  text += grid.text(context.unicode ? "─" : "-");
  if (auto written = emit({}, text); !written) return tl::unexpected<Error>(written.error());
  return Exit::done;
}

}  // namespace

void add_devices_command(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand("devices", "List what discover --device can measure");
  command->callback([&context] { context.action = [&context] { return devices(context); }; });
}

}  // namespace gputopo::cli
