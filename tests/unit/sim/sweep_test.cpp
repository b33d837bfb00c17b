// Laps that nobody times are swept set by set: what they leave behind must be what single loads leave.
#include <gmock/gmock.h>

#include "device/sim/hierarchy.hpp"
#include "tests/unit/sim/walks.hpp"

namespace gputopo::sim {
namespace {

struct Shape {
  const char* cache;  ///< fields of the L2 beside size and line
  const char* tlbs;   ///< of its level
};

class Sweep : public testing::TestWithParam<Shape> {
 protected:
  static Model model() {
    return model_of(std::string(R"({"schema": "gputopo-model/1",
      "gpu": {"name": "S", "sm_count": 4, "memory": "1 GiB"}, "groups": {"partition": 2},
      "tlbs": {"t": {"page": "4 KiB", "entries": 8, "miss_penalty": 60, "replacement": "random"}},
      "caches": {"l2": {"size": "48 KiB", "line": 128, "sector": 32, "scope": "gpu", )") +
                    GetParam().cache + R"(}}, "paths": {"global_cached": [
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
  Route a = swept.route(*m.path(Path::global_l2_only), 0, 0, false);
  Route b = loaded.route(*m.path(Path::global_l2_only), 0, 0, false);
  Random draw(11);
  int sweeps = 0;
  for (int lap = 0; lap < 600; ++lap) {
    const std::uint64_t stride = 32U << draw.below(3);
    const std::uint64_t first =
        (draw.below(2) == 0 ? 0 : draw.below(1024)) * 128 + (stride == 128 ? 32 * draw.below(4) : 0);
    const std::uint64_t bytes = (1 + draw.below(draw.below(2) == 0 ? 64 : 900)) * 128;
    const std::uint64_t changes_a = a.changes();
    const std::uint64_t changes_b = b.changes();
    const bool done = Hierarchy::sweep(a, first, bytes, stride, swept_random);
    for (std::uint64_t at = 0; at < bytes; at += stride) {
      if (!done) swept.touch(a, first + at, swept_random);
      loaded.touch(b, first + at, loaded_random);
    }
    sweeps += done ? 1 : 0;
    ASSERT_EQ(a.changes() == changes_a, b.changes() == changes_b) << lap;
    if (lap % 3 == 0)  // what is there, of which sectors, in which order of age: seen by loads far and wide
      for (int i = 0; i < 300; ++i) {
        const std::uint64_t at = std::uint64_t{draw.below(8000)} * 32;
        ASSERT_EQ(swept.load(a, at, swept_random), loaded.load(b, at, loaded_random)) << lap << " " << at;
      }
  }
  EXPECT_EQ(sweeps, 600);
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, Sweep,
    testing::Values(Shape{R"("ways": 16)", "[]"}, Shape{R"("ways": 4, "index": "hash")", "[]"},
                    Shape{R"("sets": 24, "index": "hash")", R"(["t"])"}, Shape{R"("sets": 128)", R"(["t"])"},
                    Shape{R"("ways": 12, "index": "hash", "partitions": {"count": 2, "mode": "near_copy"})",
                          R"(["t"])"},
                    Shape{R"("ways": 3, "partitions": {"count": 2, "mode": "home", "interleave": 512})", "[]"}));

TEST(SweepOfOtherCaches, IsNotOffered) {
  for (const char* cache : {R"("replacement": "fifo", "ways": 4)", R"("index": "xor", "ways": 4)", R"("ways": 96)",
                            R"("consecutive_lines": 2, "ways": 4)", R"("ways": 4, "prefetch_lines": 1)"}) {
    const Model m = model_of(std::string(R"({"schema": "gputopo-model/1",
      "gpu": {"name": "S", "sm_count": 1, "memory": "1 GiB"},
      "caches": {"l2": {"size": "48 KiB", "line": 128, "scope": "gpu", )") +
                             cache + R"(}},
      "paths": {"global_cached": [{"level": "l2", "latency": 200}, {"level": "device_memory", "latency": 500}]}})");
    Hierarchy hierarchy(m);
    Random random(1);
    Route route = hierarchy.route(*m.path(Path::global_l2_only), 0, 0, false);
    EXPECT_FALSE(Hierarchy::sweep(route, 0, 4096, 128, random)) << cache;
    EXPECT_EQ(route.changes(), 0U) << cache;
  }
}

}  // namespace
}  // namespace gputopo::sim
