#include "store/environment.hpp"

#include <algorithm>
#include <cstdlib>
#include <unistd.h>

#include <sys/auxv.h>

namespace gputopo::store {
namespace {

std::optional<std::string> variable(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

bool is_on(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && std::atoi(value) != 0;
}

bool is_elevated() {
  // AT_SECURE stays set for the life of the process, also after it has made all its ids equal.
  if (getauxval(AT_SECURE) != 0) return true;
  uid_t real_user = 0, user = 0, saved_user = 0;
  gid_t real_group = 0, group = 0, saved_group = 0;
  if (getresuid(&real_user, &user, &saved_user) != 0 || getresgid(&real_group, &group, &saved_group) != 0) return true;
  return real_user != user || user != saved_user || real_group != group || group != saved_group;
}

}  // namespace

Environment process_environment() {
  Environment environment;
  environment.elevated = is_elevated();
  environment.user = geteuid();
  if (environment.elevated) return environment;
  environment.store = variable("GPUTOPO_STORE");
  environment.xdg_cache_home = variable("XDG_CACHE_HOME");
  environment.home = variable("HOME");
  environment.simulate = variable("GPUTOPO_SIMULATE");
  environment.verbose = is_on("HWLOC_COMPONENTS_VERBOSE");
  environment.annotate_any_topology = is_on("HWLOC_ANNOTATE_GLOBAL_COMPONENTS");
  return environment;
}

std::vector<std::string> simulated_names(const Environment& environment) {
  std::vector<std::string> names;
  if (!environment.simulate) return names;
  const std::string& list = *environment.simulate;
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    names.push_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return names;
}

std::vector<std::string> folders(const Environment& environment) {
  if (environment.elevated) return {environment.system};
  if (environment.store) return {*environment.store};
  std::vector<std::string> found{environment.system};
  const auto is_absolute = [](const std::optional<std::string>& path) { return path && path->front() == '/'; };
  if (is_absolute(environment.xdg_cache_home))
    found.push_back(*environment.xdg_cache_home + "/gputopo");
  else if (is_absolute(environment.home))
    found.push_back(*environment.home + "/.cache/gputopo");
  return found;
}

bool trusts_owner(const Environment& environment, uid_t owner) {
  return owner == 0 || (owner == environment.user && !environment.elevated);
}

}  // namespace gputopo::store
