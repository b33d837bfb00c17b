#include "device/open/spec.hpp"

#include <algorithm>
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

namespace {

// Where the first device of a list ends.
std::size_t end_of_first(std::string_view list) {
  for (std::size_t comma = list.find(','); comma != std::string_view::npos; comma = list.find(',', comma + 1)) {
    const std::string_view next = list.substr(comma + 1);
    for (const std::string_view kind : {"auto", "cuda:", "sim:", "replay:"})
      if (next.starts_with(kind)) return comma;
  }
  return list.size();
}

}  // namespace

std::string to_string(const Spec& spec) {
  switch (spec.kind) {
    case Spec::Kind::automatic:
      return "auto";
    case Spec::Kind::cuda:
      return fmt::format("cuda:{}", spec.ordinal);
    case Spec::Kind::sim:
      return "sim:" + spec.name;
    case Spec::Kind::replay:
      return "replay:" + spec.name;
  }
  return {};
}

Expected<std::vector<Spec>> parse_specs(std::string_view text) {
  std::vector<Spec> specs;
  for (std::string_view rest = text;; rest.remove_prefix(1)) {
    const std::string_view first = rest.substr(0, end_of_first(rest));
    rest.remove_prefix(first.size());
    auto spec = parse_spec(first);
    if (!spec) return tl::unexpected<Error>(spec.error());
    if (spec->kind == Spec::Kind::cuda && std::find(specs.begin(), specs.end(), *spec) != specs.end())
      return fail(Error::Kind::bad_input, fmt::format("{} is named twice; name each GPU once", first));
    specs.push_back(std::move(*spec));
    if (rest.empty()) break;
  }
  const auto is_automatic = [](const Spec& spec) { return spec.kind == Spec::Kind::automatic; };
  if (specs.size() > 1 && std::any_of(specs.begin(), specs.end(), is_automatic))
    return fail(Error::Kind::bad_input, "auto is one GPU by itself; name the others with it by cuda:N");
  return specs;
}

bool names_file(std::string_view model) {
  return model == "-" || model.find('/') != std::string_view::npos || model.ends_with(".json");
}

}  // namespace gputopo::device
