// Numbers and words for people. Sizes in bytes, times in cycles or nanoseconds.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/printable.hpp"
#include "topology/topology.hpp"

namespace gputopo::report {

/// "246656 B" exactly; from 1 KiB on with a rounded binary unit before it: "240.9 KiB (246656 B)". A multiple of the
/// unit needs no second form: "60 MiB".
std::string size_text(double bytes);

/// The same in few columns: "240.875 KiB" where three decimals are exact, else rounded: "139.8 GiB".
std::string brief_size_text(double bytes);
/// Whether brief_size_text tells every byte.
bool is_brief_exact(double bytes);

/// At most one decimal, none where it is zero: "38", "281.5".
std::string number_text(double value);

/// Four digits and a decimal unit: "33.41 TB/s".
std::string rate_text(double bytes_per_second);

/// A value with its unit: sizes as size_text, rates as rate_text, everything else as number and unit; shares, which
/// have none, with two digits.
std::string quantity_text(double value, std::string_view unit);

/// What people call the memory, else its id; without a closing " cache" where room is short.
std::string memory_label(const Memory& memory, bool full);

/// Columns that the text takes in a terminal: code points, for the characters used here.
std::size_t display_width(std::string_view text);

using text::printable;

/// Breaks at spaces into lines of at most `width` columns; later lines start with `indent` spaces.
std::vector<std::string> wrap(std::string_view text, std::size_t width, std::size_t indent);

/// "NVIDIA H200 (real GPU)" or "(simulated)", from a topology's provenance.
std::string headline(const Topology& topology);

/// The headline of one of several GPUs, with its number and PCI address: "GPU 1 at 0000:5e:00.0: NVIDIA H200 (real
/// GPU)". Of a single one the headline alone, unless it has a number.
std::string heading(std::span<const Topology> topologies, std::size_t index, std::span<const unsigned> numbers);

/// "The GPU was shared: 12 switches to other work seen (34.5 ms away), 5 of 210 programs run again, 1 undecided." Empty
/// where no switch was seen and nothing else is known of others.
std::string shared_gpu_text(const Provenance& provenance);

/// "From earlier runs: l2 (2026-01-02T03:04:05Z); l1, shared (2026-01-01T08:00:00Z, when others used the GPU)." Empty
/// where all memories are from the latest run.
std::string earlier_runs_text(const Topology& topology);

/// "compute capability 9.0, 132 SMs at 1980 MHz, driver 580.1", as far as it is known.
std::string gpu_facts(const Topology& topology);

}  // namespace gputopo::report
