// Loads that become slower all together, as no cache's misses do.
#pragma once

#include <span>

#include "change_point/trace.hpp"

namespace gputopo::evidence {

/// Whether all loads of a row become slower together, as a drift makes them or where each is an average: rows that
/// pass from the first level to the last in small steps scatter by less, beyond chance, than loads of up to five levels
/// would; and not where the fastest of them hardly move. By `least_cycles` at least: what few loads of a row do moves
/// no others.
bool do_loads_move_together(std::span<const change_point::Row> rows, double least_cycles = 0);

}  // namespace gputopo::evidence
