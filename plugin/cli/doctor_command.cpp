#include <algorithm>
#include <string>
#include <string_view>

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

report::Tone tone_of(Check::Result result) {
  return result == Check::Result::good      ? report::Tone::good
         : result == Check::Result::limited ? report::Tone::doubtful
                                            : report::Tone::bad;
}

Expected<Exit> doctor(const report::Look& look) {
  const auto checks = run_checks();
  std::string text;
  bool missing = false;
  for (const Check& check : checks) {
    missing = missing || check.result == Check::Result::missing;
    const std::string line =
        fmt::format("{:<8} {:<20} {}{}", word(check.result), check.subject, report::printable(check.finding, 200),
                    check.remedy.empty() ? "" : "; " + check.remedy);
    const std::string lines = fmt::format("{}\n", fmt::join(report::wrap(line, stdout_columns(), 30), "\n"));
    const std::size_t begin = std::string_view(word(check.result)).size();
    text += report::painted(lines.substr(0, begin), tone_of(check.result), look) + lines.substr(begin);
  }
  if (auto written = emit({}, text, look); !written) return tl::unexpected<Error>(written.error());
  return missing ? Exit::failed : Exit::done;
}

}  // namespace

void add_doctor_command(CLI::App& app, Context& context) {
  CLI::App* command =
      app.add_subcommand("doctor", "Check what this machine lets gputopo do; fails where no GPU can be measured");
  command->callback([&context] { context.action = [&context] { return doctor(context.look); }; });
}

}  // namespace gputopo::cli
