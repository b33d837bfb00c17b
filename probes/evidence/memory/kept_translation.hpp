// What TLBs keep of translations while memory is walked that is much larger than the caches.
#pragma once

#include <optional>
#include <string_view>

#include "evidence/looks/findings.hpp"
#include "evidence/looks/session.hpp"

namespace gputopo::evidence {

/// Asks that once a discovery, by lines that the L2 has, whose own loads are short, after as many other pages as a
/// flush is of, and as the L2 keeps beside them. Errors are the session's.
Expected<KeptTranslation> kept_translation(Session& session, Findings& findings);

/// Nothing where a line's translation is there after a load of another line of its 64 KiB, whatever came before: pages
/// are as large, or TLBs keep as many. Else why what cold lines take needn't be memory's, also where it can't be told
/// (memory's latency isn't known, there is no room, a neighbour leaves no time, too few lines were kept). Errors are
/// the session's.
Expected<std::optional<std::string_view>> why_untranslated(Session& session, Findings& findings);
/// The same of what `ColdMemory::are_alike` said.
std::optional<std::string_view> why_untranslated(std::optional<bool> are_alike);

}  // namespace gputopo::evidence
