// Where CUPTI may lie.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace gputopo::counters {

/// Looks up an environment variable.
using Environment = std::function<std::optional<std::string>(const std::string&)>;

/// File names for dlopen, best first: what $GPUTOPO_CUPTI names (a library or the folder it lies in; then nothing
/// else is tried), the library path, the toolkits that $CUDA_HOME and $CUDA_PATH name, the toolkit gputopo was built
/// with, /usr/local/cuda.
std::vector<std::string> cupti_candidates(const Environment& environment);
std::vector<std::string> cupti_candidates();

}  // namespace gputopo::counters
