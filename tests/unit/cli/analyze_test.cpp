#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "process_run.hpp"

namespace gputopo::cli {
namespace {

using ::testing::HasSubstr;

// Hits at 40 cycles up to 4096 bytes, then a line of 64 bytes after another misses at 240.
std::string step_trace() {
  std::string text;
  for (int size = 2048; size <= 6144; size += 64) {
    text += std::to_string(size);
    for (int load = 0; load < size / 64; ++load) {
      text += load < 4 * (size - 4096) / 64 ? ",240" : ",40";
    }
    text += "\n";
  }
  return text;
}

std::string file(const Folder& folder, const std::string& text) {
  const std::string path = folder / "trace.csv";
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

TEST(Analyze, PrintsOneEstimateAsJson) {
  const Folder folder;
  const Outcome o = run_gputopo({"analyze", file(folder, step_trace()), "--format", "json"});
  ASSERT_EQ(o.exit_code, 0) << o.err;
  EXPECT_EQ(o.err, "");
  const auto json = nlohmann::json::parse(o.out);
  EXPECT_EQ(json.at("value"), 4096);
  EXPECT_EQ(json.at("unit"), "B");
  EXPECT_EQ(json.at("status"), "measured");
  EXPECT_EQ(json.at("method"), "binomial_isotonic");
  EXPECT_EQ(json.at("interval").at(0), 4096);
  EXPECT_GT(json.at("confidence"), 0.9);
  EXPECT_GT(json.at("samples"), 1000);
}

TEST(Analyze, CountsOneLoadAsOneAndKnowsNoLineOfAnEmptyFile) {
  const Folder folder;
  EXPECT_THAT(run_gputopo({"analyze", file(folder, "1024,30\n")}).out, HasSubstr(" 1 load\n"));
  EXPECT_THAT(run_gputopo({"analyze", file(folder, "")}).err,
              HasSubstr("trace.csv': there are no rows; write rows of 'size,latency"));
}

TEST(Analyze, PrintsATableAndKnowsTheThesis) {
  const Folder folder;
  const std::string path = file(folder, step_trace());
  EXPECT_THAT(run_gputopo({"analyze", path}).out, HasSubstr("size        4096 B\n"));
  const Outcome thesis = run_gputopo({"analyze", path, "--method", "thesis"});
  EXPECT_EQ(thesis.exit_code, 0);
  EXPECT_THAT(thesis.out, HasSubstr("geometric_ks"));
}

TEST(Analyze, SaysWhichRowNoLongerFits) {
  const Folder folder;
  EXPECT_THAT(run_gputopo({"analyze", file(folder, step_trace())}).out,
              HasSubstr("next row    4160 B, which no longer fits\n"));
}

TEST(Analyze, ReadsEveryAttribute) {
  const Folder folder;
  std::string cold;
  for (int stride = 4; stride <= 128; stride += 4) {
    cold += std::to_string(stride);
    for (int load = 1; load <= 64; ++load) {
      cold += load * stride / 32 != (load - 1) * stride / 32 ? ",300" : ",40";
    }
    cold += "\n";
  }
  EXPECT_THAT(run_gputopo({"analyze", file(folder, cold), "--attribute", "fetch_granularity"}).out,
              HasSubstr("fetch_granularity 32 B\n"));
  EXPECT_THAT(run_gputopo({"analyze", file(folder, "38\n38\n39\n38\n38\n38\n900\n"), "--attribute", "latency"}).out,
              HasSubstr("latency     38 cycles\n"));
  std::string lines;
  for (const int stride : {16, 32, 48, 64, 80, 96}) {
    for (int size = 1024; size <= 4096; size += 128) {
      lines += std::to_string(stride) + "," + std::to_string(size);
      const int touched = stride <= 64 ? size : size * 64 / stride;
      for (int load = 0; load < 40; ++load) {
        lines += touched > 2048 && (stride >= 32 || load % 2 == 0) ? ",240" : ",40";
      }
      lines += "\n";
    }
  }
  EXPECT_THAT(run_gputopo({"analyze", file(folder, lines), "--attribute", "line_size"}).out,
              HasSubstr("line_size   64 B\n"));
}

TEST(Analyze, BoundsAreNoValues) {
  const Folder folder;
  std::string rows, loads;
  for (int load = 0; load < 40; ++load) loads += ",40";
  for (const char* size : {"1024", "2048", "4096"}) rows += size + loads + "\n";
  const Outcome o = run_gputopo({"analyze", file(folder, rows)});
  EXPECT_EQ(o.exit_code, 0);
  EXPECT_THAT(o.out, HasSubstr("at least 4096 B"));
  // Two loads of its last row may all have hit by chance.
  const Outcome few = run_gputopo({"analyze", file(folder, "1024,40,40\n2048,40,40\n4096,40,40\n")});
  EXPECT_THAT(few.out, HasSubstr("at least 2048 B"));
  EXPECT_THAT(few.out, HasSubstr("too few loads to be sure"));
}

TEST(Analyze, InconclusiveIsStatusThree) {
  const Folder folder;
  const Outcome o = run_gputopo({"analyze", file(folder, "1024,40\n"), "--format", "json"});
  EXPECT_EQ(o.exit_code, 3);
  const auto json = nlohmann::json::parse(o.out);
  EXPECT_EQ(json.at("status"), "inconclusive");
  EXPECT_NE(json.at("note"), "");
}

TEST(Analyze, TooFewLoadsAreNeitherASizeNorNoChange) {
  const Folder folder;
  for (const std::string text :
       {"1024,30,30\n2048,300,300\n", "1024,30\n2048,300\n", "1024,30,30\n2048,300,300\n4096,300,300\n"}) {
    const Outcome o = run_gputopo({"analyze", file(folder, text)});
    EXPECT_EQ(o.exit_code, 3) << text;
    EXPECT_THAT(o.out, HasSubstr("size        inconclusive\n"));
    EXPECT_THAT(o.out, HasSubstr("too few"));
  }
}

TEST(Analyze, MalformedInputIsOneLineWithItsNumber) {
  const Folder folder;
  for (const std::string text : {"64,1\n128,x\n", "64,1\n128,nan\n", "64,1\n128,-1\n", "64,1\n128\n"}) {
    const Outcome o = run_gputopo({"analyze", file(folder, text)});
    EXPECT_EQ(o.exit_code, 1) << text;
    EXPECT_TRUE(is_one_error_line(o.err)) << o.err;
    EXPECT_THAT(o.err, HasSubstr("line 2: "));
    EXPECT_EQ(o.out, "");
  }
  const Outcome missing = run_gputopo({"analyze", folder / "nothing.csv"});
  EXPECT_EQ(missing.exit_code, 1);
  EXPECT_THAT(missing.err, HasSubstr("No such file"));
  EXPECT_EQ(run_gputopo({"analyze", folder.path()}).exit_code, 1);
}

TEST(Analyze, NumbersThatAreNoLatenciesAreOneLine) {
  const Folder folder;
  std::string microseconds;
  std::string times;
  std::string sizes;
  for (int i = 0; i < 20; ++i) {
    microseconds += "0.0608\n";
    times += std::to_string(1000 + 40 * i) + "\n";
    sizes += std::to_string(1024 + 256 * i) + ",40,41,40\n";
  }
  for (const auto& [text, reason] :
       {std::pair{microseconds, "microseconds"}, {times, "above the one before"}, {sizes, "sizes or strides"}}) {
    const Outcome o = run_gputopo({"analyze", file(folder, text), "--attribute", "latency"});
    EXPECT_EQ(o.exit_code, 1) << text;
    EXPECT_TRUE(is_one_error_line(o.err)) << o.err;
    EXPECT_THAT(o.err, HasSubstr(reason));
  }
  for (const std::string attribute : {"size", "fetch_granularity", "line_size"}) {
    const std::string text = "32,1024,0.06,0.06\n32,2048,0.06,0.17\n32,4096,0.06,0.17\n";
    const Outcome o =
        run_gputopo({"analyze", file(folder, attribute == "line_size" ? text : "1024,0.06,0.06\n2048,0.06,0.17\n"),
                     "--attribute", attribute});
    EXPECT_EQ(o.exit_code, 1) << attribute;
    EXPECT_THAT(o.err, HasSubstr("microseconds")) << attribute;
  }
  const Outcome kib = run_gputopo({"analyze", file(folder, "24,40,40\n24.25,40,40\n")});
  EXPECT_EQ(kib.exit_code, 1);
  EXPECT_THAT(kib.err, HasSubstr("line 2: a size or stride is no whole number of bytes"));
}

TEST(Analyze, CountsOneRowAsOne) {
  const Folder folder;
  EXPECT_THAT(run_gputopo({"analyze", file(folder, "1024,30\n")}).out, HasSubstr("the trace has 1 usable row, at"));
}

TEST(Analyze, WrongFlagsAreStatusTwo) {
  EXPECT_EQ(run_gputopo({"analyze"}).exit_code, 2);
  EXPECT_EQ(run_gputopo({"analyze", "x.csv", "--attribute", "colour"}).exit_code, 2);
  EXPECT_EQ(run_gputopo({"analyze", "x.csv", "--method", "guess"}).exit_code, 2);
  EXPECT_EQ(run_gputopo({"analyze", "x.csv", "--format", "html"}).exit_code, 2);
}

}  // namespace
}  // namespace gputopo::cli
