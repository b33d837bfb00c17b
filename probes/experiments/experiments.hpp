// The experiments: one file each. Each adds what it found to the Findings; the table that lists them is registry.cpp.
#pragma once

#include "error/error.hpp"
#include "evidence/looks/findings.hpp"
#include "evidence/looks/session.hpp"
#include "evidence/organisation/collisions.hpp"

namespace gputopo::experiments {

using evidence::CachePath;
using evidence::Findings;
using evidence::Session;

// Of one path: L1 data, texture, read-only, constant L1.
Expected<void> measure_levels(Session& session, Findings& findings, const CachePath& path);
Expected<void> measure_sector(Session& session, Findings& findings, const CachePath& path);
Expected<void> measure_geometry(Session& session, Findings& findings, const CachePath& path);
Expected<void> measure_penalty(Session& session, Findings& findings, const CachePath& path);
Expected<void> measure_scope(Session& session, Findings& findings, const CachePath& path);
Expected<void> measure_instances(Session& session, Findings& findings, const CachePath& path);
Expected<void> measure_organisation(Session& session, Findings& findings, const CachePath& path);
/// All that it would have said, as open.
void leave_organisation_open(Memory& memory, std::string_view method, std::string_view why);
/// Sets that were counted otherwise than one by one; 0: they weren't.
struct CountedSets {
  std::uint64_t sets = 0, ways = 0;
};
/// The same from collisions; `memory` has the size, `line_bytes` is what a line covers.
Expected<void> tell_organisation(evidence::Circles& circles, const evidence::Collisions& seen, Memory& memory,
                                 std::uint64_t line_bytes, const CountedSets& counted = {});

/// The size of a cache that `cache` knows the capacity of, for `--method thesis`.
Expected<Estimate> size_by_thesis(Session& session, const evidence::CacheFacts& cache);

// Of several.
Expected<void> measure_parents(Session& session, Findings& findings);
Expected<void> measure_sharing(Session& session, Findings& findings);
Expected<void> measure_carve_outs(Session& session, Findings& findings);

Expected<void> measure_constant_l1_5(Session& session, Findings& findings);
Expected<void> measure_constant_l1_5_size(Session& session, Findings& findings);
Expected<void> measure_constant_l1_5_groups(Session& session, Findings& findings);
Expected<void> measure_code_sharing(Session& session, Findings& findings);

Expected<void> measure_l2_levels(Session& session, Findings& findings);
Expected<void> measure_l2_sets(Session& session, Findings& findings);
Expected<void> measure_l2_sides(Session& session, Findings& findings);
Expected<void> measure_l2_geometry(Session& session, Findings& findings);
Expected<void> measure_l2_behind(Session& session, Findings& findings);
Expected<void> measure_constant_l1_5_organisation(Session& session, Findings& findings);
Expected<void> measure_l2_organisation(Session& session, Findings& findings);
Expected<void> measure_l2_penalty(Session& session, Findings& findings);
Expected<void> measure_l2_scope(Session& session, Findings& findings);
Expected<void> measure_chip_map(Session& session, Findings& findings);
Expected<void> measure_chip_parts(Session& session, Findings& findings);

/// What stores leave in the L1; in the L2, and whether the L1 passes them on.
Expected<void> measure_l1_stores(Session& session, Findings& findings);
Expected<void> measure_l2_stores(Session& session, Findings& findings);

Expected<void> measure_shared(Session& session, Findings& findings);
Expected<void> measure_device_memory(Session& session, Findings& findings);
Expected<void> measure_memory_latency(Session& session, Findings& findings);
/// Hardware prefetch, rows of DRAM and how lines differ, all of memory that no cache has.
Expected<void> measure_memory_prefetch(Session& session, Findings& findings);
Expected<void> measure_memory_rows(Session& session, Findings& findings);
Expected<void> measure_l2_slices(Session& session, Findings& findings);
Expected<void> measure_memory_lines(Session& session, Findings& findings);
/// Latency of each combination of hits and misses in the L2 and the TLBs, from what was measured of either.
Expected<void> measure_memory_patterns(Session& session, Findings& findings);
Expected<void> measure_instructions(Session& session, Findings& findings);
Expected<void> measure_translation(Session& session, Findings& findings);
/// Of one memory.
Expected<void> measure_bandwidth(Session& session, Findings& findings, const std::string_view& memory);

}  // namespace gputopo::experiments
