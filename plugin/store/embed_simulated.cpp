// Runs when the project is built: writes every built-in model's true topology as C++ text to the file named.
#include <cstdio>
#include <exception>
#include <fstream>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "device/sim/model.hpp"
#include "topology/json.hpp"

namespace {

int embed(const char* path) {
  std::string rows;
  for (const std::string_view name : gputopo::sim::builtin_models()) {
    const auto model = gputopo::sim::builtin_model(name);
    if (!model) {
      std::fprintf(stderr, "embed_simulated: %s\n", model.error().message.c_str());
      return 1;
    }
    // On one line, without the indentation that only people need.
    const std::string json = gputopo::to_json(gputopo::sim::truth(*model)).dump();
    rows += fmt::format("    {{\"{}\", R\"json({})json\"}},\n", name, json);
  }
  std::ofstream out(path);
  out << "#include \"store/simulated.hpp\"\n\nnamespace gputopo::store {\nnamespace {\n\n"
      << "constexpr SimulatedText texts[] = {\n"
      << rows << "};\n\n}  // namespace\n\n"
      << "std::span<const SimulatedText> simulated_texts() { return texts; }\n\n}  // namespace gputopo::store\n";
  return out.flush() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: embed_simulated OUTPUT\n");
    return 2;
  }
  try {
    return embed(argv[1]);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "embed_simulated: %s\n", e.what());
    return 1;
  }
}
