// Runs the built gputopo as a user's shell would.
#pragma once

#include <string>
#include <vector>

namespace gputopo::cli {

struct Outcome {
  int exit_code = -1;  ///< 128 + signal where one ended it, as a shell says
  std::string out;
  std::string err;
  long ms_after_signal = 0;  ///< how long it lived after Launch::signal
};

struct Launch {
  std::vector<std::string> arguments;
  std::vector<std::string> environment;  ///< "NAME=value", besides a bare PATH and an empty store
  std::string stdin_path;                ///< a file or pipe to read, held open for writing as well; empty: the caller's
  std::string stdout_path;               ///< a file to use as stdout; empty: captured; "-": closed
  std::size_t file_limit_bytes = 0;      ///< largest file that the process may write; 0: any
  int signal = 0;                        ///< sent to the process after `signal_after_ms`
  int signal_after_ms = 0;
};

Outcome run_gputopo(const Launch& launch);
Outcome run_gputopo(std::vector<std::string> arguments);

/// A new folder that is removed at the end.
class Folder {
 public:
  Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder();
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  std::vector<std::string> names() const;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// Whether it is one line that begins as every error of gputopo does.
bool is_one_error_line(const std::string& text);

std::string contents(const std::string& path);

}  // namespace gputopo::cli
