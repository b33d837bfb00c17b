#include "catalog/catalog.hpp"

namespace gputopo::catalog {
namespace {

constexpr std::array<AttributeRow, 30> attribute_rows{{
    {"size", "size", "B", "Size", "SizeBytes", "Size", "Size [B]",
     "Largest footprint that fits: what one instance can hold at the configuration in force."},
    {"line_size", "line size", "B", "Line", "LineSizeBytes", "LineSize", "Line [B]",
     "Unit of allocation: what a miss makes room for."},
    {"sector_size", "sector size", "B", "Sector", "SectorSizeBytes", "SectorSize", "Sector [B]",
     "Unit of transfer, also called fetch granularity."},
    {"latency", "latency", "cycles", "Latency", "LatencyCycles", "LatencyCycles", "Latency [cycles]",
     "Time from issuing a dependent load to having its value, for a hit."},
    {"miss_penalty", "miss penalty", "cycles", "Miss", "MissPenaltyCycles", "", "",
     "What a load costs more when the next memory serves it."},
    {"read_bandwidth", "read bandwidth", "B/s", "", "ReadBandwidthBytesPerSecond", "", "Read bandwidth",
     "Bytes read in a second by all SMs together."},
    {"write_bandwidth", "write bandwidth", "B/s", "", "WriteBandwidthBytesPerSecond", "", "Write bandwidth [B/s]",
     "Bytes written in a second by all SMs together."},
    {"copy_bandwidth", "copy bandwidth", "B/s", "", "CopyBandwidthBytesPerSecond", "", "Copy bandwidth [B/s]",
     "Bytes read and written in a second by all SMs together, as many of either."},
    {"shared_read_bandwidth", "read bandwidth, all alike", "B/s", "", "SharedReadBandwidthBytesPerSecond", "", "",
     "Bytes that reach the SMs in a second when all of them read the same ones."},
    {"near_read_bandwidth", "near read bandwidth", "B/s", "", "NearReadBandwidthBytesPerSecond", "", "",
     "Bytes read in a second by all SMs together, each from the partition that is nearer."},
    {"far_read_bandwidth", "far read bandwidth", "B/s", "", "FarReadBandwidthBytesPerSecond", "", "",
     "Bytes read in a second by all SMs together, each from a partition that is farther away."},
    {"near_write_bandwidth", "near write bandwidth", "B/s", "", "NearWriteBandwidthBytesPerSecond", "", "",
     "Bytes written in a second by all SMs together, each to the partition that is nearer."},
    {"far_write_bandwidth", "far write bandwidth", "B/s", "", "FarWriteBandwidthBytesPerSecond", "", "",
     "Bytes written in a second by all SMs together, each to a partition that is farther away."},
    {"to_device_bandwidth", "bandwidth from the host", "B/s", "", "ToDeviceBandwidthBytesPerSecond", "", "",
     "Bytes copied in a second from page-locked memory of the host."},
    {"to_host_bandwidth", "bandwidth to the host", "B/s", "", "ToHostBandwidthBytesPerSecond", "", "",
     "Bytes copied in a second to page-locked memory of the host."},
    {"instances", "instances", "", "", "Instances", "", "", "How many there are on the GPU."},
    {"partitions", "partitions", "", "", "Partitions", "", "Partitions",
     "Parts of an L2 that differ in how near they are to an SM."},
    {"partition_size", "partition size", "B", "", "PartitionSizeBytes", "", "Partition size [B]",
     "What one of the partitions holds."},
    {"measured_size", "measured size", "B", "", "MeasuredSizeBytes", "", "",
     "What timing says where the driver's word stands as the size."},
    {"near_latency", "near latency", "cycles", "", "NearLatencyCycles", "", "",
     "Latency of a hit in the partition that is nearer."},
    {"far_latency", "far latency", "cycles", "", "FarLatencyCycles", "", "",
     "Latency of a hit in a partition that is farther away."},
    {"near_latency_from_side", "near latency from a side", "cycles", "", "NearLatencyFromSideCycles", "", "",
     "The near latency as an SM on that side sees it; the side's number follows the id."},
    {"far_latency_from_side", "far latency from a side", "cycles", "", "FarLatencyFromSideCycles", "", "",
     "The far latency as an SM on that side sees it; the side's number follows the id."},
    {"partition_separation", "separation of partitions", "", "", "PartitionSeparation", "", "",
     "How sure the sides of the L2 are: the least sure SM's correlation with its own side less that with the other."},
    {"cpc_separation", "separation of CPCs", "", "", "CpcSeparation", "", "",
     "How sure the CPCs are: the least sure TPC's correlation with its own CPC less that with the next best one."},
    {"sets", "sets", "", "", "Sets", "", "", "Parts of a cache, one of which a line's address gives it."},
    {"ways", "ways", "", "", "Ways", "", "",
     "Lines of a set; where the sets differ the one in the middle, and from the least to the most."},
    {"consecutive_lines", "consecutive lines", "", "", "ConsecutiveLines", "", "",
     "Neighbouring lines that lie in one set."},
    {"entries", "entries", "", "", "Entries", "", "", "Translations that a TLB holds; its size is what they reach."},
    {"entry_size", "entry size", "B", "", "EntrySizeBytes", "", "",
     "What one entry of a TLB covers: a page, or several that lie in a row."},
}};

}  // namespace

std::span<const AttributeRow> attributes() {
  return attribute_rows;
}

}  // namespace gputopo::catalog
