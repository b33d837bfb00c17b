// Renderers of what `gputopo bench` found, one file each.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "report/look.hpp"
#include "throughput/result.hpp"

namespace gputopo::bench {

struct Options {
  bool all = false;        ///< table: also the points of plots
  report::Look look;       ///< table
  std::size_t width = 80;  ///< table: columns of the terminal
  std::string headline;
};

/// Text of a report, ending in a newline.
using Renderer = std::string (*)(const throughput::Report& report, const Options& options);

std::string render_table(const throughput::Report& report, const Options& options);
/// An object of schema gputopo-bench/1 (docs/formats.md).
std::string render_json(const throughput::Report& report, const Options& options);
/// One line a finding and a point, with a title line.
std::string render_csv(const throughput::Report& report, const Options& options);
/// A page that needs nothing else: findings and plots.
std::string render_html(const throughput::Report& report, const Options& options);

struct Format {
  std::string_view name;
  Renderer render;
};

/// By the name that --format takes; the first is the default.
std::span<const Format> formats();

/// "9.12 TB/s" as GB/s and the like: the value of a finding in the unit that people use, with it.
std::string value_text(const throughput::Finding& finding);
/// Its limit likewise; empty where none is known.
std::string limit_text(const throughput::Finding& finding);
/// Bytes by counters as a share of those by count; empty where nobody counted.
std::string counted_text(const throughput::Finding& finding);
/// Whether anybody counted any of the bytes of a result.
bool has_counted_bytes(const throughput::Result& result);

}  // namespace gputopo::bench
