"""Validates what gputopo prints against the published JSON Schema: validate.py GPUTOPO SCHEMA EXAMPLE."""

import copy
import json
import subprocess
import sys

try:
    import jsonschema
except ImportError:
    print("skipped: python3-jsonschema isn't installed")
    sys.exit(77)


def output_of(*command):
    result = subprocess.run(command, stdout=subprocess.PIPE, check=False)
    if result.returncode not in (0, 3):
        sys.exit(f"{' '.join(command)} ended with {result.returncode}")
    return json.loads(result.stdout)


def spoiled(document):
    """Copies of the document that the schema has to refuse, each with what is wrong in it."""

    def changed(what, change):
        spoilt = copy.deepcopy(document)
        change(spoilt)
        return what, spoilt

    size = lambda d: d["memories"][0]["attributes"]["size"]
    statement = lambda d: d["memories"][0]["structure"]["scope"]
    yield changed("another schema", lambda d: d.update(schema="gputopo-topology/2"))
    yield changed("no GPU", lambda d: d.pop("gpu"))
    yield changed("an unknown status", lambda d: size(d).update(status="guess"))
    yield changed("a value that isn't there", lambda d: size(d).update(value=None, status="measured"))
    yield changed("no unit", lambda d: size(d).pop("unit"))
    yield changed("an interval of one end", lambda d: size(d).update(interval=[1]))
    yield changed("a confidence above 1", lambda d: size(d).update(confidence=1.5))
    yield changed("an unknown scope", lambda d: d["memories"][0].update(scope="galaxy"))
    yield changed("instances that aren't there", lambda d: d["memories"][0].update(instances_per_scope=0))
    yield changed("a statement without status", lambda d: statement(d).pop("status"))
    yield changed("a measured statement that says nothing", lambda d: statement(d).update(value=None))
    yield changed("a statement that is a number", lambda d: statement(d).update(value=2))
    yield changed("an interval of an unknown kind", lambda d: size(d).update(interval_kind="80 %"))
    yield changed("interruptions without their count", lambda d: d["provenance"]["interruptions"].pop("switches"))
    yield changed("a negative count", lambda d: d["gpu"].update(sm_count=-1))
    yield changed("a fractional SM", lambda d: d["memories"][0].update(sm_groups=[[0.5]]))


def main(gputopo, schema_path, example_path):
    with open(schema_path, encoding="utf-8") as file:
        schema = json.load(file)
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    with open(example_path, encoding="utf-8") as file:
        example = json.load(file)
    documents = {"the example with every status": example}
    for model in output_of(gputopo, "models", "--format", "json"):
        name = model["model"]
        documents[f"the truth of {name}"] = output_of(gputopo, "models", "--truth", name, "--format", "json")
    if "discover" in subprocess.run([gputopo, "--help"], stdout=subprocess.PIPE, check=True).stdout.decode():
        command = (gputopo, "discover", "--device", "sim:p6000", "--format", "json", "--quiet")
        documents["a discovery"] = output_of(*command)
    failures = 0
    for what, document in documents.items():
        for error in validator.iter_errors(document):
            failures += 1
            print(f"{what}: {error.json_path}: {error.message}")
    for what, document in spoiled(example):
        if validator.is_valid(document):
            failures += 1
            print(f"the schema accepts {what}")
    print(f"{len(documents)} documents checked, {failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
