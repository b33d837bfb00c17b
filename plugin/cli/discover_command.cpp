#include <algorithm>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "catalog/catalog.hpp"
#include "cli/commands.hpp"
#include "cli/counters.hpp"
#include "cli/device_option.hpp"
#include "cli/format_option.hpp"
#include "cli/output.hpp"
#include "cli/places.hpp"
#include "cli/progress.hpp"
#include "cli/seed_option.hpp"
#include "cli/usage.hpp"
#include "cli/verdict.hpp"
#include "device/open/open.hpp"
#include "device/replay/recording_device.hpp"
#include "experiments/discover.hpp"
#include "files/files.hpp"
#include "report/report.hpp"
#include "store/environment.hpp"
#include "store/store.hpp"

namespace gputopo::cli {
namespace {

struct DiscoverFlags {
  std::string device = "auto";
  bool all_gpus = false;
  std::vector<std::string> only;
  bool all = false;
  bool deep = false;
  std::string format;
  std::string output;
  std::string record;
  std::string evidence;
  bool save = false;
  bool force = false;
  bool verify = false;
  std::string method = "default";
  std::uint64_t seed = 1;
  bool quiet = false;
};

std::string check_memory_id(const std::string& id) {
  if (catalog::find_memory(id) != nullptr) return {};
  std::vector<std::string_view> known;
  for (const catalog::MemoryRow& row : catalog::memories()) known.push_back(row.id);
  return fmt::format("unknown memory '{}', choose from {}", id, fmt::join(known, ", "));
}

// One GPU among those that a command measures.
struct Subject {
  std::size_t index;
  device::Spec spec;
  JointProgress* progress;
};

Expected<Topology> measure(device::Device& device, const DiscoverFlags& flags, const Context& context,
                           const Subject& subject, std::vector<DecidingCurve>& curves) {
  experiments::DiscoverOptions options;
  options.curves = &curves;
  options.only = flags.only;
  options.deep = flags.deep;
  options.method = flags.method == "thesis" ? experiments::Method::thesis : experiments::Method::standard;
  options.seed = flags.seed;
  options.stop = context.stop;
  options.progress = [&subject](double done, std::string_view label) {
    subject.progress->show(subject.index, done, label);
  };
  return experiments::discover(device, options);
}

// What couldn't be kept beside the result, which is printed all the same; not where the user asked to stop.
using NotKept = std::vector<Error>;

Expected<void> keep(Expected<void> written, NotKept& not_kept) {
  if (written) return {};
  if (written.error().kind == Error::Kind::interrupted) return written;
  not_kept.push_back(written.error());
  return {};
}

Expected<Topology> measure_and_record(device::Device& device, const DiscoverFlags& flags, const Context& context,
                                      const Subject& subject, std::vector<DecidingCurve>& curves, NotKept& not_kept) {
  if (flags.record.empty()) return measure(device, flags, context, subject, curves);
  replay::RecordingDevice recorder(device);
  auto topology = measure(recorder, flags, context, subject, curves);
  if (topology)
    if (auto ok = keep(emit(flags.record, to_text(recorder.recording())), not_kept); !ok)
      return tl::unexpected<Error>(ok.error());
  return topology;
}

// Counters are a second opinion: without them the topology stands as it is, and says so.
Expected<void> verify_discovery(device::Device& device, const device::Spec& spec, const DiscoverFlags& flags,
                                const Context& context, Topology& topology) {
  const auto leave_unchecked = [&](const Error& why) {
    const std::string note = "not checked against counters: " + why.message;
    topology.provenance.notes.push_back(note);
    context.remarks.add("gputopo: " + note);
  };
  auto counter = open_counter_of(device, spec);
  if (!counter) {
    leave_unchecked(counter.error());
    return {};
  }
  ProgressBar bar(context.stderr_is_terminal && !flags.quiet);
  experiments::DiscoverOptions options;
  options.seed = flags.seed;
  options.stop = context.stop;
  options.progress = [&bar](double done, std::string_view label) { bar.show(done, label); };
  const auto report = experiments::cross_check(device, **counter, topology, options);
  bar.clear();
  if (!report) {
    if (report.error().kind == Error::Kind::interrupted) return tl::unexpected<Error>(report.error());
    leave_unchecked(report.error());
    return {};
  }
  if (const std::string failed = failed_memories(topology, *report); !failed.empty())
    context.remarks.add(contradiction(failed));
  experiments::apply(*report, topology);
  return {};
}

struct Measured {
  Topology topology;
  Evidence evidence;
  std::string headline;
  NotKept not_kept;
};

std::vector<Output> outputs_of(const DiscoverFlags& flags) {
  std::vector<Output> outputs{result_output(flags.output)};
  if (!flags.record.empty()) outputs.push_back({"the recording", "--record", flags.record});
  if (!flags.evidence.empty()) outputs.push_back({"the evidence", "--evidence", flags.evidence});
  return outputs;
}

// What can't be kept, or would be overwritten at once, is refused before it is measured.
Expected<void> may_be_saved(const device::DeviceInfo& info, const DiscoverFlags& flags) {
  if (!flags.save) return {};
  if (info.simulated)
    return fail(Error::Kind::bad_input,
                "--save stores what was measured of real GPUs only, and this one is simulated; write it by -o FILE");
  if (info.kind == "replay" && !flags.force)
    return fail(Error::Kind::bad_input,
                "--save keeps measurements and this is a replay of one; add --force to keep it all the same");
  for (const std::string& folder : store::folders(store::process_environment()))
    if (auto ok = check_apart(outputs_of(flags),
                              {"what is stored", "--save", fmt::format("{}/{}.json", folder, info.gpu.uuid)});
        !ok)
      return ok;
  return {};
}

Expected<void> save(const Topology& topology, const DiscoverFlags& flags, Remarks& remarks) {
  const auto saved = store::save(topology, store::process_environment(), flags.force);
  if (!saved) return tl::unexpected<Error>(saved.error());
  for (const std::string& remark : saved->remarks) remarks.add("gputopo: " + remark);
  if (!flags.quiet) remarks.add("saved as " + saved->path);
  return {};
}

Expected<Measured> measure_one(const DiscoverFlags& flags, const Context& context, const Subject& subject) {
  auto opened = device::open(subject.spec, open_options(context, flags.quiet, [&subject](std::string_view what) {
                               subject.progress->show(subject.index, 0, what);
                             }));
  if (!opened) return tl::unexpected<Error>(opened.error());
  if (auto ok = may_be_saved(opened->device->info(), flags); !ok) return tl::unexpected<Error>(ok.error());
  if (flags.format != "table" && !flags.quiet) context.remarks.add(opened->headline);
  std::vector<DecidingCurve> curves;
  NotKept not_kept;
  auto topology = measure_and_record(*opened->device, flags, context, subject, curves, not_kept);
  if (!topology) return tl::unexpected<Error>(topology.error());
  Evidence evidence{topology->gpu.uuid, topology->provenance.created, std::move(curves)};
  if (!flags.evidence.empty())
    if (auto ok = keep(emit(flags.evidence, to_json_text(evidence)), not_kept); !ok)
      return tl::unexpected<Error>(ok.error());
  if (flags.verify) subject.progress->clear();  // it has a bar of its own
  if (flags.verify)
    if (auto ok = verify_discovery(*opened->device, subject.spec, flags, context, *topology); !ok)
      return tl::unexpected<Error>(ok.error());
  if (flags.save)
    if (auto ok = keep(save(*topology, flags, context.remarks), not_kept); !ok)
      return tl::unexpected<Error>(ok.error());
  return Measured{std::move(*topology), std::move(evidence), std::move(opened->headline), std::move(not_kept)};
}

// GPUs share nothing that a chase could feel, so each is measured by a thread of its own, at once; the counters are the
// driver's, and with them one follows the other.
std::vector<Expected<Measured>> measure_all(const std::vector<device::Spec>& specs, const DiscoverFlags& flags,
                                            const Context& context) {
  JointProgress progress(context.stderr_is_terminal && !flags.quiet, specs.size());
  const std::launch when = flags.verify || specs.size() == 1 ? std::launch::deferred : std::launch::async;
  std::vector<std::future<Expected<Measured>>> running;
  for (std::size_t i = 0; i < specs.size(); ++i)
    running.push_back(std::async(when, [&, i] { return measure_one(flags, context, {i, specs[i], &progress}); }));
  std::vector<Expected<Measured>> results;
  for (auto& one : running) results.push_back(one.get());
  return results;
}

// One that can't be measured, or saved, doesn't take the others with it.
Expected<Exit> write_all(const std::vector<device::Spec>& specs, std::vector<Expected<Measured>> results,
                         const DiscoverFlags& flags, const Context& context) {
  std::vector<Topology> topologies;
  report::Options options = report_options(context, flags.output, flags.all);
  Exit exit = Exit::done;
  bool any_failed = false;
  std::vector<std::string> left_out;
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!results[i]) {
      const Error& error = results[i].error();
      if (results.size() == 1 || error.kind == Error::Kind::interrupted) return tl::unexpected<Error>(error);
      left_out.push_back(fmt::format("{} is left out: {}", device::to_string(specs[i]), error.message));
      continue;
    }
    exit = std::max(exit, verdict(results[i]->topology));
    for (const Error& why : results[i]->not_kept) {
      context.remarks.add(
          fmt::format("gputopo: {}{}", results.size() == 1 ? "" : device::to_string(specs[i]) + ": ", why.message));
      any_failed = true;
    }
    options.headline = results[i]->headline;
    if (results.size() > 1)
      options.numbers.push_back(static_cast<unsigned>(
          specs[i].kind == device::Spec::Kind::cuda ? static_cast<std::size_t>(specs[i].ordinal) : i));
    topologies.push_back(std::move(results[i]->topology));
    options.evidence.push_back(std::move(results[i]->evidence));
  }
  if (topologies.empty())
    return fail(Error::Kind::unavailable,
                fmt::format("none of the GPUs could be measured: {}", fmt::join(left_out, "; ")));
  for (const std::string& line : left_out) context.remarks.add("gputopo: " + line);
  if (results.size() > 1) options.headline.clear();
  const std::string text = renderer(flags.format)(topologies, options);
  if (auto written = emit(flags.output, text, context.look); !written) return tl::unexpected<Error>(written.error());
  return any_failed || !left_out.empty() ? Exit::failed : exit;
}

Expected<std::vector<device::Spec>> every_gpu() {
  const device::DeviceList list = device::list_devices();
  if (list.real.empty()) return fail(Error::Kind::unavailable, "no GPU to measure: " + list.no_real_reason);
  std::vector<device::Spec> specs;
  for (const device::Listed& gpu : list.real) specs.push_back(*device::parse_spec(gpu.spec));
  return specs;
}

Expected<Exit> discover(const DiscoverFlags& flags, const std::vector<device::Spec>& named, const Context& context) {
  const std::vector<std::string> inputs = flags.all_gpus ? std::vector<std::string>{} : files_of(named);
  if (auto ok = check_places(outputs_of(flags), inputs); !ok) return tl::unexpected<Error>(ok.error());
  if (flags.save)
    if (auto ok = store::check_writable(store::process_environment()); !ok) return tl::unexpected<Error>(ok.error());
  const auto specs = flags.all_gpus ? every_gpu() : named;
  if (!specs) return tl::unexpected<Error>(specs.error());
  if (specs->size() > 1 && !(flags.record.empty() && flags.evidence.empty()))
    return fail(Error::Kind::bad_input,
                "--record and --evidence keep one GPU's answers and several are asked; name one by --device");
  return write_all(*specs, measure_all(*specs, flags, context), flags, context);
}

}  // namespace

void add_discover_command(CLI::App& app, Context& context) {
  auto flags = std::make_shared<DiscoverFlags>();
  auto specs = std::make_shared<std::vector<device::Spec>>(1);
  CLI::App* command = app.add_subcommand("discover", "Measure a GPU and print its memories");
  add_devices_option(*command, flags->device, specs,
                     "auto, or one or more of cuda:N, sim:NAME, sim:FILE.json and replay:FILE");
  command->add_flag("--all-gpus", flags->all_gpus, "Every real GPU of this machine, at once")->excludes("--device");
  command->add_flag("--all", flags->all,
                    "Print everything: what lies in what, every carve-out, who shares what, the map of the chip");
  command->add_option("--only", flags->only, "Only these memories, as in l1,l2")
      ->delimiter(',')
      ->check(check_memory_id)
      ->type_name("ID,...");
  command->add_flag("--deep", flags->deep,
                    "Also what takes longer: how caches are organised, TLBs, where instructions live, all "
                    "configurations for bandwidths");
  add_format_option(*command, flags->format);
  add_output_option(*command, flags->output);
  command->add_flag("--verify", flags->verify,
                    "Also hold timing against hardware counters (a real GPU, with the right to)");
  CLI::Option* save = command->add_flag("--save", flags->save, "Keep the result for show, hwloc and LIKWID");
  command
      ->add_flag("--force", flags->force,
                 "With --save: also keep a replay or a run beside others, and replace what knows more")
      ->needs(save);
  command->add_option("--record", flags->record, "Keep everything the device answered in FILE, for replay:FILE")
      ->type_name("FILE");
  command
      ->add_option("--evidence", flags->evidence,
                   "Keep the curves that decided the values in FILE, for show --evidence")
      ->type_name("FILE");
  command->add_option("--method", flags->method, "Statistics: default, or thesis (geometric mapping and KS test)")
      ->check(one_of({"default", "thesis"}))
      ->type_name("NAME")
      ->capture_default_str();
  add_seed_option(*command, flags->seed, "Of walk orders and permutations");
  command->add_flag("--quiet", flags->quiet, "No progress and no remarks on stderr");
  command->callback(
      [flags, specs, &context] { context.action = [=, &context] { return discover(*flags, *specs, context); }; });
}

}  // namespace gputopo::cli
