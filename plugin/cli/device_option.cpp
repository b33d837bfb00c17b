#include "cli/device_option.hpp"

namespace gputopo::cli {

void add_device_option(CLI::App& command, std::string& text, const std::shared_ptr<device::Spec>& spec,
                       const std::string& what) {
  command.add_option("--device", text, what)
      ->check([spec](const std::string& value) {
        auto parsed = device::parse_spec(value);
        if (parsed) *spec = *parsed;
        return parsed ? std::string() : parsed.error().message;
      })
      ->type_name("DEVICE")
      ->capture_default_str();
}

}  // namespace gputopo::cli
