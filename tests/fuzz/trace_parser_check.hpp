// What the trace parser and the estimators must hold for any input at all.
#pragma once

#include <string_view>

namespace gputopo::change_point::testing {

/// The first byte picks the columns and the pieces' length, the rest is the file. Aborts if the parser's answer depends
/// on where the pieces are cut, if an error isn't one printable line, if a trace breaks what the parser promises, or if
/// an estimator returns something that isn't a finding.
void check_trace_parser(std::string_view input);

}  // namespace gputopo::change_point::testing
