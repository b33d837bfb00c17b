#include "device/open/spec.hpp"

#include <charconv>

#include <fmt/format.h>

namespace gputopo::device {
namespace {

constexpr std::string_view remedy = "use auto, cuda:N, sim:NAME, sim:FILE.json or replay:FILE";

tl::unexpected<Error> bad(std::string_view text, std::string_view why) {
  return fail(Error::Kind::bad_input, fmt::format("unknown device '{}': {}; {}", text, why, remedy));
}

}  // namespace

Expected<Spec> parse_spec(std::string_view text) {
  if (text == "auto") return Spec{};
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return bad(text, "it names no kind of device");
  const std::string_view kind = text.substr(0, colon);
  const std::string_view rest = text.substr(colon + 1);
  if (rest.empty()) return bad(text, "nothing follows the colon");
  if (kind == "sim") return Spec{Spec::Kind::sim, 0, std::string(rest)};
  if (kind == "replay") return Spec{Spec::Kind::replay, 0, std::string(rest)};
  if (kind != "cuda") return bad(text, fmt::format("there is no kind '{}'", kind));
  int ordinal = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), ordinal);
  if (error != std::errc() || end != rest.data() + rest.size() || ordinal < 0)
    return bad(text, "cuda takes the GPU's number, as in cuda:0");
  return Spec{Spec::Kind::cuda, ordinal, {}};
}

bool names_file(std::string_view model) {
  return model.find('/') != std::string_view::npos || model.ends_with(".json");
}

}  // namespace gputopo::device
