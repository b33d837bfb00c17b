#include <cstddef>
#include <cstdint>

#include "store_text_check.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  gputopo::check_store_text({reinterpret_cast<const char*>(data), size});
  return 0;
}
