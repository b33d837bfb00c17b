// What streams move, by hand, and what they refuse.
#include "program/stream.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gputopo::program {
namespace {

using testing::HasSubstr;

Stream striped() {
  Stream s;
  s.label = "s";
  s.access_bytes = 16;
  s.items = s.unroll = 4;
  s.threads = 64;
  s.blocks = 10;
  s.laps = 3;
  return fitted(s, 1 << 20);
}

std::string refusal_of(const Stream& s) {
  const auto ok = validate(s);
  return ok ? "accepted" : ok.error().message;
}

TEST(Stream, FootprintsAreWholeStepsOfTheGrid) {
  const Stream s = striped();  // a step: 10 blocks x 64 threads x 4 items x 16 B = 40960 B
  EXPECT_EQ(step_bytes(s), 40960U);
  EXPECT_EQ(s.footprint_bytes, 25U * 40960U);
  EXPECT_EQ(trips(s), 25U);
  EXPECT_EQ(refusal_of(s), "accepted");
}

TEST(Stream, CountsEveryByteOnceALap) {
  const Stream s = striped();
  EXPECT_EQ(warp_bytes(s), 512U);
  EXPECT_EQ(counted_bytes(s), 3U * 25U * 40960U);
  EXPECT_EQ(counted_accesses(s), counted_bytes(s) / 512);
  Stream copy = s;
  copy.operation = Operation::copy;
  EXPECT_EQ(counted_bytes(copy), 2 * counted_bytes(s));
}

TEST(Stream, EveryBlockOfRegionBlockWalksItsOwn) {
  Stream s = striped();
  s.region = Region::block;
  s = fitted(s, 8192);
  EXPECT_EQ(buffer_bytes(s), 10U * 8192U);
  EXPECT_EQ(counted_bytes(s), 3U * 10U * 8192U);
}

TEST(Stream, DirectLanesLieItemsApart) {
  Stream s = striped();
  s.arrangement = Arrangement::direct;
  EXPECT_EQ(lane_offset(s, 3), 3U * 4 * 16);
  EXPECT_EQ(item_stride(s), 16U);
  EXPECT_EQ(warp_bytes(s), 512U);
  EXPECT_EQ(step_bytes(s), step_bytes(striped()));
}

TEST(Stream, WhatLanesShareCountsOnce) {
  Stream s;
  s.path = Path::shared;
  s.region = Region::block;
  s.arrangement = Arrangement::fixed;
  s.lane_group = 2;
  s.lane_stride_bytes = 0;
  s.group_stride_bytes = 128;
  s.footprint_bytes = 4096;
  s.threads = 32;
  EXPECT_EQ(lane_offset(s, 5), 256U);
  EXPECT_EQ(warp_bytes(s), 64U);  // 16 pairs
  EXPECT_EQ(refusal_of(s), "accepted");
}

TEST(Stream, RefusesWhatCantBe) {
  Stream s = striped();
  s.access_bytes = 3;
  EXPECT_THAT(refusal_of(s), HasSubstr("1, 2, 4, 8 or 16 bytes"));
  s = striped();
  s.footprint_bytes += 16;
  EXPECT_THAT(refusal_of(s), HasSubstr("whole steps"));
  s = striped();
  s.threads = 33;
  EXPECT_THAT(refusal_of(s), HasSubstr("whole warps"));
  s = striped();
  s.unroll = 0;
  EXPECT_THAT(refusal_of(s), HasSubstr("none in flight"));
  s = striped();
  s.path = Path::texture;
  s.operation = Operation::write;
  EXPECT_THAT(refusal_of(s), HasSubstr("only reading"));
  s = striped();
  s.operation = Operation::add;
  EXPECT_THAT(refusal_of(s), HasSubstr("fixed words"));
  s = striped();
  s.one_shot = true;
  EXPECT_THAT(refusal_of(s), HasSubstr("one shot"));
  s = striped();
  s.arrangement = Arrangement::fixed;
  s.lane_stride_bytes = s.footprint_bytes;
  EXPECT_THAT(refusal_of(s), HasSubstr("outside its footprint"));
  s.lane_stride_bytes = 0;
  s.items = 4;
  s.unroll = 3;
  EXPECT_THAT(refusal_of(s), HasSubstr("unrolled"));
}

TEST(Stream, CopiesInBulkAreOfOneWarpAndPastTheL1) {
  Stream s;
  s.path = Path::global_l2_only;
  s.arrangement = Arrangement::bulk;
  s.bulk_bytes = 2048;
  s.unroll = 4;
  s.threads = 32;
  s.blocks = 3;
  s.laps = 5;
  s = fitted(s, 20000);
  EXPECT_EQ(refusal_of(s), "accepted");
  EXPECT_EQ(s.footprint_bytes, 18432U);
  EXPECT_EQ(warp_bytes(s), 2048U);
  EXPECT_EQ(counted_bytes(s), 5U * 18432);
  for (const auto& spoil : {+[](Stream& c) { c.bulk_bytes = 8; }, +[](Stream& c) { c.path = Path::global_cached; },
                            +[](Stream& c) { c.threads = 64; }, +[](Stream& c) { c.bulk_bytes = 0; }}) {
    Stream c = s;
    spoil(c);
    EXPECT_THAT(refusal_of(c), HasSubstr("in bulk"));
  }
}

TEST(Stream, LapsAreTakenInTurnOfWhatIsReadPastTheL1) {
  Stream s = striped();
  s.path = Path::global_l2_only;
  s.in_turn = true;
  EXPECT_EQ(refusal_of(s), "accepted");
  Stream each = s;
  each.in_turn = false;
  EXPECT_EQ(counted_bytes(s), counted_bytes(each));
  for (const auto& spoil :
       {+[](Stream& c) { c.path = Path::global_cached; }, +[](Stream& c) { c.operation = Operation::copy; },
        +[](Stream& c) { c.region = Region::all; }, +[](Stream& c) { c.region = Region::together; },
        +[](Stream& c) { c.arrangement = Arrangement::direct; }}) {
    Stream c = s;
    spoil(c);
    EXPECT_THAT(refusal_of(c), HasSubstr("in turn"));
  }
}

TEST(Stream, HashesDifferInEveryField) {
  const Stream s = striped();
  Stream t = s;
  t.label = "other";
  EXPECT_EQ(hash(t), hash(s));
  const auto changed = [&](auto change) {
    Stream c = s;
    change(c);
    return hash(c) != hash(s);
  };
  EXPECT_TRUE(changed([](Stream& c) { c.path = Path::global_l2_only; }));
  EXPECT_TRUE(changed([](Stream& c) { c.operation = Operation::write; }));
  EXPECT_TRUE(changed([](Stream& c) { c.access_bytes = 8; }));
  EXPECT_TRUE(changed([](Stream& c) { c.region = Region::all; }));
  EXPECT_TRUE(changed([](Stream& c) { c.footprint_bytes *= 2; }));
  EXPECT_TRUE(changed([](Stream& c) { c.arrangement = Arrangement::direct; }));
  EXPECT_TRUE(changed([](Stream& c) { c.lane_group = 1; }));
  EXPECT_TRUE(changed([](Stream& c) { c.lane_stride_bytes = 4; }));
  EXPECT_TRUE(changed([](Stream& c) { c.group_stride_bytes = 4; }));
  EXPECT_TRUE(changed([](Stream& c) { c.warp_stride_bytes = 4; }));
  EXPECT_TRUE(changed([](Stream& c) { c.items = 8; }));
  EXPECT_TRUE(changed([](Stream& c) { c.unroll = 2; }));
  EXPECT_TRUE(changed([](Stream& c) { c.threads = 32; }));
  EXPECT_TRUE(changed([](Stream& c) { c.blocks = 1; }));
  EXPECT_TRUE(changed([](Stream& c) { c.laps = 1; }));
  EXPECT_TRUE(changed([](Stream& c) { c.carve_out_percent = 1; }));
  EXPECT_TRUE(changed([](Stream& c) { c.one_shot = true; }));
  EXPECT_TRUE(changed([](Stream& c) { c.bulk_bytes = 16; }));
  EXPECT_TRUE(changed([](Stream& c) { c.in_turn = true; }));
  EXPECT_TRUE(changed([](Stream& c) { c.first_byte = 4096; }));
}

}  // namespace
}  // namespace gputopo::program
