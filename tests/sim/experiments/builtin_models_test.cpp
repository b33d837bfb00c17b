// Discovery finds what is true of every built-in model, and docs/results-simulated.md says so.
#include <fstream>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "comparison.hpp"
#include "device/sim/model.hpp"
#include "device/sim/sim_device.hpp"
#include "experiments/discover.hpp"
#include "results_table.hpp"

namespace gputopo {
namespace {

#if defined(GPUTOPO_ADDRESS_SANITIZER)
constexpr bool sanitized = true;
#else
constexpr bool sanitized = false;
#endif

// Models whose L2 takes minutes under the sanitizers.
bool is_large(const sim::Model& model) {
  constexpr std::uint64_t large_l2_bytes = 32 << 20;
  return model.api_l2_bytes > large_l2_bytes;
}

Topology discover_model(sim::Model model, const experiments::DiscoverOptions& options = {}) {
  const auto device = sim::make_device(std::move(model));
  auto found = experiments::discover(*device, options);
  EXPECT_TRUE(found.has_value()) << (found ? "" : found.error().message);
  return found ? std::move(*found) : Topology{};
}

sim::Model load(const std::string& name) {
  auto model = sim::builtin_model(name);
  if (!model) throw std::runtime_error(model.error().message);
  return std::move(*model);
}

std::string results_document() {
  std::ostringstream text;
  text << std::ifstream(GPUTOPO_SOURCE_DIR "/docs/results-simulated.md").rdbuf();
  return text.str();
}

std::string section_without_trailing_space(std::string section) {
  while (!section.empty() && section.back() == '\n') section.pop_back();
  return section;
}

class BuiltinModel : public testing::TestWithParam<std::string_view> {};

TEST_P(BuiltinModel, IsFoundAsItIs) {
  const sim::Model model = load(std::string(GetParam()));
  if (sanitized && is_large(model)) GTEST_SKIP() << "too large an L2 for a build with sanitizers";
  const Topology found = discover_model(model);
  EXPECT_EQ(test::complaints(test::statements(found, sim::truth(model), test::Exactness::to_the_byte)), "");
  const std::string name(GetParam());
  EXPECT_EQ(section_without_trailing_space(test::results_section(model, found)),
            section_without_trailing_space(test::section_in(results_document(), name)))
      << "docs/results-simulated.md no longer says what is found; write it anew with: "
         "cmake --build build --target simulated-results";
}

TEST(ResultsDocument, BeginsWithItsPreface) {
  EXPECT_TRUE(results_document().starts_with(test::results_preface()));
}

TEST(ResultsDocument, HasASectionForEveryModelAndNoOther) {
  const std::string document = results_document();
  std::size_t sections = 0;
  for (std::size_t at = document.find("\n## "); at != std::string::npos; at = document.find("\n## ", at + 1))
    ++sections;
  EXPECT_EQ(sections, sim::builtin_models().size());
}

INSTANTIATE_TEST_SUITE_P(All, BuiltinModel, testing::ValuesIn(sim::builtin_models()),
                         [](const auto& param) { return std::string(param.param); });

TEST(BuiltinModels, AreFoundAlikeWhateverTheSeed) {
  const sim::Model model = load("k20c");
  for (const std::uint64_t seed : {2U, 12345U}) {
    experiments::DiscoverOptions options;
    options.seed = seed;
    EXPECT_EQ(test::complaints(
                  test::statements(discover_model(model, options), sim::truth(model), test::Exactness::to_the_byte)),
              "")
        << seed;
  }
}

TEST(BuiltinModels, SameSeedGivesTheSameBits) {
  const sim::Model model = load("fermi");
  const Topology a = discover_model(model);
  const Topology b = discover_model(model);
  EXPECT_EQ(a.memories, b.memories);
}

TEST(ThesisMethod, SizesTheL1OfP6000WithinFivePercent) {
  const sim::Model model = load("p6000");
  experiments::DiscoverOptions options;
  options.method = experiments::Method::thesis;
  options.only = {"l1"};
  const Topology found = discover_model(model, options);
  const Topology truth = sim::truth(model);
  const Memory* l1 = found.find("l1");
  ASSERT_NE(l1, nullptr);
  const Estimate* size = l1->find("size");
  ASSERT_NE(size, nullptr);
  ASSERT_EQ(size->status, Status::measured);
  EXPECT_TRUE(test::within(*size->value, *truth.find("l1")->find("size")->value, 0.05)) << *size->value;
  EXPECT_EQ(found.provenance.method, "thesis");
}

}  // namespace
}  // namespace gputopo
