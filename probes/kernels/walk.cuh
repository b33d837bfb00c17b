// A walk: laps of dependent loads over positions (first + k * step) mod n, as program/order.hpp defines them.
#pragma once

#include "kernels/loads.cuh"

namespace gputopo::kernels {

struct Recorder {
  std::uint32_t* bins;      ///< shared memory, histogram_bins words
  std::uint32_t* overflow;  ///< shared memory, overflow_entries words
  std::uint32_t overflow_count = 0;
};

__device__ __forceinline__ std::uint32_t next_position(std::uint32_t position, std::uint32_t step, std::uint32_t n) {
  // Written without overflow: position + step can exceed 32 bits.
  const std::uint32_t room = n - position;
  return step >= room ? step - room : position + step;
}

template <std::uint32_t path>
__device__ __forceinline__ Place place_at(const Task& task, std::uint64_t texture, std::uint32_t position) {
  return place_of<path>(task.buffer, texture,
                        task.first_byte + static_cast<std::uint64_t>(position) * task.stride_words * 4);
}

// Untimed, by `lanes` threads: the loads are only chained by their use.
template <std::uint32_t path>
__device__ __forceinline__ void walk_untimed(const Task& task, std::uint64_t texture, std::uint32_t lane) {
  for (std::uint32_t lap = 0; lap < task.laps; ++lap) {
    if (task.lanes == 1) {
      std::uint32_t position = task.first_position;
#pragma unroll 1
      for (std::uint32_t k = 0; k < task.loads; ++k) {
        consume(load<path>(place_at<path>(task, texture, position)));
        position = next_position(position, task.step, task.positions);
      }
    } else if (lane < task.loads) {
      // All ones only if every load gave all ones: unknown to the compiler, and never true.
      std::uint32_t value = 0xffffffffU;
#pragma unroll 4
      for (std::uint32_t k = lane; k < task.loads; k += task.lanes) {
        const std::uint64_t at = task.first_position + static_cast<std::uint64_t>(k) * task.step;
        value &= load<path>(place_at<path>(task, texture, static_cast<std::uint32_t>(at % task.positions)));
      }
      consume(value);
    }
  }
}

// Pure pointer chase: each word holds the index of the next one, counted from the buffer's start.
template <std::uint32_t path>
__device__ __forceinline__ std::uint32_t walk_lap_time(const Task& task, std::uint64_t texture) {
  const std::uint32_t loads = task.loads * task.laps;
  const std::uint64_t buffer = task.buffer;
  std::uint32_t index = static_cast<std::uint32_t>(task.first_byte / 4) + task.first_position * task.stride_words;
  const std::uint32_t begin = read_clock();
#pragma unroll 4
  for (std::uint32_t k = 0; k < loads; ++k) index = chase_step<path>(buffer, texture, index);
  consume(index);
  return read_clock() - begin;
}

template <std::uint32_t path>
__device__ __forceinline__ std::uint32_t timed_load(Place place, std::uint32_t zero) {
  // The address is made before the clock starts.
  asm volatile("mov.u64 %0, %0;" : "+l"(place.address)::"memory");
  const std::uint32_t begin = read_clock();
  // The only load that isn't volatile assembly is ordered behind the clock by its index.
  if constexpr (path == path_constant) place.address = static_cast<std::uint32_t>(place.address) + (begin & zero);
  consume(load<path>(place));
  return read_clock() - begin;
}

template <std::uint32_t path>
__device__ __forceinline__ void walk_recorded(const Task& task, std::uint64_t texture, std::uint32_t zero,
                                              Recorder& recorder) {
  auto* latencies = reinterpret_cast<std::uint16_t*>(recorder.bins);
  for (std::uint32_t lap = 0; lap < task.laps; ++lap) {
    std::uint32_t position = task.first_position;
#pragma unroll 1
    for (std::uint32_t k = 0; k < task.loads; ++k) {
      const std::uint32_t cycles = timed_load<path>(place_at<path>(task, texture, position), zero);
      if (task.record == record_latencies) {
        latencies[k] = static_cast<std::uint16_t>(min(cycles, 0xffffU));
      } else if (cycles < histogram_bins) {
        ++recorder.bins[cycles];
      } else {
        if (recorder.overflow_count < overflow_entries) recorder.overflow[recorder.overflow_count] = cycles;
        ++recorder.overflow_count;
      }
      position = next_position(position, task.step, task.positions);
    }
  }
}

}  // namespace gputopo::kernels
