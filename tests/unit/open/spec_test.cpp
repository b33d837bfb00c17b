#include "device/open/spec.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gputopo::device {
namespace {

using ::testing::HasSubstr;

TEST(Spec, EveryFormIsUnderstood) {
  EXPECT_EQ(*parse_spec("auto"), Spec{});
  EXPECT_EQ(*parse_spec("cuda:0"), (Spec{Spec::Kind::cuda, 0, {}}));
  EXPECT_EQ(*parse_spec("cuda:12"), (Spec{Spec::Kind::cuda, 12, {}}));
  EXPECT_EQ(*parse_spec("sim:h200"), (Spec{Spec::Kind::sim, 0, "h200"}));
  EXPECT_EQ(*parse_spec("sim:/a:b/c.json"), (Spec{Spec::Kind::sim, 0, "/a:b/c.json"}));
  EXPECT_EQ(*parse_spec("replay:r.json"), (Spec{Spec::Kind::replay, 0, "r.json"}));
}

TEST(Spec, EverythingElseIsRefusedWithTheFormsThereAre) {
  for (const char* bad : {"", "Auto", "cuda", "cuda:", "cuda:x", "cuda:-1", "cuda:1x", "cuda:99999999999", "sim",
                          "sim:", "replay:", "h200", "gpu:0", ":"}) {
    const auto spec = parse_spec(bad);
    ASSERT_FALSE(spec) << bad;
    EXPECT_EQ(spec.error().kind, Error::Kind::bad_input);
    EXPECT_THAT(spec.error().message, HasSubstr("use auto, cuda:N, sim:NAME, sim:FILE.json or replay:FILE"));
  }
}

TEST(Spec, FilesAreToldFromNames) {
  EXPECT_TRUE(names_file("a.json"));
  EXPECT_TRUE(names_file("./a"));
  EXPECT_FALSE(names_file("h200"));
}

}  // namespace
}  // namespace gputopo::device
