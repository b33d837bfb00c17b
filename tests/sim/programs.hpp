// Programs around random and built-in models that are run by hand; each takes main()'s arguments and gives the exit
// status.
#pragma once

namespace gputopo::test {

/// Random models of the whole domain (docs/domain.md).
int random_models(int argc, char** argv);
/// Random organisations, translations and instruction caches, for what `--deep` and `--all` add.
int random_organisations(int argc, char** argv);
int random_translations(int argc, char** argv);
int random_instruction_models(int argc, char** argv);
/// Writes docs/results-simulated.md.
int simulated_results(int argc, char** argv);

}  // namespace gputopo::test
