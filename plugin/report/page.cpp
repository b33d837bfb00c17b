#include "report/page.hpp"

#include <fmt/format.h>

#include "report/svg.hpp"

namespace gputopo::report {
namespace {

constexpr const char* style = R"css(
:root { --ink: #1c2430; --faint: #66707f; --line: #dfe3e8; --paper: #fff; --near: #2f6fb5; --far: #14857a;
  --scratchpad: #b5722f; --memory: #7a4fa3; --time: #8a94a3; color-scheme: light dark; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e8ee; --faint: #98a2b0; --line: #343c48; --paper: #14181e;
  --near: #5f9fe0; --far: #3fb5a8; --scratchpad: #d99a5b; --memory: #ad86d4; --time: #6b7685; } }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 76rem;
  margin: 3rem auto; padding: 0 1.5rem; }
h1 { font-size: 1.9rem; margin: 0; letter-spacing: -0.01em; }
h2 { font-size: 1.25rem; margin: 2.5rem 0 0.25rem; }
h3 { font-size: 1rem; margin: 1.25rem 0 0.5rem; font-weight: 600; }
p, footer, .notes { color: var(--faint); margin: 0.25rem 0 0.75rem; }
.scroll { overflow-x: auto; } .scroll > svg { max-width: 62rem; } svg.narrow { display: none; }
.figures { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(22rem, 100%), 1fr)); gap: 1.25rem 2rem; }
figure { margin: 0; break-inside: avoid; } figcaption { color: var(--faint); font-size: 0.85rem; }
.legend { list-style: none; padding: 0; color: var(--faint); font-size: 0.85rem; } svg.key { width: 14px; height: 10px; }
.source { font-size: 0.85rem; }
.outline { fill: none; stroke: var(--faint); } .around { fill: var(--ink); opacity: 0.12; }
.change { stroke: var(--ink); stroke-width: 1.5; stroke-dasharray: 4 3; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; margin: 1.5rem 0 0.75rem; }
th { text-align: left; font-weight: 600; font-size: 0.85rem; color: var(--faint); border-bottom: 2px solid var(--line); }
th, td { padding: 0.4rem 0.7rem 0.4rem 0; }
td { border-bottom: 1px solid var(--line); }
.right { text-align: right; white-space: nowrap; }
sup { color: var(--faint); font-size: 0.7em; }
.notes { font-size: 0.85rem; padding-left: 1.2rem; }
svg { width: 100%; height: auto; font: 13px system-ui, sans-serif; }
svg text { fill: var(--ink); } svg .label { text-anchor: end; fill: var(--faint); }
svg .name { fill: var(--faint); }
svg .inside, svg .sm { fill: #fff; } svg .sm { text-anchor: middle; font-size: 10px; }
.near, .part1, .group0 { fill: var(--near); } .far, .group1 { fill: var(--far); }
.scratchpad, .part0, .group2 { fill: var(--scratchpad); } .memory, .group3 { fill: var(--memory); }
.time, .part2 { fill: var(--time); } .group4 { fill: #b04a5a; } .group5 { fill: #5b7f2b; } .group6 { fill: #4a5fb0; }
.group7 { fill: #8a6d1f; }
.curve { fill: none; stroke-width: 2; } .curve.group0 { stroke: var(--near); fill: none; }
.curve.group1 { stroke: var(--far); fill: none; } .curve.group2 { stroke: var(--scratchpad); fill: none; }
.curve.group3 { stroke: var(--memory); fill: none; } .curve.group4 { stroke: #b04a5a; fill: none; }
.curve.group5 { stroke: #5b7f2b; fill: none; } .curve.group6 { stroke: #4a5fb0; fill: none; }
.curve.group7 { stroke: #8a6d1f; fill: none; } .grid { stroke: var(--line); }
.whisker { stroke: var(--ink); fill: none; stroke-width: 1.5; }
footer { border-top: 1px solid var(--line); margin-top: 3rem; padding-top: 1rem; font-size: 0.85rem; }
@media screen and (max-width: 46rem) { body { padding: 0 1rem; margin: 1rem auto; }
  svg.wide, .chip text { display: none; } svg.narrow { display: block; max-width: 30rem; }
  .cards thead { display: none; } .cards tr { display: block; border-bottom: 2px solid var(--line); padding: 0.4rem 0; }
  .cards td { display: block; overflow: hidden; border: 0; padding: 0.1rem 0; white-space: normal; text-align: right; }
  .cards td:empty { display: none; }
  .cards td::before { content: attr(data-label); color: var(--faint); float: left; } }
@media print { body { margin: 0 auto; max-width: none; } section { break-inside: avoid; } section.long { break-inside: auto; }
  .figures { grid-template-columns: 1fr 1fr 1fr; gap: 0.75rem 1rem; } h2, h3 { break-after: avoid; } p { break-after: avoid; }
  .scroll { overflow: visible; } .right { white-space: normal; } table { font-size: 0.75rem; } }
)css";

}  // namespace

std::string page(std::string_view title, std::string_view body) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" "
      "content=\"width=device-width, initial-scale=1\">\n<title>{}</title>\n<style>{}</style>\n</head>\n<body>\n{}"
      "</body>\n</html>\n",
      escape_html(title), style, body);
}

}  // namespace gputopo::report
