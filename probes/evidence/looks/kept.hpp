// Does anybody else fill a cache while it is measured? What takes turns with a program shows in the timer
// (session.hpp); what runs beside it doesn't. But it pushes out lines that nobody touches, the more the longer they lie
// there.
#pragma once

#include <cstdint>

#include "evidence/looks/findings.hpp"
#include "evidence/looks/session.hpp"

namespace gputopo::evidence {

/// Whether three quarters of `capacity_bytes` lie in the cache as long as nothing touches them: for microseconds, and
/// for about as long as an experiment takes; beyond the SM so long that who would take 1 % of them from a walk takes
/// more than a quarter, where others may run meanwhile (DeviceInfo::may_run_beside_others).
Expected<bool> is_left_alone(Session& session, const CacheFacts& cache, std::uint64_t capacity_bytes, Scope isolation);

}  // namespace gputopo::evidence
