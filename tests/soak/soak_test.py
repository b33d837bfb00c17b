"""Whether soak.py sees what it is there to see: its judgement, and a short soak of a simulated GPU."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import soak  # noqa: E402

GPUTOPO = sys.argv.pop(1)

STAND_IN = """#!/usr/bin/env python3
import pathlib, shutil, sys
state = pathlib.Path({state!r})
n = int(state.read_text()) if state.exists() else 0
state.write_text(str(n + 1))
out = sys.argv[sys.argv.index("-o") + 1]
text = pathlib.Path({topology!r}).read_text()
{trouble}
pathlib.Path(out).write_text(text)
"""

ANOTHER_SIZE = """
if n == 3:
    import json
    topology = json.loads(text)
    sizes = [m["attributes"]["size"] for m in topology["memories"] if m["attributes"]["size"]["status"] == "measured"]
    sizes[0].update(value=2 * sizes[0]["value"], interval=[2 * sizes[0]["value"]] * 2)
    text = json.dumps(topology)
"""


def objection(reference, answer):
    return soak.objection("q", reference, answer, 5)


class Judgement(unittest.TestCase):
    def test_numbers_are_wrong_where_their_intervals_exclude_each_other(self):
        self.assertFalse(objection(("measured", 100, 110, "B"), ("measured", 110, 120, "B")))
        self.assertTrue(objection(("measured", 100, 110, "B"), ("measured", 111, 120, "B")))
        self.assertTrue(objection(("measured", 100, 100, "B"), ("measured", 101, 101, "B")))

    def test_times_have_a_tolerance(self):
        self.assertFalse(objection(("measured", 100, 100, "cycles"), ("measured", 104, 104, "cycles")))
        self.assertTrue(objection(("measured", 100, 100, "cycles"), ("measured", 106, 106, "cycles")))

    def test_bounds_are_wrong_where_the_reference_lies_beyond(self):
        self.assertFalse(objection(("measured", 100, 100, "B"), ("lower_bound", 50, 50, "B")))
        self.assertTrue(objection(("measured", 100, 100, "B"), ("lower_bound", 150, 150, "B")))
        self.assertFalse(objection(("measured", 100, 100, "B"), ("upper_bound", 150, 150, "B")))
        self.assertTrue(objection(("measured", 100, 100, "B"), ("upper_bound", 50, 50, "B")))

    def test_denials_and_texts_are_wrong_where_they_differ(self):
        self.assertTrue(objection(("measured", 100, 100, "B"), ("not_supported", None, None, "B")))
        self.assertTrue(objection(("measured", "sm"), ("measured", "tpc")))
        self.assertFalse(objection(("measured", "sm"), ("measured", "sm")))

    def test_the_reference_is_the_answer_in_the_middle(self):
        runs = [{"q": ("measured", v, v, "B")} for v in (1, 5, 5, 5, 900)]
        self.assertEqual(soak.reference_of(runs), {"q": ("measured", 5, 5, "B")})


class Soaks(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = pathlib.Path(self.folder.name)
        self.addCleanup(self.folder.cleanup)

    def soak(self, command, *more):
        done = subprocess.run([sys.executable, soak.__file__, command, "--device", "sim:gt200", "--neighbour-runs", "0",
                               "--full-runs", "0", "--hot-runs", "0", "--out", str(self.path / "soak"), *more],
                              capture_output=True, text=True, check=False)
        return done.returncode, json.loads((self.path / "soak.json").read_text()), done.stdout

    def test_of_a_simulated_gpu_finds_nothing(self):
        code, result, text = self.soak(GPUTOPO, "--quiet-runs", "3", "--interrupted-runs", "6")
        self.assertEqual(code, 0, text)
        self.assertEqual(result["phases"]["quiet"]["counts"]["complete"], 3)
        self.assertGreater(len(result["reference"]), 10)

    def test_of_one_that_is_wrong_once_or_leaves_something_fails(self):
        topology = self.path / "topology.json"
        subprocess.run([GPUTOPO, "discover", "--device", "sim:gt200", "--format", "json", "--quiet", "-o", topology],
                       check=True)
        for name, trouble, count in (
                ("wrong", ANOTHER_SIZE, "wrong"),
                ("left", "if n == 3: pathlib.Path('.gputopo-1.tmp').write_text('x')", "left_behind"),
                ("half", "if n == 3: text = text[:200]", "left_behind"),
                ("dead", "if n == 3: sys.exit(9)", "failed")):
            command = self.path / name
            command.write_text(STAND_IN.format(state=str(self.path / f"{name}.n"), topology=str(topology),
                                               trouble=trouble))
            command.chmod(0o755)
            code, result, text = self.soak(str(command), "--quiet-runs", "5", "--interrupted-runs", "0")
            self.assertEqual(code, 1, text)
            self.assertEqual(result["phases"]["quiet"]["counts"][count], 1, text)

    def test_of_one_that_ignores_signals_fails(self):
        command = self.path / "deaf"
        command.write_text("#!/bin/sh\ntrap '' INT TERM\nsleep 1.3\n")
        command.chmod(0o755)
        code, result, text = self.soak(str(command), "--quiet-runs", "0", "--interrupted-runs", "1")
        self.assertEqual(code, 1, text)
        self.assertEqual(result["phases"]["interrupted"]["counts"]["late_ends"], 1, text)


if __name__ == "__main__":
    unittest.main()
