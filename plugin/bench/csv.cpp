#include "text/csv.hpp"

#include <fmt/format.h>

#include "bench/render.hpp"

namespace gputopo::bench {
namespace {

void append(std::string& text, const std::vector<std::string>& fields) {
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (i != 0) text += ',';
    text += text::csv_field(fields[i]);
  }
  text += '\n';
}

std::string number(const std::optional<double>& value) {
  return value ? fmt::format("{}", *value) : "";
}

}  // namespace

std::string render_csv(const throughput::Report& report, const Options& /*options*/) {
  std::string text =
      "gpu,uuid,simulated,benchmark,kind,subject,quantity,x,value,unit,status,low,high,limit,configuration,note,bytes_"
      "by_count,bytes_by_counter\n";
  const std::vector<std::string> gpu{report.gpu.name, report.gpu.uuid, report.provenance.simulated ? "true" : "false"};
  const auto row = [&](const std::string& benchmark, std::vector<std::string> rest) {
    std::vector<std::string> fields = gpu;
    fields.push_back(benchmark);
    fields.insert(fields.end(), rest.begin(), rest.end());
    append(text, fields);
  };
  for (const auto& result : report.results) {
    for (const auto& f : result.findings) {
      const auto end = [&](double Interval::*which) {
        return f.estimate.interval ? fmt::format("{}", *f.estimate.interval.*which) : "";
      };
      row(result.name, {"finding", f.memory, f.quantity, "", number(f.estimate.value), f.estimate.unit,
                        std::string(to_string(f.estimate.status)), end(&Interval::low), end(&Interval::high),
                        number(f.limit), f.configuration, f.estimate.note, f.bytes ? number(f.bytes->by_count) : "",
                        f.bytes ? number(f.bytes->by_counter) : ""});
    }
    for (const auto& plot : result.plots)
      for (const auto& series : plot.series)
        for (const auto& p : series.points)
          row(result.name, {"point", series.label, plot.title, number(p.x), number(p.y), plot.y_label, "measured",
                            number(p.range.low), number(p.range.high), "", "", "", "", ""});
  }
  return text;
}

}  // namespace gputopo::bench
