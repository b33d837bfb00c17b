#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "process_run.hpp"

namespace gputopo::cli {
namespace {

using ::testing::HasSubstr;

TEST(Usage, MistakesAreOneLineAndStatusTwo) {
  const std::vector<std::vector<std::string>> mistakes{{},
                                                       {"discoverr"},
                                                       {"--nonsense"},
                                                       {"show", "--format", "xml"},
                                                       {"show", "--format"},
                                                       {"show", "a", "b"},
                                                       {"devices", "extra"},
                                                       {"models", "--format", "xml"},
                                                       {"models", "--truth"}};
  for (const auto& arguments : mistakes) {
    const Outcome o = run_gputopo(arguments);
    EXPECT_EQ(o.exit_code, 2) << ::testing::PrintToString(arguments);
    EXPECT_TRUE(is_one_error_line(o.err)) << o.err;
    EXPECT_EQ(o.out, "");
  }
}

TEST(Usage, AMistakePointsToTheSubcommandsHelp) {
  EXPECT_THAT(run_gputopo({"show", "--nonsense"}).err, HasSubstr("see 'gputopo show --help'"));
}

TEST(Usage, HelpAndVersionGoToStdout) {
  const Outcome help = run_gputopo({"--help"});
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_THAT(help.out, HasSubstr("show"));
  EXPECT_THAT(help.out, HasSubstr("Exit status"));
  EXPECT_EQ(help.err, "");
  EXPECT_THAT(run_gputopo({"show", "--help"}).out, HasSubstr("--format"));
  EXPECT_EQ(run_gputopo({"--version"}).out, std::string("gputopo ") + GPUTOPO_VERSION + "\n");
}

}  // namespace
}  // namespace gputopo::cli
