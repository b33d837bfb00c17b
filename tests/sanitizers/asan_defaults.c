// How programs of a build with the address sanitizer start; ASAN_OPTIONS still overrides it.
//
// Up to GCC 13 and LLVM 16 the runtime takes a block of thread-local storage of a library that was opened while running
// for one of glibc 2.19 where its address happens to end as that one's would, reads its bounds from the two words before
// it, and crashes on them while looking for leaks (google/sanitizers, issue 1322). Such blocks are left out instead.
const char* __asan_default_options(void);  // NOLINT(bugprone-reserved-identifier): the runtime's name

const char* __asan_default_options(void) { return "intercept_tls_get_addr=0"; }
