// What can't read the catalog itself (documentation, schema, Lua, a C header) is held against it.
#include <fstream>
#include <sstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "catalog/catalog.hpp"

namespace gputopo::catalog {
namespace {

using testing::ElementsAreArray;
using testing::HasSubstr;

std::string text_of(const std::string& file) {
  std::ifstream stream(std::string(GPUTOPO_SOURCE_DIR) + "/" + file);
  EXPECT_TRUE(stream) << file;
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

std::string between(const std::string& text, const std::string& begin, const std::string& end) {
  const std::size_t from = text.find(begin);
  const std::size_t to = from == std::string::npos ? from : text.find(end, from + begin.size());
  EXPECT_NE(to, std::string::npos) << begin;
  return to == std::string::npos ? "" : text.substr(from + begin.size(), to - from - begin.size());
}

std::string code(std::string_view text) {
  return text.empty() ? "" : fmt::format("`{}`", text);
}

template <class Row>
std::vector<std::string> ids_of(std::span<const Row> rows) {
  std::vector<std::string> ids;
  for (const Row& row : rows) ids.emplace_back(row.id);
  return ids;
}

TEST(CatalogReaders, TheDocumentationListsEveryQuantityAndNoOther) {
  std::string expected;
  for (const AttributeRow& row : attributes())
    expected += fmt::format("| {} | {} | {} | {} | {} | {} |\n", code(row.id), code(row.unit), row.heading,
                            code(row.hwloc), row.likwid, row.description);
  const std::string section = between(text_of("docs/units.md"), "## Quantities\n", "\n\n## Memories");
  EXPECT_EQ(between(section + "\n\f", "| --- | --- | --- | --- | --- | --- |\n", "\f"), expected);
}

TEST(CatalogReaders, TheDocumentationListsEveryMemoryAndNoOther) {
  std::string expected;
  for (const MemoryRow& row : memories())
    expected += fmt::format("| {} | {} | {} | {} | {} |\n", code(row.id), row.label, to_string(row.kind), row.hwloc,
                            row.likwid);
  const std::string section = between(text_of("docs/units.md") + "\f", "## Memories\n", "\f");
  EXPECT_EQ(between(section + "\f", "| --- | --- | --- | --- | --- |\n", "\f"), expected);
}

TEST(CatalogReaders, TheSchemaNamesThem) {
  const auto schema = nlohmann::json::parse(text_of("docs/schema/topology-1.json"));
  const auto& members = schema["$defs"]["memory"]["properties"];
  EXPECT_THAT(members["id"]["examples"].get<std::vector<std::string>>(), ElementsAreArray(ids_of(memories())));
  EXPECT_THAT(members["attributes"]["propertyNames"]["examples"].get<std::vector<std::string>>(),
              ElementsAreArray(ids_of(attributes())));
}

TEST(CatalogReaders, LikwidsModuleHasTheirNamesAndColumns) {
  const std::string module = text_of("plugin/likwid/likwid_gputopo.lua");
  const std::string names = between(module, "local names = {\n", "}");
  for (const MemoryRow& row : memories())
    EXPECT_THAT(names, HasSubstr(fmt::format(" {} = \"{}\",", row.id, row.likwid)));
  const std::string columns = between(module, "local csv_header = {", "}");
  for (const AttributeRow& row : attributes())
    EXPECT_THAT(columns, HasSubstr(row.likwid.empty() ? std::string() : fmt::format("\"{}\",", row.likwid)));
}

TEST(CatalogReaders, TheHwlocHeaderNamesTheMemories) {
  const std::string list = between(text_of("hwloc_export/gputopo_hwloc.h"), " * Memory ids: ", ".\n");
  std::string expected;
  for (const MemoryRow& row : memories()) expected += fmt::format("{}\"{}\"", expected.empty() ? "" : ", ", row.id);
  EXPECT_EQ(list, expected);
}

}  // namespace
}  // namespace gputopo::catalog
