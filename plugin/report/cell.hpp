// One Estimate as it stands in the table: its value as far as its status allows, and a footnote for the rest.
#pragma once

#include <string>

#include "report/footnotes.hpp"
#include "report/grid.hpp"
#include "topology/estimate.hpp"

namespace gputopo::report {

struct CellStyle {
  bool unicode = false;
  bool inline_interval = true;  ///< "309 -5/+12"; else the interval is left out (see interval_words)
  bool exact_sizes = true;      ///< else as brief_size_text, with the exact bytes in a footnote where it rounds
  bool with_unit = true;        ///< cycles and nanoseconds have their unit in the column's title instead
  bool with_bytes = true;       ///< and so have bytes
  bool noted_interval = false;  ///< an interval that isn't inline stands in a footnote
};

/// `what` names the quantity in a footnote that is about this cell alone, as in "L2 size". A missing estimate is "-".
Cell estimate_cell(const Estimate* estimate, const std::string& what, const CellStyle& style, Footnotes& notes);

/// The value with its unit and the sign of a bound, and no footnote: where a legend says the rest.
Cell plain_cell(const Estimate* estimate, bool unicode);

/// What a status other than `measured` and `truth` means, in words: "told by the driver, not measured".
std::string status_words(Status status);

/// "275 to 283 cycles", with the interval's kind where it isn't 95 %: "275 to 283 cycles (range)"; or nothing where
/// interval_suffix gives nothing.
std::string interval_words(const Estimate& estimate);

/// "-5/+12", "±1" or nothing where the estimate isn't a measured value or the interval is a point as far as the value's
/// rounding shows.
std::string interval_suffix(const Estimate& estimate, bool unicode);

}  // namespace gputopo::report
