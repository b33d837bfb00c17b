// Any bytes, in pieces of any length, give either a usable trace or one line of error. See trace_parser_check.hpp.
#include <cstddef>
#include <cstdint>

#include "trace_parser_check.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  gputopo::change_point::testing::check_trace_parser(data, size);
  return 0;
}
