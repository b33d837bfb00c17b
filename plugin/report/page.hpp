// A page of HTML that loads nothing from anywhere, in the style of all reports.
#pragma once

#include <string>
#include <string_view>

namespace gputopo::report {

/// `title` is escaped here, `body` is HTML.
std::string page(std::string_view title, std::string_view body);

}  // namespace gputopo::report
