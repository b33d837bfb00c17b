// Laps that nobody times are taken line by line or set by set: what they leave must be what single loads leave.
#include <gmock/gmock.h>

#include "device/sim/hierarchy.hpp"
#include "program/order.hpp"
#include "tests/unit/sim/walks.hpp"

namespace gputopo::sim {
namespace {

struct Shape {
  const char* cache;        ///< fields of the L2 beside size and line
  const char* tlbs;         ///< of its level
  const char* before = "";  ///< the L1 in front of it
  const char* first_level = R"({"level": "l1", "latency": 30, "tlbs": ["t"]},)";
};

class Sweep : public testing::TestWithParam<Shape> {
 protected:
  static Model model() {
    return model_of(std::string(R"({"schema": "gputopo-model/1",
      "gpu": {"name": "S", "sm_count": 4, "memory": "1 GiB"}, "groups": {"partition": 2},
      "tlbs": {"t": {"page": "4 KiB", "entries": 8, "miss_penalty": 60, "replacement": "random"}},
      "caches": {)") +
                    GetParam().before + R"("l2": {"size": "48 KiB", "line": 128, "sector": 32, "scope": "gpu", )" +
                    GetParam().cache + R"(}}, "paths": {"global_cached": [)" +
                    (*GetParam().before == 0 ? "" : GetParam().first_level) + R"(
        {"level": "l2", "latency": 200, "far_latency": 300, "tlbs": )" +
                    GetParam().tlbs + R"(},
        {"level": "device_memory", "latency": 500}]}})");
  }
};

TEST_P(Sweep, LeavesWhatSingleLoadsLeave) {
  const Model m = model();
  Hierarchy swept(m);
  Hierarchy loaded(m);
  Random swept_random(5);
  Random loaded_random(5);
  Route a = swept.route(*m.path(Path::global_cached), 0, 0, false);
  Route b = loaded.route(*m.path(Path::global_cached), 0, 0, false);
  Random draw(11);
  for (int lap = 0; lap < 600; ++lap) {
    const std::uint64_t stride = 8U << draw.below(8);
    const std::uint64_t first = (draw.below(2) == 0 ? 0 : draw.below(4096)) * 32 + (draw.below(4) == 0 ? 8 : 0);
    const std::uint64_t loads = 1 + draw.below(draw.below(2) == 0 ? 64 : 1000);
    const std::uint64_t changes_a = a.changes();
    const std::uint64_t changes_b = b.changes();
    ASSERT_TRUE(swept.sweep(a, first, loads * stride, stride, swept_random));
    for (std::uint64_t i = 0; i < loads; ++i) loaded.touch(b, first + i * stride, loaded_random);
    if (b.changes() != changes_b) {
      ASSERT_NE(a.changes(), changes_a) << lap;
    }
    if (lap % 3 == 0)  // what is there, of which sectors, in which order of age: seen by loads far and wide
      for (int i = 0; i < 300; ++i) {
        const std::uint64_t at = std::uint64_t{draw.below(8000)} * 32;
        ASSERT_EQ(swept.load(a, at, swept_random), loaded.load(b, at, loaded_random)) << lap << " " << at;
      }
  }
  EXPECT_EQ(swept_random.bits(), loaded_random.bits()) << "as many random numbers were drawn";
}

// Rounds of two SMs of different sides, again and again, with other loads in between.
TEST_P(Sweep, RoundsLeaveWhatSingleLoadsLeave) {
  const Model m = model();
  Hierarchy at_once(m);
  Hierarchy one_by_one(m);
  Random a_random(5);
  Random b_random(5);
  Random draw(12);
  const PathModel& path = *m.path(Path::global_cached);
  std::array<std::uint64_t, 2> hits{};
  for (int program = 0; program < 400; ++program) {
    const std::uint32_t sm = draw.below(2) * 2;
    at_once.launch({sm});
    one_by_one.launch({sm});
    Route a = at_once.route(path, sm, 0, false);
    Route b = one_by_one.route(path, sm, 0, false);
    // Twelve programs of one kind follow each other; kinds overlap, and some overflow the L2.
    Random kind(static_cast<std::uint64_t>(program) / 12);
    Rounds r{std::uint64_t{kind.below(3)} * 4096, 1 + kind.below(kind.below(2) == 0 ? 300 : 900), 128};
    r.stride_bytes = kind.below(3) == 0 ? 64 : 128;
    r.step = kind.below(2) == 0 || r.count % 7 == 0 ? 1 : 7 % r.count;
    r.step = r.count == 1 ? 0 : r.step;
    r.loads = r.count * kind.below(5) + kind.below(9);
    // Laps before them, which many kinds share.
    const std::uint64_t laps = kind.below(3);
    const std::uint64_t lap_lines = 40 + 40 * kind.below(2);
    for (std::uint64_t lap = 0; lap < laps; ++lap) {
      ASSERT_TRUE(at_once.sweep(a, 0, lap_lines * 128, 32, a_random));
      for (std::uint64_t at = 0; at < lap_lines * 128; at += 32) one_by_one.touch(b, at, b_random);
    }
    at_once.rounds(a, r, a_random);
    for (std::uint64_t i = 0, position = 0; i < r.loads; ++i, position = program::advance(position, r.step, r.count))
      one_by_one.touch(b, r.address + position * r.stride_bytes, b_random);
    if (program % 4 == 0) {
      at_once.pass(a, 1 << 20, a_random);
      one_by_one.pass(b, 1 << 20, b_random);
    }
    for (int i = 0; i < 40; ++i) {
      const std::uint64_t at = draw.below(3) == 0
                                   ? std::uint64_t{draw.below(8000)} * 32
                                   : r.address + draw.below(static_cast<std::uint32_t>(r.count)) * r.stride_bytes;
      const double latency = at_once.load(a, at, a_random);
      ASSERT_EQ(latency, one_by_one.load(b, at, b_random)) << program << " " << at;
      ++hits[latency < 400 ? 1 : 0];
    }
  }
  EXPECT_EQ(a_random.bits(), b_random.bits()) << "as many random numbers were drawn";
  EXPECT_GT(hits[0], 100U);
  EXPECT_GT(hits[1], 100U);
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, Sweep,
    testing::Values(
        Shape{R"("ways": 16)", "[]"}, Shape{R"("ways": 4, "index": "hash")", "[]"},
        Shape{R"("sets": 24, "index": "hash")", R"(["t"])"}, Shape{R"("sets": 128)", R"(["t"])"},
        Shape{R"("ways": 12, "index": "hash", "partitions": {"count": 2, "mode": "near_copy"})", R"(["t"])"},
        Shape{R"("ways": 3, "partitions": {"count": 2, "mode": "home", "interleave": 512})", "[]"},
        Shape{R"("ways": 6, "index": "xor")", "[]"}, Shape{R"("ways": 6, "index": "xor", "sets": 64)", "[]"},
        Shape{R"("ways": 8, "consecutive_lines": 4, "index": "hash")", "[]"},
        Shape{R"("ways": 4, "replacement": "fifo")", R"(["t"])"},
        Shape{R"("ways": 96, "replacement": "random")", R"(["t"])"},
        Shape{R"("ways": 6, "replacement": "random")", R"(["t"])",
              R"("l1": {"size": "8 KiB", "line": 1024, "sector": 32, "replacement": "random"},)"},
        Shape{R"("ways": 6, "replacement": "not_most_recent",
                            "partitions": {"count": 2, "mode": "near_copy"})",
              R"([])", R"("l1": {"size": "8 KiB", "line": 2048, "sector": 64, "replacement": "tree_plru"},)"},
        Shape{R"("ways": 12)", R"(["t"])", R"("l1": {"size": "8 KiB", "line": 32, "ways": 4, "replacement": "lru"},)"},
        Shape{
            R"("ways": 16, "partitions": {"count": 2, "mode": "near_copy"})", R"(["t"])",
            R"("l1": {"size": "9 KiB", "line": 64, "sector": 32, "replacement": "tree_plru", "cleared_at_launch": true},)",
            R"({"level": "l1", "latency": 30},)"}));

TEST(SweepWithPrefetch, IsNotOffered) {
  const Model m = model_of(R"({"schema": "gputopo-model/1", "gpu": {"name": "S", "sm_count": 1, "memory": "1 GiB"},
      "caches": {"l2": {"size": "48 KiB", "line": 128, "scope": "gpu", "ways": 4, "prefetch_lines": 1}},
      "paths": {"global_cached": [{"level": "l2", "latency": 200}, {"level": "device_memory", "latency": 500}]}})");
  Hierarchy hierarchy(m);
  Random random(1);
  Route route = hierarchy.route(*m.path(Path::global_l2_only), 0, 0, false);
  EXPECT_FALSE(hierarchy.sweep(route, 0, 4096, 128, random));
  EXPECT_EQ(route.changes(), 0U);
}

}  // namespace
}  // namespace gputopo::sim
