#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "cli/format_option.hpp"
#include "cli/output.hpp"
#include "cli/places.hpp"
#include "cli/simulated.hpp"
#include "device/open/spec.hpp"
#include "device/sim/model.hpp"
#include "report/grid.hpp"
#include "report/report.hpp"
#include "report/text.hpp"
#include "topology/json.hpp"

namespace gputopo::cli {
namespace {

struct ModelsFlags {
  std::string truth;
  std::string format;
  std::string output;
};

std::string list_as_json() {
  auto list = nlohmann::ordered_json::array();
  for (const std::string_view name : sim::builtin_models())
    if (const auto model = sim::builtin_model(name))
      list.push_back({{"model", name},
                      {"gpu", model->gpu.name},
                      {"compute_capability", model->gpu.compute_capability},
                      {"sm_count", model->gpu.sm_count},
                      {"memory_bytes", model->memory_bytes},
                      {"sources", model->sources}});
  return json_text(list);
}

std::string list_as_table(const Context& context) {
  report::Grid grid({{"Model"}, {"GPU"}, {"CC"}, {"SMs", report::Align::right}, {"Device memory"}});
  for (const std::string_view name : sim::builtin_models()) {
    const auto model = sim::builtin_model(name);
    if (!model) continue;
    grid.add({{std::string(name), {}},
              {report::printable(model->gpu.name, 40), {}},
              {report::printable(model->gpu.compute_capability, 12), {}},
              {fmt::format("{}", model->gpu.sm_count), {}},
              {report::size_text(static_cast<double>(model->memory_bytes)), {}}});
  }
  return grid.text(context.look);
}

Expected<Exit> models(const ModelsFlags& flags, const Context& context) {
  std::vector<std::string> inputs;
  if (device::names_file(flags.truth)) inputs.push_back(flags.truth);
  if (auto ok = check_places({result_output(flags.output)}, inputs); !ok) return tl::unexpected<Error>(ok.error());
  std::string text;
  if (flags.truth.empty()) {
    if (flags.format != "table" && flags.format != "json")
      return fail(Error::Kind::bad_input, "the list of models is a table or json; add --truth NAME for other formats");
    text = flags.format == "json" ? list_as_json() : list_as_table(context);
  } else {
    const auto topology = whole_simulated_truth(flags.truth);
    if (!topology) return tl::unexpected<Error>(topology.error());
    text = renderer(flags.format)({&*topology, 1}, report_options(context, flags.output, true));
  }
  if (auto written = emit(flags.output, text, context.look); !written) return tl::unexpected<Error>(written.error());
  return Exit::done;
}

}  // namespace

void add_models_command(CLI::App& app, Context& context) {
  auto flags = std::make_shared<ModelsFlags>();
  CLI::App* command = app.add_subcommand("models", "List the modelled GPUs, or print what one of them really is");
  command->add_option("--truth", flags->truth, "The specification of a model, without running it")
      ->type_name("NAME|FILE.json");
  add_format_option(*command, flags->format);
  add_output_option(*command, flags->output);
  command->callback([flags, &context] { context.action = [=, &context] { return models(*flags, context); }; });
}

}  // namespace gputopo::cli
