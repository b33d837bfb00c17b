// Whether what was said of one quantity is true.
#pragma once

#include "tests/sim/organisation/found.hpp"

namespace gputopo::test {

/// "measured 4096", "inconclusive" or "nothing".
std::string text_of_number(const Estimate* e);
/// A size to the byte, or an interval of a twentieth that holds it; a bound on its side.
Answer judged_size(double truth, const Estimate* said);
/// To 1.5 cycles or 3 %, as every penalty (docs/domain.md).
Answer judged_penalty(double truth, const Estimate* said);
/// Which SMs share it.
Answer judged_scope(const Memory& truth, const Memory& found);
std::string scope_of(const Memory& memory);

}  // namespace gputopo::test
