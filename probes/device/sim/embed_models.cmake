# cmake -DOUTPUT=... -DFOLDER=... -DNAMES="a;b" -P embed_models.cmake: the models as C++ text, sorted by name.
list(SORT NAMES)
set(names "")
set(texts "")
foreach(name IN LISTS NAMES)
  file(READ ${FOLDER}/${name}.json text)
  string(APPEND names "    \"${name}\",\n")
  string(APPEND texts "    R\"model(${text})model\",\n")
endforeach()
file(WRITE ${OUTPUT}
"// Generated; do not edit.
#include <array>

#include \"device/sim/builtin.hpp\"
#include \"device/sim/model.hpp\"

namespace gputopo::sim {
namespace {

constexpr auto names = std::to_array<std::string_view>({
${names}});

constexpr auto texts = std::to_array<std::string_view>({
${texts}});

}  // namespace

std::span<const std::string_view> builtin_models() { return names; }
std::span<const std::string_view> builtin_model_texts() { return texts; }

}  // namespace gputopo::sim
")
