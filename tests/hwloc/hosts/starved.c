/* A program that runs out of memory while the component works: once for every allocation, from the first to the last.
 * It does what hwloc does with a component, so that hwloc's own ends without memory don't hide the component's.
 * starved COMPONENT THREAD FAILURE [STEP]
 *   THREAD   alone: the process has one thread, and loading the component is part of the work
 *            early: a second thread does the work; it was there before the component
 *            late:  a second thread does the work; it was made after the component was loaded
 *   FAILURE  on:    the N-th allocation and all after it fail
 *            one:   the N-th allocation alone fails
 *   STEP     of N (1): valgrind takes a quarter of a second for each
 * Prints every allocation without which the process ended, and how many there were. */
#include <dlfcn.h>
#include <errno.h>
#include <hwloc.h>
#include <hwloc/plugins.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* The C library's allocator, but for what the thread under test is denied. */

enum { unlimited = -1, exhausted = -2 };
static __thread long left = unlimited;
static int fails_once;
static volatile int was_denied;
static long step = 1;

static int is_denied(void) {
  if (left == unlimited) return 0;
  if (left > 0) {
    --left;
    return 0;
  }
  left = fails_once ? unlimited : exhausted;
  was_denied = 1;
  errno = ENOMEM;
  return 1;
}

extern void* __libc_malloc(size_t size);
extern void* __libc_calloc(size_t count, size_t size);
extern void* __libc_realloc(void* old, size_t size);
extern void* __libc_memalign(size_t alignment, size_t size);

void* malloc(size_t size) { return is_denied() ? NULL : __libc_malloc(size); }
void* calloc(size_t count, size_t size) { return is_denied() ? NULL : __libc_calloc(count, size); }
void* realloc(void* old, size_t size) { return is_denied() ? NULL : __libc_realloc(old, size); }
void* memalign(size_t alignment, size_t size) { return is_denied() ? NULL : __libc_memalign(alignment, size); }
void* aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }
int posix_memalign(void** memory, size_t alignment, size_t size) {
  void* got = memalign(alignment, size);
  if (got == NULL) return ENOMEM;
  *memory = got;
  return 0;
}

/* What hwloc does with a component. */

static const char* path;
static hwloc_topology_t topology;
static void* library;
static struct hwloc_component* component;

static void load_component(void) {
  library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  component = library != NULL ? dlsym(library, "hwloc_gputopo_component") : NULL;
}

static void discover(void) {
  struct hwloc_disc_component* discovery;
  struct hwloc_disc_status status;
  struct hwloc_backend* backend;
  if (component == NULL || component->init(0) != 0) return;
  discovery = component->data;
  backend = discovery->instantiate(topology, discovery, 0, NULL, NULL, NULL);
  if (backend == NULL) return;
  memset(&status, 0, sizeof(status));
  status.phase = HWLOC_DISC_PHASE_ANNOTATE;
  backend->discover(backend, &status);
  free(backend);
}

static sem_t go;
static void* discover_starving(void* allocations) {
  while (sem_wait(&go) != 0) continue;
  left = *(long*)allocations;
  discover();
  left = unlimited;
  return NULL;
}

static void work(const char* thread, long allocations) {
  pthread_t worker;
  const int is_early = strcmp(thread, "early") == 0;
  if (strcmp(thread, "alone") == 0) {
    left = allocations;
    load_component();
    discover();
    left = unlimited;
    return;
  }
  if (is_early) pthread_create(&worker, NULL, discover_starving, &allocations);
  load_component();
  if (!is_early) pthread_create(&worker, NULL, discover_starving, &allocations);
  sem_post(&go);
  pthread_join(worker, NULL);
}

/* The host goes on if it can use its topology afterwards. Returns the number of memories in it. */
static int go_on(void) {
  int miscs;
  if (hwloc_topology_reconnect(topology, 0) != 0) abort();
  hwloc_topology_check(topology);
  miscs = hwloc_get_nbobjs_by_depth(topology, HWLOC_TYPE_DEPTH_MISC);
  hwloc_topology_destroy(topology);
  if (library != NULL) dlclose(library);
  return miscs;
}

/* Left where the process that started the work can read it when the work ended that. */
struct progress {
  long allocation;
  int is_done, least_miscs, most_miscs;
};

static void run(const char* thread, struct progress* progress) {
  hwloc_topology_t machine;
  if (hwloc_topology_init(&machine) != 0) _exit(1);
  hwloc_topology_set_io_types_filter(machine, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
  hwloc_topology_set_type_filter(machine, HWLOC_OBJ_MISC, HWLOC_TYPE_FILTER_KEEP_ALL);
  if (hwloc_topology_load(machine) != 0) _exit(1);
  for (;; progress->allocation += step) {
    int miscs;
    alarm(60); /* each, so that all of them may take long on a busy machine */
    if (hwloc_topology_dup(&topology, machine) != 0) _exit(1);
    was_denied = 0;
    work(thread, progress->allocation);
    miscs = go_on();
    if (miscs < progress->least_miscs) progress->least_miscs = miscs;
    progress->most_miscs = miscs;
    if (!was_denied) break;
  }
  progress->is_done = 1;
  _exit(0);
}

int main(int argc, char** argv) {
  struct progress* progress = mmap(NULL, sizeof(*progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  int ends = 0, status = 0;
  if (argc < 4 || argc > 5 || progress == MAP_FAILED) return 2;
  path = argv[1];
  if (argc == 5 && (step = atol(argv[4])) < 1) return 2;
  fails_once = strcmp(argv[3], "one") == 0;
  progress->least_miscs = 1000;
  for (sem_init(&go, 0, 0); !progress->is_done && ends < 10; progress->allocation += step) {
    const pid_t child = fork();
    if (child < 0) return 1;
    if (child == 0) run(argv[2], progress);
    if (waitpid(child, &status, 0) != child) return 1;
    if (progress->is_done) break;
    ++ends;
    printf("without allocation %ld: wait status 0x%x\n", progress->allocation, (unsigned)status);
  }
  printf("ends=%d allocations=%ld misc=%d..%d\n", ends, progress->allocation, progress->least_miscs, progress->most_miscs);
  return 0;
}
