// The benchmarks as rows of one table: what each gives, what it costs, its function.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "counters/counter.hpp"
#include "device/device.hpp"
#include "error/error.hpp"
#include "throughput/result.hpp"
#include "topology/topology.hpp"

namespace gputopo::throughput {

struct Setting;

/// Opens the counters of the device that is measured. They are closed as soon as they were read: nothing is timed while
/// they are there.
using OpenCounter = std::function<Expected<std::unique_ptr<counters::Counter>>()>;

struct Benchmark {
  std::string_view name;
  std::string_view gives;          ///< for people: one line
  double seconds = 0;              ///< about what it takes on a large GPU
  std::vector<std::string> sizes;  ///< ids of memories whose sizes it fits footprints to
  Expected<void> (*run)(const Setting&, Result&) = nullptr;
  bool is_of_streams = true;  ///< or of workloads, which other devices may run
};

/// All there are, in the order in which they run.
std::span<const Benchmark> benchmarks();
/// The row of that name, or nullptr.
const Benchmark* find_benchmark(std::string_view name);

/// How many configurations are tried.
enum class Effort {
  full,   ///< all of them; the best ones again, in longer runs
  brief,  ///< some, a property at a time; the best one again: milliseconds, and a percent or a few short of all
};

struct Options {
  std::vector<const Benchmark*> chosen;
  Effort effort = Effort::full;
  std::uint64_t seed = 1;  ///< of the discovery of sizes
  /// Called now and then with the share of the work done (0 to 1) and what is being measured.
  std::function<void(double, std::string_view)> progress;
  OpenCounter open_counter;                 ///< empty: no counters
  std::vector<std::string> memories;        ///< whose bandwidth is wanted; empty: all
  bool plots = true;                        ///< also what only plots show, where that takes time
  const std::atomic<bool>* stop = nullptr;  ///< ends the run after what was done by then
};

/// The reason where this device can't run any stream, asked before long work.
Expected<void> check_streams(device::Device& device);

/// Runs the chosen benchmarks on footprints that fit `sizes`. An interrupt ends the run and keeps what was done; what
/// this device can't run has a note in its result. Errors: Device::run_stream's other ones.
Expected<Report> run(device::Device& device, const Topology& sizes, const Options& options);

}  // namespace gputopo::throughput
