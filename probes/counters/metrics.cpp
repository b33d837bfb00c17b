#include "counters/metrics.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace gputopo::counters {
namespace {

constexpr std::string_view global_loads = "smsp__inst_executed_op_global_ld.sum";
constexpr std::string_view l1_misses = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_miss.sum";
constexpr std::string_view l2_misses = "lts__t_sectors_srcunit_tex_op_read_lookup_miss.sum";

constexpr MemoryMetrics l1{"l1", global_loads, l1_misses};
constexpr MemoryMetrics texture{"texture", "smsp__inst_executed_op_texture.sum",
                                "l1tex__t_sectors_pipe_tex_lookup_miss.sum"};
constexpr MemoryMetrics read_only{"read_only", global_loads, l1_misses};
constexpr MemoryMetrics constant_l1{"constant_l1", "smsp__inst_executed_op_ldc.sum", "idc__requests_lookup_miss.sum"};
// Only lookups that find no tag: every SM reads the kernel's parameters at once, and how many of them find a line that
// is on its way differs from launch to launch.
constexpr MemoryMetrics constant_l1_5{"constant_l1_5", "smsp__inst_executed_op_ldc.sum",
                                      "gcc__cache_requests_type_constant_lookup_miss_tag_miss.sum"};
// Nothing counts jumps alone. Of the L1.5 only lookups that find no tag, as of constants.
constexpr MemoryMetrics instruction_l1{"instruction_l1", "", "sm__icc_requests_lookup_miss_tag_miss.sum"};
constexpr MemoryMetrics instruction_l1_5{"instruction_l1_5", "",
                                         "gcc__cache_requests_type_instruction_lookup_miss_tag_miss.sum"};
constexpr MemoryMetrics l2{"l2", global_loads, l2_misses};

constexpr std::array<MemoryMetrics, 9> with_memory(std::string_view sectors_read) {
  return {{l1,
           texture,
           read_only,
           constant_l1,
           constant_l1_5,
           instruction_l1_5,
           l2,
           {"device_memory", global_loads, sectors_read},
           instruction_l1}};
}

constexpr auto until_hopper = with_memory("dram__sectors_read.sum");
constexpr auto client_blackwell = with_memory("dram__sectors_op_read.sum");
constexpr auto volta = std::span(until_hopper).first<8>();  // counts nothing of the instruction L1

constexpr ByteMetrics l1_bytes{"l1", "l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit.sum", "", sector_bytes};
constexpr ByteMetrics texture_bytes{"texture", "l1tex__t_sectors_pipe_tex_lookup_hit.sum", "", sector_bytes};
// A warp's word, of which it gives 8 bytes at a time.
constexpr ByteMetrics constant_l1_bytes{"constant_l1", "idc__requests_lookup_hit.sum", "", 8};
// A wavefront is a turn of all 32 banks of 4 bytes.
constexpr ByteMetrics shared_bytes{"shared", "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
                                   "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum", 128};
constexpr ByteMetrics l2_bytes{"l2", "lts__t_sectors_srcunit_tex_op_read.sum",
                               "lts__t_sectors_srcunit_tex_op_write.sum", sector_bytes};
constexpr ByteMetrics link_bytes{"host_link", "pcie__read_bytes.sum", "pcie__write_bytes.sum", 1, true};

constexpr std::array<ByteMetrics, 7> bytes_until_hopper{
    {l1_bytes,
     texture_bytes,
     constant_l1_bytes,
     shared_bytes,
     l2_bytes,
     {"device_memory", "dram__sectors_read.sum", "dram__sectors_write.sum", sector_bytes},
     link_bytes}};
constexpr std::array<ByteMetrics, 7> bytes_of_client_blackwell{
    {l1_bytes,
     texture_bytes,
     constant_l1_bytes,
     shared_bytes,
     l2_bytes,
     {"device_memory", "dram__sectors_op_read.sum", "dram__sectors_op_write.sum", sector_bytes},
     link_bytes}};

constexpr std::array<Chip, 26> table{{
    {"GV100", volta, bytes_until_hopper},
    {"TU102", until_hopper, bytes_until_hopper},
    {"TU104", until_hopper, bytes_until_hopper},
    {"TU106", until_hopper, bytes_until_hopper},
    {"TU116", until_hopper, bytes_until_hopper},
    {"TU117", until_hopper, bytes_until_hopper},
    {"GA100", until_hopper, bytes_until_hopper},
    {"GA102", until_hopper, bytes_until_hopper},
    {"GA103", until_hopper, bytes_until_hopper},
    {"GA104", until_hopper, bytes_until_hopper},
    {"GA106", until_hopper, bytes_until_hopper},
    {"GA107", until_hopper, bytes_until_hopper},
    {"AD102", until_hopper, bytes_until_hopper},
    {"AD103", until_hopper, bytes_until_hopper},
    {"AD104", until_hopper, bytes_until_hopper},
    {"AD106", until_hopper, bytes_until_hopper},
    {"AD107", until_hopper, bytes_until_hopper},
    {"GH100", until_hopper, bytes_until_hopper},
    {"GB100", until_hopper, bytes_until_hopper},
    {"GB102", until_hopper, bytes_until_hopper},
    {"GB110", until_hopper, bytes_until_hopper},
    {"GB202", client_blackwell, bytes_of_client_blackwell},
    {"GB203", client_blackwell, bytes_of_client_blackwell},
    {"GB205", client_blackwell, bytes_of_client_blackwell},
    {"GB206", client_blackwell, bytes_of_client_blackwell},
    {"GB207", client_blackwell, bytes_of_client_blackwell},
}};

}  // namespace

const MemoryMetrics* Chip::find(std::string_view memory) const {
  const auto it = std::find_if(memories.begin(), memories.end(), [&](const auto& m) { return m.memory == memory; });
  return it == memories.end() ? nullptr : &*it;
}

const ByteMetrics* Chip::find_bytes(std::string_view memory) const {
  const auto it = std::find_if(bytes.begin(), bytes.end(), [&](const auto& m) { return m.memory == memory; });
  return it == bytes.end() ? nullptr : &*it;
}

std::span<const Chip> chips() {
  return table;
}

Expected<Chip> find_chip(std::string_view name) {
  const auto it = std::find_if(table.begin(), table.end(), [&](const Chip& c) { return c.name == name; });
  if (it == table.end())
    return fail(
        Error::Kind::unavailable,
        fmt::format("which counters of a '{}' stand for which cache is not known; a newer gputopo may know", name));
  return *it;
}

}  // namespace gputopo::counters
