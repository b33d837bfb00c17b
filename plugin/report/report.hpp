// Renderers: topologies as text for people and programs. One file a format, all behind one function type.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "report/look.hpp"
#include "topology/evidence.hpp"
#include "topology/topology.hpp"

namespace gputopo::report {

struct Options {
  bool all = false;      ///< table: also boxes, the carve-outs, who shares what, cross-checks and where the time went
  Look look;             ///< table
  std::string headline;  ///< table, for a single topology: its first line; empty: made from the topology
  std::vector<unsigned> numbers;   ///< of the GPUs in their machine, for headings; empty: their places among several
  std::vector<Evidence> evidence;  ///< html: what decided the values, of any of the topologies
  std::size_t width = 80;  ///< table: columns of the terminal; what finds no room moves to footnotes or below its row
};

/// Text of every topology given, ending in a newline. Never fails: odd values are shown as they are. The functions
/// below take texts as they are; those of formats() show nothing that a terminal would act on (legible.hpp).
using Renderer = std::string (*)(std::span<const Topology> topologies, const Options& options);

std::string render_table(std::span<const Topology> topologies, const Options& options);
/// One topology is an object of schema gputopo-topology/1; several are an array of such objects.
std::string render_json(std::span<const Topology> topologies, const Options& options);

/// One line an estimate, with a title line: for spreadsheets and data frames (docs/formats.md).
std::string render_csv(std::span<const Topology> topologies, const Options& options);
/// The table as GitHub-flavoured Markdown, with footnotes.
std::string render_markdown(std::span<const Topology> topologies, const Options& options);
/// A page that needs nothing else: the table and plots of whatever the topology holds.
std::string render_html(std::span<const Topology> topologies, const Options& options);

struct Format {
  std::string_view name;
  Renderer render;
};

/// Every format by the name that --format takes; the first is the default.
std::span<const Format> formats();

/// Nothing where there is no format of that name.
const Format* find_format(std::string_view name);

}  // namespace gputopo::report
