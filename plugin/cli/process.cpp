#include "cli/process.hpp"

#include <algorithm>
#include <cerrno>
#include <clocale>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <fcntl.h>
#include <langinfo.h>
#include <poll.h>
#include <string_view>
#include <unistd.h>

#include <sys/ioctl.h>

#include "cli/context.hpp"
#include "stop/stop.hpp"

namespace gputopo::cli {
namespace {

// After the first signal the process is woken so often. A call that waits ends with EINTR each time, so that also one
// that was about to begin when the signal came learns of it; and what doesn't look at the flag at all, as other
// people's libraries, is ended with the last.
constexpr long between_wakes_ns = 100'000'000;
constexpr int most_wakes = 8;

timer_t wakes{};
volatile std::sig_atomic_t wakes_seen = 0;

extern "C" void request_stop(int /*signal*/) {
  const int saved = errno;
  stop::requested = true;
  const struct itimerspec often {
    {0, between_wakes_ns}, { 0, between_wakes_ns }
  };
  ::timer_settime(wakes, 0, &often, nullptr);
  errno = saved;
}

extern "C" void wake(int /*signal*/) {
  wakes_seen = wakes_seen + 1;
  if (wakes_seen < most_wakes) return;
  constexpr std::string_view line = "gputopo: interrupted; what was under way is ended\n";
  struct pollfd stderr_ready {
    STDERR_FILENO, POLLOUT, 0
  };
  if (::poll(&stderr_ready, 1, 0) == 1) static_cast<void>(::write(STDERR_FILENO, line.data(), line.size()) < 0);
  ::_exit(static_cast<int>(Exit::interrupted));
}

void on_signal(int signal, void (*handler)(int), int flags) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  sigemptyset(&action.sa_mask);
  ::sigaction(signal, &action, nullptr);
}

// TERM=dumb says that the terminal takes letters and nothing else (terminfo(5)).
bool is_dumb_terminal() {
  const char* terminal = std::getenv("TERM");
  return terminal != nullptr && std::string_view(terminal) == "dumb";
}

}  // namespace

const std::atomic<bool>& install_signal_handlers() {
  struct sigevent event {};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = SIGALRM;
  if (::timer_create(CLOCK_MONOTONIC, &event, &wakes) == 0) {
    on_signal(SIGALRM, wake, 0);
    for (const int signal : {SIGINT, SIGTERM}) on_signal(signal, request_stop, static_cast<int>(SA_RESETHAND));
  }
  for (const int signal : {SIGPIPE, SIGXFSZ}) on_signal(signal, SIG_IGN, 0);
  return stop::requested;
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

bool stdout_shows_color() {
  const char* refused = std::getenv("NO_COLOR");
  const bool is_refused = refused != nullptr && *refused != '\0';
  return ::isatty(STDOUT_FILENO) != 0 && std::getenv("TERM") != nullptr && !is_dumb_terminal() && !is_refused;
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
