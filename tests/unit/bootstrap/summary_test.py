"""summary.py on runs made up for it: summary_test.py FOLDER-OF-SUMMARY."""

import contextlib
import io
import pathlib
import sys
import tempfile
import unittest
from xml.sax.saxutils import escape, quoteattr

sys.path.insert(0, sys.argv.pop(1))
import summary

PARTS = "A | a.* A.* | a isn't here\nGPU | G.* | no GPU | may be missing\n"
SKIPPED = "[ RUN      ] {0}\nx.cpp:1: Skipped\nno luck\n[  SKIPPED ] {0} (0 ms)\n"
PASSED = "[ RUN      ] {0}\n[       OK ] {0} (12 ms)\n"
FAILED = "[ RUN      ] {0}\n[  FAILED  ] {0} (12 ms)\n"


def run(*cases):
    """One run's JUnit file as CTest writes it; a case is (name, status, output)."""
    text = ""
    for name, status, output in cases:
        mark = "<skipped message='SKIP_RETURN_CODE=77'/>" if status == "notrun" else ""
        text += f"<testcase name={quoteattr(name)} status='{status}'>{mark}<system-out>{escape(output)}</system-out></testcase>"
    return f"<testsuite>{text}</testsuite>"


class Summary(unittest.TestCase):
    def say(self, *runs):
        with tempfile.TemporaryDirectory() as folder:
            parts = pathlib.Path(folder, "parts")
            parts.write_text(PARTS, encoding="utf-8")
            files = []
            for number, text in enumerate(runs):
                files.append(pathlib.Path(folder, str(number)))
                files[-1].write_text(text, encoding="utf-8")
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                status = summary.main(parts, *files)
            return status, out.getvalue().splitlines()

    def test_everything_there(self):
        whole = run(("a.x", "run", ""), ("A.y", "run", ""), ("G.z", "run", ""))
        self.assertEqual(self.say(whole), (0, ["tested: A, GPU; not tested here: nothing"]))

    def test_a_pattern_without_a_test_is_a_missing_part(self):
        status, lines = self.say(run(("a.x", "run", ""), ("G.z", "run", "")))
        self.assertEqual(status, 3)
        self.assertEqual(lines, ["tested: GPU; not tested here: A because a isn't here"])

    def test_a_skipped_test_gives_its_own_reason(self):
        status, lines = self.say(run(("a.x", "run", ""), ("A.y", "notrun", "skipped: no module")))
        self.assertEqual(status, 3)
        self.assertIn("A because no module", lines[-1])

    def test_what_may_be_missing_is_told_and_no_failure(self):
        status, lines = self.say(run(("a.x", "run", ""), ("A.y", "run", "")))
        self.assertEqual((status, lines), (0, ["tested: A; not tested here: GPU because no GPU"]))

    def test_cases_inside_an_executable_count_one_by_one(self):
        output = PASSED.format("a.x") + PASSED.format("A.y") + SKIPPED.format("G.z")
        status, lines = self.say(run(("executable", "run", output)))
        self.assertEqual((status, lines), (0, ["tested: A; not tested here: GPU because no luck"]))

    def test_one_skipped_case_among_others_spoils_the_part(self):
        output = PASSED.format("a.x") + PASSED.format("A.y") + SKIPPED.format("A.z")
        self.assertEqual(self.say(run(("executable", "notrun", output)))[0], 3)

    def test_a_failed_case_is_not_tested(self):
        output = PASSED.format("a.x") + FAILED.format("A.y")
        self.assertEqual(self.say(run(("executable", "fail", output)))[0], 3)

    def test_what_passed_in_either_run_is_tested(self):
        there = run(("a.x", "run", ""), ("A.y", "run", ""))
        skipped = run(("a.x", "notrun", "skipped: not here"), ("A.y", "notrun", "skipped: not here"))
        for runs in ((there, skipped), (skipped, there)):
            self.assertEqual(self.say(*runs)[0], 0)

    def test_other_skipped_tests_are_told_too(self):
        whole = run(("a.x", "run", ""), ("A.y", "run", ""), ("other", "notrun", SKIPPED.format("O.x")))
        self.assertEqual(self.say(whole)[1][0], "skipped: O.x: no luck")

    def test_output_that_ends_in_the_middle_of_a_case_is_no_pass(self):
        output = PASSED.format("a.x") + "[ RUN      ] A.y\n"
        self.assertEqual(self.say(run(("executable", "fail", output)))[0], 3)


if __name__ == "__main__":
    unittest.main()
