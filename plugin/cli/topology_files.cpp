#include "cli/topology_files.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "files/files.hpp"
#include "topology/check.hpp"
#include "topology/json.hpp"

namespace gputopo::cli {
namespace {

constexpr std::size_t topology_limit_bytes = std::size_t{16} << 20;

Expected<std::vector<ReadTopology>> read(const std::string& path, const std::string& verb) {
  const auto text = files::read_input(path, topology_limit_bytes);
  if (!text) return tl::unexpected<Error>(text.error());
  auto topologies = read_topologies(*text);
  if (!topologies)
    return fail(topologies.error().kind,
                fmt::format("can't {} '{}': {}; write one with 'gputopo discover --format json'", verb, path,
                            topologies.error().message));
  return topologies;
}

std::vector<Topology> accept(std::vector<ReadTopology> read, const std::string& path, Remarks& remarks) {
  if (!std::all_of(read.begin(), read.end(), [](const ReadTopology& one) { return one.has_checksum; }))
    remarks.add(fmt::format("gputopo: '{}' has no checksum: nothing tells whether it was altered", path));
  std::vector<Topology> topologies;
  for (ReadTopology& one : read) topologies.push_back(std::move(one.topology));
  return topologies;
}

}  // namespace

Expected<std::vector<Topology>> read_topology_file(const std::string& path, const std::string& verb, Remarks& remarks) {
  auto topologies = read(path, verb);
  if (!topologies) return tl::unexpected<Error>(topologies.error());
  return accept(std::move(*topologies), path, remarks);
}

Expected<FromFiles> read_topology_files(const std::vector<std::string>& paths, const std::string& verb,
                                        Remarks& remarks) {
  FromFiles all;
  for (const std::string& path : paths) {
    auto topologies = read(path, verb);
    if (!topologies) return tl::unexpected<Error>(topologies.error());
    for (const ReadTopology& one : *topologies)
      if (const auto checked = check(one.topology); !checked)
        return fail(checked.error().kind, fmt::format("can't {} '{}': {}", verb, path, checked.error().message));
    for (Topology& topology : accept(std::move(*topologies), path, remarks)) {
      all.topologies.push_back(std::move(topology));
      all.files.push_back(path == "-" ? "standard input" : path);
    }
  }
  return all;
}

Expected<Evidence> read_evidence_file(const std::string& path) {
  const auto text = files::read_input(path, topology_limit_bytes);
  if (!text) return tl::unexpected<Error>(text.error());
  auto evidence = parse_evidence(*text);
  if (!evidence)
    return fail(evidence.error().kind, fmt::format("can't show '{}': {}; write one with 'gputopo discover --evidence'",
                                                   path, evidence.error().message));
  return evidence;
}

}  // namespace gputopo::cli
