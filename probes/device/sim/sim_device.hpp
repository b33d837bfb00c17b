// The simulated GPU as a Device.
#pragma once

#include <memory>

#include "device/device.hpp"
#include "device/sim/model.hpp"

namespace gputopo::sim {

/// Runs programs through the model's caches, one after another, on the calling thread.
///
/// Noise and random replacement follow from the model's seed, the program and how many programs ran before it: the
/// same sequence of batches gives the same traces on every machine. Programs whose agents name no SM are spread over
/// the SMs in turn, from SM 0 in each batch. Buffer i of every program is the same memory, constant banks of one
/// module likewise. Errors of run(): `bad_input` for an invalid program or one that asks for more than
/// DeviceInfo offers; `unavailable` for a path that the GPU doesn't have.
std::unique_ptr<device::Device> make_device(Model model);

}  // namespace gputopo::sim
