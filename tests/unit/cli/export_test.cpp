#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "process_run.hpp"

namespace gputopo::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

std::string truth_of(const Folder& folder, const std::string& model) {
  const std::string path = folder / model + ".json";
  run_gputopo({"models", "--truth", model, "--format", "json", "-o", path});
  return path;
}

TEST(Export, IntoAFolderGoesOnWhereOneGpuCannotBeWritten) {
  const Folder in, out;
  // A GT200 has no L2, which the format insists on.
  const Outcome o =
      run_gputopo({"export", "--mt4g", out.path(), truth_of(in, "h200"), truth_of(in, "gt200"), truth_of(in, "v100")});
  EXPECT_EQ(o.exit_code, 1);
  EXPECT_TRUE(is_one_error_line(o.err)) << o.err;
  EXPECT_THAT(o.err, HasSubstr("GPU 1 is left out: mt4g's format can't be written for"));
  EXPECT_THAT(o.err, HasSubstr("the L2's size"));
  EXPECT_THAT(out.names(), SizeIs(2));
}

TEST(Export, IntoAFolderFailsWhereNoGpuCanBeWritten) {
  const Folder in, out;
  const std::string gt200 = truth_of(in, "gt200");
  const Outcome o = run_gputopo({"export", "--mt4g", out.path(), gt200});
  EXPECT_EQ(o.exit_code, 1);
  EXPECT_TRUE(is_one_error_line(o.err)) << o.err;
  EXPECT_EQ(run_gputopo({"export", "--mt4g", out.path(), gt200, gt200}).exit_code, 1);
  EXPECT_THAT(out.names(), SizeIs(0));
}

TEST(Export, IntoAFolderThatCannotBeWrittenStopsAtOnce) {
  const Folder in;
  const std::string h200 = truth_of(in, "h200");
  const Outcome o = run_gputopo({"export", "--mt4g", "/proc", h200, h200});
  EXPECT_EQ(o.exit_code, 1);
  EXPECT_TRUE(is_one_error_line(o.err)) << o.err;
}

}  // namespace
}  // namespace gputopo::cli
