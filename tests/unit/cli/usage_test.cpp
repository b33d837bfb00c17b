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

TEST(Usage, CommonMistakesAreSaidInThisProgramsWords) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> mistakes{
      {{}, "there is no command; choose from "},
      {{"--nonsense"}, "there is no option '--nonsense'; see 'gputopo --help'"},
      {{"show", "--fromat", "json"}, "there is no option '--fromat'; the nearest one is '--format'; see"},
      {{"shwo"}, "there is no command 'shwo'; the nearest one is 'show'"},
      {{"help"}, "there is no command 'help'; choose from "},
      {{"verify", "--deep"}, "there is no option '--deep'; see"},
      {{"show", "a", "b"}, "'b' is one argument too many; see"},
      {{"show", "--format"}, "nothing follows --format; write --format NAME; see"},
      {{"analyze", "--seed"}, "nothing follows --seed; write --seed N; see"},
      {{"analyze", "--seed", "1", "--seed", "2", "x"}, "--seed is given 2 times; give it once; see"},
      {{"analyze", "--method", "best", "x"}, "--method: 'best' isn't one of default, thesis; see"},
      {{"export", "--mt4g"}, "nothing follows --mt4g; write --mt4g OUT.json|FOLDER; see"},
#ifdef GPUTOPO_HAS_DISCOVER
      {{"discover", "--sed", "1"}, "there is no option '--sed'; the nearest one is '--seed'; see"},
      {{"discover", "--only", ","}, "nothing follows --only; write --only ID,...; see"},
#endif
  };
  for (const auto& [arguments, words] : mistakes) {
    const Outcome o = run_gputopo(arguments);
    EXPECT_EQ(o.exit_code, 2);
    EXPECT_TRUE(is_one_error_line(o.err)) << o.err;
    EXPECT_THAT(o.err, HasSubstr(words));
  }
}

TEST(Usage, AnEmptyNameIsAMistakeAndNotNone) {
  const Folder folder;
  std::vector<std::vector<std::string>> mistakes{
      {"show", ""},          {"show", "--evidence", ""},         {"show", "-o", ""},
      {"show", "--output="}, {"models", "--truth", ""},          {"models", "-o", ""},
      {"analyze", ""},       {"analyze", "-", "-o", ""},         {"compare", "", "x"},
      {"compare", "-o", ""}, {"export", "--prometheus", ""},     {"export", "--hwloc-xml", ""},
      {"export", "--mt4g="}, {"export", "--prometheus", "-", ""}};
#ifdef GPUTOPO_HAS_DISCOVER
  for (const char* option : {"-o", "--record", "--evidence", "--device"})
    mistakes.push_back({"discover", "--device", "sim:gt200", "--only", "shared", option, ""});
  mistakes.push_back({"discover", "--device", "sim:gt200", "--only", "shared", "--record=", "--quiet"});
  mistakes.push_back({"discover", "--device", "replay:"});
  mistakes.push_back({"bench", "banks", "--device", "sim:gt200", "--record", ""});
  mistakes.push_back({"bench", "traffic", "", "--predict", "1", "--size", "4"});
#endif
  for (const auto& arguments : mistakes) {
    const Outcome o = run_gputopo(arguments);
    EXPECT_EQ(o.exit_code, 2) << ::testing::PrintToString(arguments);
    EXPECT_TRUE(is_one_error_line(o.err)) << o.err;
    EXPECT_EQ(o.out, "");
  }
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
