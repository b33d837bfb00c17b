// A counter over the fake CUPTI.
#pragma once

#include <dlfcn.h>
#include <memory>

#include <gtest/gtest.h>

#include "counters/open.hpp"
#include "fake_cupti.hpp"

namespace gputopo::counters {

class FakeSession : public ::testing::Test {
 public:
  FakeSession(const FakeSession&) = delete;
  FakeSession& operator=(const FakeSession&) = delete;
  ~FakeSession() override { dlclose(library_); }

 protected:
  FakeSession() {
    library_ = dlopen(FAKE_CUPTI, RTLD_NOW | RTLD_LOCAL);
    if (library_ == nullptr) throw std::runtime_error(dlerror());
    state_ = reinterpret_cast<FakeStateFunction>(dlsym(library_, "fake_cupti_state"))();
    launch_ = reinterpret_cast<FakeLaunchFunction>(dlsym(library_, "fake_cupti_launch"));
    *state_ = FakeCupti{};
  }

  Expected<std::unique_ptr<Counter>> open() { return open_counter(0, {{FAKE_CUPTI}, FAKE_CUPTI}); }
  FakeCupti& fake() { return *state_; }
  void launch(double value) { launch_(value); }
  void stretch(Counter& counter, double value) {
    EXPECT_TRUE(counter.begin_stretch());
    launch(value);
    EXPECT_TRUE(counter.end_stretch());
  }

 private:
  void* library_ = nullptr;
  FakeCupti* state_ = nullptr;
  FakeLaunchFunction launch_ = nullptr;
};

}  // namespace gputopo::counters
