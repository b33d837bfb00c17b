// What the tests and the fake CUPTI agree on.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace gputopo::counters {

/// The fake's state. Tests set the first part and look at the second.
struct FakeCupti {
  std::string failing;        ///< the function that fails; empty: none
  int code = 0;               ///< with which result
  bool has_context = true;    ///< a context is current
  int support = 3;            ///< CUpti_Profiler_Support_Level of the device
  int v_gpu = 3;              ///< ... of its virtualisation
  int confidential = 3;       ///< ... of its confidential computing
  bool keeps_a_pass = false;  ///< Stop says that another pass is wanted

  int initialized = 0;
  int enabled = 0;
  int hosts = 0;
  int starts = 0;
  bool counting = false;
};

/// Exported by the fake as fake_cupti_state and fake_cupti_launch. A launch counts `value` for the first metric, one
/// more for each further one.
using FakeStateFunction = FakeCupti* (*)();
using FakeLaunchFunction = void (*)(double value);

}  // namespace gputopo::counters
