// random_models: discovers random GPUs and holds what it finds against the truth (docs/domain.md).
//
//   random_models [--count N] [--first SEED] [--processes P] [--hostile] [--keep FOLDER] [--quiet] [--dump SEED FILE]
//   random_models --models FILE... [--processes P] [--quiet]
//
// GPUTOPO_RANDOM_MODELS and GPUTOPO_RANDOM_SEED stand for --count and --first. One block a model that isn't wholly
// right, then totals and the table of reliability. Exit 1 where a value is wrong or a discovery fails. --keep writes
// the models with wrong values to FOLDER, --dump one seed's model to FILE, for `gputopo discover --device
// sim:FILE.json`. --models takes models of files (docs/models.md) instead of drawn ones.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <sys/wait.h>

#include "device/sim/model.hpp"
#include "device/sim/sim_device.hpp"
#include "experiments/discover.hpp"
#include "tests/sim/programs.hpp"
#include "tests/sim/random/random_model.hpp"
#include "tests/sim/random/tally.hpp"
#include "tests/sim/random/untold.hpp"

namespace gputopo::test {
namespace {

struct Options {
  std::uint64_t first = 1, count = 40;
  unsigned processes = 1;
  bool hostile = false, quiet = false;
  std::string keep;
  std::vector<std::string> dump, models;
};

struct Result {
  std::string text;
  Tally tally;
};

nlohmann::json model_of(const Options& options, std::uint64_t seed) {
  return options.hostile ? hostile_model(seed) : random_model(seed);
}

bool write(const std::string& path, const nlohmann::json& model) {
  std::ofstream file(path);
  file << model.dump(1) << '\n';
  file.close();
  if (!file) fmt::print(stderr, "{} can't be written; name a folder that is there\n", path);
  return !file.fail();
}

std::string name_of(const Options& options, std::uint64_t i) {
  if (!options.models.empty()) return options.models[i];
  return fmt::format("{}-{}", options.hostile ? "hostile" : "random", options.first + i);
}

// The `i`th model: of the files that were named, or drawn.
Expected<sim::Model> model_number(const Options& options, std::uint64_t i) {
  if (!options.models.empty()) return sim::load_model(options.models[i]);
  return sim::parse_model(model_of(options, options.first + i).dump(), name_of(options, i));
}

Result discover(const Options& options, std::uint64_t i) {
  Result result;
  const std::string name = name_of(options, i);
  const auto begin = std::chrono::steady_clock::now();
  auto model = model_number(options, i);
  auto found = Expected<Topology>(tl::unexpect, Error{});
  Topology truth;
  if (model) {
    truth = sim::truth(*model);
    sim::add_latency_spans(*model, truth);
    const auto device = sim::make_device(*model);
    found = experiments::discover(*device, {});
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  if (!found) {
    result.tally.models = result.tally.failed_models = 1;
    result.text = fmt::format("{}: FAILED: {}\n", name, model ? found.error().message : model.error().message);
  } else {
    auto all = statements(*found, truth, Exactness::to_the_line);
    mark_untold(*model, all);
    result.tally.add(all);
    result.text = fmt::format("{}: {} wrong, {} undecided of {}, {:.1f} s\n", name, result.tally.wrong,
                              result.tally.undecided, result.tally.statements, seconds.count());
    result.text += complaints(all);
  }
  const bool is_bad = result.tally.wrong + result.tally.failed_models > 0;
  if (is_bad && !options.keep.empty())
    write(fmt::format("{}/{}.json", options.keep, name), model_of(options, options.first + i));
  return result;
}

// Each worker takes every P-th seed and writes a line of JSON a model, which a pipe of any size takes at once.
void work(const Options& options, unsigned worker, int out) {
  FILE* pipe = fdopen(out, "w");
  for (std::uint64_t i = worker; i < options.count; i += options.processes) {
    const Result r = discover(options, i);
    const nlohmann::json line = {r.text, to_json(r.tally)};
    const std::string text = line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    std::fprintf(pipe, "%s\n", text.c_str());
    std::fflush(pipe);
  }
  std::fclose(pipe);
}

struct Worker {
  pid_t process = 0;
  std::FILE* out = nullptr;
};

Worker start(const Options& options, unsigned number) {
  int ends[2];
  if (pipe(ends) != 0) return {};
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    work(options, number, ends[1]);
    _exit(0);
  }
  close(ends[1]);
  return {child, fdopen(ends[0], "r")};
}

// In the order of the seeds, whoever is done first.
Tally run_all(const Options& options) {
  std::vector<Worker> workers;
  for (unsigned i = 0; i < options.processes; ++i) workers.push_back(start(options, i));
  Tally total;
  for (std::uint64_t i = 0; i < options.count; ++i) {
    char* line = nullptr;
    std::size_t capacity = 0;
    std::FILE* out = workers[i % options.processes].out;
    if (out == nullptr || getline(&line, &capacity, out) < 0) {
      fmt::print("{}: FAILED: the discovery ended its process\n", name_of(options, i));
      ++total.models;
      ++total.failed_models;
    } else {
      const auto json = nlohmann::json::parse(line);
      total.add(tally_of(json[1]));
      if (!options.quiet) fmt::print("{}", json[0].get<std::string>());
      std::fflush(stdout);
    }
    std::free(line);
  }
  for (const Worker& w : workers) {
    if (w.out != nullptr) std::fclose(w.out);
    if (w.process > 0) waitpid(w.process, nullptr, 0);
  }
  return total;
}

}  // namespace

int random_models(int argc, char** argv) {
  Options options;
  CLI::App app("Discovers random models and holds what is found against the truth");
  app.add_option("--count", options.count, "How many models")->envname("GPUTOPO_RANDOM_MODELS");
  app.add_option("--first", options.first, "The first model's seed")->envname("GPUTOPO_RANDOM_SEED");
  app.add_option("--processes", options.processes, "How many at once")->check(CLI::Range(1, 256));
  auto* models =
      app.add_option("--models", options.models, "Files of models, instead of drawn ones")->check(CLI::ExistingFile);
  app.add_option("--keep", options.keep, "Folder for drawn models with wrong values")
      ->check(CLI::ExistingDirectory)
      ->excludes(models);
  app.add_option("--dump", options.dump, "SEED FILE: write that model and do nothing else")->expected(2);
  app.add_flag("--hostile", options.hostile, "Models beyond the domain");
  app.add_flag("--quiet", options.quiet, "Totals only");
  CLI11_PARSE(app, argc, argv);
  if (!options.dump.empty())
    return write(options.dump[1], model_of(options, std::strtoull(options.dump[0].c_str(), nullptr, 10))) ? 0 : 1;
  if (!options.models.empty()) options.count = options.models.size();
  const Tally total = run_all(options);
  fmt::print("{}", text_of(total));
  return total.wrong + total.failed_models == 0 ? 0 : 1;
}

}  // namespace gputopo::test
