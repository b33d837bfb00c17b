#include "catalog/catalog.hpp"

namespace gputopo::catalog {
namespace {

// The metrics' names are NVIDIA's (CUPTI, Range Profiling); counters/metrics.cpp has those of other chips.
constexpr std::string_view l1_misses = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_miss.sum";

constexpr std::array<MemoryRow, 11> memory_rows{{
    {"l1", "L1 data cache", Kind::cache, "global_cached", {"l2", "device_memory"}, "L1d", "L1", l1_misses},
    {"texture",
     "Texture cache",
     Kind::cache,
     "texture",
     {"l2", "device_memory"},
     "Tex",
     "Texture",
     "l1tex__t_sectors_pipe_tex_lookup_miss.sum"},
    {"read_only",
     "Read-only data cache",
     Kind::cache,
     "read_only",
     {"l2", "device_memory"},
     "RO",
     "Read-only",
     l1_misses},
    {"constant_l1",
     "Constant L1 cache",
     Kind::cache,
     "constant",
     {"constant_l1_5", "l2", "device_memory"},
     "ConstL1",
     "Const L1",
     "idc__requests_lookup_miss.sum"},
    {"constant_l1_5",
     "Constant L1.5 cache",
     Kind::cache,
     "constant",
     {"l2", "device_memory"},
     "ConstL1.5",
     "Const L1.5",
     "gcc__cache_requests_type_constant_lookup_miss_tag_miss.sum"},
    {"l2",
     "L2 cache",
     Kind::cache,
     "global_l2_only",
     {"device_memory"},
     "L2",
     "L2",
     "lts__t_sectors_srcunit_tex_op_read_lookup_miss.sum"},
    {"shared", "Shared memory", Kind::scratchpad, "shared", {}, "Shared", "Shared memory", ""},
    {"device_memory",
     "Device memory",
     Kind::memory,
     "global_l2_only",
     {},
     "Memory",
     "Device memory",
     "dram__sectors_read.sum"},
    {"tlb_l1", "TLB, level 1", Kind::cache, "global_l2_only", {}, "TLB1", "TLB L1", ""},
    {"tlb_l2", "TLB, level 2", Kind::cache, "global_l2_only", {}, "TLB2", "TLB L2", ""},
    {"tlb_l3", "TLB, level 3", Kind::cache, "global_l2_only", {}, "TLB3", "TLB L3", ""},
}};

}  // namespace

std::span<const MemoryRow> memories() {
  return memory_rows;
}

}  // namespace gputopo::catalog
