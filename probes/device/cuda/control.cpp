#include "device/cuda/control.hpp"

#include <cstring>
#include <limits>
#include <utility>

namespace gputopo::device::cuda {
namespace {

using kernels::Queue;
using kernels::Task;

std::size_t align(std::size_t at) {
  return (at + 127) / 128 * 128;
}

// The program that a queue's last task belongs to, and that program's first task in its group.
struct OpenGroup {
  std::size_t program = std::numeric_limits<std::size_t>::max();
  Task* head = nullptr;
};

}  // namespace

ControlLayout::ControlLayout(std::uint32_t queue_count, std::size_t task_count)
    : counter(0),
      claims(128),
      queues(align(claims + sizeof(std::uint32_t) * queue_count)),
      tasks(align(queues + sizeof(Queue) * queue_count)),
      bytes(tasks + sizeof(Task) * task_count) {}

void write_control(const PlannedLaunch& launch, const std::vector<Task>& tasks, std::uint32_t sm_count,
                   const ControlLayout& layout, std::byte* block) {
  std::memset(block, 0, layout.tasks);
  const std::size_t queue_count = std::size_t{launch.modules} * sm_count;
  auto* queues = reinterpret_cast<Queue*>(block + layout.queues);
  auto* out = reinterpret_cast<Task*>(block + layout.tasks);
  const auto queue_of = [&](const PlannedPhase& p) { return std::size_t{p.module} * sm_count + p.sm; };
  for (const PlannedPhase& p : launch.phases) ++queues[queue_of(p)].count;
  for (std::size_t q = 1; q < queue_count; ++q) queues[q].first = queues[q - 1].first + queues[q - 1].count;
  std::vector<std::uint32_t> next(queue_count);
  for (std::size_t q = 0; q < queue_count; ++q) next[q] = queues[q].first;
  std::vector<OpenGroup> open(queue_count);
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const PlannedPhase& planned = launch.phases[i];
    const std::size_t queue = queue_of(planned);
    Task& task = out[next[queue]++];
    task = tasks[i];
    auto& [program, head] = open[queue];
    if (program != planned.program) task.flags |= kernels::task_opens;
    if (program != planned.program || head->group == kernels::task_slots) {
      program = planned.program;
      head = &task;
    }
    ++head->group;
  }
}

}  // namespace gputopo::device::cuda
