// Stands in for the CUDA driver and its runtime, as far as LIKWID's own list of GPUs asks them: two GPUs of the PCI
// addresses that tests/likwid/fixtures describe. No CUDA toolkit is needed: types and attributes stand here by their values.
#include <stddef.h>
#include <string.h>

enum {
    L2_CACHE_SIZE = 38,
    MEMORY_CLOCK_RATE = 36,
    MULTIPROCESSOR_COUNT = 16,
    PCI_BUS_ID = 33,
};

struct Properties {
    int max_threads_per_block, max_threads_dim[3], max_grid_size[3], shared_bytes_per_block, constant_bytes, warp_size, pitch, registers_per_block,
        clock_khz, texture_align;
};

int cuInit(unsigned flags) {
    (void)flags;
    return 0;
}

int cuDeviceGetCount(int* count) {
    *count = 2;
    return 0;
}

int cuDeviceGet(int* device, int ordinal) {
    *device = ordinal;
    return 0;
}

int cuDeviceGetName(char* name, int length, int device) {
    (void)device;
    strncpy(name, "NVIDIA H200", (size_t)length);
    return 0;
}

int cuDeviceComputeCapability(int* major, int* minor, int device) {
    (void)device;
    *major = 9;
    *minor = 0;
    return 0;
}

int cuDeviceTotalMem_v2(size_t* bytes, int device) {
    (void)device;
    *bytes = 150109880320U;
    return 0;
}

int cuDeviceTotalMem(size_t* bytes, int device) { return cuDeviceTotalMem_v2(bytes, device); }

int cuDeviceGetProperties(struct Properties* properties, int device) {
    (void)device;
    *properties = (struct Properties){
        .max_threads_per_block = 1024,
        .max_threads_dim = {1024, 1024, 64},
        .max_grid_size = {2147483647, 65535, 65535},
        .shared_bytes_per_block = 49152,
        .constant_bytes = 65536,
        .warp_size = 32,
        .clock_khz = 1980000,
    };
    return 0;
}

int cuDeviceGetAttribute(int* value, int attribute, int device) {
    switch (attribute) {
        case PCI_BUS_ID: *value = device == 0 ? 0x86 : 0x3b; break;
        case MULTIPROCESSOR_COUNT: *value = 132; break;
        case L2_CACHE_SIZE: *value = 62914560; break;
        case MEMORY_CLOCK_RATE: *value = 3201000; break;
        default: *value = 0;
    }
    return 0;
}

int cuGetErrorString(int error, const char** text) {
    (void)error;
    *text = "no error";
    return 0;
}

int cudaDriverGetVersion(int* version) {
    *version = 13000;
    return 0;
}

int cudaRuntimeGetVersion(int* version) { return cudaDriverGetVersion(version); }

const char* cudaGetErrorString(int error) {
    (void)error;
    return "no error";
}
