#include "results_table.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "comparison.hpp"

namespace gputopo::test {
namespace {

std::string heading(const std::string& model_name) {
  return fmt::format("## {}\n", model_name);
}

std::string row(const Statement& s) {
  return fmt::format("| {} | {} | {} | {} | {} |\n", s.memory, s.attribute, s.truth, s.found, to_string(s.verdict));
}

// A cache that isn't there takes one row if everything says so.
bool is_plainly_absent(const std::vector<Statement>& of_memory) {
  return std::all_of(of_memory.begin(), of_memory.end(),
                     [](const Statement& s) { return s.truth == "none" && s.verdict == Verdict::exact; });
}

std::string summary(const std::vector<Statement>& all) {
  constexpr std::array order{Verdict::exact,       Verdict::within_interval, Verdict::within_tolerance,
                             Verdict::bound_holds, Verdict::inconclusive,    Verdict::wrong};
  std::string text;
  for (const Verdict verdict : order) {
    const auto n = std::count_if(all.begin(), all.end(), [&](const Statement& s) { return s.verdict == verdict; });
    if (n != 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", n, to_string(verdict));
  }
  return text;
}

}  // namespace

std::string results_preface() {
  return "# What discovery finds of the simulated GPUs\n"
         "\n"
         "Written by `cmake --build build --target simulated-results`; the tests `All/BuiltinModel.IsFoundAsItIs` hold "
         "it against a\n"
         "discovery of each model (`gputopo discover --device sim:NAME`) and what the model says of itself (`gputopo "
         "models --truth\n"
         "NAME`). A verdict 'wrong' fails them.\n"
         "\n"
         "| verdict | means |\n"
         "| --- | --- |\n"
         "| exact | the truth; latencies to 0.05 cycles, groups of SMs to the SM, carve-outs with what each leaves to "
         "the "
         "cache |\n"
         "| within interval | the truth lies in the interval given |\n"
         "| within tolerance | latencies to 1.5 cycles or 3 %, sizes swept in the L2 to 6 % |\n"
         "| bound holds | a bound was stated, and the truth lies on the right side of it |\n"
         "| inconclusive | left open |\n"
         "| wrong | stated as fact, and false |\n"
         "\n"
         "'none' is a cache that the GPU lacks. What no experiment can tell is left open: where SMs sit on models "
         "whose "
         "latencies\n"
         "don't depend on it, carve-outs without loads that leave the cache as it is.\n"
         "\n";
}

std::string results_section(const sim::Model& model, const Topology& found) {
  const Topology truth = sim::truth(model);
  const auto all = statements(found, truth, Exactness::to_the_byte);
  std::string text = heading(model.name) + fmt::format("\n{}: {}.\n", model.gpu.name, summary(all));
  if (!model.sources.empty()) text += "The model's sources:\n\n";
  for (const std::string& source : model.sources) text += fmt::format("- {}\n", source);
  text += "\n";
  text += "| memory | attribute | truth | found | verdict |\n| --- | --- | --- | --- | --- |\n";
  for (auto begin = all.begin(); begin != all.end();) {
    const auto end = std::find_if(begin, all.end(), [&](const Statement& s) { return s.memory != begin->memory; });
    if (is_plainly_absent({begin, end})) {
      text += row({begin->memory, "all", "none", "none", Verdict::exact, true, ""});
    } else {
      for (auto s = begin; s != end; ++s) text += row(*s);
    }
    begin = end;
  }
  return text + "\n";
}

std::string section_in(const std::string& document, const std::string& model_name) {
  const std::string start = "\n" + heading(model_name);
  const std::size_t begin = document.find(start);
  if (begin == std::string::npos) return "";
  const std::size_t end = document.find("\n## ", begin + start.size());
  return document.substr(begin + 1, end == std::string::npos ? end : end - begin);
}

}  // namespace gputopo::test
