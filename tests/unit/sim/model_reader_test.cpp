// What a model's text may and may not say.
#include <cstdio>
#include <fstream>
#include <iterator>
#include <sstream>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "tests/unit/sim/walks.hpp"

namespace gputopo::sim {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using Json = nlohmann::json;

// The document's small model with one of everything.
Json base() {
  return Json::parse(R"({
    "schema": "gputopo-model/1",
    "gpu": {"name": "Example", "sm_count": 4, "memory": "1 GiB"},
    "groups": {"tpc": 2, "partition": {"interleaved": 2}},
    "caches": {
      "l1": {"size": "16 KiB", "line": 128, "sector": 32, "ways": 4},
      "l2": {"size": "1 MiB", "line": 128, "sector": 32, "ways": 16, "scope": "gpu",
             "partitions": {"count": 2}}
    },
    "tlbs": {"tlb": {"page": "2 MiB", "entries": 16, "miss_penalty": 50}},
    "shared": {"carve_outs": ["4 KiB", "8 KiB"], "carved_from": "l1", "latency": 20},
    "paths": {
      "global_cached": [{"level": "l1", "latency": 30},
                        {"level": "l2", "latency": 200, "far_latency": 300, "tlbs": ["tlb"]},
                        {"level": "device_memory", "latency": 500}]
    }
  })");
}

std::string error_of(const Json& j) {
  const auto model = parse_model(j.dump(), "m.json");
  return model ? "" : model.error().message;
}

// The model with the field at a JSON pointer set to a value.
std::string error_with(const char* pointer, const Json& value) {
  Json j = base();
  j[Json::json_pointer(pointer)] = value;
  return error_of(j);
}

TEST(ModelReader, ReadsTheSmallModel) {
  EXPECT_EQ(error_of(base()), "");
}

TEST(ModelReader, DefaultsAreWhatTheDocumentSays) {
  Json j = base();
  j["caches"]["l1"].erase("sector");
  j["caches"]["l1"].erase("ways");
  const Model m = model_of(j.dump());
  EXPECT_EQ(m.name, "test");
  const CacheModel& l1 = m.caches[0];
  EXPECT_EQ(l1.sector_bytes, 128U);
  EXPECT_EQ(l1.organisation.sets, 1U);
  EXPECT_EQ(l1.organisation.replacement, Replacement::lru);
  EXPECT_EQ(l1.scope, Scope::sm);
  EXPECT_EQ(l1.instances, 1U);
  EXPECT_TRUE(l1.cleared_at_launch);
  EXPECT_FALSE(m.caches[1].cleared_at_launch);
  EXPECT_EQ(m.caches[1].partitions.interleave_bytes, 4096U);
  EXPECT_EQ(m.api_l2_bytes, 1U << 20);
  EXPECT_EQ(m.path(Path::global_l2_only)->size(), 2U) << "from the first level of scope gpu on";
  EXPECT_FALSE(m.path(Path::texture));
  EXPECT_FALSE(m.path(Path::global_no_allocate));
  EXPECT_EQ(m.shared->block_limit_bytes, 8192U);
  EXPECT_EQ(m.largest_buffer_bytes, 768U << 20);
  EXPECT_EQ(m.texture_elements, 0U);
  EXPECT_EQ(m.warps_per_block, 32U);
}

TEST(ModelReader, SizesAreNumbersOrTexts) {
  Json j = base();
  j["caches"]["l1"]["size"] = 16384;
  EXPECT_EQ(model_of(j.dump()).caches[0].size_bytes, 16384U);
  j["caches"]["l1"]["size"] = "0.5 MiB";
  EXPECT_EQ(model_of(j.dump()).caches[0].size_bytes, 524288U);
  j["caches"]["l1"]["size"] = "512KiB";
  EXPECT_EQ(model_of(j.dump()).caches[0].size_bytes, 524288U);
}

TEST(ModelReader, GroupsComeInThreeForms) {
  Json j = base();
  j["gpu"]["sm_count"] = 5;
  j["groups"] = {{"tpc", 2}, {"gpc", {{"interleaved", 2}}}, {"partition", {{4, 0, 1}, {3, 2}}}};
  const Model m = model_of(j.dump());
  using G = std::vector<std::vector<std::uint32_t>>;
  EXPECT_EQ(m.groups.tpc, (G{{0, 1}, {2, 3}, {4}}));
  EXPECT_EQ(m.groups.gpc, (G{{0, 2, 4}, {1, 3}}));
  EXPECT_EQ(m.groups.partition, (G{{0, 1, 4}, {2, 3}}));
}

TEST(ModelReader, APathMayTakeOverAnotherOnesLevels) {
  Json j = base();
  j["paths"]["read_only"] = "global_cached";
  j["paths"]["global_no_allocate"] = true;
  const Model m = model_of(j.dump());
  EXPECT_EQ(m.path(Path::read_only)->size(), 3U);
  EXPECT_EQ(m.path(Path::global_no_allocate)->size(), 3U);
}

TEST(ModelReader, CommentsAndNullsAreNoFields) {
  EXPECT_EQ(error_with("/caches/l1/comment", "as measured"), "");
  EXPECT_EQ(error_with("/caches/l1/reserved", nullptr), "");
}

struct Refusal {
  const char* pointer;
  Json value;
  const char* path;  ///< that the message must name
  const char* word;  ///< that the message must hold
};

class ModelRefusals : public testing::TestWithParam<Refusal> {};

TEST_P(ModelRefusals, NameTheFieldAndTheReasonInOneLine) {
  const Refusal& r = GetParam();
  const std::string error = error_with(r.pointer, r.value);
  EXPECT_THAT(error, AllOf(HasSubstr("m.json"), HasSubstr(std::string(r.path) + ":"), HasSubstr(r.word), HasSubstr(";"),
                           Not(HasSubstr("\n"))));
}

Json large_tlbs(int count) {
  Json tlbs;
  for (int i = 0; i < count; ++i)
    tlbs[i == 0 ? "tlb" : "tlb" + std::to_string(i)] = {{"page", "2 MiB"}, {"entries", 262144}, {"miss_penalty", 50}};
  return tlbs;
}

INSTANTIATE_TEST_SUITE_P(
    Fields, ModelRefusals,
    testing::Values(
        Refusal{"/schema", "gputopo-model/9", "/schema", "version"}, Refusal{"/gpu/name", 5, "/gpu/name", "text"},
        Refusal{"/gpu/sm_count", 0, "/gpu/sm_count", "range"}, Refusal{"/gpu/sm_count", -1, "/gpu/sm_count", "range"},
        Refusal{"/gpu/sm_count", 1e9, "/gpu/sm_count", "range"},
        Refusal{"/gpu/sm_count", 2.5, "/gpu/sm_count", "whole"}, Refusal{"/gpu/memory", nullptr, "/gpu", "memory"},
        Refusal{"/gpu/memory", 0, "/gpu/memory", "range"}, Refusal{"/gpu/memory", "1e300 TiB", "/gpu/memory", "range"},
        Refusal{"/caches/l1/size", -16384, "/caches/l1/size", "range"},
        Refusal{"/caches/l1/size", "16 KB", "/caches/l1/size", "unit"},
        Refusal{"/caches/l1/size", "much", "/caches/l1/size", "number"},
        Refusal{"/caches/l1/size", true, "/caches/l1/size", "size"},
        Refusal{"/caches/l1/size", nullptr, "/caches/l1", "size"},
        Refusal{"/caches/l1/size", "8 TiB", "/caches/l1/size", "range"},
        Refusal{"/caches/l2/size", "1 GiB", "/caches", "MiB to simulate"},
        Refusal{"/tlbs", large_tlbs(8), "/caches", "MiB to simulate"},  // each of which every SM has
        Refusal{"/caches/l2", {{"size", "64 MiB"}, {"line", 16}, {"scope", "gpu"}}, "/caches", "MiB to simulate"},
        Refusal{"/caches/l1/size", 16400, "/caches/l1/size", "multiple"},
        Refusal{"/caches/l1/line", 96, "/caches/l1/line", "power of two"},
        Refusal{"/caches/l1/line", 0, "/caches/l1/line", "range"},
        Refusal{"/caches/l1/line", nullptr, "/caches/l1", "line"},
        Refusal{"/caches/l1/sector", 256, "/caches/l1/sector", "sectors"},
        Refusal{"/caches/l1/sector", 48, "/caches/l1/sector", "power of two"},
        Refusal{"/caches/l1/sets", 0, "/caches/l1/sets", "range"},
        Refusal{"/caches/l1/ways", 0, "/caches/l1/ways", "range"},
        Refusal{"/caches/l1/ways", 5, "/caches/l1/ways", "128 lines"},
        Refusal{"/caches/l1/sets", 64, "/caches/l1/ways", "64 sets"},
        Refusal{"/caches/l1/set_ways", Json::array({4, 4}), "/caches/l1/set_ways", "ways"},
        Refusal{"/caches/l1/consecutive_lines", 3, "/caches/l1/consecutive_lines", "divide"},
        Refusal{"/caches/l1/index", "magic", "/caches/l1/index", "modulo"},
        Refusal{"/caches/l1/replacement", "mru", "/caches/l1/replacement", "lru"},
        Refusal{"/caches/l1/write_policy", "around", "/caches/l1/write_policy", "through"},
        Refusal{"/caches/l1/write_allocate", "byte", "/caches/l1/write_allocate", "full_sector"},
        Refusal{"/caches/l1/write_hit", 1, "/caches/l1/write_hit", "invalidate"},
        Refusal{"/caches/l1",
                {{"size", "16 KiB"}, {"line", 128}, {"sector", 4}, {"write_allocate", "word"}},
                "/caches/l1/write_allocate",
                "32 sectors"},
        Refusal{"/caches/l1/replacment", "lru", "/caches/l1/replacment", "unknown field"},
        Refusal{"/caches/l1/reserved", 100, "/caches/l1/reserved", "multiple"},
        Refusal{"/caches/l1/reserved", "16 KiB", "/caches/l1/reserved", "range"},
        Refusal{"/caches/l1/scope", "die", "/caches/l1/scope", "gpc"},
        Refusal{"/caches/l1/scope", "gpc", "/caches/l1/scope", "groups"},
        Refusal{"/caches/l1/instances", 0, "/caches/l1/instances", "range"},
        Refusal{"/caches/l1/warp_map", Json::array({0, 1}), "/caches/l1/warp_map", "range"},
        Refusal{"/caches/l2/partitions/count", 3, "/caches/l2/partitions/count", "groups"},
        Refusal{"/caches/l2/partitions/mode", "both", "/caches/l2/partitions/mode", "home"},
        Refusal{"/caches/l2/partitions/interleave", 200, "/caches/l2/partitions/interleave", "multiple"},
        Refusal{"/caches/l1/partitions", {{"count", 2}}, "/caches/l1/partitions", "scope gpu"},
        Refusal{"/caches/l1/shared_by", 9, "/caches/l1/shared_by", "range"},
        Refusal{"/caches/l2/shared_by", 2, "/caches/l2/shared_by", "scope"},
        Refusal{"/tlbs/tlb/shared_by", {{0, 1}, {2}}, "/tlbs/tlb/shared_by", "SM 3 is in no group"},
        Refusal{"/distance", {{"steps", 1}}, "/distance/steps", "no difference"},
        Refusal{"/rows", {{"gain", 3}}, "/rows", "size"}, Refusal{"/rows", {{"size", 1024}}, "/rows", "gain"},
        Refusal{"/rows", {{"size", 1024}, {"gain", 300}}, "/rows/gain", "range"},
        Refusal{"/rows", {{"size", 1024}, {"gain", 3}, {"banks", 0}}, "/rows/banks", "range"},
        Refusal{"/rows", {{"size", 1024}, {"gain", 3}, {"columns", 0}}, "/rows/columns", "unknown field"},
        Refusal{"/caches/l1/prefetch_after", 2, "/caches/l1/prefetch_after", "prefetch_lines"},
        Refusal{"/caches/l1/prefetch_lines", 257, "/caches/l1/prefetch_lines", "range"},
        Refusal{"/noise", {{"outlier_cycles", {9, 3}}}, "/noise/outlier_cycles", "below"},
        Refusal{"/noise", {{"outlier_cycles", {1, 2, 3}}}, "/noise/outlier_cycles", "neither"},
        Refusal{"/neighbour", {{"l2_share", 0.5}}, "/neighbour", "clock"},
        Refusal{"/neighbour", {{"slice_us", 0}}, "/neighbour/slice_us", "range"},
        Refusal{"/neighbour", {{"l2_share", 1.5}}, "/neighbour/l2_share", "range"},
        Refusal{"/tenant", {{"slow_share", 2}}, "/tenant/slow_share", "range"},
        Refusal{"/tenant", {{"sms", {4}}}, "/tenant/sms", "range"},
        Refusal{"/tenant", Json::object(), "/tenant", "clock"}, Refusal{"/clock", 5, "/clock", "clock"},
        Refusal{"/groups/tpc", 0, "/groups/tpc", "range"}, Refusal{"/groups/tpc", "two", "/groups/tpc", "grouping"},
        Refusal{"/groups/tpc", {{0, 1}, {1, 2, 3}}, "/groups/tpc/1", "already"},
        Refusal{"/groups/tpc", {{0, 1}, {2}}, "/groups/tpc", "SM 3 is in no group"},
        Refusal{"/groups/tpc", {{0, 1}, {2, 3, 4}}, "/groups/tpc/1/2", "range"},
        Refusal{"/groups/tpc", {{0, 1, 2, 3}, Json::array()}, "/groups/tpc/1", "list"},
        Refusal{"/tlbs/tlb/page", 3000, "/tlbs/tlb/page", "power of two"},
        Refusal{"/tlbs/tlb/entries", 0, "/tlbs/tlb/entries", "range"},
        Refusal{"/tlbs/tlb/set_ways", {9, 8}, "/tlbs/tlb/set_ways", "17"},
        Refusal{"/tlbs/tlb/miss_penalty", -5, "/tlbs/tlb/miss_penalty", "range"},
        Refusal{"/shared/carve_outs", Json::array(), "/shared/carve_outs", "sizes"},
        Refusal{"/shared/carve_outs", {8192, 4096}, "/shared/carve_outs/1", "above"},
        Refusal{"/shared/carve_outs", {100}, "/shared/carve_outs/0", "multiple"},
        Refusal{"/shared/carve_outs", {"16 KiB"}, "/shared/carve_outs/0", "leaves nothing"},
        Refusal{"/shared/carved_from", "l3", "/shared/carved_from", "isn't there"},
        Refusal{"/shared/carved_from", "l2", "/shared/carved_from", "scope sm"},
        Refusal{"/shared/block_limit", "1 MiB", "/shared/block_limit", "range"},
        Refusal{"/shared/latency", nullptr, "/shared", "latency"}, Refusal{"/paths", nullptr, "/", "paths"},
        Refusal{"/paths/global_cached", nullptr, "/paths", "global_cached"},
        Refusal{"/paths/global_cached", Json::array(), "/paths/global_cached", "levels"},
        Refusal{"/paths/global_cached/0/level", "l3", "/paths/global_cached/0/level", "no cache"},
        Refusal{"/paths/global_cached/0/latency", nullptr, "/paths/global_cached/0", "latency"},
        Refusal{"/paths/global_cached/0/latency", -3, "/paths/global_cached/0/latency", "range"},
        Refusal{"/paths/global_cached/1/latency", 30, "/paths/global_cached/1/latency", "above"},
        Refusal{"/paths/global_cached/1/far_latency", 100, "/paths/global_cached/1/far_latency", "range"},
        Refusal{"/paths/global_cached/1/level", "l1", "/paths/global_cached/1", "twice"},
        Refusal{"/paths/global_cached/1/level", "device_memory", "/paths/global_cached/2", "device_memory"},
        Refusal{"/paths/global_cached/2/level", "l2", "/paths/global_cached", "memory"},
        Refusal{"/paths/global_cached/1/tlbs", {"utlb"}, "/paths/global_cached/1/tlbs", "isn't there"},
        Refusal{"/paths/global_cached/0/tag_class", 8, "/paths/global_cached/0/tag_class", "range"},
        Refusal{"/paths/texture", "surface", "/paths/texture", "names no path"},
        Refusal{"/paths/textures", "global_cached", "/paths/textures", "unknown"},
        Refusal{"/execution", Json::object(), "/execution", "instruction"},
        Refusal{"/background/code", 64, "/background/code", "instruction"},
        Refusal{"/background/constants", 64, "/background/constants", "constant path"},
        Refusal{"/distance/gpc", 3, "/distance/gpc", "groups"},
        Refusal{"/noise/jitter", "pink", "/noise/jitter", "gaussian"},
        Refusal{"/noise/outlier_probability", 1.5, "/noise/outlier_probability", "range"},
        Refusal{"/limits/largest_buffer", "2 GiB", "/limits/largest_buffer", "range"},
        Refusal{"/clock_overhead", "fast", "/clock_overhead", "object"}));

TEST(ModelReader, RefusesWhatIsNoModelAtAll) {
  for (const char* text :
       {"", "{", "[]", "null", "42", "\"h200\"", "{\"schema\": 1}", "{\"schema\"\n: \x01}", "\xff\xfe"}) {
    const auto model = parse_model(text, "x");
    ASSERT_FALSE(model) << text;
    EXPECT_EQ(model.error().kind, Error::Kind::bad_input);
    EXPECT_THAT(model.error().message, Not(HasSubstr("\n")));
    EXPECT_LT(model.error().message.size(), 700U);
  }
}

TEST(ModelReader, RefusesDeepNestingAndHugeTexts) {
  EXPECT_FALSE(parse_model(std::string(100000, '['), "deep"));
  EXPECT_FALSE(parse_model("{\"schema\": " + std::string(2 << 20, ' ') + "1}", "long"));
}

TEST(ModelReader, EveryTruncationIsRefused) {
  const std::string text = base().dump();
  for (std::size_t n = 0; n < text.size(); ++n) EXPECT_FALSE(parse_model(text.substr(0, n), "cut")) << n;
}

TEST(ModelReader, AHostileNameStaysOnOneLine) {
  Json j = base();
  j["caches"]["a\nb\x1b[31m"] = j["caches"]["l1"];
  EXPECT_THAT(error_of(j), AllOf(Not(HasSubstr("\n")), Not(HasSubstr("\x1b")), HasSubstr("name")));
}

TEST(ModelReader, TheDocumentsExampleIsAModel) {
  std::ifstream file(GPUTOPO_SOURCE_DIR "/docs/models.md");
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  const std::size_t begin = text.find("```json\n");
  ASSERT_NE(begin, std::string::npos);
  const std::size_t end = text.find("```", begin + 8);
  const Model m = model_of(text.substr(begin + 8, end - begin - 8));
  EXPECT_EQ(m.caches.size(), 2U);
  const auto device = make_device(m);
  const auto trace = run_one(*device, program_of({walk(Path::global_cached, 16384, 32, Record::nothing),
                                                  walk(Path::global_cached, 16384, 32, Record::lap_time)},
                                                 16384));
  EXPECT_EQ(trace.phases[1].cycles, 512U * 30);
}

TEST(ModelReader, RefusesClockStepsOutOfOrder) {
  Json j = base();
  j["gpu"]["clock_khz"] = 1000000;
  j["clock"] = {{{"at_us", 5}, {"khz", 900000}}, {{"at_us", 5}, {"khz", 1000000}}};
  EXPECT_THAT(error_of(j), AllOf(HasSubstr("/clock/1/at_us"), HasSubstr("order of time")));
  j["clock"] = {{{"at_us", 5}}};
  EXPECT_THAT(error_of(j), AllOf(HasSubstr("/clock/0"), HasSubstr("khz")));
  j["clock"] = 5;
  EXPECT_THAT(error_of(j), AllOf(HasSubstr("/clock"), HasSubstr("list")));
}

TEST(ModelReader, AGroupingThatHasANameGoesByIt) {
  Json j = base();
  j["caches"]["l1"]["shared_by"] = 1;
  EXPECT_EQ(model_of(j.dump()).caches[0].scope, Scope::sm);
  EXPECT_TRUE(model_of(j.dump()).caches[0].cleared_at_launch);
  j.erase("shared");
  j["caches"]["l1"]["shared_by"] = {{2, 3}, {1, 0}};
  EXPECT_EQ(model_of(j.dump()).caches[0].scope, Scope::tpc);
  j["caches"]["l1"]["shared_by"] = 4;
  EXPECT_EQ(model_of(j.dump()).caches[0].scope, Scope::gpu);
  j["caches"]["l1"]["shared_by"] = {{0, 1, 2}, {3}};
  EXPECT_EQ(sharing_sets(model_of(j.dump()), model_of(j.dump()).caches[0]), (SmSets{{0, 1, 2}, {3}}));
  EXPECT_FALSE(model_of(j.dump()).caches[0].cleared_at_launch);
}

TEST(ModelReader, TheDocumentNamesEveryFieldThatIsRead) {
  std::ifstream file(GPUTOPO_SOURCE_DIR "/docs/models.md");
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  // The reader itself lists the fields it knows when it meets one that it doesn't.
  for (const char* pointer : {"/x", "/gpu/x", "/groups/x", "/caches/l1/x", "/caches/l2/partitions/x", "/tlbs/tlb/x",
                              "/shared/x", "/paths/x", "/paths/global_cached/0/x", "/background/x", "/distance/x",
                              "/noise/x", "/limits/x", "/neighbour/x", "/tenant/x"}) {
    const std::string error = error_with(pointer, 1);
    const std::size_t begin = error.find("known here: ");
    ASSERT_NE(begin, std::string::npos) << pointer << " " << error;
    std::stringstream names(error.substr(begin + 12, error.rfind(')') - begin - 12));
    for (std::string name; std::getline(names >> std::ws, name, ',');) {
      EXPECT_TRUE(text.find("`" + name + "`") != std::string::npos ||
                  text.find("\"" + name + "\"") != std::string::npos)
          << pointer << ": " << name;
    }
  }
}

TEST(LoadModel, ReadsAFileAndNamesTheModelAfterIt) {
  const std::string path = testing::TempDir() + "/gputopo_model_test.json";
  std::ofstream(path) << base().dump();
  const auto model = load_model(path);
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(model->name, path);
  std::remove(path.c_str());
}

TEST(LoadModel, SaysWhyAFileCannotBeRead) {
  for (const std::string& path : {testing::TempDir() + "/there_is_no_such.json", testing::TempDir()}) {
    const auto model = load_model(path);
    ASSERT_FALSE(model);
    EXPECT_EQ(model.error().kind, Error::Kind::io);
    EXPECT_THAT(model.error().message, HasSubstr(path));
  }
}

}  // namespace
}  // namespace gputopo::sim
