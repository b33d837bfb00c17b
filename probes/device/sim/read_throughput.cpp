// "throughput": what streams reach.
#include <fmt/format.h>

#include "device/sim/reader.hpp"

namespace gputopo::sim {
namespace {

constexpr std::array<const char*, 5> of_an_sm{"l1", "texture", "constant_l1", "constant_l1_5", "shared"};
constexpr std::array<const char*, 3> of_the_gpu{"l2", "device_memory", "host_link"};
constexpr std::array<const char*, atomic_kinds> atomic_names{"global", "global_fetch", "shared", "shared_fetch"};
constexpr Range rate_range{1e-3, 1e6};

LevelThroughput read_rates(const Json& j, const std::string& path) {
  Fields fields(j, path);
  LevelThroughput t;
  t.read = read_number(fields.require("read", "write the rate at which it is read"), fields.at("read"), rate_range);
  t.write = fields.number("write", rate_range, 0);
  t.copy = fields.number("copy", rate_range, 0);
  t.read_same = fields.number("read_same", rate_range, 0);
  t.accesses = fields.number("accesses", rate_range, 0);
  t.in_flight_bytes = fields.bytes("in_flight", {1, 0x1p32}, 0);
  fields.finish();
  return t;
}

void read_rates_of_levels(Fields& fields, ThroughputModel& model, bool has_clock) {
  Fields levels(fields.require("levels", "list what l1, l2, ... deliver"), fields.at("levels"));
  for (const char* id : of_an_sm)
    if (const Json* j = levels.find(id)) model.levels[id] = read_rates(*j, levels.at(id));
  for (const char* id : of_the_gpu) {
    const Json* j = levels.find(id);
    if (j == nullptr) continue;
    if (!has_clock)
      refuse(levels.at(id), "is given a second while latencies are in cycles of an unknown clock",
             "add /gpu/clock_khz");
    model.levels[id] = read_rates(*j, levels.at(id));
  }
  levels.finish();
}

void read_banks(Fields& fields, ThroughputModel& model) {
  if (const Json* j = fields.find("banks")) {
    Fields banks(*j, fields.at("banks"));
    const auto power = [&](const char* key, Range range, std::uint32_t fallback) {
      const std::uint64_t value = banks.count(key, range, fallback);
      if ((value & (value - 1)) != 0) refuse(banks.at(key), "is no power of two", "write one");
      return static_cast<std::uint32_t>(value);
    };
    model.banks.count = power("count", {1, 1024}, model.banks.count);
    model.banks.bytes = power("bytes", {1, 64}, model.banks.bytes);
    model.banks.conflict_cycles = banks.number("conflict", {0, 1000}, model.banks.conflict_cycles);
    banks.finish();
  }
  const auto shared = model.levels.find("shared");
  if (shared == model.levels.end()) return;
  const double most = static_cast<double>(model.banks.count) * model.banks.bytes;
  for (const double of : {shared->second.read, shared->second.write, shared->second.copy})
    if (of > most)
      refuse(fields.at("levels/shared"), fmt::format("delivers more than {} B a cycle, which its banks hold", most),
             "write a lower rate, or more or wider /throughput/banks");
}

void read_atomics(Fields& fields, ThroughputModel& model) {
  const Json* j = fields.find("atomics");
  if (j == nullptr) return;
  Fields atomics(*j, fields.at("atomics"));
  for (std::size_t kind = 0; kind < atomic_kinds; ++kind) {
    const Json* one = atomics.find(atomic_names[kind]);
    if (one == nullptr) continue;
    Fields rates(*one, atomics.at(atomic_names[kind]));
    AtomicThroughput& t = model.atomics[kind];
    t.spread = read_number(rates.require("spread", "write the additions a cycle to many addresses"), rates.at("spread"),
                           rate_range);
    t.address = rates.number("address", rate_range, 0);
    t.line = rates.number("line", rate_range, 0);
    rates.finish();
    model.has_atomics[kind] = true;
  }
  atomics.finish();
}

void read_instructions(Fields& fields, ThroughputModel& model) {
  const Json* j = fields.find("instructions");
  if (j == nullptr) return;
  if (!j->is_object()) refuse(fields.at("instructions"), "is no object", "list classes of instructions by name");
  for (const auto& [name, value] : j->items()) {
    Fields one(value, fields.at("instructions/" + name));
    InstructionModel& i = model.instructions[name];
    i.latency_cycles =
        read_number(one.require("latency", "write the cycles until a result is there"), one.at("latency"), rate_range);
    i.rate = read_number(one.require("rate", "write the warps' instructions that an SM begins in a cycle"),
                         one.at("rate"), rate_range);
    one.finish();
  }
}

// An object whose numbers are all there, into a struct that is made for it.
template <class T>
void read_numbers(Fields& fields, const char* name, std::optional<T>& into,
                  const std::vector<std::pair<const char*, double T::*>>& numbers,
                  const std::vector<std::pair<const char*, std::uint32_t T::*>>& counts) {
  const Json* j = fields.find(name);
  if (j == nullptr) return;
  Fields of(*j, fields.at(name));
  T value;
  for (const auto& [key, member] : numbers)
    value.*member = read_number(of.require(key, "write a number of 0 or more"), of.at(key), {0, 1e6});
  for (const auto& [key, member] : counts)
    value.*member = static_cast<std::uint32_t>(of.count(key, {1, 65536}, value.*member));
  of.finish();
  into = value;
}

void read_work(Fields& fields, ThroughputModel& t) {
  read_instructions(fields, t);
  using C = ControlModel;
  read_numbers<C>(fields, "control", t.control,
                  {{"barrier", &C::barrier_cycles},
                   {"barrier_warp", &C::barrier_warp_cycles},
                   {"divergence", &C::divergence_cycles}},
                  {{"clock", &C::clock_cycles}, {"timer_ns", &C::timer_ns}});
  using R = RegisterModel;
  read_numbers<R>(fields, "registers", t.registers, {{"cost", &R::cost}}, {{"held", &R::held}, {"free", &R::free}});
  using L = ClusterModel;
  read_numbers<L>(fields, "cluster", t.cluster,
                  {{"own_latency", &L::own_latency_cycles},
                   {"latency", &L::latency_cycles},
                   {"own_read", &L::own_read},
                   {"read", &L::read}},
                  {{"largest", &L::largest}});
  using S = SidesModel;
  read_numbers<S>(fields, "sides", t.sides,
                  {{"near_read", &S::near_read},
                   {"far_read", &S::far_read},
                   {"near_write", &S::near_write},
                   {"far_write", &S::far_write},
                   {"far_cycles", &S::far_cycles}},
                  {});
}

}  // namespace

void read_throughput(Fields& root, Model& model) {
  const Json* j = root.find("throughput");
  if (j == nullptr) return;
  Fields fields(*j, root.at("throughput"));
  ThroughputModel t;
  read_rates_of_levels(fields, t, model.gpu.clock_khz != 0);
  read_banks(fields, t);
  if (const Json* requests = fields.find("requests")) {
    Fields of(*requests, fields.at("requests"));
    t.request_lines =
        read_number(of.require("lines", "write the lines of an access at full rate"), of.at("lines"), {1, 32});
    of.finish();
  }
  read_atomics(fields, t);
  read_work(fields, t);
  t.slices = static_cast<std::uint32_t>(fields.count("slices", {1, 4096}, 0));
  t.noise = fields.number("noise", {0, 0.1}, 0);
  fields.finish();
  model.throughput = std::move(t);
}

}  // namespace gputopo::sim
