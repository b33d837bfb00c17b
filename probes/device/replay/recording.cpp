#include "device/replay/recording.hpp"

#include <fmt/format.h>

#include "files/files.hpp"

namespace gputopo::replay {

Expected<Recording> load_recording(const std::string& path) {
  const auto text = files::read_input(path, recording_limit_bytes);
  if (!text) return tl::unexpected<Error>(text.error());
  auto recording = parse_recording(*text);
  if (!recording)
    return fail(recording.error().kind,
                fmt::format("can't replay '{}': {}; record again with --record", path, recording.error().message));
  return recording;
}

}  // namespace gputopo::replay
