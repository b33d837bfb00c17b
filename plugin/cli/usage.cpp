#include "cli/usage.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "text/printable.hpp"

namespace gputopo::cli {
namespace {

constexpr std::size_t longest_word = 64;

std::string shown(std::string_view word) {
  return "'" + text::printable(word, longest_word) + "'";
}

bool is_option(std::string_view word) {
  return word.size() > 1 && word.front() == '-';
}

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

// The subcommand that the user was in the middle of.
const CLI::App& choices_of(const CLI::App& app) {
  const auto chosen = app.get_subcommands();
  return chosen.empty() ? app : *chosen.front();
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

std::string nearest(std::string_view word, const std::vector<std::string>& names) {
  return *std::min_element(names.begin(), names.end(), [&](const std::string& a, const std::string& b) {
    return distance(word, a) < distance(word, b);
  });
}

// Less than half of the letters differ, or half of them where the first is right: two that changed places are two. An
// option's letters come behind its dashes.
bool is_near(std::string_view word, std::string_view name) {
  const std::size_t first = word.find_first_not_of('-');
  if (first == word.npos || first >= name.size()) return false;
  const std::size_t differ = 2 * distance(word, name), letters = word.size() - first;
  return differ < letters || (differ == letters && word[first] == name[first]);
}

// Those of a group of options are its command's.
std::vector<const CLI::Option*> options_of(const CLI::App& command) {
  std::vector<const CLI::Option*> options = command.get_options();
  for (const CLI::App* group : commands_of(command))
    if (group->get_name().empty())
      for (const CLI::Option* option : group->get_options()) options.push_back(option);
  return options;
}

std::string no_command(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : commands_of(app)) names.push_back(command->get_name());
  return fmt::format("there is no command; choose from {}", fmt::join(names, ", "));
}

// A first word that is neither a command nor an option of the program.
std::optional<std::string> mistyped_command(const CLI::App& app, std::string_view word) {
  std::vector<std::string> names;
  for (const CLI::App* command : commands_of(app)) names.push_back(command->get_name());
  const bool known = std::find(names.begin(), names.end(), word) != names.end();
  if (known || word.empty() || is_option(word) || word.size() > longest_word) return std::nullopt;
  const std::string problem = fmt::format("there is no command {}", shown(word));
  const std::string candidate = nearest(word, names);
  return is_near(word, candidate) ? fmt::format("{}; the nearest one is '{}'", problem, candidate)
                                  : fmt::format("{}; choose from {}", problem, fmt::join(names, ", "));
}

std::string unknown_option(const CLI::App& command, std::string_view word) {
  const std::string_view name = word.substr(0, word.find('='));
  std::vector<std::string> names;
  for (const CLI::Option* option : options_of(command))
    for (const std::string& known : option->get_lnames()) names.push_back("--" + known);
  std::string problem = fmt::format("there is no option {}", shown(name));
  if (names.empty() || name.size() > longest_word) return problem;
  const std::string candidate = nearest(name, names);
  return is_near(name, candidate) ? fmt::format("{}; the nearest one is '{}'", problem, candidate) : problem;
}

// An option that isn't there takes no value, so that what was meant as one is left over as well.
std::optional<std::string> left_over(const CLI::App& command) {
  const auto words = command.remaining(true);
  if (words.empty()) return std::nullopt;
  const auto option = std::find_if(words.begin(), words.end(), is_option);
  if (option != words.end()) return unknown_option(command, *option);
  return fmt::format("{} is one argument too many", shown(words.front()));
}

std::optional<std::string> wrong_number_of_values(const CLI::App& command, const std::string& message) {
  for (const CLI::Option* option : options_of(command)) {
    const std::string name = option->get_name();
    if (!message.starts_with(name + ":")) continue;
    if (option->results().size() > 1)
      return fmt::format("{} is given {} times; give it once", name, option->results().size());
    return fmt::format("nothing follows {}; write {} {}", name, name, option->get_type_name());
  }
  return std::nullopt;
}

std::string problem_of(const CLI::App& app, const CLI::ParseError& error, int argc, const char* const* argv) {
  const CLI::App& command = choices_of(app);
  std::optional<std::string> own;
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) own = left_over(command);
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr)
    own = wrong_number_of_values(command, error.what());
  if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr && &command == &app)
    own = argc > 1 && is_option(argv[1]) ? unknown_option(app, argv[1]) : no_command(app);
  return own.value_or(error.what());
}

}  // namespace

// To CLI11 "--name=" has no value yet, and it would take the next word for it.
std::vector<std::string> words_of(int argc, const char* const* argv) {
  std::vector<std::string> words;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const bool ends_in_nothing = word.starts_with("--") && word.find('=') == word.size() - 1;
    words.push_back(ends_in_nothing ? word.substr(0, word.size() - 1) : word);
    if (ends_in_nothing) words.emplace_back();
  }
  std::reverse(words.begin(), words.end());
  return words;
}

void refuse_empty_values(CLI::App& app) {
  for (CLI::Option* option : app.get_options())
    if (option->get_items_expected_max() > 0)
      option->check([option](const std::string& value) {
        if (!value.empty()) return std::string();
        return fmt::format("an empty text is given; write {} or leave it out",
                           option->get_positional() ? "a name" : option->get_type_name());
      });
  for (CLI::App* command : app.get_subcommands([](CLI::App*) { return true; })) refuse_empty_values(*command);
}

CLI::Validator one_of(const std::vector<std::string>& choices) {
  return CLI::Validator(
      [choices](std::string& value) {
        if (std::find(choices.begin(), choices.end(), value) != choices.end()) return std::string();
        return fmt::format("{} isn't one of {}", shown(value), fmt::join(choices, ", "));
      },
      fmt::format("{{{}}}", fmt::join(choices, ",")));
}

std::string usage_message(const CLI::App& app, const CLI::ParseError& error, int argc, const char* const* argv) {
  if (const auto wrong = argc > 1 ? mistyped_command(app, argv[1]) : std::nullopt) return *wrong;
  const CLI::App& command = choices_of(app);
  return fmt::format("{}; see 'gputopo {}--help'", problem_of(app, error, argc, argv),
                     &command == &app ? "" : command.get_name() + " ");
}

}  // namespace gputopo::cli
