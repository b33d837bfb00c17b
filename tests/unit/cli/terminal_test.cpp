// What gputopo prints on a terminal: as wide as it is, with the characters that it shows.
#include <pty.h>
#include <string>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

namespace gputopo::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

// A model's table as a terminal of that width gets it.
std::string on_terminal(unsigned short columns, const char* terminal) {
  const std::string program = std::string(GPUTOPO_BINARY_DIR) + "/bin/gputopo";
  const std::string kind = std::string("TERM=") + terminal;
  winsize size{};
  size.ws_row = 24;
  size.ws_col = columns;
  int master = -1;
  const pid_t child = ::forkpty(&master, nullptr, nullptr, &size);
  if (child == 0) {
    const char* argv[] = {"gputopo", "models", "--truth", "h200", nullptr};
    const char* environment[] = {"LC_ALL=C.UTF-8", kind.c_str(), nullptr};
    ::execve(program.c_str(), const_cast<char**>(argv), const_cast<char**>(environment));
    ::_exit(127);
  }
  EXPECT_GT(child, 0);
  std::string text;
  char part[4096];
  // A terminal whose last writer is gone gives EIO.
  for (ssize_t got = 0; (got = ::read(master, part, sizeof part)) > 0;)
    text.append(part, static_cast<std::size_t>(got));
  int status = -1;
  ::waitpid(child, &status, 0);
  ::close(master);
  EXPECT_EQ(status, 0);
  return text;
}

TEST(Terminal, AWideOneGetsTheColumnsThatANarrowOneHasNoRoomFor) {
  EXPECT_THAT(on_terminal(132, "xterm"), HasSubstr("Same as"));
  EXPECT_THAT(on_terminal(80, "xterm"), Not(HasSubstr("Same as")));
  EXPECT_THAT(on_terminal(80, "xterm"), HasSubstr("one physical cache with l1"));
}

TEST(Terminal, ANarrowOneGetsTheTableOf80Columns) {
  EXPECT_EQ(on_terminal(20, "xterm"), on_terminal(80, "xterm"));
}

TEST(Terminal, ADumbOneGetsAscii) {
  EXPECT_THAT(on_terminal(80, "xterm"), HasSubstr("─"));
  EXPECT_THAT(on_terminal(80, "dumb"), Not(HasSubstr("─")));
  EXPECT_THAT(on_terminal(80, "dumb"), HasSubstr("[1]"));
}

}  // namespace
}  // namespace gputopo::cli
