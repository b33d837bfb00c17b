// The memories as boxes: every line as wide as the first, what an SM has inside the SM, no more said than was measured.
#include "report/boxes.hpp"

#include <sstream>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "example.hpp"
#include "report/text.hpp"

namespace gputopo::report {
namespace {

using testing::HasSubstr;
using testing::Not;

Memory box_memory(const std::string& id, std::optional<Scope> scope, double bytes, Status status = Status::measured) {
  Memory m;
  m.id = id;
  m.label = id;
  m.scope = scope;
  Estimate& size = m.attributes["size"];
  size.value = bytes;
  size.unit = "B";
  size.status = status;
  return m;
}

Topology of_memories(std::vector<Memory> memories) {
  Topology t;
  t.gpu.sm_count = 8;
  t.memories = std::move(memories);
  return t;
}

std::vector<std::string> drawn(const Topology& t, std::size_t width = 80, bool unicode = false) {
  Options options;
  options.width = width;
  options.look.unicode = unicode;
  std::istringstream text(boxes(t, options));
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  return lines;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string all;
  for (const std::string& line : lines) all += line + '\n';
  return all;
}

TEST(Boxes, AreOneInAnother) {
  Topology t = of_memories({box_memory("l1", Scope::sm, 1024), box_memory("l2", Scope::gpu, 4096)});
  t.memories[0].parent = "l2";
  EXPECT_EQ(joined(drawn(t)), R"(+------------------+
| +--------------+ |
| |    8 x SM    | |
| | +----------+ | |
| | | l1 1 KiB | | |
| | +----------+ | |
| +--------------+ |
| +--------------+ |
| |   l2 4 KiB   | |
| +--------------+ |
+------------------+
)");
}

TEST(Boxes, LinesAreAllAsWideAndNoneWiderThanTheTerminal) {
  Topology t = example();
  for (const char* id : {"one", "another", "a third one of a long name", "\u00e9t\u00e9"})
    t.memories.push_back(box_memory(id, Scope::sm, 123456));
  t.memories.back().attributes["size"].status = Status::lower_bound;
  for (std::size_t width = 24; width < 140; ++width)
    for (const bool unicode : {false, true}) {
      const auto lines = drawn(t, width, unicode);
      ASSERT_GT(lines.size(), 8U);
      for (const std::string& line : lines) ASSERT_EQ(display_width(line), display_width(lines.front())) << line;
      EXPECT_LE(display_width(lines.front()), width);
    }
}

TEST(Boxes, SayNoMoreThanWasMeasured) {
  Memory absent = box_memory("absent", Scope::sm, 1024);
  absent.attributes["size"].status = Status::not_supported;
  Memory open = box_memory("open", Scope::sm, 1024);
  open.attributes["size"].status = Status::inconclusive;
  const std::string all = joined(
      drawn(of_memories({absent, open, box_memory("least", Scope::sm, 2048, Status::lower_bound),
                         box_memory("most", Scope::gpu, 2048, Status::upper_bound),
                         box_memory("told", Scope::gpu, 2048, Status::api), box_memory("whose", std::nullopt, 4096)})));
  EXPECT_THAT(all, Not(HasSubstr("absent")));
  EXPECT_THAT(all, HasSubstr(" open ? "));
  EXPECT_THAT(all, HasSubstr("least >= 2 KiB"));
  EXPECT_THAT(all, HasSubstr("most <= 2 KiB"));
  EXPECT_THAT(all, HasSubstr("told 2 KiB (driver)"));
  EXPECT_THAT(all, HasSubstr("whose 4 KiB (of whom: not measured)"));
  EXPECT_TRUE(drawn(of_memories({absent})).empty());
  EXPECT_TRUE(drawn(of_memories({})).empty());
}

TEST(Boxes, CountWhatIsThereSeveralTimes) {
  Memory group = box_memory("group", Scope::group, 1024);
  group.sm_groups = {{0, 1, 2}, {3, 4}, {5, 6, 7}};
  Memory sides = box_memory("sides", Scope::gpu, 4096);
  sides.attributes["partitions"] = sides.attributes["partition_size"] = sides.attributes["size"];
  sides.attributes["partitions"].value = 2;
  sides.attributes["partition_size"].value = 2048;
  Memory warps = box_memory("warps", Scope::sm, 1024);
  warps.instances_per_scope = 4;
  const std::string all = joined(drawn(of_memories({group, sides, warps})));
  EXPECT_THAT(all, HasSubstr("4 x warps 1 KiB"));
  EXPECT_THAT(all, HasSubstr("group 1 KiB (3 groups of 2-3 SMs)"));
  EXPECT_THAT(all, testing::ContainsRegex("[|] +partition 2 KiB +[|] [|] +partition 2 KiB +[|]"));
}

TEST(Boxes, OneCacheIsOneBoxWithTheSizeOfItsOwnPath) {
  Topology t = of_memories({box_memory("texture", Scope::sm, 1024), box_memory("l1", Scope::sm, 2048)});
  for (Memory& m : t.memories) m.physical_cache = "l1";
  EXPECT_THAT(joined(drawn(t)), HasSubstr("| texture/l1 2 KiB |"));
}

TEST(Boxes, GoFromTheSmToMemory) {
  Topology t = of_memories({box_memory("memory", Scope::gpu, 1 << 30), box_memory("l2", Scope::gpu, 4096),
                            box_memory("l3", Scope::gpu, 8192), box_memory("tpc", Scope::tpc, 2048),
                            box_memory("cache", Scope::sm, 1024), box_memory("scratch", Scope::sm, 512)});
  t.memories[0].kind = Kind::memory;
  t.memories[1].parent = "l3";
  t.memories[2].parent = "memory";
  t.memories[5].kind = Kind::scratchpad;
  const std::string all = joined(drawn(t));
  std::size_t before = 0;
  for (const char* what : {"8 x SM", "scratch", "cache", "tpc", "l2", "l3", "memory"}) {
    const std::size_t at = all.find(what);
    ASSERT_NE(at, std::string::npos) << what;
    EXPECT_GT(at, before) << what;
    before = at;
  }
}

}  // namespace
}  // namespace gputopo::report
