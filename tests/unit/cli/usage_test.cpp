#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "process_run.hpp"
#include "text/printable.hpp"

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

TEST(Usage, ASeedIsADecimalNumber) {
  for (const char* command : {"discover", "verify", "analyze"})
    for (const char* seed : {"-1", "18446744073709551616", "1e3", "0x10", "", " 1", "1\x1b[31m"}) {
      const Outcome o = run_gputopo({command, "--seed", seed});
      EXPECT_EQ(o.exit_code, 2) << seed;
      EXPECT_TRUE(is_one_error_line(o.err)) << o.err;
      EXPECT_THAT(o.err, HasSubstr("write a whole number from 0 to 18446744073709551615")) << seed;
    }
  const auto seed_of = [](const char* seed) {
    const std::string out = run_gputopo({"discover", "--device", "sim:gt200", "--only", "shared", "--quiet", "--format",
                                         "json", "--seed", seed})
                                .out;
    return nlohmann::json::parse(out).at("provenance").at("seed").get<std::uint64_t>();
  };
  EXPECT_EQ(seed_of("010"), 10U);
  EXPECT_EQ(seed_of("18446744073709551615"), 18446744073709551615U);
}

TEST(Usage, NoErrorSteersATerminalOrIsOfAnyLength) {
  const std::string hostile = "\x1b[31m\a\r\n\xe2\x80\xae";
  const std::string long_name(3000, 'n');
  for (const std::string& text : {hostile, long_name}) {
    const std::vector<std::vector<std::string>> commands{{"show", text},
                                                         {"show", "--format", text},
                                                         {text},
                                                         {"analyze", text},
                                                         {"analyze", "--" + text},
                                                         {"models", "--truth", text},
                                                         {"models", "--truth", text + ".json"},
                                                         {"models", "-o", text + "/x"},
                                                         {"discover", "--device", text},
                                                         {"discover", "--device", "replay:" + text},
                                                         {"discover", "--only", text},
                                                         {"export", "--hwloc-xml", "-", text}};
    for (const auto& arguments : commands) {
      const Outcome o = run_gputopo(arguments);
      EXPECT_NE(o.exit_code, 0);
      EXPECT_TRUE(is_one_error_line(o.err)) << ::testing::PrintToString(arguments) << o.err;
      EXPECT_LT(o.err.size(), 700U) << ::testing::PrintToString(arguments);
      EXPECT_EQ(text::printable(o.err, o.err.size(), "\n"), o.err);
    }
  }
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
