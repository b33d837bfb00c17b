#include "random_run.hpp"

#include <iostream>
#include <map>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace gputopo::test {

int run_random(int argc, char** argv, const std::function<nlohmann::json(std::uint64_t)>& drawn,
               const std::function<std::vector<Found>(const sim::Model&)>& found_of) {
  std::uint64_t first = 1, count = 100;
  bool dump = false;
  CLI::App app("How many random models are told right");
  app.add_option("--first", first, "The first seed");
  app.add_option("--count", count, "How many");
  app.add_flag("--dump", dump, "Print the models instead");
  CLI11_PARSE(app, argc, argv);
  std::map<std::string, std::map<Answer, int>> tally;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const std::string text = drawn(seed).dump();
    if (dump) {
      std::cout << text << "\n";
      continue;
    }
    const auto model = sim::parse_model(text, "random");
    if (!model) {
      std::cerr << seed << ": " << model.error().message << "\n";
      return 1;
    }
    for (const Found& found : found_of(*model)) {
      ++tally[found.quantity][found.answer];
      if (found.answer != Answer::exact)
        std::cout << (found.answer == Answer::wrong ? "WRONG " : "open ") << seed << " " << text_of(found) << "\n";
    }
  }
  for (auto& [quantity, answers] : tally)
    std::cout << fmt::format("{:18} exact {:4}  open {:4}  wrong {:4}\n", quantity, answers[Answer::exact],
                             answers[Answer::open], answers[Answer::wrong]);
  for (auto& [quantity, answers] : tally)
    if (answers[Answer::wrong] != 0) return 1;
  return 0;
}

}  // namespace gputopo::test
