// What stores leave in simulated caches, told by the latency of the loads behind them.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "tests/unit/sim/walks.hpp"

namespace gputopo::sim {
namespace {

using ::testing::ElementsAre;

constexpr std::uint32_t of_l1 = 30, of_l2 = 200, of_memory = 500;

Model storing_model(std::string_view l1, std::string_view l2) {
  return model_of(fmt::format(R"({{
  "schema": "gputopo-model/1",
  "gpu": {{"name": "Stores", "sm_count": 2, "memory": "1 GiB"}},
  "caches": {{
    "l1": {{"size": "8 KiB", "line": 128, "sector": 32, "ways": 4{}}},
    "l2": {{"size": "256 KiB", "line": 128, "sector": 32, "ways": 16, "scope": "gpu"{}}}
  }},
  "paths": {{
    "global_cached": [{{"level": "l1", "latency": 30}}, {{"level": "l2", "latency": 200}},
                      {{"level": "device_memory", "latency": 500}}]
  }}
}})",
                              l1, l2));
}

program::Walk one_word(Path path, std::uint64_t at, Record record = Record::nothing) {
  program::Walk w = walk(path, 4, 4, record);
  w.first_byte = at;
  return w;
}

// Latencies of loads at `looks`, one after another, after stores at `stores`, after loads at `loads`.
std::vector<std::uint32_t> seen_after(const Model& model, const std::vector<std::uint64_t>& loads,
                                      const std::vector<std::uint64_t>& stores, const std::vector<std::uint64_t>& looks,
                                      Path path = Path::global_cached) {
  auto p = program_of({}, 4096);
  for (const std::uint64_t at : loads) p.phases.emplace_back(one_word(path, at));
  for (const std::uint64_t at : stores) p.phases.emplace_back(one_word(Path::global_store, at));
  for (const std::uint64_t at : looks) p.phases.emplace_back(one_word(path, at, Record::latencies));
  const auto trace = run_one(*make_device(model), p);
  std::vector<std::uint32_t> latencies;
  for (const auto& phase : trace.phases)
    latencies.insert(latencies.end(), phase.latencies.begin(), phase.latencies.end());
  return latencies;
}

TEST(Stores, LeaveTheirWordInAnL1AndNothingOfItInAnL2ThatNvidiaMakes) {
  const Model m = storing_model("", "");
  EXPECT_THAT(seen_after(m, {}, {64}, {64, 64}), ElementsAre(of_l1, of_l1));
  EXPECT_THAT(seen_after(m, {}, {64}, {68, 64, 68}), ElementsAre(of_memory, of_l1, of_l1));
  EXPECT_THAT(seen_after(m, {}, {64}, {32}), ElementsAre(of_memory));
  EXPECT_THAT(seen_after(m, {}, {64}, {64, 68}, Path::global_l2_only), ElementsAre(of_memory, of_l2));
}

TEST(Stores, OfAWholeSectorLeaveItWhereItsWordsAreKept) {
  const std::vector<std::uint64_t> whole{32, 36, 40, 44, 48, 52, 56, 60};
  const Model m = storing_model("", "");
  EXPECT_THAT(seen_after(m, {}, whole, {60, 64}, Path::global_l2_only), ElementsAre(of_l2, of_memory));
  EXPECT_THAT(seen_after(m, {}, whole, {60}), ElementsAre(of_l1));
  auto all_but_one = whole;
  all_but_one.pop_back();
  EXPECT_THAT(seen_after(m, {}, all_but_one, {32}, Path::global_l2_only), ElementsAre(of_memory));
}

TEST(Stores, AllocateAsTheModelSays) {
  const auto looks = [](const char* allocate) {
    const Model m =
        storing_model(fmt::format(R"(, "write_allocate": "{}")", allocate), R"(, "write_allocate": "none")");
    return std::vector<std::uint32_t>{seen_after(m, {}, {64}, {64})[0], seen_after(m, {}, {64}, {68})[0],
                                      seen_after(m, {}, {64}, {32})[0]};
  };
  EXPECT_THAT(looks("none"), ElementsAre(of_memory, of_memory, of_memory));
  EXPECT_THAT(looks("full_sector"), ElementsAre(of_memory, of_memory, of_memory));
  EXPECT_THAT(looks("word"), ElementsAre(of_l1, of_memory, of_memory));
  EXPECT_THAT(looks("sector"), ElementsAre(of_l1, of_l1, of_memory));
  EXPECT_THAT(looks("line"), ElementsAre(of_l1, of_l1, of_l1));
}

TEST(Stores, ThatFillASectorBringTheRestOfItFromTheNextLevel) {
  const Model m = storing_model(R"(, "write_allocate": "sector", "write_policy": "back")", "");
  EXPECT_THAT(seen_after(m, {}, {64}, {68}, Path::global_l2_only), ElementsAre(of_l2));
}

TEST(Stores, UpdateOrInvalidateTheLineThatIsThere) {
  EXPECT_THAT(seen_after(storing_model("", ""), {64, 96}, {64}, {64, 96}), ElementsAre(of_l1, of_l1));
  const Model m = storing_model(R"(, "write_hit": "invalidate")", "");
  EXPECT_THAT(seen_after(m, {64, 96}, {64}, {64, 96}), ElementsAre(of_l2, of_l2));
  EXPECT_THAT(seen_after(storing_model("", R"(, "write_hit": "invalidate")"), {64}, {64}, {64}, Path::global_l2_only),
              ElementsAre(of_memory));
}

TEST(Stores, ThatAnL1WritesBackDoNotReachTheL2) {
  const std::vector<std::uint64_t> whole{0, 4, 8, 12, 16, 20, 24, 28};
  EXPECT_THAT(seen_after(storing_model(R"(, "write_policy": "back")", ""), {}, whole, {0}, Path::global_l2_only),
              ElementsAre(of_memory));
  const Model passes = storing_model(R"(, "write_policy": "back", "write_allocate": "none")", "");
  EXPECT_THAT(seen_after(passes, {}, whole, {0}, Path::global_l2_only), ElementsAre(of_l2));
}

TEST(Stores, AreGoneWithTheirLine) {
  auto p = program_of(
      {one_word(Path::global_store, 64), walk(Path::global_cached, 64 << 10, 128, Record::nothing),
       one_word(Path::global_cached, 64, Record::latencies), one_word(Path::global_cached, 68, Record::latencies)},
      64 << 10);
  // The walk brings in the line's first sector and pushes it out again; then its third comes back as a whole.
  auto trace = run_one(*make_device(storing_model("", "")), p);
  EXPECT_THAT(trace.phases[2].latencies, ElementsAre(of_memory));
  EXPECT_THAT(trace.phases[3].latencies, ElementsAre(of_l1));
  // With another sector of the line there anew, the word is still gone.
  p.phases = {one_word(Path::global_store, 64), walk(Path::global_cached, 64 << 10, 128, Record::nothing),
              one_word(Path::global_cached, 32), one_word(Path::global_cached, 64, Record::latencies)};
  trace = run_one(*make_device(storing_model("", "")), p);
  EXPECT_THAT(trace.phases[3].latencies, ElementsAre(of_memory));
}

TEST(Stores, CountAsLoadsDo) {
  auto p = program_of({walk(Path::global_store, 4096, 32, Record::nothing, 3)}, 4096);
  EXPECT_EQ(run_one(*make_device(storing_model("", "")), p).phases[0].loads, 384U);
}

}  // namespace
}  // namespace gputopo::sim
