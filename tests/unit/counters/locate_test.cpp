#include "counters/locate.hpp"

#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gputopo::counters {
namespace {

using ::testing::Contains;
using ::testing::EndsWith;
using ::testing::MatchesRegex;

std::vector<std::string> candidates(const std::map<std::string, std::string>& variables) {
  return cupti_candidates([&](const std::string& name) {
    const auto it = variables.find(name);
    return it == variables.end() ? std::nullopt : std::optional<std::string>(it->second);
  });
}

TEST(Locate, TheLibraryPathComesFirst) {
  EXPECT_THAT(candidates({}).front(), MatchesRegex("libcupti\\.so\\.[0-9]+"));
}

TEST(Locate, ToolkitsAreLookedInto) {
  const auto names = candidates({{"CUDA_HOME", "/opt/cuda"}, {"CUDA_PATH", "/opt/other"}});
  EXPECT_THAT(names, Contains(MatchesRegex("/opt/cuda/lib64/libcupti\\.so\\.[0-9]+")));
  EXPECT_THAT(names, Contains(MatchesRegex("/opt/cuda/extras/CUPTI/lib64/libcupti\\.so\\.[0-9]+")));
  EXPECT_THAT(names, Contains(MatchesRegex("/opt/other/lib64/libcupti\\.so\\.[0-9]+")));
  EXPECT_THAT(names, Contains(MatchesRegex("/usr/local/cuda/lib64/libcupti\\.so\\.[0-9]+")));
}

TEST(Locate, WhatTheUserNamesIsAllThatIsTried) {
  EXPECT_EQ(candidates({{"GPUTOPO_CUPTI", "/x/libcupti.so.2025"}}), std::vector<std::string>{"/x/libcupti.so.2025"});
  const auto folder = candidates({{"GPUTOPO_CUPTI", "/x"}, {"CUDA_HOME", "/opt/cuda"}});
  EXPECT_THAT(folder, ::testing::Each(::testing::StartsWith("/x/libcupti.so")));
  EXPECT_THAT(folder.back(), EndsWith("/libcupti.so"));
}

TEST(Locate, AnEmptyVariableIsNone) {
  EXPECT_EQ(candidates({{"GPUTOPO_CUPTI", ""}}), candidates({}));
}

}  // namespace
}  // namespace gputopo::counters
