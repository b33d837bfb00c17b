#include "topology/statement.hpp"

namespace gputopo {

bool is_usable(const Statement& s) {
  return !s.value.empty() && (s.status == Status::measured || s.status == Status::api || s.status == Status::truth);
}

}  // namespace gputopo
