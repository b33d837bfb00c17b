#include "program/workload.hpp"

#include <functional>

#include <gtest/gtest.h>

namespace gputopo::program {
namespace {

Workload plain_workload() {
  Workload w;
  w.label = "w";
  w.kernel = "product";
  w.numbers = {1, 2};
  w.input = {7};
  return w;
}

TEST(Workloads, ThatCantBeAreBadInput) {
  EXPECT_TRUE(validate(plain_workload()));
  const std::vector<std::function<void(Workload&)>> mistakes{
      [](Workload& w) { w.kernel.clear(); },
      [](Workload& w) { w.kernel = "Product"; },
      [](Workload& w) { w.kernel = std::string(65, 'a'); },
      [](Workload& w) { w.threads = 0; },
      [](Workload& w) { w.threads = 1025; },
      [](Workload& w) { w.blocks = 0; },
      [](Workload& w) { w.output_words = most_workload_words + 1; },
      [](Workload& w) { w.input.resize(most_workload_words + 1); },
      [](Workload& w) { w.buffer_bytes[2] = ~std::uint64_t{0}; },
      [](Workload& w) { w.fetch_bytes = 48; }};
  for (std::size_t i = 0; i < mistakes.size(); ++i) {
    Workload w = plain_workload();
    mistakes[i](w);
    const auto ok = validate(w);
    ASSERT_FALSE(ok) << i;
    EXPECT_EQ(ok.error().kind, Error::Kind::bad_input);
  }
}

TEST(Workloads, DifferInTheirHashInAllButTheirLabel) {
  Workload other = plain_workload();
  other.label = "another";
  EXPECT_EQ(hash(plain_workload()), hash(other));
  const std::vector<std::function<void(Workload&)>> changes{
      [](Workload& w) { w.kernel = "sweep"; },   [](Workload& w) { w.threads = 64; },
      [](Workload& w) { w.blocks = 9; },         [](Workload& w) { w.shared_bytes = 16; },
      [](Workload& w) { w.numbers[3] = 1; },     [](Workload& w) { w.buffer_bytes[1] = 4; },
      [](Workload& w) { w.input.push_back(0); }, [](Workload& w) { w.output_words = 1; },
      [](Workload& w) { w.timed = false; },      [](Workload& w) { w.fetch_bytes = 32; }};
  for (std::size_t i = 0; i < changes.size(); ++i) {
    Workload w = plain_workload();
    changes[i](w);
    EXPECT_NE(hash(plain_workload()), hash(w)) << i;
  }
}

}  // namespace
}  // namespace gputopo::program
