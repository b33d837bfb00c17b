#include "child.hpp"

#include <algorithm>
#include <cstdlib>
#include <stdexcept>
#include <unistd.h>

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "cli/run.hpp"
#include "text/printable.hpp"

namespace gputopo::hostile {
namespace {

constexpr double most_cpu_seconds = 2;
constexpr unsigned most_seconds_alive = 60;
#ifdef GPUTOPO_ADDRESS_SANITIZER
constexpr double most_mib = 1024;  // what was freed stays in the sanitizer's quarantine
#else
constexpr double most_mib = 256;
#endif
constexpr std::size_t longest_error = 700;

std::string contents(int file) {
  std::string text(static_cast<std::size_t>(std::max<off_t>(0, ::lseek(file, 0, SEEK_END))), '\0');
  const ssize_t got = ::pread(file, text.data(), text.size(), 0);
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  ::close(file);
  return text;
}

[[noreturn]] void do_apart(const std::function<int()>& work, const std::vector<std::string>& variables, int out,
                           int err) {
  ::dup2(out, STDOUT_FILENO);
  ::dup2(err, STDERR_FILENO);
  for (const std::string& variable : variables) ::putenv(const_cast<char*>(variable.c_str()));
  const rlimit cpu{most_seconds_alive, most_seconds_alive};
  ::setrlimit(RLIMIT_CPU, &cpu);
  ::_exit(work());
}

}  // namespace

Outcome run(const std::vector<std::string>& arguments, const std::vector<std::string>& variables) {
  std::vector<const char*> argv{"gputopo"};
  for (const std::string& argument : arguments) argv.push_back(argument.c_str());
  return run_apart([&argv] { return cli::run(static_cast<int>(argv.size()), argv.data()); }, variables);
}

Outcome run_apart(const std::function<int()>& work, const std::vector<std::string>& variables) {
  const int out = ::memfd_create("out", MFD_CLOEXEC);
  const int err = ::memfd_create("err", MFD_CLOEXEC);
  const pid_t child = out < 0 || err < 0 ? -1 : ::fork();
  if (child < 0) throw std::runtime_error("can't start a process");
  if (child == 0) do_apart(work, variables, out, err);
  int status = 0;
  rusage used{};
  ::wait4(child, &status, 0, &used);
  Outcome outcome;
  outcome.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  outcome.out = contents(out);
  outcome.err = contents(err);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  outcome.cpu_seconds = seconds(used.ru_utime) + seconds(used.ru_stime);
  outcome.peak_mib = static_cast<double>(used.ru_maxrss) / 1024;
  return outcome;
}

std::string objection_to_cost(const Outcome& o) {
  if (o.exit_code != 0 && o.exit_code != 1 && o.exit_code != 3) return fmt::format("exit status {}", o.exit_code);
  if (o.cpu_seconds > most_cpu_seconds) return fmt::format("took {:.1f} s", o.cpu_seconds);
  if (o.peak_mib > most_mib) return fmt::format("took {:.0f} MiB", o.peak_mib);
  return {};
}

std::string objection_to(const Outcome& o) {
  if (std::string cost = objection_to_cost(o); !cost.empty()) return cost;
  const bool is_one_line =
      o.err.empty() || (std::count(o.err.begin(), o.err.end(), '\n') == 1 && o.err.ends_with('\n'));
  if (!is_one_line || o.err.size() > longest_error) return "more than one line on stderr";
  if (o.exit_code == 1 && (!o.err.starts_with("gputopo: ") || !o.out.empty()))
    return "failed otherwise than by one error";
  for (const std::string* text : {&o.out, &o.err})
    if (text::printable(*text, text->size(), "\n") != *text) return "prints what steers a terminal";
  return {};
}

}  // namespace gputopo::hostile
