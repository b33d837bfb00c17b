// The store's rules, tried as root and as an ordinary user on real files.
#include <functional>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

#include "fixture.hpp"
#include "json/value.hpp"
#include "store/store.hpp"
#include "store/trusted_file.hpp"

namespace gputopo::store {
namespace {

using testing::HasSubstr;

constexpr uid_t nobody = 65534;

// What load says of a folder, in a process of that user: "loaded", or the refusals.
std::string load_as(uid_t user, const std::string& folder) {
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0) return "no pipe";
  const pid_t child = fork();
  if (child == 0) {
    if (user != geteuid() && (setresgid(nobody, nobody, nobody) != 0 || setresuid(user, user, user) != 0)) _exit(3);
    alarm(10);  // a reader that blocks fails the test instead of hanging it
    const Lookup found = load(test_uuid, test_driver, environment_with(folder));
    std::string said = found.topology ? "loaded" : "";
    for (const std::string& refusal : found.refusals) said += refusal;
    const ssize_t written = write(ends[1], said.data(), said.size());
    _exit(written == static_cast<ssize_t>(said.size()) ? 0 : 3);
  }
  close(ends[1]);
  std::string said;
  std::array<char, 4096> part{};
  for (ssize_t got = 0; (got = read(ends[0], part.data(), part.size())) > 0;)
    said.append(part.data(), static_cast<std::size_t>(got));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  return status == 0 ? said : "the reader died: status " + std::to_string(status);
}

class TrustTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    user_ = geteuid();
    if (std::string(GetParam()) == "root" && user_ != 0) GTEST_SKIP() << "not running as root";
    if (std::string(GetParam()) == "user" && user_ == 0) user_ = nobody;
    std::filesystem::create_directory(folder());
    write_file(file(), to_json_text(small_topology()));
    give(folder(), user_);
    give(file(), user_);
  }
  std::string folder() const { return base_.path() + "/store"; }
  std::string file() const { return folder() + "/" + test_uuid + ".json"; }
  std::string base() const { return base_.path(); }
  std::string outcome() const { return load_as(user_, folder()); }
  uid_t user() const { return user_; }
  void give(const std::string& path, uid_t owner) const {
    if (geteuid() != 0) return;
    ASSERT_EQ(lchown(path.c_str(), owner, owner), 0);
  }
  void replace(const std::string& text) const {
    write_file(file(), text);
    give(file(), user_);
  }

 private:
  TemporaryFolder base_;
  uid_t user_ = 0;
};

INSTANTIATE_TEST_SUITE_P(As, TrustTest, testing::Values("root", "user"),
                         [](const auto& as) { return std::string(as.param); });

TEST_P(TrustTest, OnesOwnFileLoads) {
  EXPECT_EQ(outcome(), "loaded");
}

TEST_P(TrustTest, RootsFileLoads) {
  if (geteuid() != 0) GTEST_SKIP() << "not running as root";
  give(folder(), 0);
  give(file(), 0);
  EXPECT_EQ(outcome(), "loaded");
}

TEST_P(TrustTest, FolderWritableByOthersIsRefused) {
  for (const mode_t mode : {0777, 0775, 0757, 01777}) {
    ASSERT_EQ(chmod(folder().c_str(), mode), 0);
    EXPECT_THAT(outcome(), HasSubstr("writable by others"));
  }
}

TEST_P(TrustTest, FileWritableByOthersIsRefused) {
  for (const mode_t mode : {0666, 0664, 0646}) {
    ASSERT_EQ(chmod(file().c_str(), mode), 0);
    EXPECT_THAT(outcome(), HasSubstr("writable by others"));
  }
}

TEST_P(TrustTest, ForeignFolderIsRefused) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  give(folder(), 4242);
  EXPECT_THAT(outcome(), HasSubstr("belongs to user 4242"));
}

TEST_P(TrustTest, ForeignFileIsRefused) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  give(file(), 4242);
  EXPECT_THAT(outcome(), HasSubstr("belongs to user 4242"));
}

TEST_P(TrustTest, SymbolicLinkToAFolderIsRefused) {
  const std::string link = base() + "/link";
  ASSERT_EQ(symlink("store", link.c_str()), 0);
  give(link, user());
  EXPECT_THAT(load_as(user(), link), HasSubstr("symbolic link"));
  for (const char* end : {"/", "/.", "/./", "//.//."})
    EXPECT_THAT(load_as(user(), link + end), HasSubstr("symbolic link")) << end;
}

TEST_P(TrustTest, SymbolicLinkToAFileIsRefused) {
  const std::string real = folder() + "/real.json";
  std::filesystem::rename(file(), real);
  ASSERT_EQ(symlink("real.json", file().c_str()), 0);
  give(file(), user());
  EXPECT_THAT(outcome(), HasSubstr("not a regular file"));
}

TEST_P(TrustTest, DanglingSymbolicLinkIsRefused) {
  std::filesystem::remove(file());
  ASSERT_EQ(symlink("nowhere", file().c_str()), 0);
  EXPECT_THAT(outcome(), HasSubstr("not a regular file"));
}

TEST_P(TrustTest, FifoIsRefusedAndDoesNotBlock) {
  std::filesystem::remove(file());
  ASSERT_EQ(mkfifo(file().c_str(), 0644), 0);
  give(file(), user());
  EXPECT_THAT(outcome(), HasSubstr("not a regular file"));
}

TEST_P(TrustTest, FifoInPlaceOfTheFolderIsRefusedAndDoesNotBlock) {
  const std::string fifo = base() + "/fifo";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0644), 0);
  EXPECT_THAT(load_as(user(), fifo), HasSubstr("not a folder"));
}

TEST_P(TrustTest, DeviceIsRefused) {
  std::filesystem::remove(file());
  if (mknod(file().c_str(), S_IFCHR | 0644, makedev(1, 5)) != 0) GTEST_SKIP() << "not allowed to make a device";
  EXPECT_THAT(outcome(), HasSubstr("not a regular file"));
}

TEST_P(TrustTest, FolderInPlaceOfTheFileIsRefused) {
  std::filesystem::remove(file());
  std::filesystem::create_directory(file());
  EXPECT_THAT(outcome(), HasSubstr("not a regular file"));
}

TEST_P(TrustTest, FileThatMayNotBeReadIsRefused) {
  if (user() == 0) GTEST_SKIP() << "root may read everything";
  ASSERT_EQ(chmod(file().c_str(), 0), 0);
  EXPECT_THAT(outcome(), HasSubstr("Permission denied"));
}

TEST_P(TrustTest, FileOverTheLimitIsRefused) {
  const std::string text = to_json_text(small_topology());
  replace(text + std::string(size_limit_bytes - text.size(), ' '));
  EXPECT_EQ(outcome(), "loaded");
  replace(text + std::string(size_limit_bytes - text.size() + 1, ' '));
  EXPECT_THAT(outcome(), HasSubstr("over 1048576 bytes"));
}

TEST_P(TrustTest, FileOfAnotherGpuDriverOrASimulationIsRefused) {
  Topology other = small_topology();
  other.gpu.uuid = "GPU-ffffffff-89ab-cdef-0123-456789abcdef";
  replace(to_json_text(other));
  EXPECT_THAT(outcome(), HasSubstr("it describes GPU GPU-ffffffff"));
  other = small_topology();
  other.provenance.driver_version = "999.1";
  replace(to_json_text(other));
  EXPECT_THAT(outcome(), HasSubstr("measured under driver 999.1"));
  other = small_topology();
  other.provenance.simulated = true;
  replace(to_json_text(other));
  EXPECT_THAT(outcome(), HasSubstr("simulated"));
}

TEST_P(TrustTest, HostileContentsAreRefused) {
  using Json = nlohmann::ordered_json;
  const Json good = Json::parse(to_json_text(small_topology()));
  // With a checksum that fits: somebody meant it.
  const auto with = [&](const char* pointer, Json value) {
    Json bad = good;
    bad[Json::json_pointer(pointer)] = std::move(value);
    bad.erase("checksum");
    if (const auto read = json::parse(bad.dump(), {})) bad["checksum"] = json::checksum_without(*read, {});
    return bad.dump();
  };
  replace(with("/gpu/name", "Another"));
  ASSERT_EQ(outcome(), "loaded");
  const std::string contents[] = {"",
                                  "\n",
                                  "{}",
                                  "[]",
                                  "null",
                                  "42",
                                  "\"text\"",
                                  std::string("\0\0\0\0", 4),
                                  "\xff\xfe{}",
                                  std::string(100000, '['),
                                  std::string(1000000, '{'),
                                  "{\"schema\":" + std::string(500000, '[') + std::string(500000, ']') + "}",
                                  with("/memories", Json::object()),
                                  with("/memories", 7),
                                  with("/memories/0", Json::array()),
                                  with("/memories/0/attributes", Json::array()),
                                  with("/memories/0/attributes/size/value", "big"),
                                  with("/memories/0/attributes/size/value", 1e300),
                                  with("/memories/0/attributes/size/value", -5),
                                  with("/memories/0/instances_per_scope", 0),
                                  with("/memories/0/instances_per_scope", 18446744073709551615U),
                                  with("/memories/0/parent", "l2"),
                                  with("/memories/0/id", ""),
                                  with("/memories/0/id", "l\xc3\xa9vel"),
                                  with("/memories/0/label", "two\nlines"),
                                  with("/gpu/name", "\xe2\x82\xac"),
                                  with("/gpu/sm_count", 1e40),
                                  with("/gpu/sm_count", 4000000000U),
                                  with("/schema", "gputopo-topology/2"),
                                  with("/provenance", nullptr)};
  for (const std::string& text : contents) {
    replace(text);
    EXPECT_THAT(outcome(), HasSubstr("run gputopo discover --all-gpus --save again")) << text.substr(0, 200);
  }
}

TEST(ReadStored, AFileCutAnywhereIsRefused) {
  const std::string text = to_json_text(small_topology());
  ASSERT_TRUE(read_stored(text, test_uuid, test_driver));
  const std::size_t last_brace = text.rfind('}');
  for (std::size_t length = 0; length <= last_brace; ++length)
    ASSERT_FALSE(read_stored(text.substr(0, length), test_uuid, test_driver)) << length;
}

TEST(ReadStored, AFileWithoutChecksumIsRefused) {
  nlohmann::ordered_json j = to_json(small_topology());
  j.erase("checksum");
  EXPECT_TRUE(parse_topology(j.dump()));
  const auto read = read_stored(j.dump(), test_uuid, test_driver);
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().message, HasSubstr("has no checksum"));
}

TEST(ReadStored, AFileWithAnyBitOrByteBrokenIsRefusedOrSaysTheSame) {
  const Topology whole = small_topology();
  const std::string text = to_json_text(whole);
  const auto expect_no_other = [&](const std::string& broken, std::size_t at) {
    const auto read = read_stored(broken, test_uuid, test_driver);
    EXPECT_TRUE(!read || *read == whole) << at;
  };
  std::string broken = text;
  for (std::size_t at = 0; at < text.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      broken[at] = static_cast<char>(text[at] ^ (1 << bit));
      expect_no_other(broken, at);
    }
    for (const char byte : {'\0', '\xff', '"', '9', '}'}) {
      broken[at] = byte;
      expect_no_other(broken, at);
    }
    broken[at] = text[at];
  }
}

TEST(ReadStored, WhatStandsBehindTheTopologyIsRefused) {
  const std::string text = to_json_text(small_topology());
  for (const std::string& more : {std::string("x"), std::string("{}"), std::string("\0", 1), text})
    EXPECT_FALSE(read_stored(text + more, test_uuid, test_driver));
}

}  // namespace
}  // namespace gputopo::store
