// A library without a single driver function.
extern "C" int gputopo_empty_cuda() {
  return 0;
}
