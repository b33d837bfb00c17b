#include "process_run.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <poll.h>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <unistd.h>

#include <sys/resource.h>
#include <sys/wait.h>

namespace gputopo::cli {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void become_gputopo(const Launch& launch, int out, int err) {
  ::dup2(err, STDERR_FILENO);
  if (!launch.stdin_path.empty()) ::dup2(::open(launch.stdin_path.c_str(), O_RDWR), STDIN_FILENO);
  if (launch.stdout_path == "-")
    ::close(STDOUT_FILENO);
  else
    ::dup2(launch.stdout_path.empty() ? out : ::open(launch.stdout_path.c_str(), O_WRONLY | O_CREAT, 0600),
           STDOUT_FILENO);
  if (launch.file_limit_bytes != 0) {
    const rlimit limit{launch.file_limit_bytes, launch.file_limit_bytes};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  const std::string program = std::string(GPUTOPO_BINARY_DIR) + "/bin/gputopo";
  std::vector<std::string> environment = launch.environment;
  environment.emplace_back("PATH=/usr/bin:/bin");
  environment.emplace_back("LC_ALL=C.UTF-8");
  if (std::none_of(environment.begin(), environment.end(),
                   [](const auto& e) { return e.starts_with("GPUTOPO_STORE="); }))
    environment.emplace_back("GPUTOPO_STORE=/nonexistent/store");
  std::vector<char*> argv{const_cast<char*>(program.c_str())};
  argv.reserve(launch.arguments.size() + 2);
  for (const std::string& argument : launch.arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  std::vector<char*> envp;
  envp.reserve(environment.size() + 1);
  for (const std::string& entry : environment) envp.push_back(const_cast<char*>(entry.c_str()));
  envp.push_back(nullptr);
  ::execve(program.c_str(), argv.data(), envp.data());
  std::_Exit(127);
}

void collect(int out, int err, Outcome& outcome) {
  std::array<pollfd, 2> sources{{{out, POLLIN, 0}, {err, POLLIN, 0}}};
  std::array<std::string*, 2> targets{&outcome.out, &outcome.err};
  int open = 2;
  while (open > 0) {
    if (::poll(sources.data(), sources.size(), -1) < 0) continue;
    for (std::size_t i = 0; i < sources.size(); ++i) {
      if (sources.at(i).revents == 0) continue;
      std::array<char, 65536> chunk{};
      const ssize_t got = ::read(sources.at(i).fd, chunk.data(), chunk.size());
      if (got > 0) {
        targets.at(i)->append(chunk.data(), static_cast<std::size_t>(got));
      } else {
        sources.at(i).fd = -1;
        --open;
      }
    }
  }
}

// Until the child has its handler, which under a sanitizer or on a loaded machine takes as long as all of some
// commands.
void wait_for_handler(pid_t child, int signal) {
  for (int tries = 0; tries < 2000; ++tries, std::this_thread::sleep_for(std::chrono::milliseconds(5))) {
    std::ifstream status("/proc/" + std::to_string(child) + "/status");
    constexpr std::string_view key = "SigCgt:";
    for (std::string line; std::getline(status, line);)
      if (line.rfind(key, 0) == 0 && (std::stoull(line.substr(key.size()), nullptr, 16) >> (signal - 1) & 1) != 0)
        return;
  }
}

}  // namespace

Outcome run_gputopo(const Launch& launch) {
  std::array<int, 2> out{};
  std::array<int, 2> err{};
  if (::pipe2(out.data(), O_CLOEXEC) != 0 || ::pipe2(err.data(), O_CLOEXEC) != 0) throw std::runtime_error("pipe");
  const pid_t child = ::fork();
  if (child == 0) become_gputopo(launch, out[1], err[1]);
  ::close(out[1]);
  ::close(err[1]);
  std::thread sender;
  std::chrono::steady_clock::time_point sent;
  if (launch.signal != 0)
    sender = std::thread([&] {
      wait_for_handler(child, launch.signal);
      std::this_thread::sleep_for(std::chrono::milliseconds(launch.signal_after_ms));
      sent = std::chrono::steady_clock::now();
      ::kill(child, launch.signal);
    });
  Outcome outcome;
  collect(out[0], err[0], outcome);
  if (sender.joinable()) sender.join();
  int status = 0;
  ::waitpid(child, &status, 0);
  using std::chrono::milliseconds;
  if (launch.signal != 0)
    outcome.ms_after_signal = std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - sent).count();
  outcome.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  ::close(out[0]);
  ::close(err[0]);
  return outcome;
}

Outcome run_gputopo(std::vector<std::string> arguments) {
  Launch launch;
  launch.arguments = std::move(arguments);
  return run_gputopo(launch);
}

Folder::Folder() {
  std::string pattern = (fs::temp_directory_path() / "gputopo_cli_XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp");
  path_ = pattern;
}

Folder::~Folder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

std::vector<std::string> Folder::names() const {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(path_)) names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

bool is_one_error_line(const std::string& text) {
  return text.starts_with("gputopo: ") && text.ends_with('\n') && std::count(text.begin(), text.end(), '\n') == 1;
}

std::string contents(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace gputopo::cli
