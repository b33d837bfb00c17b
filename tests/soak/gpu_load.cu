// A neighbour on the GPU for soak.py: keeps it busy, hot or full until it is ended or its time is over.
//   gpu_load mem SECONDS       streams over 1 GiB of device memory
//   gpu_load alu SECONDS       tensor cores and floating-point units, as much power as a program can draw
//   gpu_load fill SECONDS MIB  holds all of the memory but MIB mebibytes, computing nothing
// Says 'ready' on stdout once it has begun. Needs nothing but the driver: the CUDA runtime is linked in.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <mma.h>

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t mib = std::size_t{1} << 20;

__global__ void stream(const float4* from, float4* to, std::size_t count) {
  for (std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x; i < count;
       i += std::size_t{gridDim.x} * blockDim.x)
    to[i] = from[i];
}

// Numbers with many bits set: multiplying zeros draws little power.
__global__ void compute(float* sink, int rounds) {
  namespace wmma = nvcuda::wmma;
  wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> a;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::col_major> b;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sums[4];
  for (int i = 0; i < a.num_elements; ++i) a.x[i] = __float2half(0.7853F + 0.013F * static_cast<float>(threadIdx.x % 31));
  for (int i = 0; i < b.num_elements; ++i) b.x[i] = __float2half(-0.6931F + 0.017F * static_cast<float>(threadIdx.x % 29));
  for (auto& sum : sums) wmma::fill_fragment(sum, 0.37F);
  float x = 1.0F + static_cast<float>(threadIdx.x) * 1e-3F, y = 0.5F;
  for (int round = 0; round < rounds; ++round) {
    for (auto& sum : sums) wmma::mma_sync(sum, a, b, sum);
    x = fmaf(x, 0.9999F, y);
    y = fmaf(y, 1.0001F, -x * 1e-6F);
  }
  float total = x + y;
  for (auto& sum : sums)
    for (int i = 0; i < sum.num_elements; ++i) total += sum.x[i];
  if (total == 12345.678F) *sink = total;
}

void require(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "gpu_load: %s: %s\n", what, cudaGetErrorString(error));
  std::exit(1);
}

void ready() {
  std::puts("ready");
  std::fflush(stdout);
}

void hold_all_but(std::size_t left) {
  std::size_t free_bytes = 0, total = 0;
  for (std::size_t piece = 1024 * mib; piece >= mib;) {
    require(cudaMemGetInfo(&free_bytes, &total), "the free memory");
    void* held = nullptr;
    if (free_bytes < left + piece || cudaMalloc(&held, piece) != cudaSuccess) {
      cudaGetLastError();
      piece /= 2;
      continue;
    }
    require(cudaMemset(held, 1, piece), "touching memory");
  }
  require(cudaDeviceSynchronize(), "touching memory");
  require(cudaMemGetInfo(&free_bytes, &total), "the free memory");
  std::fprintf(stderr, "gpu_load: %zu MiB of %zu MiB are left\n", free_bytes / mib, total / mib);
}

}  // namespace

int main(int argc, char** argv) {
  const bool fill = argc == 4 && std::strcmp(argv[1], "fill") == 0;
  const bool mem = argc == 3 && std::strcmp(argv[1], "mem") == 0;
  const bool alu = argc == 3 && std::strcmp(argv[1], "alu") == 0;
  if (!fill && !mem && !alu) {
    std::fprintf(stderr, "usage: gpu_load mem SECONDS | alu SECONDS | fill SECONDS MIB\n");
    return 2;
  }
  const auto end = Clock::now() + std::chrono::seconds(std::atoi(argv[2]));
  if (fill) {
    hold_all_but(static_cast<std::size_t>(std::atoi(argv[3])) * mib);
    ready();
    std::this_thread::sleep_until(end);
    return 0;
  }
  cudaDeviceProp device{};
  require(cudaGetDeviceProperties(&device, 0), "the GPU");
  const int blocks = device.multiProcessorCount * 4;
  void *from = nullptr, *to = nullptr;
  const std::size_t bytes = mem ? 512 * mib : mib;
  require(cudaMalloc(&from, bytes), "memory");
  require(cudaMalloc(&to, bytes), "memory");
  require(cudaMemset(from, 1, bytes), "memory");
  ready();
  while (Clock::now() < end) {
    for (int i = 0; i < 4; ++i) {
      if (mem)
        stream<<<blocks, 512>>>(static_cast<const float4*>(from), static_cast<float4*>(to), bytes / sizeof(float4));
      else
        compute<<<blocks, 256>>>(static_cast<float*>(to), 20000);
    }
    require(cudaDeviceSynchronize(), "computing");
  }
  return 0;
}
