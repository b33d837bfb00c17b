// The fuzzer's corpus in every build: what was once found stays found.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <gtest/gtest.h>

#include "store_text_check.hpp"

namespace gputopo {
namespace {

TEST(StoreCorpus, EveryFileIsReadOrRefused) {
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(GPUTOPO_SOURCE_DIR "/tests/fuzz/store/corpus")) {
    std::ifstream file(entry.path(), std::ios::binary);
    check_store_text(std::string{std::istreambuf_iterator<char>(file), {}});
    ++files;
  }
  EXPECT_GE(files, 5U);
}

}  // namespace
}  // namespace gputopo
