#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/commands.hpp"
#include "cli/format_option.hpp"
#include "cli/output.hpp"
#include "cli/places.hpp"
#include "cli/stored.hpp"
#include "cli/topology_files.hpp"
#include "report/report.hpp"
#include "text/printable.hpp"

namespace gputopo::cli {
namespace {

struct ShowFlags {
  std::string file;
  std::string format;
  std::string output;
  std::string evidence;
  bool all = false;
};

Expected<StoredGpus> load(const std::string& path, Remarks& remarks) {
  return read_topology_file(path, "show", remarks).map([](std::vector<Topology> list) {
    return StoredGpus{std::move(list), {}, {}};
  });
}

// Why the evidence isn't shown; empty where it is.
std::string why_left_out(const Evidence& evidence, const std::vector<Topology>& topologies, const ShowFlags& flags) {
  if (flags.format != "html") return "only html shows curves; add --format html";
  const bool belongs = std::any_of(topologies.begin(), topologies.end(), [&](const Topology& t) {
    return t.gpu.uuid == evidence.uuid && t.provenance.created == evidence.created;
  });
  if (belongs) return {};
  return fmt::format("it is of {} as measured at {}; show that discovery's result",
                     evidence.uuid.empty() ? "another GPU" : text::printable(evidence.uuid, 60),
                     text::printable(evidence.created, 40));
}

Expected<Exit> show(const ShowFlags& flags, const Context& context) {
  std::vector<std::string> inputs;
  for (const std::string& file : {flags.file, flags.evidence})
    if (!file.empty()) inputs.push_back(file);
  const std::vector<Output> outputs{result_output(flags.output)};
  if (auto ok = check_places(outputs, inputs); !ok) return tl::unexpected<Error>(ok.error());
  const auto gpus = flags.file.empty() ? stored_topologies("show", context.remarks) : load(flags.file, context.remarks);
  if (!gpus) return tl::unexpected<Error>(gpus.error());
  if (auto ok = check_places(outputs, gpus->files); !ok) return tl::unexpected<Error>(ok.error());
  report::Options options = report_options(context, flags.output, flags.all);
  options.numbers = gpus->numbers;
  if (!flags.evidence.empty()) {
    auto evidence = read_evidence_file(flags.evidence);
    if (!evidence) return tl::unexpected<Error>(evidence.error());
    if (const std::string why = why_left_out(*evidence, gpus->topologies, flags); !why.empty())
      context.remarks.add(fmt::format("gputopo: '{}' is left out: {}", text::printable(flags.evidence, 200), why));
    options.evidence.push_back(std::move(*evidence));
  }
  const std::string text = renderer(flags.format)(gpus->topologies, options);
  if (auto written = emit(flags.output, text, context.look); !written) return tl::unexpected<Error>(written.error());
  return Exit::done;
}

}  // namespace

void add_show_command(CLI::App& app, Context& context) {
  auto flags = std::make_shared<ShowFlags>();
  CLI::App* command = app.add_subcommand("show", "Print the stored topology of this machine's GPUs, or that in a file");
  command->add_option("FILE", flags->file, "A topology written by discover --format json");
  command->add_flag("--all", flags->all, "Everything that is known, not the main table alone");
  command
      ->add_option("--evidence", flags->evidence,
                   "For html: the curves that decided the values, of discover --evidence")
      ->type_name("FILE");
  add_format_option(*command, flags->format);
  add_output_option(*command, flags->output);
  command->callback([flags, &context] { context.action = [=, &context] { return show(*flags, context); }; });
}

}  // namespace gputopo::cli
