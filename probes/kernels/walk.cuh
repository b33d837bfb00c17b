// A walk: laps of dependent loads over positions (first + k * step) mod n, as program/order.hpp defines them.
#pragma once

#include "kernels/watch.cuh"

namespace gputopo::kernels {

// Enough for one that no instruction fetch delays.
constexpr std::uint32_t pair_repetitions = 4;

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

// Untimed: the loads are only chained by their use, of constants some by that of all of them, since these come in turn
// (of several at once in global memory some push out what hasn't arrived yet).
template <std::uint32_t path>
__device__ __forceinline__ void walk_untimed(const Task& task, std::uint64_t texture, Seen& seen) {
  constexpr std::uint32_t together = path == path_constant ? 4 : 1;
  for (std::uint32_t lap = 0; lap < task.laps; ++lap) {
    std::uint32_t position = task.first_position;
    for (std::uint32_t left = task.loads; left != 0;) {
      const std::uint32_t stretch = min(left, stretch_loads);
      left -= stretch;
      std::uint32_t k = 0;
#pragma unroll 1
      for (; k + together <= stretch; k += together) {
        std::uint32_t value = 0xffffffffU;
#pragma unroll
        for (std::uint32_t one = 0; one < together; ++one) {
          value &= load<path>(place_at<path>(task, texture, position));
          position = next_position(position, task.step, task.positions);
        }
        consume(value);
      }
#pragma unroll 1
      for (; together > 1 && k < stretch; ++k) {
        consume(load<path>(place_at<path>(task, texture, position)));
        position = next_position(position, task.step, task.positions);
      }
      glance(seen);
    }
  }
}

// Load k is lane k % lanes's.
template <std::uint32_t path>
__device__ __forceinline__ void walk_side_by_side(const Task& task, std::uint64_t texture, std::uint32_t lane,
                                                  Seen& seen) {
  if (lane >= task.loads) return;
  const std::uint32_t n = task.positions;
  const auto first = static_cast<std::uint32_t>((task.first_position + std::uint64_t{lane} * task.step) % n);
  const auto step = static_cast<std::uint32_t>(std::uint64_t{task.lanes} * task.step % n);
  constexpr std::uint32_t further = stretch_rows - 1;
  const std::uint32_t whole_rows = task.loads > further * task.lanes ? task.loads - further * task.lanes : 0;
  for (std::uint32_t lap = 0; lap < task.laps; ++lap) {
    // All ones only if every load gave all ones: unknown to the compiler, and never true.
    std::uint32_t value = 0xffffffffU;
    std::uint32_t position = first;
    const auto load_next = [&] {
      const std::uint32_t loaded = load<path>(place_at<path>(task, texture, position));
      position = next_position(position, step, n);
      return loaded;
    };
    std::uint32_t k = lane;
    for (; k < whole_rows; k += stretch_rows * task.lanes) {
      std::uint32_t values[stretch_rows];
#pragma unroll
      for (std::uint32_t& one : values) one = load_next();
#pragma unroll
      for (const std::uint32_t one : values) value &= one;
      if (lane == 0) glance(seen);
    }
    for (; k < task.loads; k += task.lanes) value &= load_next();
    if (lane == 0) glance(seen);
    consume(value);
  }
}

// Where a pointer chase starts, and the half of its addresses that stays.
template <std::uint32_t path>
__device__ __forceinline__ std::uint64_t start_of(const Task& task) {
  const std::uint64_t offset = task.first_byte + std::uint64_t{task.first_position} * task.stride_words * 4;
  if constexpr (path == path_texture) return offset / 4;
  return task.buffer + offset;
}

// Reads the clock when `value` is there, before anything is done about it: as consume(), whose branch may come between.
__device__ __forceinline__ std::uint64_t clock_after(std::uint32_t value) {
  std::uint64_t cycles;
  asm volatile("{ .reg .pred p; setp.eq.u32 p, %1, 0xffffffff; mov.u64 %0, %%clock64; @p trap; }"
               : "=l"(cycles)
               : "r"(value)
               : "memory");
  return cycles;
}

// Times some loads of a chase. Nothing but loads lies between the clocks, not even a loop's end: the last load's
// result is looked at, and then the clock.
template <std::uint32_t path, std::uint32_t loads, class Word>
__device__ __forceinline__ std::uint32_t time_few(Word& at, std::uint32_t high, std::uint64_t texture) {
  // All 64 bits: they come by one instruction everywhere. 32 may come by the uniform datapath, which takes longer.
  const std::uint64_t begin = read_long_clock();
#pragma unroll
  for (std::uint32_t k = 0; k < loads; ++k) at = follow<path>(at, high, texture);
  const std::uint64_t cycles = clock_after(static_cast<std::uint32_t>(at)) - begin;
  return static_cast<std::uint32_t>(min(cycles, std::uint64_t{0xffffffffU}));
}

// As many loads as can be timed at once of `left`, at least 1. Takes them off.
template <std::uint32_t path, class Word>
__device__ __forceinline__ std::uint32_t time_some(Word& at, std::uint32_t high, std::uint64_t texture,
                                                   std::uint32_t& left) {
  if (left >= stretch_loads) {
    left -= stretch_loads;
    return time_few<path, stretch_loads>(at, high, texture);
  }
  if (left >= 8) {
    left -= 8;
    return time_few<path, 8>(at, high, texture);
  }
  if (left >= 2) {
    left -= 2;
    return time_few<path, 2>(at, high, texture);
  }
  left -= 1;
  return time_few<path, 1>(at, high, texture);
}

// What a clock pair adds to the loads between them, from two and eight loads of a word in shared memory that points to
// itself: the path and the cache of the walk have no part in it. Around no load a pair takes less than around some: the
// wait for a load's result is what ends it.
__device__ __noinline__ std::uint32_t pair_cycles(std::uint32_t* word) {
  auto at = static_cast<std::uint32_t>(__cvta_generic_to_shared(word));
  *static_cast<volatile std::uint32_t*>(word) = at;
  std::uint32_t two = 0xffffffffU;
  std::uint32_t eight = 0xffffffffU;
#pragma unroll 1
  for (std::uint32_t k = 0; k < pair_repetitions; ++k) {
    two = min(two, time_few<path_shared, 2>(at, 0, 0));
    eight = min(eight, time_few<path_shared, 8>(at, 0, 0));
  }
  return 4 * two > eight ? (4 * two - eight + 1) / 3 : 0;
}

// A pure pointer chase, timed a stretch at a time: no clock among a stretch's loads, and the watch looks between
// stretches, outside of the clock pairs. What the pairs add is taken off: so a lap takes what its loads take, however
// many stretches it has.
template <std::uint32_t path, class Word>
__device__ __forceinline__ void walk_laps(const Task& task, std::uint64_t texture, Recorder& recorder, Seen& seen) {
  const bool each = task.record == record_lap_times;
  const std::uint64_t start = start_of<path>(task);
  const auto high = static_cast<std::uint32_t>(start >> 32);
  auto at = static_cast<Word>(start);
  const std::uint32_t pair = pair_cycles(recorder.overflow);
  std::uint64_t sum = 0;  // of a lap, or of all
#pragma unroll 1
  for (std::uint32_t lap = 0; lap < task.laps; ++lap) {
    for (std::uint32_t left = task.loads; left != 0;) {
      const std::uint32_t cycles = time_some<path>(at, high, texture, left);
      sum += cycles - min(cycles, pair);
      glance(seen);
    }
    if (!each) continue;
    recorder.bins[lap] = static_cast<std::uint32_t>(min(sum, std::uint64_t{0xffffffffU}));
    sum = 0;
  }
  seen.cycles = sum;
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
                                              Recorder& recorder, Seen& seen) {
  auto* latencies = reinterpret_cast<std::uint16_t*>(recorder.bins);
  for (std::uint32_t lap = 0; lap < task.laps; ++lap) {
    std::uint32_t position = task.first_position;
    for (std::uint32_t done = 0; done < task.loads;) {
      const std::uint32_t end = done + min(task.loads - done, stretch_loads);
#pragma unroll 1
      for (; done < end; ++done) {
        const std::uint32_t cycles = timed_load<path>(place_at<path>(task, texture, position), zero);
        if (task.record == record_latencies) {
          latencies[done] = static_cast<std::uint16_t>(min(cycles, 0xffffU));
        } else if (cycles < histogram_bins) {
          ++recorder.bins[cycles];
        } else {
          if (recorder.overflow_count < overflow_entries) recorder.overflow[recorder.overflow_count] = cycles;
          ++recorder.overflow_count;
        }
        position = next_position(position, task.step, task.positions);
      }
      glance(seen);
    }
  }
}

}  // namespace gputopo::kernels
