// The cuda device's streams, without a GPU: which kernel, which arguments, and what the blocks' times give.
#include <algorithm>
#include <iterator>
#include <regex>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "device/cuda/images.hpp"
#include "device/cuda/stream_kernels.hpp"

namespace gputopo::device::cuda {
namespace {

using program::Arrangement;
using program::Operation;
using program::Path;
using program::Region;
using program::Stream;

std::set<std::string> compiled() {
  const std::string ptx = stream_image().ptx;
  const std::regex entry(R"(\.entry (stream_(?:once|read|write|copy|add|fetch)_\w+)\()");
  std::set<std::string> names;
  for (std::sregex_iterator it(ptx.begin(), ptx.end(), entry), end; it != end; ++it) names.insert((*it)[1]);
  return names;
}

// Every stream that the fields can name, as far as kernels go.
std::set<std::string> planned_stream() {
  std::set<std::string> names;
  for (const Path path : {Path::global_cached, Path::global_l2_only, Path::texture, Path::constant, Path::shared})
    for (const Operation operation :
         {Operation::read, Operation::write, Operation::copy, Operation::fetch_add, Operation::add})
      for (const Arrangement arrangement :
           {Arrangement::striped, Arrangement::direct, Arrangement::broadcast, Arrangement::fixed, Arrangement::bulk})
        for (const std::uint32_t width : {1U, 2U, 4U, 8U, 16U})
          for (const std::uint32_t unroll : {1U, 2U, 4U, 8U, 16U, 32U, 100U}) {
            Stream s;
            s.one_shot = unroll == 100;
            s.path = path;
            s.operation = operation;
            s.arrangement = arrangement;
            s.access_bytes = width;
            s.items = s.unroll = s.one_shot ? 1 : unroll;
            s.threads = 32;
            if (arrangement == Arrangement::bulk) s.bulk_bytes = 256, s.items = 1;
            if (path == Path::shared) s.region = Region::block;
            if (path == Path::shared) s.footprint_bytes = 4096;
            s = program::fitted(s, s.one_shot ? 0 : 1 << 20);
            if (!program::validate(s)) continue;
            if (const auto name = stream_kernel(s)) names.insert(*name);
          }
  return names;
}

TEST(StreamKernels, EveryKernelIsReachedAndEveryNameIsThere) {
  // GPUs of any age take this PTX, which has none of what only newer ones do: no copies in bulk.
  auto wanted = planned_stream();
  EXPECT_EQ(wanted.erase("stream_read_bulk"), 1U);
  const auto there = compiled();
  std::vector<std::string> differ;
  std::set_symmetric_difference(wanted.begin(), wanted.end(), there.begin(), there.end(), std::back_inserter(differ));
  EXPECT_THAT(differ, testing::IsEmpty());
  EXPECT_GT(there.size(), 100U);
}

TEST(StreamKernels, TakeNoMoreThreadsThanTheyWereCompiledFor) {
  Stream s;
  s.access_bytes = 8;
  s.items = s.unroll = 32;
  s.threads = 1024;
  EXPECT_EQ(stream_kernel(program::fitted(s, 1 << 20)).error().kind, Error::Kind::unavailable);
  s.threads = 512;
  EXPECT_EQ(stream_kernel(program::fitted(s, 1 << 20)).value(), "stream_read_cached_8_run_32");
}

TEST(StreamArguments, AGridsBlocksFollowOneAnother) {
  Stream s;
  s.access_bytes = 16;
  s.items = s.unroll = 2;
  s.threads = 64;
  s.blocks = 3;
  s.laps = 5;
  s = program::fitted(s, 4 * 6144);
  const auto a = stream_arguments(s);
  EXPECT_EQ(a.step, 3U * 2048);
  EXPECT_EQ(a.block_start, 2048U);
  EXPECT_EQ(a.warp_stride, 1024U);
  EXPECT_EQ(a.trips, 4U);
  EXPECT_EQ(a.laps, 5U);
  EXPECT_EQ(a.warm_laps, 1U);
  EXPECT_EQ(a.block_base, 0U);
}

TEST(StreamArguments, BlocksOfOneRegionStartApartAndInside) {
  Stream s;
  s.region = Region::all;
  s.threads = 64;
  s.blocks = 3;
  s = program::fitted(s, 10 * 256);
  const auto a = stream_arguments(s);
  EXPECT_EQ(a.block_start, 3U * 256);
  EXPECT_LT((s.blocks - 1) * a.block_start + a.warp_stride, a.region);
  s.region = Region::together;
  EXPECT_EQ(stream_arguments(s).block_start, 0U);
  EXPECT_EQ(stream_arguments(s).trips, 10U);
}

TEST(StreamArguments, ATurnIsAsManyLapsAsTakeAWarpAWhile) {
  Stream s;
  s.path = Path::global_l2_only;
  s.region = Region::block;
  s.access_bytes = 16;
  s.threads = 64;
  s.blocks = 3;
  s.laps = 1000;
  s = program::fitted(s, 10 * 1024);  // a warp's half: 5 KiB a lap
  EXPECT_EQ(stream_common(s).laps_of_turn, 0U);
  s.in_turn = true;
  EXPECT_EQ(stream_common(s).laps_in_turn, 125U);
  EXPECT_EQ(stream_common(s).laps_of_turn, 4U);
  s = program::fitted(s, 1 << 20);
  EXPECT_EQ(stream_common(s).laps_of_turn, 1U);
}

TEST(StreamTraces, TakeEachSmsSpanAndTheWholeGridsTime) {
  Stream s;
  s.blocks = 3;
  s.threads = 32;
  s = program::fitted(s, 3 * 128);
  const kernels::StreamBlock blocks[3] = {
      {100, 200, 1000, 1100, 7, 0}, {150, 260, 1020, 1150, 7, 0}, {900, 980, 990, 1070, 8, 0}};
  const auto trace = stream_trace(s, blocks);
  EXPECT_EQ(trace.sms, 2U);
  EXPECT_EQ(trace.cycles, 120U);  // of 160 and 80
  EXPECT_EQ(trace.ns, 160U);
  EXPECT_EQ(trace.bytes, 384U);
}

}  // namespace
}  // namespace gputopo::device::cuda
