#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "json/value.hpp"

namespace gputopo::json {
namespace {

// Takes nlohmann-json's events; the names are its own. Returning false ends the reading.
class Builder {
 public:
  explicit Builder(const Limits& limits) : limits_(limits) {}

  bool null() { return add(Value()); }
  bool boolean(bool value) { return add(Value(value)); }
  bool number_integer(std::int64_t value) { return add(Value(value)); }
  bool number_unsigned(std::uint64_t value) { return add(Value(value)); }
  bool number_float(double value, const std::string&) { return add(Value(value)); }
  bool string(std::string& value) { return add(Value(std::move(value))); }
  bool binary(nlohmann::json::binary_t&) { return false; }  // not in texts
  bool start_array(std::size_t) { return open(Value(Value::Array())); }
  bool start_object(std::size_t) { return open(Value(Value::Members())); }
  bool end_array() { return close(); }
  bool end_object() { return has_no_key_twice(open_.back()->members()) && close(); }
  bool key(std::string& name) {
    open_.back()->members().push_back({std::move(name), Value()});
    return true;
  }
  bool parse_error(std::size_t byte, const std::string&, const nlohmann::json::exception&) {
    error_at_ = byte;
    return false;
  }

  Value take() { return std::move(root_); }
  /// Why a handler returned false; empty where the text is no JSON, which ends before byte `error_at()`.
  const std::string& refusal() const { return refusal_; }
  std::size_t error_at() const { return error_at_; }
  /// Which of the project's files it says it is, as far as it was read: "gputopo-topology/1"; empty where none.
  std::string schema() const {
    const Value* found = root_.find("schema");
    constexpr std::size_t longest = 40;
    const bool is_ours =
        found != nullptr && found->is_string() && found->string().starts_with("gputopo-") &&
        found->string().size() <= longest &&
        found->string().find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-/") == std::string::npos;
    return is_ours ? found->string() : std::string();
  }

 private:
  // Where the next value belongs. What is open is the last of what it lies in, so that doesn't move meanwhile.
  Value& place() {
    if (open_.empty()) return root_;
    Value& parent = *open_.back();
    return parent.is_object() ? parent.members().back().value : parent.array().emplace_back();
  }

  bool add(Value value) {
    if (++count_ > limits_.values) return refuse(fmt::format("holds over {} values", limits_.values));
    place() = std::move(value);
    return true;
  }

  bool open(Value value) {
    if (static_cast<int>(open_.size()) >= limits_.depth) return refuse("is nested too deeply");
    if (++count_ > limits_.values) return refuse(fmt::format("holds over {} values", limits_.values));
    Value& opened = place();
    opened = std::move(value);
    open_.push_back(&opened);
    return true;
  }

  bool close() {
    open_.pop_back();
    return true;
  }

  bool has_no_key_twice(const Value::Members& members) {
    keys_.clear();
    for (const Member& m : members) keys_.push_back(m.key);
    std::sort(keys_.begin(), keys_.end());
    const auto twice = std::adjacent_find(keys_.begin(), keys_.end());
    return twice == keys_.end() || refuse(fmt::format("has '{}' twice in one object", twice->substr(0, 64)));
  }

  bool refuse(std::string why) {
    refusal_ = std::move(why);
    return false;
  }

  Limits limits_;
  Value root_;
  std::vector<Value*> open_;
  std::vector<std::string_view> keys_;
  std::size_t count_ = 0;
  std::string refusal_;
  std::size_t error_at_ = 0;
};

tl::unexpected<Error> no_json(std::string_view text, std::size_t byte) {
  const std::string_view before = text.substr(0, byte == 0 ? 0 : byte - 1);
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const std::size_t start = before.rfind('\n');
  const std::size_t column = before.size() - (start == before.npos ? 0 : start + 1) + 1;
  return fail(Error::Kind::bad_input, fmt::format("is not valid JSON at line {}, column {}", line, column));
}

}  // namespace

Expected<Value> parse(std::string_view text, const Limits& limits) {
  if (text.find_first_not_of(" \t\r\n") == text.npos) return fail(Error::Kind::bad_input, "is empty");
  // The lexer takes a zero byte for the end.
  if (const std::size_t zero = text.find('\0'); zero != text.npos) return no_json(text, zero + 1);
  Builder builder(limits);
  if (nlohmann::json::sax_parse(text, &builder)) return builder.take();
  if (!builder.refusal().empty())
    return fail(Error::Kind::bad_input, builder.schema().empty()
                                            ? builder.refusal()
                                            : fmt::format("is a {} and {}", builder.schema(), builder.refusal()));
  return no_json(text, builder.error_at());
}

}  // namespace gputopo::json
