// The command line's own rules and words, in one place for all commands.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace gputopo::cli {

/// The command line without the program's name, last word first, as CLI::App::parse takes it.
std::vector<std::string> words_of(int argc, const char* const* argv);

/// Makes an empty text wrong usage wherever `app` and its commands take a value: a name that a script's variable failed
/// to give would otherwise mean none.
void refuse_empty_values(CLI::App& app);

/// One of `choices`; its message says what there is.
CLI::Validator one_of(const std::vector<std::string>& choices);

/// What was wrong with the command line `argv`, with a hint at the help.
std::string usage_message(const CLI::App& app, const CLI::ParseError& error, int argc, const char* const* argv);

}  // namespace gputopo::cli
