// One fuzzer: hands whatever libFuzzer makes to the check that GPUTOPO_CHECK names, declared in GPUTOPO_CHECK_HEADER.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <string_view>

#include GPUTOPO_CHECK_HEADER

namespace {

// libFuzzer's own -timeout goes by the wall clock, which a busy machine moves.
constexpr std::clock_t most_cpu_time = 5 * CLOCKS_PER_SEC;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::clock_t begin = std::clock();
  GPUTOPO_CHECK(std::string_view(reinterpret_cast<const char*>(data), size));
  if (std::clock() - begin > most_cpu_time) std::abort();
  return 0;
}
