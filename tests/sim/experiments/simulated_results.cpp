// simulated_results [-o FILE] [MODEL|FILE.json ...]: the table of docs/results-simulated.md, for all built-in models or
// for those named.
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "device/sim/model.hpp"
#include "device/sim/sim_device.hpp"
#include "experiments/discover.hpp"
#include "results_table.hpp"
#include "tests/sim/programs.hpp"

namespace gputopo::test {
namespace {

Expected<std::string> section_of(const std::string& name) {
  auto model = name.ends_with(".json") ? sim::load_model(name) : sim::builtin_model(name);
  if (!model) return tl::unexpected<Error>(model.error());
  const auto device = sim::make_device(*model);
  const auto found = experiments::discover(*device, {});
  if (!found) return tl::unexpected<Error>(found.error());
  return results_section(*model, *found);
}

}  // namespace

int simulated_results(int argc, char** argv) {
  std::vector<std::string> names(argv + 1, argv + argc);
  std::string output;
  if (names.size() >= 2 && names[0] == "-o") {
    output = names[1];
    names.erase(names.begin(), names.begin() + 2);
  }
  if (names.empty())
    for (const std::string_view name : sim::builtin_models()) names.emplace_back(name);
  std::string text = results_preface();
  for (const std::string& name : names) {
    const auto section = section_of(name);
    if (!section) {
      fmt::print(stderr, "{}\n", section.error().message);
      return 1;
    }
    text += *section;
  }
  text.pop_back();  // the empty line behind the last section
  if (output.empty()) {
    fmt::print("{}", text);
    return 0;
  }
  std::ofstream file(output);
  file << text;
  file.close();
  if (file) return 0;
  fmt::print(stderr, "{} can't be written\n", output);
  return 1;
}

}  // namespace gputopo::test
