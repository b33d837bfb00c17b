// Streams on the machine's own GPU.
#include <cstdio>
#include <memory>

#include <gtest/gtest.h>

#include "device/cuda/cuda_device.hpp"
#include "device/cuda/stream_kernels.hpp"
#include "experiments/discover.hpp"
#include "throughput/registry.hpp"

namespace gputopo {
namespace {

using program::Arrangement;
using program::Operation;
using program::Path;
using program::Region;
using program::Stream;

class RealStreams : public testing::Test {
 protected:
  void SetUp() override {
    auto opened = device::open_cuda(0);
    if (!opened) GTEST_SKIP() << "needs a GPU: " << opened.error().message;
    gpu_ = std::move(*opened);
  }
  double gbps(const Stream& s) {
    const auto t = gpu_->run_stream(s);
    if (!t) ADD_FAILURE() << t.error().message;
    return t ? static_cast<double>(t->bytes) / static_cast<double>(t->ns) : 0;
  }

  std::unique_ptr<device::Device> gpu_;
};

TEST_F(RealStreams, EveryKernelMovesWhatItCounts) {
  int ran = 0;
  for (const Path path : {Path::global_cached, Path::global_l2_only, Path::texture, Path::constant, Path::shared})
    for (const Operation operation :
         {Operation::read, Operation::write, Operation::copy, Operation::fetch_add, Operation::add})
      for (const Arrangement arrangement :
           {Arrangement::striped, Arrangement::direct, Arrangement::broadcast, Arrangement::fixed, Arrangement::bulk})
        for (const std::uint32_t width : {1U, 4U, 8U, 16U})
          for (const std::uint32_t unroll : {1U, 2U, 4U, 8U, 16U, 32U}) {
            Stream s;
            s.label = "kernel";
            s.path = path;
            s.operation = operation;
            s.arrangement = arrangement;
            s.access_bytes = width;
            s.items = arrangement == Arrangement::direct ? 3 : unroll;  // other than what is in flight
            s.unroll = unroll;
            s.threads = 64;
            if (arrangement == Arrangement::bulk) s.bulk_bytes = 256, s.items = 1, s.threads = 32;
            s.blocks = gpu_->info().gpu.sm_count;
            s.laps = 3;
            s.region = path == Path::shared ? Region::block : Region::all;
            s = program::fitted(s, 16384);
            if (!program::validate(s)) continue;
            if (path == Path::global_l2_only && operation == Operation::read && arrangement == Arrangement::striped) {
              s.region = Region::grid;
              s.in_turn = true;
              s = program::fitted(s, 16384);
            }
            const auto t = gpu_->run_stream(s);
            if (!t && t.error().kind == Error::Kind::unavailable) continue;
            ASSERT_TRUE(t) << t.error().message;
            EXPECT_EQ(t->bytes, program::counted_bytes(s));
            EXPECT_EQ(t->sms, s.blocks) << "one block an SM";
            EXPECT_GT(t->cycles, 0U);
            // What tests/device/stream_counts.py holds against the counters.
            const std::uint64_t with_warming = t->accesses / s.laps * (s.laps + 1);
            std::printf("%s %llu\n", device::cuda::stream_kernel(s)->c_str(),
                        static_cast<unsigned long long>(with_warming));
            ++ran;
          }
  EXPECT_GT(ran, 100);
}

// Whoever takes them: as many laps as if each made its own, and none slower than so.
TEST_F(RealStreams, LapsInTurnAreAsManyAndNotSlower) {
  Stream s;
  s.path = Path::global_l2_only;
  s.region = Region::block;
  s.access_bytes = 16;
  s.items = s.unroll = 2;
  s.threads = 1024;
  s.blocks = gpu_->info().gpu.sm_count;
  s.laps = 2000;
  s = program::fitted(s, gpu_->info().l2_bytes / 16 / s.blocks);
  const double each = gbps(s);
  s.in_turn = true;
  EXPECT_GT(gbps(s), 0.99 * each);
}

// As many loads are under way as the unrolling says: with one warp an SM the rate grows with it.
TEST_F(RealStreams, UnrollingIsWhatIsInFlight) {
  Stream s;
  s.path = Path::global_l2_only;
  s.access_bytes = 16;
  s.threads = 32;
  s.blocks = gpu_->info().gpu.sm_count;
  s.laps = 4;
  s = program::fitted(s, gpu_->info().l2_bytes / 4);
  const double one = gbps(s);
  s.items = s.unroll = 8;
  s = program::fitted(s, gpu_->info().l2_bytes / 4);
  EXPECT_GT(gbps(s), 6 * one);
}

TEST_F(RealStreams, NothingIsAboveItsLimit) {
  throughput::Options options;
  for (const char* name : {"bandwidth", "banks"}) options.chosen.push_back(throughput::find_benchmark(name));
  experiments::DiscoverOptions sizes;
  sizes.extras = false;
  const auto topology = experiments::discover(*gpu_, sizes);
  ASSERT_TRUE(topology) << topology.error().message;
  const auto report = throughput::run(*gpu_, *topology, options);
  ASSERT_TRUE(report) << report.error().message;
  for (const auto& result : report->results)
    for (const auto& f : result.findings) {
      EXPECT_NE(f.estimate.status, Status::inconclusive) << f.memory << ' ' << f.quantity << ": " << f.estimate.note;
      if (f.quantity == "banks" || f.quantity == "bank_width") {
        EXPECT_EQ(f.estimate.value, f.quantity == "banks" ? 32 : 4);
      }
    }
}

}  // namespace
}  // namespace gputopo
