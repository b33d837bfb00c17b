#include "report/boxes.hpp"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <vector>

#include <fmt/format.h>

#include "report/structure.hpp"
#include "report/text.hpp"

namespace gputopo::report {
namespace {

constexpr std::uint32_t most_side_by_side = 4;  // of one cache

// Caches that are one, by the first of them; what is none of a cache by itself.
struct Box {
  const Memory* memory = nullptr;
  std::string name;
  const Estimate* size = nullptr;
};

bool has_value(const Estimate* e) {
  return e != nullptr && e->value && e->status != Status::inconclusive;
}

std::vector<Box> boxes_of(const Topology& topology) {
  std::vector<Box> all;
  for (const Memory& m : topology.memories) {
    const Estimate* size = m.find("size");
    if (size == nullptr || size->status == Status::not_supported) continue;
    const auto one = std::find_if(all.begin(), all.end(), [&](const Box& box) {
      return !m.physical_cache.empty() && box.memory->physical_cache == m.physical_cache;
    });
    if (one == all.end()) {
      all.push_back({&m, memory_label(m, false), size});
      continue;
    }
    one->name += "/" + memory_label(m, false);
    if (!has_value(one->size) || (m.id == m.physical_cache && has_value(size))) one->size = size;
  }
  return all;
}

std::string size_words(const Estimate* size, bool unicode) {
  if (!has_value(size)) return "?";
  const std::string words = brief_size_text(*size->value);
  if (size->status == Status::lower_bound) return (unicode ? "≥ " : ">= ") + words;
  if (size->status == Status::upper_bound) return (unicode ? "≤ " : "<= ") + words;
  return size->status == Status::api ? words + " (driver)" : words;
}

// "8 groups of 16-18 SMs", "132 TPCs": how many there are, where that is known.
std::string sharers(const Memory& m) {
  const std::string scope = scope_text(m);
  if (m.sm_groups.empty()) return "one a " + scope;
  if (scope.starts_with("group of ")) return fmt::format("{} groups of {}", m.sm_groups.size(), scope.substr(9));
  return fmt::format("{} {}s", m.sm_groups.size(), scope);
}

// What is drawn below each other: boxes side by side, with a title around them a box of their own.
struct Block {
  int rank = 0;            // how far from the SM
  std::size_t behind = 0;  // levels behind it
  std::string title;
  std::vector<std::string> labels;
};

int rank_of(const Memory& m) {
  if (m.kind == Kind::memory) return 5;
  switch (m.scope.value_or(Scope::gpu)) {
    case Scope::sm:
      return 0;
    case Scope::tpc:
      return 1;
    case Scope::cpc:
      return 2;
    case Scope::gpc:
    case Scope::group:
      return 3;
    case Scope::partition:
    case Scope::gpu:
      break;
  }
  return 4;
}

std::size_t levels_behind(const Topology& topology, const Memory* m) {
  std::size_t levels = 0;
  while ((m = topology.find(m->parent)) != nullptr && levels < topology.memories.size()) ++levels;
  return levels;
}

std::vector<std::string> repeated(const std::string& label, std::uint32_t count) {
  if (count > most_side_by_side) return {fmt::format("{} x {}", count, label)};
  return std::vector<std::string>(std::max(1U, count), label);
}

Block block_of(const Topology& topology, const Box& box, bool unicode) {
  const Memory& m = *box.memory;
  const std::string label = box.name + " " + size_words(box.size, unicode);
  Block block{rank_of(m), 0, {}, {label}};
  if (block.rank == 5) return block;
  if (block.rank != 4) {
    block.labels = {fmt::format("{} ({})", label, sharers(m))};
    return block;
  }
  if (!m.scope) {
    block.labels = {label + " (of whom: not measured)"};
    return block;
  }
  block.behind = levels_behind(topology, &m);
  const std::uint32_t instances = m.instances_per_scope.value_or(1);
  const Estimate* parts = m.find("partitions");
  if (!has_value(parts) || *parts->value < 2 || *parts->value > 64) {
    block.labels = repeated(label, instances);
    return block;
  }
  block.title = instances > 1 ? fmt::format("{} x {}", instances, label) : label;
  block.labels =
      repeated("partition " + size_words(m.find("partition_size"), unicode), static_cast<std::uint32_t>(*parts->value));
  return block;
}

std::vector<Block> blocks_of(const Topology& topology, bool unicode) {
  std::vector<Block> blocks{{0, 0, fmt::format("{} x SM", topology.gpu.sm_count), {}}};
  for (const Box& box : boxes_of(topology)) {
    if (rank_of(*box.memory) != 0) {
      blocks.push_back(block_of(topology, box, unicode));
      continue;
    }
    const std::uint32_t count = box.memory->instances_per_scope.value_or(1);
    const std::string label =
        (count > 1 ? fmt::format("{} x ", count) : "") + box.name + " " + size_words(box.size, unicode);
    // The scratchpad first: a thread reaches it without a cache.
    auto& labels = blocks.front().labels;
    labels.insert(box.memory->kind == Kind::scratchpad ? labels.begin() : labels.end(), label);
  }
  std::stable_sort(blocks.begin(), blocks.end(), [](const Block& a, const Block& b) {
    return std::tuple(a.rank, b.behind) < std::tuple(b.rank, a.behind);
  });
  if (blocks.front().labels.empty()) blocks.erase(blocks.begin());
  return blocks;
}

// Its first `columns` characters.
std::string cut(std::string_view text, std::size_t columns) {
  std::string first;
  for (; columns > 0 && !text.empty(); --columns) {
    const std::size_t bytes = text::first_of(text).bytes;
    first += text.substr(0, bytes);
    text.remove_prefix(bytes);
  }
  return first;
}

class Canvas {
 public:
  Canvas(std::size_t most, bool unicode) : most_(most), unicode_(unicode) {}

  std::string draw(std::vector<Block> blocks) {
    constexpr std::size_t outer = 4, inner = 4;  // columns that the borders around take
    for (const Block& block : blocks) {
      const std::size_t border = block.title.empty() ? outer : outer + inner;
      width_ = std::max(width_, display_width(block.title) + outer + inner);
      for (const auto& row : rows_of(block.labels, most_ - border)) width_ = std::max(width_, width_of(row) + border);
    }
    width_ = std::min(width_, most_);
    text_ = edge(width_ - 2, true) + '\n';
    for (const Block& block : blocks) {
      const std::size_t room = width_ - outer;
      if (!block.title.empty()) {
        line(edge(room - 2, true));
        line(bar() + centred(block.title, room - 2) + bar());
        for (const auto& row : rows_of(block.labels, room - inner))
          for (const std::string& part : side_by_side(row, room - inner)) line(fmt::format("{0} {1} {0}", bar(), part));
        line(edge(room - 2, false));
      } else {
        for (const auto& row : rows_of(block.labels, room))
          for (const std::string& part : side_by_side(row, room)) line(part);
      }
    }
    return text_ + edge(width_ - 2, false) + '\n';
  }

 private:
  using Row = std::vector<std::string>;

  static std::size_t width_of(const Row& row) {
    std::size_t width = 0;
    for (const std::string& label : row) width += display_width(label) + 5;
    return width - 1;
  }

  // Boxes that don't fit side by side go below each other.
  static std::vector<Row> rows_of(const Row& labels, std::size_t width) {
    std::vector<Row> rows;
    for (const std::string& label : labels) {
      Row row = rows.empty() ? Row() : rows.back();
      row.push_back(cut(label, width - 4));
      if (rows.empty() || width_of(row) > width)
        rows.push_back({row.back()});
      else
        rows.back() = std::move(row);
    }
    return rows;
  }

  std::string bar() const { return unicode_ ? "│" : "|"; }
  std::string edge(std::size_t inner, bool top) const {
    std::string text = !unicode_ ? "+" : top ? "┌" : "└";
    for (std::size_t i = 0; i < inner; ++i) text += unicode_ ? "─" : "-";
    return text + (!unicode_ ? "+" : top ? "┐" : "┘");
  }
  static std::string centred(const std::string& text, std::size_t width) {
    const std::string shown = cut(text, width);
    const std::size_t spare = width - std::min(width, display_width(shown)), before = (spare + 1) / 2;
    return std::string(before, ' ') + shown + std::string(spare - before, ' ');
  }

  // Three lines, exactly `width` wide: the spare columns are spread over the boxes.
  Row side_by_side(const Row& labels, std::size_t width) const {
    const std::size_t spare = width - std::min(width, width_of(labels)), count = labels.size();
    Row lines(3);
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t inner = display_width(labels[i]) + 2 + spare * (i + 1) / count - spare * i / count;
      const char* gap = i == 0 ? "" : " ";
      lines[0] += gap + edge(inner, true);
      lines[1] += gap + bar() + centred(labels[i], inner) + bar();
      lines[2] += gap + edge(inner, false);
    }
    return lines;
  }

  void line(const std::string& inside) { text_ += fmt::format("{0} {1} {0}\n", bar(), inside); }

  std::size_t most_, width_ = 0;
  bool unicode_;
  std::string text_;
};

}  // namespace

std::string boxes(const Topology& topology, const Options& options) {
  constexpr std::size_t narrowest = 24;
  std::vector<Block> blocks = blocks_of(topology, options.look.unicode);
  return blocks.empty() ? std::string()
                        : Canvas(std::max(narrowest, options.width), options.look.unicode).draw(std::move(blocks));
}

}  // namespace gputopo::report
