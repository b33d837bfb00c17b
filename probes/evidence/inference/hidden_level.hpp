// How much of the nearest level's loads lies among the hits, below the threshold: what counts of misses lack.
#pragma once

#include "evidence/inference/levels.hpp"

namespace gputopo::evidence {

/// Of the nearest level's loads the share below the threshold, as far as it is there for sure: loads as fast as the
/// fastest quarter of hits are hits, and three times as many belong to them; the level reaches as far above the
/// threshold as hits lie below it. None where as much may be by chance, `deviations` standard errors.
double hidden_share(const Levels& levels, double deviations = 4);

/// The same as far as it may be there: what a few loads don't show of a level among hits (95 %, of either side).
double most_hidden_share(const Levels& levels);

/// The same where more of that level than strangers are seen above the threshold: none where nothing is or it begins
/// further above, and no more than a level hides that is least_ratio further and as wide as the hits.
double most_hidden_where_seen(const Levels& levels, double overhead_cycles);

/// Of `loads` as many as may be the nearest level's and lie among the hits: a level's loads lie the denser the nearer
/// to its middle, so no more than lie right above the hits, as far as these spread; and no more than that hits alone
/// don't explain (95 %). None where hits explain what lies right above as well.
double most_hidden_loads(const Levels& levels, const Histogram& loads);

}  // namespace gputopo::evidence
