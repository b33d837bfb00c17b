// One fuzzer: hands whatever libFuzzer makes to the check that GPUTOPO_CHECK names, declared in GPUTOPO_CHECK_HEADER.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include GPUTOPO_CHECK_HEADER

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  GPUTOPO_CHECK(std::string_view(reinterpret_cast<const char*>(data), size));
  return 0;
}
