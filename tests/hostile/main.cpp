// Feeds the commands files that are damaged or made to hurt, and checks that none of them crashes, hangs, takes memory
// without bound, prints more than one line of error or a control character, or reads a protected value as another one.
//
//   build/tests/hostile_inputs --count 20000 --seed 1
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <hwloc.h>
#include <iterator>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "child.hpp"
#include "device/replay/recording.hpp"
#include "evidence_check.hpp"
#include "mutations.hpp"
#include "recording_check.hpp"
#include "store/store.hpp"
#include "store_text_check.hpp"
#include "topology/evidence.hpp"
#include "topology/json.hpp"

namespace gputopo::hostile {
namespace {

namespace fs = std::filesystem;

std::string contents(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write(const fs::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

class Folder {
 public:
  Folder() {
    std::string pattern = (fs::temp_directory_path() / "gputopo_hostile_XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { fs::remove_all(path_); }
  std::string operator/(const char* name) const { return (path_ / name).string(); }

 private:
  fs::path path_;
};

// A recording and the command that it answers.
struct Replay {
  std::string text;
  std::vector<std::string> arguments;
};

// What inputs are made from.
struct Originals {
  std::vector<std::string> models, topologies, traces;
  std::vector<Replay> recordings;
  std::string stored;
  Topology stored_topology;
  std::string xml;
  std::string discovered, evidence;  // of one run
};

std::string trace() {
  std::string text;
  for (int size = 1024; size <= 8192; size += 128) {
    text += std::to_string(size);
    for (int load = 0; load < 16; ++load) text += size > 4096 && load % 3 == 0 ? ",240" : ",40";
    text += '\n';
  }
  return text;
}

// A topology as the store keeps it.
void store_one(const Folder& folder, Originals& from) {
  from.stored_topology = *parse_topology(contents(GPUTOPO_SOURCE_DIR "/tests/fixtures/h200/topology.json"));
  store::Environment environment;
  environment.user = ::geteuid();
  environment.store = folder / "store";
  const auto saved = store::save(from.stored_topology, environment);
  if (!saved) throw std::runtime_error(saved.error().message);
  from.stored = contents(saved->path);
}

// Chases, walks over code, streams and workloads of simulated GPUs, and chases of a real one.
std::vector<Replay> replays(const Folder& folder) {
  std::vector<Replay> made{{{}, {"discover", "--only", "shared", "--device", "sim:gt200"}},
                           {{}, {"discover", "--only", "instruction_l1", "--device", "sim:gt200"}},
                           {{}, {"bench", "atomics", "--device", "sim:h200"}},
                           {{}, {"bench", "instructions", "spilling", "clusters", "--device", "sim:h200"}}};
  const std::string recording = folder / "recording.json";
  for (Replay& one : made) {
    std::vector<std::string> arguments = one.arguments;
    arguments.insert(arguments.end(), {"--quiet", "--record", recording, "-o", folder / "t.json", "--format", "json"});
    if (run(arguments).exit_code != 0) throw std::runtime_error("nothing recorded");
    one.text = contents(recording);
    one.arguments.back() = "replay:" + (folder / "replay.json");
    one.arguments.push_back("--quiet");
  }
  made.push_back({contents(GPUTOPO_SOURCE_DIR "/tests/fixtures/h100/recording.json"), made.front().arguments});
  return made;
}

Originals originals(const Folder& folder) {
  Originals from;
  for (const auto& entry : fs::directory_iterator(GPUTOPO_SOURCE_DIR "/probes/models"))
    from.models.push_back(contents(entry.path()));
  std::sort(from.models.begin(), from.models.end());
  from.recordings = replays(folder);
  run({"discover", "--device", "sim:gt200", "--only", "shared,instruction_l1,instruction_l1_5", "--quiet", "-o",
       folder / "t.json", "--format", "json", "--evidence", folder / "e.json"});
  from.discovered = contents(folder / "t.json");
  from.evidence = contents(folder / "e.json");
  from.topologies = {contents(folder / "t.json"), contents(GPUTOPO_SOURCE_DIR "/tests/fixtures/h200/topology.json"),
                     contents(GPUTOPO_SOURCE_DIR "/tests/fixtures/report/example.json")};
  from.traces = {trace()};
  store_one(folder, from);
  from.xml = contents(GPUTOPO_SOURCE_DIR "/tests/fixtures/hwloc/two-gpus.xml");
  return from;
}

class Trials {
 public:
  Trials(const Folder& folder, std::uint64_t seed) : folder_(folder), from_(originals(folder)), random_(seed) {}

  // One input of each kind in turn.
  std::string next(std::size_t number) {
    switch (number % 7) {
      case 0:
        return model();
      case 1:
        return recording(number);
      case 2:
        return stored();
      case 3:
        return topology(number);
      case 4:
        return trace_file(number);
      case 5:
        return evidence();
      default:
        return number % 4 == 1 ? hwloc_xml() : topology(number);
    }
  }

 private:
  const std::string& one_of(const std::vector<std::string>& texts) { return texts[random_() % texts.size()]; }

  std::string damaged(const std::string& text) {
    std::string result = random_() % 3 == 0 ? damaged_bytes(text, random_) : damaged_values(text, random_);
    return random_() % 4 == 0 ? damaged_values(result, random_) : result;
  }

  bool is_one_in(std::uint64_t several) { return random_() % several == 0; }

  // Half of what has a checksum gets one that fits.
  std::string sealed_or_not(std::string text) {
    const bool seals = is_one_in(2);
    std::string sealed = seals ? sealed_topology(text) : std::string();
    return sealed.empty() ? text : sealed;
  }

  // The command on a file with this text.
  std::string objection(const char* name, const std::string& text, std::vector<std::string> arguments,
                        const std::vector<std::string>& variables = {}) {
    write(folder_ / name, text);
    return objection_to(run(arguments, variables));
  }

  // The whole of a model is told, a part of it is measured: what streams and workloads take from the part that says so.
  std::string model() {
    const std::string file = folder_ / "model.json";
    std::string original = one_of(from_.models);
    if (const std::size_t throughput = original.find("\"throughput\""); throughput != original.npos && is_one_in(2)) {
      const std::string text = original.substr(0, throughput) + damaged(original.substr(throughput));
      return objection("model.json", text,
                       {"bench", one_of({"banks", "atomics", "instructions", "spilling", "clusters", "histogram"}),
                        "--device", "sim:" + file, "--quiet", "--format", one_of({"table", "json", "csv", "html"})});
    }
    std::vector<std::string> arguments{"models", "--truth", file, "--format", one_of({"table", "json", "csv"})};
    if (is_one_in(8)) arguments = {"discover", "--device", "sim:" + file, "--only", "shared", "--quiet"};
    return objection("model.json", damaged(original), arguments);
  }

  // What is accepted is what was recorded, unless whoever altered it sealed it anew.
  std::string recording(std::size_t number) {
    const Replay& original = from_.recordings[number % 60 == 1 ? 4 : random_() % 4];
    std::string text = damaged(original.text);
    if (const auto read = replay::parse_recording(text); read && to_text(*read) != original.text)
      return "a recording's values were changed unnoticed";
    if (is_one_in(2))
      if (std::string sealed = fuzz::sealed_recording(text); !sealed.empty()) text = std::move(sealed);
    return objection("replay.json", text, original.arguments);
  }

  std::string stored() {
    std::string text = damaged(from_.stored);
    const auto& t = from_.stored_topology;
    const auto read = store::read_stored(text, t.gpu.uuid, t.provenance.driver_version);
    if (is_protected_ && read && !(*read == t)) return "a stored value was changed unnoticed";
    check_store_text(text);
    return objection("stored.json", sealed_or_not(std::move(text)), {"show", folder_ / "stored.json", "--all"});
  }

  std::string topology(std::size_t number) {
    const std::string text = sealed_or_not(damaged(one_of(from_.topologies)));
    const std::string file = folder_ / "topology.json";
    std::vector<std::string> arguments{"show", "--all", file, "--format",
                                       one_of({"table", "json", "csv", "markdown", "html"})};
    if (number % 7 == 0) arguments = {"compare", file, file};
    if (number % 7 == 1) arguments = {"export", "--prometheus", "-", file};
    if (number % 7 == 2) arguments = {"export", "--mt4g", "-", file};
    if (number % 7 == 3) arguments = {"bench", "traffic", file, "--predict", "1,3,8,1024", "--size", "400000000"};
    if (number % 21 == 2) arguments = {"export", "--hwloc-xml", "-", file};
    return objection("topology.json", text, arguments,
                     {"HWLOC_XMLFILE=" GPUTOPO_SOURCE_DIR "/tests/fixtures/hwloc/two-gpus.xml"});
  }

  // Beside the topology that it is of, so that its curves are drawn.
  std::string evidence() {
    std::string text = damaged(from_.evidence);
    if (const auto read = parse_evidence(text); read && !(*read == *parse_evidence(from_.evidence)))
      return "evidence was changed unnoticed";
    if (is_one_in(2))
      if (std::string sealed = fuzz::sealed_evidence(text); !sealed.empty()) text = std::move(sealed);
    write(folder_ / "discovered.json", from_.discovered);
    return objection(
        "evidence.json", text,
        {"show", folder_ / "discovered.json", "--evidence", folder_ / "evidence.json", "--format", "html"});
  }

  std::string trace_file(std::size_t number) {
    const std::string& original = one_of(from_.traces);
    const std::string text = random_() % 3 == 0 ? damaged_bytes(original, random_) : damaged_rows(original, random_);
    return objection(
        "trace.csv", text,
        {"analyze", folder_ / "trace.csv", "--attribute", one_of({"size", "line_size", "fetch_granularity", "latency"}),
         "--method", number % 5 == 0 ? "thesis" : "default"});
  }

  // A machine's XML that others wrote, with our GPU put into it. What hwloc by itself can't take (some values end
  // lstopo, others make it print, a PU without a number costs it 1.3 GiB and 27 s) isn't ours to answer for.
  std::string hwloc_xml() {
    const std::vector<std::string> variables{"HWLOC_XMLFILE=" + (folder_ / "machine.xml")};
    const std::string xml = damaged(from_.xml);
    write(folder_ / "machine.xml", xml);
    const Outcome alone = run_apart(load_and_export, variables);
    if (!objection_to_cost(alone).empty() || !alone.err.empty()) return {};
    write(folder_ / "good.json", from_.topologies[1]);
    return objection("machine.xml", xml, {"export", "--hwloc-xml", "-", folder_ / "good.json"}, variables);
  }

  static int load_and_export() {
    hwloc_topology_t topology = nullptr;
    char* text = nullptr;
    int length = 0;
    if (hwloc_topology_init(&topology) != 0) return 1;
    hwloc_topology_set_all_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_ALL);
    if (hwloc_topology_load(topology) != 0 || hwloc_topology_export_xmlbuffer(topology, &text, &length, 0) != 0)
      return 1;
    hwloc_free_xmlbuffer(topology, text);
    hwloc_topology_destroy(topology);
    return 0;
  }

  const Folder& folder_;
  Originals from_;
  bool is_protected_ = from_.stored.find("\"checksum\"") != std::string::npos;  // what is stored now
  Random random_;
};

int feed(std::size_t count, std::uint64_t seed) {
  const Folder folder;
  Trials trials(folder, seed);
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string objection = trials.next(i);
    if (objection.empty()) continue;
    ++wrong;
    // The input stays for whoever looks into it.
    const fs::path kept = fs::temp_directory_path() / fmt::format("gputopo_hostile_{}_{}", seed, i);
    fs::create_directories(kept);
    for (const char* name :
         {"model.json", "replay.json", "stored.json", "topology.json", "trace.csv", "machine.xml", "evidence.json"})
      if (fs::exists(folder / name)) fs::copy_file(folder / name, kept / name, fs::copy_options::overwrite_existing);
    std::printf("input %zu of seed %llu: %s; kept in %s\n", i, static_cast<unsigned long long>(seed), objection.c_str(),
                kept.c_str());
  }
  std::printf("%zu hostile inputs, %zu wrong\n", count, wrong);
  return wrong == 0 ? 0 : 1;
}

}  // namespace
}  // namespace gputopo::hostile

int main(int argc, char** argv) {
  CLI::App app("Feeds gputopo hostile files");
  std::size_t count = 600;
  std::uint64_t seed = 1;
  app.add_option("--count", count, "Inputs");
  app.add_option("--seed", seed, "Of the damage");
  CLI11_PARSE(app, argc, argv);
  return gputopo::hostile::feed(count, seed);
}
