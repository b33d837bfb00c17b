#include "cli/run.hpp"

#include <exception>
#include <sstream>
#include <string>

#include <CLI/CLI.hpp>

#include "cli/commands.hpp"
#include "cli/context.hpp"
#include "cli/output.hpp"
#include "cli/process.hpp"
#include "cli/usage.hpp"
#include "stop/stop.hpp"

namespace gputopo::cli {
namespace {

int status(Exit exit) {
  return static_cast<int>(exit);
}

void print_error(const std::string& message) {
  tell("gputopo: " + message);
}

int report(const Error& error) {
  print_error(error.message);
  return status(error.kind == Error::Kind::interrupted ? Exit::interrupted : Exit::failed);
}

void add_commands(CLI::App& app, Context& context) {
#ifdef GPUTOPO_HAS_DISCOVER
  add_discover_command(app, context);
  add_verify_command(app, context);
  add_bench_command(app, context);
#endif
  add_show_command(app, context);
  add_analyze_command(app, context);
  add_devices_command(app, context);
  add_models_command(app, context);
  add_export_command(app, context);
  add_compare_command(app, context);
  add_doctor_command(app, context);
}

int parse_and_run(int argc, const char* const* argv) {
  Remarks remarks;
  Context context{.remarks = remarks};
  context.stop = &install_signal_handlers();
  context.look = {stdout_shows_unicode(), stdout_shows_color()};
  context.columns = stdout_columns();
  context.stderr_is_terminal = stderr_is_terminal();

  CLI::App app("Measures how a GPU's memory is built: every cache, scratchpad and memory.", "gputopo");
  app.set_version_flag("--version", std::string("gputopo ") + GPUTOPO_VERSION);
  app.require_subcommand(1);
  app.footer(
      "Exit status: 0 done, 1 failed, 2 wrong usage, 3 done but something is inconclusive (compare: differs), 130 "
      "interrupted.");
  add_commands(app, context);
  refuse_empty_values(app);
  try {
    app.parse(words_of(argc, argv));
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() != 0) {
      print_error(usage_message(app, e, argc, argv));
      return status(Exit::usage);
    }
    std::ostringstream text;
    app.exit(e, text, text);
    const auto written = emit({}, text.str());
    return written ? status(Exit::done) : report(written.error());
  }
  const auto result = context.action();
  if (!result) return report(result.error());
  remarks.tell_all();
  return status(*result);
}

}  // namespace

int run(int argc, const char* const* argv) {
  reserve_standard_descriptors();
  try {
    return parse_and_run(argc, argv);
  } catch (const stop::Interrupted& e) {
    return report({Error::Kind::interrupted, e.what()});
  } catch (const std::bad_alloc&) {
    print_error("out of memory; free some of this machine's");
  } catch (const std::exception& e) {
    print_error(std::string("internal error: ") + e.what() + "; please report it with the command line");
  }
  return status(Exit::failed);
}

}  // namespace gputopo::cli
