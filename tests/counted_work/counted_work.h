// How much was computed, by counting instead of by a clock: the same on every machine, however busy it is.
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Basic blocks that this thread has run so far, of code that is compiled with -fsanitize-coverage=trace-pc: our
/// libraries in a build with sanitizers, but those that are UNCOUNTED. What others do by themselves, such as copying
/// bytes, isn't counted.
uint64_t gputopo_blocks_run(void);

#ifdef __cplusplus
}
#endif
