#include "evidence/memory/stores.hpp"

#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gputopo::evidence {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

const StoreCase* case_of(const std::vector<StoreCase>& cases, std::string_view label) {
  for (const StoreCase& c : cases)
    if (c.label == label) return &c;
  return nullptr;
}

TEST(StoreCases, AskOnlyWhatALineHas) {
  const auto all = store_cases(32, 128);
  EXPECT_THAT(all, SizeIs(9));
  EXPECT_EQ(all[0].label, control_loaded);
  EXPECT_EQ(all[1].label, control_cold);
  EXPECT_THAT(case_of(all, miss_whole_sector)->stored_bytes, ElementsAre(0, 4, 8, 12, 16, 20, 24, 28));
  EXPECT_THAT(case_of(all, hit_other_sector)->loaded_bytes, ElementsAre(0, 32));
  EXPECT_EQ(case_of(store_cases(32, 32), miss_other_sector), nullptr);
  EXPECT_EQ(case_of(store_cases(32, 0), miss_other_sector), nullptr);
  EXPECT_EQ(case_of(store_cases(4, 128), miss_other_word), nullptr);
}

// 64 loads, of which a share misses; the controls are nearly clean, and cases not named hit.
StoreAnswers answers_of(const std::map<std::string_view, double>& missing, std::uint64_t sector = 32,
                        std::uint64_t line = 128) {
  StoreAnswers a;
  a.cases = store_cases(sector, line);
  a.is_line_known = line != 0;
  for (const StoreCase& c : a.cases) {
    const auto share = missing.find(c.label);
    const double misses = c.label == control_cold ? 63 : share == missing.end() ? 1 : 64 * share->second;
    a.counted.push_back(Tally{64, misses});
    a.timed.push_back({{c.label == control_cold ? 300U : 40U, 64}});
  }
  return a;
}

using Missing = std::map<std::string_view, double>;

TEST(WriteAllocate, IsWhatLoadsFindOfAStoreToAColdLine) {
  const auto said = [](const Missing& missing, std::uint64_t sector = 32, std::uint64_t line = 128) {
    return write_allocate_of(answers_of(missing, sector, line)).value;
  };
  EXPECT_EQ(said({{miss_same_word, 1}, {miss_other_word, 1}, {miss_other_sector, 1}, {miss_whole_sector, 1}}), "none");
  EXPECT_EQ(said({{miss_same_word, 1}, {miss_other_word, 1}, {miss_other_sector, 1}}), "full_sector");
  EXPECT_EQ(said({{miss_other_word, 1}, {miss_other_sector, 1}}), "word");
  EXPECT_EQ(said({{miss_other_sector, 1}}), "sector");
  EXPECT_EQ(said({}), "line");
  EXPECT_EQ(said({}, 32, 32), "line");
  EXPECT_EQ(said({{miss_other_word, 1}}, 32, 0), "word");
  EXPECT_EQ(said({{miss_other_sector, 1}}, 4, 128), "sector");
}

TEST(WriteAllocate, IsOpenWhereLoadsContradictEachOtherOrTheLineIsNotKnown) {
  const auto open = [](const Missing& missing, std::uint64_t line, const char* why) {
    const Statement s = write_allocate_of(answers_of(missing, 32, line));
    EXPECT_EQ(s.value, "");
    EXPECT_EQ(s.status, Status::inconclusive);
    EXPECT_THAT(s.note, HasSubstr(why));
  };
  open({{miss_same_word, 0.5}}, 128, "50 % miss");
  open({{miss_other_word, 0.5}}, 128, "50 % miss");
  open({{miss_same_word, 1}, {miss_other_word, 1}}, 128, "fit no way");
  open({{miss_same_word, 1}, {miss_other_word, 1}, {miss_other_sector, 1}, {miss_whole_sector, 0.5}}, 128, "50 % miss");
  open({{miss_other_word, 1}}, 128, "fit no way");
  open({}, 0, "isn't known");
}

TEST(WriteHit, IsWhatLoadsFindOfAStoreToALineThatIsThere) {
  EXPECT_EQ(write_hit_of(answers_of({})).value, "update");
  const Statement line = write_hit_of(answers_of({{hit_same_word, 1}, {hit_other_word, 1}, {hit_other_sector, 1}}));
  EXPECT_EQ(line.value, "invalidate");
  EXPECT_THAT(line.note, HasSubstr("go as well"));
  const Statement sector = write_hit_of(answers_of({{hit_same_word, 1}, {hit_other_word, 1}}));
  EXPECT_EQ(sector.value, "invalidate");
  EXPECT_THAT(sector.note, HasSubstr("stay"));
  EXPECT_EQ(write_hit_of(answers_of({{hit_same_word, 1}})).value, "");
  EXPECT_EQ(write_hit_of(answers_of({{hit_other_sector, 1}})).value, "");
  EXPECT_EQ(write_hit_of(answers_of({{hit_same_word, 0.4}})).value, "");
}

TEST(WriteHit, NeedsControlsThatDiffer) {
  StoreAnswers a = answers_of({});
  a.counted[1] = a.counted[0];
  EXPECT_EQ(write_hit_of(a).value, "");
  EXPECT_EQ(write_allocate_of(a).value, "");
}

TEST(StoresCurve, HasTheControlsAndTheCasesOfItsQuestion) {
  const StoreAnswers a = answers_of({});
  const DecidingCurve hits = stores_curve("l1", "write_hit", a, true);
  EXPECT_THAT(hits.series, SizeIs(5));
  EXPECT_EQ(hits.series[1].label, control_cold);
  EXPECT_THAT(stores_curve("l1", "write_allocate", a, false).series, SizeIs(6));
}

}  // namespace
}  // namespace gputopo::evidence
