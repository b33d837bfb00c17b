// What gputopo prints on a terminal: as wide as it is, with the characters that it shows.
#include <algorithm>
#include <pty.h>
#include <regex>
#include <string>
#include <unistd.h>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

namespace gputopo::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

// What a command writes to a terminal of that width.
std::string on_terminal(unsigned short columns, const char* terminal,
                        std::vector<const char*> arguments = {"models", "--truth", "h200"},
                        const char* variable = nullptr) {
  const std::string program = std::string(GPUTOPO_BINARY_DIR) + "/bin/gputopo";
  const std::string kind = std::string("TERM=") + terminal;
  winsize size{};
  size.ws_row = 24;
  size.ws_col = columns;
  int master = -1;
  const pid_t child = ::forkpty(&master, nullptr, nullptr, &size);
  if (child == 0) {
    arguments.insert(arguments.begin(), "gputopo");
    arguments.push_back(nullptr);
    const char* environment[] = {"LC_ALL=C.UTF-8", kind.c_str(), variable, nullptr};
    ::execve(program.c_str(), const_cast<char**>(arguments.data()), const_cast<char**>(environment));
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

TEST(Terminal, ColorsAreForWhoShowsThemAndWantsThem) {
  const std::vector<const char*> models{"models", "--truth", "h200"};
  const auto has_colors = [&](const char* terminal, const char* variable) {
    return on_terminal(80, terminal, models, variable).find("\033[") != std::string::npos;
  };
  EXPECT_TRUE(has_colors("xterm", nullptr));
  EXPECT_TRUE(has_colors("xterm", "NO_COLOR="));
  EXPECT_FALSE(has_colors("xterm", "NO_COLOR=1"));
  EXPECT_FALSE(has_colors("dumb", nullptr));
}

TEST(Terminal, AFileGetsNoColors) {
  const std::string text = on_terminal(80, "xterm", {"models", "--truth", "h200", "-o", "/dev/tty"});
  EXPECT_THAT(text, HasSubstr("Constant L1"));
  EXPECT_THAT(text, Not(HasSubstr("\033[1m")));
}

// Neither a long experiment nor a long batch of one keeps it still.
TEST(Terminal, TheProgressBarMovesAllTheTime) {
  const std::string text = on_terminal(80, "xterm", {"discover", "--device", "sim:2080ti", "-o", "/dev/null"});
  std::vector<std::string> drawn;
  const std::regex line(R"(\[[#.]{30}\] +(\d+) %  (\d+\.\d) s  [a-z])");
  std::vector<int> shares;
  for (std::sregex_iterator it(text.begin(), text.end(), line), end; it != end; ++it) {
    drawn.push_back(it->str());
    shares.push_back(std::stoi((*it)[1]));
  }
  ASSERT_GE(drawn.size(), 2U);
  EXPECT_TRUE(std::adjacent_find(drawn.begin(), drawn.end()) == drawn.end()) << "two of one look";
  EXPECT_TRUE(std::is_sorted(shares.begin(), shares.end()));
  EXPECT_NE(shares.front(), shares.back());
  EXPECT_THAT(text, testing::EndsWith("\r\033[K")) << "and it leaves nothing behind";
}

}  // namespace
}  // namespace gputopo::cli
