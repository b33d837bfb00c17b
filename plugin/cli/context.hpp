// What every subcommand shares with the frame that runs it.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>

#include "cli/remarks.hpp"
#include "error/error.hpp"
#include "report/look.hpp"

namespace gputopo::cli {

/// The process's exit status.
enum class Exit {
  done = 0,
  failed = 1,
  usage = 2,
  inconclusive = 3,   ///< done, but something couldn't be decided, or GPUs that were compared differ
  interrupted = 130,  ///< as shells report SIGINT
};

struct Context {
  Remarks& remarks;  ///< what run() tells on stderr once the result is written
  /// What to do once the command line is understood. The chosen subcommand's callback sets it; run() calls it and
  /// prints an Error as one line on stderr, and nothing else.
  std::function<Expected<Exit>()> action{};
  const std::atomic<bool>* stop = nullptr;  ///< true after SIGINT or SIGTERM
  report::Look look{};                      ///< of what stdout shows: as plain as can be where it is no terminal
  bool stderr_is_terminal = false;          ///< and one that can move its cursor: a bar may be drawn
  std::size_t columns = 80;                 ///< width of stdout's terminal; 80 where stdout is none
};

}  // namespace gputopo::cli
