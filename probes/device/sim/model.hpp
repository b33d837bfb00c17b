// A modelled GPU: what the simulator runs and what a discovery on it should find. Plain data, read from JSON.
//
// The JSON format, with every field, default and limit, is described in docs/models.md. Sizes are bytes, latencies SM
// cycles. The structures follow Mei and Chu, "Dissecting GPU Memory Hierarchy through Microbenchmarking" (2017), and
// Wong et al., "Demystifying GPU Microarchitecture through Microbenchmarking" (2010).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "device/sim/throughput.hpp"
#include "error/error.hpp"
#include "program/program.hpp"
#include "topology/topology.hpp"

namespace gputopo::sim {

enum class IndexKind {
  modulo,    ///< line modulo sets
  xor_fold,  ///< the index bits XORed with the fields above them
  hash,      ///< every run of `sets` lines rotated by a pseudo-random amount: not defined by address bits
};

enum class Replacement { lru, fifo, random, tree_plru, not_most_recent };

/// How the lines (or TLB entries) of one instance are laid out.
struct Organisation {
  std::uint32_t sets = 1;               ///< 1: fully associative
  std::vector<std::uint32_t> set_ways;  ///< unequal sets: ways of each; empty: lines spread evenly over `sets`
  std::uint32_t consecutive_lines = 1;  ///< that many neighbouring lines share a set
  IndexKind index = IndexKind::modulo;
  std::uint32_t folds = 0;  ///< xor_fold: fields above the index that are folded in; 0: all
  Replacement replacement = Replacement::lru;
};

/// Disjoint sets of SM ids that together are all SMs.
using SmSets = std::vector<std::vector<std::uint32_t>>;

enum class PartitionMode {
  home,       ///< a line lives in the partition that its address names; SMs of another one pay far_latency
  near_copy,  ///< each partition also keeps what its own SMs read last, up to its own size, at near latency
};

struct Partitions {
  std::uint32_t count = 1;
  PartitionMode mode = PartitionMode::home;
  std::uint64_t interleave_bytes = 4096;
};

/// Whether a store goes on to the next level at once.
enum class WritePolicy {
  through,
  back,  ///< not where its line is there, or gets a place
};

/// What a store leaves where its line wasn't, for loads that come after it.
enum class WriteAllocate {
  none,
  word,         ///< what was stored, and nothing else of its sector
  full_sector,  ///< sectors all words of which were stored, and nothing of others
  sector,       ///< its sector, the rest of which comes from the next level
  line,         ///< likewise
};

/// What a store does to its line where that is there.
enum class WriteHit {
  update,
  invalidate,  ///< nothing of the line is there any more
};

/// What a cache does with stores.
struct Writes {
  WritePolicy policy = WritePolicy::through;
  WriteAllocate allocate = WriteAllocate::word;
  WriteHit hit = WriteHit::update;
};

struct CacheModel {
  std::string name;
  std::uint64_t size_bytes = 0;  ///< the whole array of one instance
  std::uint64_t line_bytes = 0;
  std::uint64_t sector_bytes = 0;
  std::uint64_t reserved_bytes = 0;  ///< kept by the hardware: never holds data
  Organisation organisation;
  Scope scope = Scope::sm;
  SmSets shared_by;                     ///< which SMs have one set of instances; empty: those of `scope`
  std::uint32_t instances = 1;          ///< in each unit of `scope`
  std::vector<std::uint32_t> warp_map;  ///< warp w uses instance warp_map[w modulo its length]
  std::uint32_t prefetch_lines = 0;     ///< following lines that a miss brings in as well
  std::uint32_t prefetch_after = 0;     ///< misses equally far apart that it takes, and then that far on; 0: any miss
  bool cleared_at_launch = false;       ///< emptied when a program starts on an SM that uses it
  Partitions partitions;
  std::optional<WritePolicy> write_policy;      ///< absent: see writes_of()
  std::optional<WriteAllocate> write_allocate;  ///< likewise
  WriteHit write_hit = WriteHit::update;
};

struct TlbModel {
  std::string name;
  std::uint64_t page_bytes = 0;
  std::uint32_t entries = 0;
  Organisation organisation;
  Scope scope = Scope::sm;
  SmSets shared_by;        ///< which SMs have one; empty: those of `scope`
  double miss_cycles = 0;  ///< added to a load that misses here
};

/// One station of a path. Exactly one of a cache (an index into Model::caches) or the device memory.
struct Level {
  std::optional<std::size_t> cache;  ///< absent: device memory
  double latency_cycles = 0;         ///< of a load that is served here
  double far_latency_cycles = 0;     ///< the same from an SM of another partition
  std::uint32_t tag_class = 0;       ///< lines hit only for loads of the same class
  std::vector<std::size_t> tlbs;     ///< indices into Model::tlbs, asked in order before this level
};

/// Levels in the order in which a load asks them; device memory last.
using PathModel = std::vector<Level>;

struct SharedModel {
  std::vector<std::uint64_t> carve_outs_bytes;  ///< ascending; one alone where it can't be chosen
  std::optional<std::size_t> carved_from;       ///< the cache whose array it lies in
  double latency_cycles = 0;
  std::uint64_t block_limit_bytes = 0;
  std::uint64_t block_reserved_bytes = 0;
};

/// What of straight-line code costs time and room.
struct ExecutionModel {
  PathModel path;
  std::uint64_t instruction_bytes = 16;
  double cycles_per_instruction = 2;
  std::uint64_t unit_bytes = 128;
  std::uint64_t limit_bytes = 0;
  std::uint64_t block_bytes = 64;   ///< what a walk over code jumps to
  std::uint64_t walked_bytes = 0;   ///< all blocks together
  std::uint64_t between_bytes = 0;  ///< code of the walk's own that runs between two jumps, in whole lines
};

/// Touched at the start of each phase: the kernel's own constants and code.
struct BackgroundModel {
  std::uint64_t constant_offset_bytes = 0;
  std::uint64_t constant_bytes = 0;
  std::uint64_t code_bytes = 0;
};

enum class JitterKind { none, gaussian, uniform };

/// A closed range that a number is drawn from, uniformly; one number where both ends are equal.
struct Span {
  double low = 0;
  double high = 0;
};

struct NoiseModel {
  JitterKind jitter = JitterKind::none;
  double jitter_cycles = 0;  ///< gaussian: standard deviation; uniform: whole cycles either side
  double outlier_probability = 0;
  Span outlier_cycles;
  std::uint64_t seed = 1;
};

/// Latency that depends on where on the chip the SM and the line's slice lie, in the levels beyond the SMs.
struct DistanceModel {
  std::uint64_t slice_bytes = 128;
  std::uint32_t slice_count = 0;  ///< that memory is spread over by a hash; 0: each stretch is one by itself
  double partition_cycles = 0, gpc_cycles = 0, cpc_cycles = 0, tpc_cycles = 0, sm_cycles = 0;
  double slice_cycles = 0;  ///< of the slice by itself, alike for every SM
  std::uint32_t steps = 0;  ///< slice_cycles and sm_cycles come in that many even steps; 0: continuous
};

/// Rows of DRAM: what memory serves from the row that a bank had open takes less.
struct RowModel {
  std::uint64_t size_bytes = 0;  ///< neighbouring bytes that lie in one row
  std::uint32_t banks = 16;      ///< each has one row open, the one used last
  double gain_cycles = 0;
};

/// Memory that does something else at regular times; loads that come to it meanwhile wait for the end.
struct RefreshModel {
  double period_cycles = 0;  ///< of a program's timed loads, from its launch on
  double busy_cycles = 0;    ///< at the end of each period
};

/// Another process that takes turns with the program on the whole GPU.
struct NeighbourModel {
  Span slice_us;            ///< the program runs that long ...
  Span away_us;             ///< ... and then waits that long
  double memory_share = 0;  ///< of each cache beyond the SMs that the neighbour fills with its lines meanwhile
};

/// Another process that runs beside the program, and never interrupts it.
struct TenantModel {
  double lines_per_us = 0;          ///< that it brings into each cache beyond the SMs
  double private_lines_per_us = 0;  ///< that it brings into the caches of an SM that it runs on
  std::vector<std::uint32_t> sms;   ///< those SMs; empty: all
  double slow_share = 0;            ///< of the loads that leave the SM, those which wait for it
  Span slow_cycles;                 ///< that long
};

/// From `at_us` of simulated time on, the SM clock is `clock_khz`.
struct ClockStep {
  double at_us = 0;
  std::uint64_t clock_khz = 0;
};

/// SM ids of each group; empty where the GPU (or the model) has no such grouping.
struct Groups {
  SmSets tpc, cpc, gpc, partition;
  SmSets cluster;  ///< that a cluster of blocks is put within; empty: the GPCs
};

inline constexpr std::size_t path_count = 8;

struct Model {
  std::string name;
  std::vector<std::string> sources;
  Gpu gpu;
  std::uint64_t memory_bytes = 0;
  std::uint64_t api_l2_bytes = 0;
  Groups groups;
  std::vector<CacheModel> caches;
  std::vector<TlbModel> tlbs;
  std::array<std::optional<PathModel>, path_count> paths;  ///< by program::Path; `shared` stays empty
  std::optional<SharedModel> shared;
  std::optional<ExecutionModel> execution;
  BackgroundModel background;
  NoiseModel noise;
  DistanceModel distance;
  std::optional<RowModel> rows;
  std::optional<RefreshModel> refresh;
  double tick_cycles =
      0;  ///< loads leave the SM every so many cycles of a program's timed loads; 0: whenever they come
  std::optional<NeighbourModel> neighbour;
  std::optional<TenantModel> tenant;
  std::vector<ClockStep> clock_steps;                      ///< ascending
  std::optional<ThroughputModel> throughput;               ///< absent: streams can't be run
  std::array<double, path_count> clock_overhead_cycles{};  ///< by program::Path
  std::uint64_t constant_bytes_per_module = 65536;
  std::uint32_t constant_modules = 8;
  std::uint64_t texture_elements = 0;
  std::uint64_t largest_buffer_bytes = 0;
  std::uint32_t largest_recording = 0;
  std::uint32_t warps_per_block = 32;

  const std::optional<PathModel>& path(program::Path p) const { return paths[static_cast<std::size_t>(p)]; }
};

/// Reads a model's text. `name` stands for it in error messages. Error `bad_input`: one line with the JSON path of the
/// field, why it can't be used and what to write instead.
Expected<Model> parse_model(std::string_view text, std::string_view name);

/// Reads a model from a file of at most 1 MiB. Also Error `io`.
Expected<Model> load_model(const std::string& path);

/// The models that are part of the library: their names, sorted.
std::span<const std::string_view> builtin_models();

/// A model of that name; `bad_input`, naming those there are, for any other name.
Expected<Model> builtin_model(std::string_view name);

/// What a flawless discovery finds: every attribute with status `truth`. Memories in the order "l1", "texture",
/// "read_only", "constant_l1", "constant_l1_5", "l2", "shared", "device_memory"; one that the GPU lacks has
/// `not_supported` attributes. Sizes are the usable bytes of one instance at the smallest carve-out.
Topology truth(const Model& model);

/// Adds to a truth how the SMs' caches are organised, as `discover --deep` says it: sets, ways, consecutive lines,
/// index, replacement.
void add_organisation(const Model& model, Topology& truth);

/// Adds what stores leave in the L1 and the L2, as `discover --deep` says it: `write_policy`, `write_allocate` and
/// `write_hit`.
void add_writes(const Model& model, Topology& truth);

/// Adds the TLBs that loads past the L1 ask, as `discover --deep` says them: "tlb_l1" to "tlb_l3", the nearest first.
void add_translation(const Model& model, Topology& truth);

/// Adds the caches that instructions pass before the L2, as `discover --deep` says them: "instruction_l1" and
/// "instruction_l1_5", of three the first is "instruction_l0", without an L2 the third is "instruction_l2".
void add_instructions(const Model& model, Topology& truth);

/// Adds what `discover --deep` says of device memory and of loads that TLBs delay: prefetch into the L2, what an open
/// row gains, how lines differ as SM 0 sees them, latencies after misses of TLBs. Needs add_translation before.
void add_memory_patterns(const Model& model, Topology& truth);

/// What no memory's attribute says of a model, a line each: what lies behind the L2, how far TLBs reach, distances, who
/// disturbs.
std::vector<std::string> remarks(const Model& model);

/// Gives latencies and penalties of a truth as intervals all those that loads of the level have, where they differ: by
/// the distance of the line, after the steps of the clock, where TLBs don't know the page.
void add_latency_spans(const Model& model, Topology& truth);

/// The carve-out in force for a request in percent of the largest and a block's need: the smallest that covers both.
std::uint64_t carve_out_bytes(const SharedModel& shared, std::uint32_t percent, std::uint64_t needed_bytes);

/// Bytes of one instance of a cache that hold data while `carve_out` bytes of its array serve as shared memory.
std::uint64_t usable_bytes(const CacheModel& cache, std::uint64_t carve_out);

/// What one fetch of the path's first level brings in.
std::uint64_t fetch_bytes(const Model& model, const PathModel& path);

/// The groups of SMs of a scope; `gpu` gives one of all.
SmSets sm_groups(const Model& model, Scope scope);

/// The sets of SMs that have one set of a cache's (a TLB's) instances each.
SmSets sharing_sets(const Model& model, const CacheModel& cache);
SmSets sharing_sets(const Model& model, const TlbModel& tlb);

/// Whether a cache lies beyond the SMs: shared by all of them, or one that loads pass which pass by the L1 (the L2 of a
/// chiplet). A program that a GPU begins finds such caches as the last one left them.
bool is_beyond_sms(const Model& model, std::size_t cache);

/// Whether a cache can keep words of a sector that isn't there as a whole: a line has a sector less than could be.
bool can_keep_words(const CacheModel& cache);

/// What a cache does with stores. Where the model doesn't say: caches of the SMs pass them on and keep the words, those
/// beyond write back and keep whole sectors, as NVIDIA's do (measured on an H100).
Writes writes_of(const Model& model, std::size_t cache);

}  // namespace gputopo::sim
