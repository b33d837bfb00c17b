#include "report/legible.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/report.hpp"
#include "text/printable.hpp"

namespace gputopo::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// ESC, BEL, CR, the one-character CSI, right-to-left override, a byte that is no UTF-8.
const std::string hostile =
    "x\x1b[31m\a\r\xc2\x9b"
    "\xe2\x80\xae\xff";
const std::string shown = "x?[31m?????";

Topology hostile_topology() {
  Topology t;
  t.gpu = {hostile, hostile, hostile, hostile, 1, 1, 1, 1, 1};
  Provenance& p = t.provenance;
  for (std::string* name :
       {&p.tool_name, &p.tool_version, &p.created, &p.device, &p.driver_version, &p.method, &p.shared_gpu, &p.kernels})
    *name = hostile;
  p.breakdown_s = {{hostile, 1}};
  p.notes = {hostile, std::string(100000, 'n')};
  Estimate e;
  e.value = 1;
  e.unit = e.method = e.note = e.interval_kind = hostile;
  e.interval = Interval{0, 2};
  Memory& m = t.memories.emplace_back();
  m.id = m.label = m.parent = m.physical_cache = m.created = hostile;
  for (const char* key : {"size", "latency", "line_size"}) m.attributes[key] = e;
  m.attributes[hostile] = e;
  m.attributes[std::string(100000, 'k')] = e;
  m.structure[hostile] = {hostile, Status::measured, hostile, 1.0, 1, hostile};
  m.structure["scope"] = {hostile, Status::measured, hostile, 1.0, 1, hostile};
  m.carve_outs = {{1, e, e, e}};
  t.earlier_runs = {p};
  t.crosscheck = {{hostile, hostile, 1, 1, 1, 1, hostile, 0}};
  t.sharing = {{hostile, hostile, hostile, {{hostile, hostile, 1, 1}}}};
  return t;
}

TEST(Printable, KnowsWhatTerminalsActOn) {
  EXPECT_EQ(text::printable(hostile, 100), shown);
  EXPECT_EQ(text::printable("größer 60 MiB ≥ ±", 100), "größer 60 MiB ≥ ±");
  EXPECT_EQ(text::printable("größer", 4), "größ...");
  EXPECT_EQ(text::printable("a\nb\tc", 100, "\n"), "a\nb?c");
  EXPECT_EQ(text::printable("\xc0\x9b\xed\xa0\x80\xf4\x90\x80\x80", 100), "?????????")
      << "overlong, surrogate, too large";
}

TEST(Printable, ALongMessageKeepsItsBeginningAndItsEnd) {
  const std::string message = text::message("can't read '" + std::string(100000, 'x') + "': no; do this");
  EXPECT_LT(message.size(), 620U);
  EXPECT_TRUE(message.starts_with("can't read 'xxx"));
  EXPECT_TRUE(message.ends_with("xxx': no; do this"));
}

TEST(Legible, NoFormatShowsWhatATerminalActsOnOrATextOfAnyLength) {
  const Topology topology = hostile_topology();
  Options options;
  options.all = true;
  options.headline = hostile;
  for (const Format& format : formats()) {
    const std::string out = format.render({&topology, 1}, options);
    EXPECT_EQ(text::printable(out, out.size(), "\n"), out) << format.name;
    if (format.name != "json") {
      EXPECT_THAT(out, Not(HasSubstr(std::string(1100, 'n')))) << format.name;
      EXPECT_THAT(out, Not(HasSubstr(std::string(300, 'k')))) << format.name;
    }
  }
}

TEST(Legible, WhatCanBeShownStaysAsItIs) {
  Topology topology;
  topology.gpu.name = "NVIDIA H200";
  topology.memories.emplace_back().attributes["size"].unit = "B";
  EXPECT_EQ(legible(topology), topology);
}

}  // namespace
}  // namespace gputopo::report
