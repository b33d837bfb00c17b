// capacity_calibration DIAGRAM.svg: writes the diagram of docs/method.md and prints its table.
#include <cstdio>
#include <fstream>

#include "calibration.hpp"

int main(int argc, char** argv) {
  using namespace gputopo::change_point::testing;
  if (argc != 2) {
    std::fprintf(stderr, "one argument is missing: the file to write the diagram to\n");
    return 2;
  }
  const Calibration c = calibrate(100001, 2000);
  std::printf("%s", table_of(c).c_str());
  std::ofstream file(argv[1]);
  file << diagram_of(c);
  file.close();
  if (!file) std::fprintf(stderr, "%s can't be written; name a folder that is there\n", argv[1]);
  return file ? 0 : 1;
}
