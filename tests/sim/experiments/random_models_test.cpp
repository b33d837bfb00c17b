// Discovery on GPUs that nobody foresaw: never a wrong number, hardly ever none.
//
// GPUTOPO_RANDOM_MODELS=N tries N models instead of the usual, GPUTOPO_RANDOM_SEED=S begins at seed S,
// GPUTOPO_RANDOM_KEEP=FOLDER keeps the models that failed, for `gputopo discover --device sim:FOLDER/random-S.json`;
// GPUTOPO_RANDOM_FILE=FILE tries a kept one again.
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "comparison.hpp"
#include "device/sim/model.hpp"
#include "device/sim/sim_device.hpp"
#include "experiments/discover.hpp"
#include "random_model.hpp"

namespace gputopo {
namespace {

std::uint64_t number_from(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

void keep(const std::string& name, const std::string& text) {
  if (const char* folder = std::getenv("GPUTOPO_RANDOM_KEEP"))
    std::ofstream(fmt::format("{}/{}.json", folder, name)) << text;
}

struct Tally {
  std::size_t models = 0, statements = 0, wrong = 0, undecided = 0;
};

// Discovers one model and says what isn't as it should be.
void discover_one(const std::string& name, const std::string& text, Tally& tally) {
  auto model = sim::parse_model(text, name);
  ASSERT_TRUE(model.has_value()) << name << ": " << model.error().message;
  const Topology truth = sim::truth(*model);
  const auto device = sim::make_device(std::move(*model));
  auto found = experiments::discover(*device, {});
  ASSERT_TRUE(found.has_value()) << name << ": " << found.error().message;
  ++tally.models;
  const auto all = test::statements(*found, truth, test::Exactness::to_the_line);
  tally.statements += all.size();
  tally.wrong += static_cast<std::size_t>(std::count_if(all.begin(), all.end(), test::is_wrong));
  tally.undecided += static_cast<std::size_t>(std::count_if(all.begin(), all.end(), test::is_undecided));
  const std::string complaints = test::complaints(all);
  if (complaints.empty()) return;
  keep(name, text);
  fmt::print("{}:\n{}", name, complaints);
}

// The models of the seeds [first, first + count).
Tally discover_range(std::uint64_t first, std::uint64_t count) {
  Tally tally;
  for (std::uint64_t seed = first; seed < first + count; ++seed)
    discover_one(fmt::format("random-{}", seed), test::random_model(seed).dump(1), tally);
  return tally;
}

#if defined(__SANITIZE_ADDRESS__)
constexpr std::uint64_t usual_count = 12;
#else
constexpr std::uint64_t usual_count = 40;  // some twenty seconds
#endif

TEST(RandomModels, AreFoundAsTheyAre) {
  const Tally tally =
      discover_range(number_from("GPUTOPO_RANDOM_SEED", 1), number_from("GPUTOPO_RANDOM_MODELS", usual_count));
  EXPECT_EQ(tally.wrong, 0U);
  // One in a thousand may be left open.
  EXPECT_LE(tally.undecided, tally.statements / 1000);
}

TEST(KeptModel, IsFoundAsItIs) {
  const char* path = std::getenv("GPUTOPO_RANDOM_FILE");
  if (path == nullptr) GTEST_SKIP() << "set GPUTOPO_RANDOM_FILE to try a model that was kept";
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  Tally tally;
  discover_one(path, text.str(), tally);
  EXPECT_EQ(tally.wrong, 0U);
  EXPECT_EQ(tally.undecided, 0U);
}

}  // namespace
}  // namespace gputopo
