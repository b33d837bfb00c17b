#include "program/workload.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "program/hasher.hpp"

namespace gputopo::program {
namespace {

constexpr std::uint32_t most_threads_of_block = 1024;
constexpr std::uint64_t largest_buffer = std::uint64_t{1} << 40U;
constexpr std::size_t longest_name = 64;

bool is_name(const std::string& text) {
  return !text.empty() && text.size() <= longest_name && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
}

}  // namespace

Expected<void> validate(const Workload& w) {
  const auto bad = [&](std::string_view why) {
    return fail(Error::Kind::bad_input, fmt::format("workload '{}': {}", w.label, why));
  };
  if (!is_name(w.kernel)) return bad("its kernel's name is empty or has other than lower-case letters, digits and _");
  if (w.threads == 0 || w.threads > most_threads_of_block || w.blocks == 0 || w.blocks > INT32_MAX)
    return bad("it has no threads or blocks, or too many");
  if (w.input.size() > most_workload_words || w.output_words > most_workload_words)
    return bad(fmt::format("it reads {} words and writes {}, and the limit is {}; measure a GPU with fewer SMs",
                           w.input.size(), w.output_words, most_workload_words));
  for (const std::uint64_t bytes : w.buffer_bytes)
    if (bytes > largest_buffer) return bad("it has a buffer of over 1 TiB");
  if (w.fetch_bytes != 0 && w.fetch_bytes != 32 && w.fetch_bytes != 64 && w.fetch_bytes != 128)
    return bad("it asks the L2 to fetch other than 32, 64 or 128 bytes");
  return {};
}

std::uint64_t hash(const Workload& w) {
  constexpr std::uint64_t workload_mark = 0x776f726bULL;  // as the streams', more than any program has buffers
  Hasher h;
  h.add(workload_mark);
  h.add(w.kernel.size());
  for (const char c : w.kernel) h.add(static_cast<unsigned char>(c));
  for (const std::uint64_t word :
       {std::uint64_t{w.threads}, std::uint64_t{w.blocks}, w.shared_bytes, std::uint64_t{w.output_words},
        std::uint64_t{w.fetch_bytes}, std::uint64_t{w.timed ? 1U : 0U}})
    h.add(word);
  for (const std::uint64_t word : w.numbers) h.add(word);
  for (const std::uint64_t word : w.buffer_bytes) h.add(word);
  for (const std::uint32_t word : w.input) h.add(word);
  return h.value();
}

}  // namespace gputopo::program
