// Discovers random organisations and counts what was right, left open and wrong. Run by hand.
#include <iostream>
#include <map>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "found.hpp"
#include "random_organisation.hpp"

int main(int argc, char** argv) {
  using namespace gputopo;
  std::uint64_t first = 1, count = 100;
  bool dump = false;
  CLI::App app("How many random organisations are told right");
  app.add_option("--first", first, "The first seed");
  app.add_option("--count", count, "How many");
  app.add_flag("--dump", dump, "Print the models instead");
  CLI11_PARSE(app, argc, argv);
  std::map<std::string, std::map<test::Answer, int>> tally;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const std::string text = test::random_organisation(seed).dump();
    if (dump) {
      std::cout << text << "\n";
      continue;
    }
    const auto model = sim::parse_model(text, "random");
    if (!model) {
      std::cerr << seed << ": " << model.error().message << "\n";
      return 1;
    }
    for (const test::Found& found : test::organisation_found(*model, test::discovered_deep(*model, {}))) {
      ++tally[found.quantity][found.answer];
      if (found.answer != test::Answer::exact)
        std::cout << (found.answer == test::Answer::wrong ? "WRONG " : "open ") << seed << " " << text_of(found)
                  << "\n";
    }
  }
  for (auto& [quantity, answers] : tally)
    std::cout << fmt::format("{:18} exact {:4}  open {:4}  wrong {:4}\n", quantity, answers[test::Answer::exact],
                             answers[test::Answer::open], answers[test::Answer::wrong]);
  for (auto& [quantity, answers] : tally)
    if (answers[test::Answer::wrong] != 0) return 1;
  return 0;
}
