// One program's trace as short text: what a recording keeps for each run (docs/formats.md).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "program/program.hpp"
#include "program/stream.hpp"
#include "program/workload.hpp"

namespace gputopo::replay {

/// Phases are separated by ';'. A phase is `loads,cycles,latencies,histogram,laps`, with empty fields at its end left
/// out: loads and cycles are numbers, latencies and the laps' cycles lists, the histogram pairs of numbers (latency
/// less the one before, count).
std::string encode_phases(const program::ProgramTrace& trace);

/// The reverse, into ProgramTrace::phases. `budget` is how many numbers of 8 bytes, or what takes as much memory,
/// may still be decoded in all; it is lowered by what was read, and asked before anything is made. Nothing where the
/// text isn't a trace or the budget is spent.
std::optional<std::vector<program::PhaseTrace>> decode_phases(std::string_view text, std::size_t& budget);

/// `switches,away_ns,cycles_per_ns` as decimal numbers; the empty text for a program that nothing is known of.
std::string encode_interruptions(const program::Interruptions& seen);
std::optional<program::Interruptions> decode_interruptions(std::string_view text);

/// `bytes,accesses,cycles,ns,sms` as decimal numbers.
std::string encode_stream(const program::StreamTrace& trace);
std::optional<program::StreamTrace> decode_stream(std::string_view text);

/// `cycles,ns,sms,local_bytes,registers` as decimal numbers, and `,read,written` where the device knew them. The words
/// of its output are a list of their own.
std::string encode_workload(const program::WorkloadTrace& trace);
std::optional<program::WorkloadTrace> decode_workload(std::string_view text);

}  // namespace gputopo::replay
