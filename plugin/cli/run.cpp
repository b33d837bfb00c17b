#include "cli/run.hpp"

#include <algorithm>
#include <exception>
#include <numeric>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "cli/commands.hpp"
#include "cli/context.hpp"
#include "cli/output.hpp"
#include "cli/process.hpp"
#include "stop/stop.hpp"
#include "text/printable.hpp"

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

// The subcommand that the user was in the middle of, for the hint at its help.
std::string command_path(const CLI::App& app) {
  const auto chosen = app.get_subcommands();
  return chosen.empty() ? "gputopo" : "gputopo " + chosen.front()->get_name();
}

// Letters to add, take away or replace to get from one word to the other (Levenshtein 1966).
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = std::exchange(row[j + 1], std::min({replaced, row[j] + 1, row[j + 1] + 1}));
    }
  }
  return row.back();
}

// A first word that is no subcommand, and the nearest one; empty where the first word is something else.
std::string mistyped(const CLI::App& app, std::string_view word) {
  constexpr std::size_t longest = 64;
  const auto commands = app.get_subcommands({});
  const bool known =
      std::any_of(commands.begin(), commands.end(), [&](const auto* c) { return c->get_name() == word; });
  if (known || word.empty() || word.starts_with('-') || word.size() > longest) return {};
  const auto nearest = std::min_element(commands.begin(), commands.end(), [&](const CLI::App* a, const CLI::App* b) {
    return distance(word, a->get_name()) < distance(word, b->get_name());
  });
  return "there is no command '" + text::printable(word, longest) + "'; the nearest one is '" + (*nearest)->get_name() +
         "'";
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
  context.unicode = stdout_shows_unicode();
  context.columns = stdout_columns();
  context.stderr_is_terminal = stderr_is_terminal();

  CLI::App app("Measures how a GPU's memory is built: every cache, scratchpad and memory.", "gputopo");
  app.set_version_flag("--version", std::string("gputopo ") + GPUTOPO_VERSION);
  app.require_subcommand(1);
  app.footer(
      "Exit status: 0 done, 1 failed, 2 wrong usage, 3 done but something is inconclusive (compare: differs), 130 "
      "interrupted.");
  add_commands(app, context);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() != 0) {
      if (const std::string wrong = argc > 1 ? mistyped(app, argv[1]) : ""; !wrong.empty())
        print_error(wrong);
      else
        print_error(std::string(e.what()) + "; see '" + command_path(app) + " --help'");
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
    print_error("out of memory; ask for less");
  } catch (const std::exception& e) {
    print_error(std::string("internal error: ") + e.what() + "; please report it with the command line");
  }
  return status(Exit::failed);
}

}  // namespace gputopo::cli
