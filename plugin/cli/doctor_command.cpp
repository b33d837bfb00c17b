#include <algorithm>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/commands.hpp"
#include "cli/doctor_checks.hpp"
#include "cli/output.hpp"
#include "cli/process.hpp"
#include "report/text.hpp"

namespace gputopo::cli {
namespace {

const char* word(Check::Result result) {
  switch (result) {
    case Check::Result::good:
      return "ok";
    case Check::Result::limited:
      return "limited";
    case Check::Result::missing:
      return "missing";
  }
  return "";
}

Expected<Exit> doctor() {
  const auto checks = run_checks();
  std::string text;
  bool missing = false;
  for (const Check& check : checks) {
    missing = missing || check.result == Check::Result::missing;
    const std::string line =
        fmt::format("{:<8} {:<20} {}{}", word(check.result), check.subject, report::printable(check.finding, 200),
                    check.remedy.empty() ? "" : "; " + check.remedy);
    text += fmt::format("{}\n", fmt::join(report::wrap(line, stdout_columns(), 30), "\n"));
  }
  if (auto written = emit({}, text); !written) return tl::unexpected<Error>(written.error());
  return missing ? Exit::failed : Exit::done;
}

}  // namespace

void add_doctor_command(CLI::App& app, Context& context) {
  CLI::App* command =
      app.add_subcommand("doctor", "Check what this machine lets gputopo do; fails where no GPU can be measured");
  command->callback([&context] { context.action = doctor; });
}

}  // namespace gputopo::cli
