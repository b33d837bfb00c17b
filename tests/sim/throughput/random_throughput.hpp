// Random models of throughput, with their truth: what streams have to bring back. Everything that docs/models.md lets a
// model say of streams is drawn.
#pragma once

#include <cstdint>
#include <string>

namespace gputopo::throughput {

struct RandomThroughput {
  double l1_read, texture_read, constant_read, shared_read, shared_write, shared_copy;  ///< B/cycle
  double l2_read, l2_same, l2_write, l2_copy, memory_read, memory_write, memory_copy;   ///< 10^9 B/s
  double l1_latency, l2_latency, memory_latency;                                        ///< cycles
  std::uint32_t banks, bank_bytes;
  double conflict;
  std::uint32_t lines;                   ///< at full rate
  double address, line, spread;          ///< additions a cycle in global memory
  double shared_address, shared_spread;  ///< the same of an SM
  std::uint32_t sms;
  double to_device, to_host;  ///< of the host link, 10^9 B/s
  std::uint64_t clock_khz;
  double noise;
  std::uint64_t l1_bytes, l1_line, constant_bytes, behind_bytes, l2_bytes, l2_line, shared_bytes;  ///< behind: 0, none
  double behind_read;   ///< of the constant L1.5, B/cycle
  bool texture_is_l1;   ///< or a cache of its own, of the same size
  double l1_accesses;   ///< of warps a cycle and SM; 0: no limit
  double gpu_accesses;  ///< the same of L2 and memory
  double in_flight;     ///< bytes that an SM can wait for in memory; 0: no limit

  /// What reading memory comes to at most, 10^9 B/s, by what an SM can wait for; a copy waits for half of its bytes.
  double memory_waits() const;
};

/// The same for the same seed, everywhere.
RandomThroughput random_throughput(std::uint64_t seed);

/// As a model's text (docs/models.md).
std::string model_text(const RandomThroughput& truth);

}  // namespace gputopo::throughput
