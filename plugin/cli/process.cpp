#include "cli/process.hpp"

#include <algorithm>
#include <clocale>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <langinfo.h>
#include <string_view>
#include <unistd.h>

#include <sys/ioctl.h>

namespace gputopo::cli {
namespace {

std::atomic<bool> stop_requested{false};
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may touch lock-free atomics only");

void request_stop(int /*signal*/) {
  stop_requested = true;
}

// TERM=dumb says that the terminal takes letters and nothing else (terminfo(5)).
bool is_dumb_terminal() {
  const char* terminal = std::getenv("TERM");
  return terminal != nullptr && std::string_view(terminal) == "dumb";
}

}  // namespace

const std::atomic<bool>& install_signal_handlers() {
  struct sigaction action {};
  action.sa_handler = request_stop;
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  return stop_requested;
}

void reserve_standard_descriptors() {
  for (int descriptor = STDIN_FILENO; descriptor <= STDERR_FILENO; ++descriptor) {
    if (::fcntl(descriptor, F_GETFD) >= 0) continue;
    // open() gives the lowest free number, which is this one. O_PATH: any read or write on it fails with EBADF.
    if (::open("/", O_PATH) < 0) return;
  }
}

bool stdout_shows_unicode() {
  if (::isatty(STDOUT_FILENO) == 0 || is_dumb_terminal()) return false;
  std::setlocale(LC_CTYPE, "");
  return std::string_view(nl_langinfo(CODESET)) == "UTF-8";
}

bool stderr_is_terminal() {
  return ::isatty(STDERR_FILENO) != 0 && !is_dumb_terminal();
}

std::size_t stdout_columns() {
  constexpr std::size_t least = 80;
  struct winsize size {};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return least;
  return std::max<std::size_t>(least, size.ws_col);
}

}  // namespace gputopo::cli
