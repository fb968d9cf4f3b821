#!/usr/bin/env python3
"""Runs the tests that CTest knows and counts them case by case.

    tools/run_tests.py --build DIR [--jobs N] [-R REGEX] [--corpora DIR] [--patience N]

A test is a googletest binary (each of its cases counts) or a script. A script counts as one case:
status 0 passed, 77 skipped (its last line is the reason), anything else failed; or as many as its
own last line says, if that has the form of ours. The last line printed is always

    N passed, N failed, N skipped

and the status is 1 if a case failed or none ran. Standard library only.
"""
import argparse
import concurrent.futures
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree

COUNTS = re.compile(r"^(\d+) passed, (\d+) failed, (\d+) skipped$")
SKIPPED = 77
DEFAULT_TIMEOUT = 900  # seconds; against hangs only


class Result:
    def __init__(self, name):
        self.name, self.seconds = name, 0.0
        self.passed = self.failed = self.skipped = 0
        self.failures = []  # (case, text)
        self.reasons = []  # of what was skipped

    def line(self):
        parts = [f"{n} {what}" for n, what in
                 ((self.passed, "passed"), (self.failed, "FAILED"), (self.skipped, "skipped")) if n]
        return f"{self.name}: {', '.join(parts) or 'no cases'} ({self.seconds:.1f} s)"


def is_binary(path):
    try:
        with open(path, "rb") as f:
            return f.read(4) == b"\x7fELF"
    except OSError:
        return False


def read_gtest(path, result):
    for case in xml.etree.ElementTree.parse(path).iter("testcase"):
        name = f"{case.get('classname')}.{case.get('name')}"
        failures = [f.get("message", "") for f in case.findall("failure")]
        if failures:
            result.failed += 1
            result.failures.append((name, "\n".join(failures)))
        elif case.get("status") == "notrun":
            result.skipped += 1
            result.reasons.append(f"{name} is disabled")
        elif case.get("result") == "skipped":
            result.skipped += 1
            said = "".join(s.get("message", "") for s in case.findall("skipped"))
            result.reasons.append(said.partition("\n")[2].strip() or f"{name} says no reason")
        else:
            result.passed += 1


def tail(text, lines=40):
    kept = text.rstrip().splitlines()[-lines:]
    return "\n".join(kept)


def execute(command, env, folder, timeout):
    """(status, output); the status is None where it took too long, and then its whole process group is ended."""
    child = subprocess.Popen(command, env=env, cwd=folder, text=True, errors="replace", start_new_session=True,
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        output, _ = child.communicate(timeout=timeout)
        return child.returncode, output
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        output, _ = child.communicate()
        return None, output


def run(test, patience):
    result = Result(test["name"])
    command, properties = test.get("command"), {p["name"]: p["value"] for p in test.get("properties", [])}
    if not command:
        result.failed = 1
        result.failures.append((test["name"], "its program was not built"))
        return result
    env = dict(os.environ)
    for setting in properties.get("ENVIRONMENT", []):
        key, _, value = setting.partition("=")
        env[key] = value
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="edgewright-test-") as scratch:
        report = os.path.join(scratch, "report.xml")
        if is_binary(command[0]):
            env["GTEST_OUTPUT"] = "xml:" + report
        status, output = execute(command, env, properties.get("WORKING_DIRECTORY"), patience * properties.get("TIMEOUT", DEFAULT_TIMEOUT))
        result.seconds = time.monotonic() - started
        if os.path.exists(report):
            read_gtest(report, result)
            if status != 0 and not result.failed:
                result.failed = 1
                result.failures.append((result.name, f"all cases passed, but the program ended with status {status}\n{tail(output)}"))
            return result
    lines = output.strip().splitlines()
    counted = COUNTS.match(lines[-1]) if lines else None
    if counted:
        result.passed, result.failed, result.skipped = map(int, counted.groups())
        if status not in (0, SKIPPED) and not result.failed:
            result.failed = 1
        if result.failed:
            result.failures.append((result.name, tail(output)))
    elif status == 0:
        result.passed = 1
    elif status == SKIPPED:
        result.skipped = 1
        result.reasons.append(lines[-1] if lines else f"{result.name} says no reason")
    else:
        how = "took too long" if status is None else f"died of signal {-status}" if status < 0 else f"ended with status {status}"
        result.failed = 1
        result.failures.append((result.name, f"{how}\n{tail(output)}"))
    return result


def tests_of(build):
    listing = subprocess.run(["ctest", "--show-only=json-v1"], cwd=build, check=True, capture_output=True, text=True)
    return json.loads(listing.stdout)["tests"]


def corpora_tests(build, folder):
    repo, program = os.path.dirname(os.path.dirname(os.path.abspath(__file__))), os.path.join(build, "edgewright")
    limit = [{"name": "TIMEOUT", "value": 3000}]
    yield {"name": "corpora", "properties": limit, "command": [
        sys.executable, os.path.join(repo, "tests", "corpora", "run.py"), program, "--corpus", os.path.abspath(folder)]}
    yield {"name": "corpora_hostile", "properties": limit, "command": [
        sys.executable, os.path.join(repo, "tests", "cli", "test_hostile.py"), program, "--in", os.path.join(os.path.abspath(folder), "formats")]}
    yield {"name": "corpora_any_order", "properties": limit + [{"name": "ENVIRONMENT", "value": ["EDGEWRIGHT_CORPUS=" + os.path.abspath(folder)]}],
           "command": [os.path.join(build, "tests", "random", "test_any_order"), "--gtest_filter=Corpora.*"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("-R", dest="regex", default="")
    parser.add_argument("--corpora")
    parser.add_argument("--patience", type=float, default=1, help="every time limit is multiplied by this")
    args = parser.parse_args()
    build = os.path.abspath(args.build)
    tests = tests_of(build)
    if args.corpora:
        tests += corpora_tests(build, args.corpora)
    tests = [t for t in tests if re.search(args.regex, t["name"])]
    results = []
    terminal = sys.stdout.isatty()
    # Those with a large TIMEOUT are the long ones: start them first, so that they overlap the rest.
    tests.sort(key=lambda t: -max([p["value"] for p in t.get("properties", []) if p["name"] == "TIMEOUT"] or [0]))
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        waiting = {pool.submit(run, t, args.patience): t["name"] for t in tests}
        while waiting:
            done, _ = concurrent.futures.wait(waiting, timeout=1, return_when=concurrent.futures.FIRST_COMPLETED)
            for future in done:
                waiting.pop(future)
                results.append(future.result())
                print(("\r\033[K" if terminal else "") + "  " + results[-1].line(), flush=True)
            if terminal and waiting:
                print(f"\r\033[K  {len(results)} of {len(tests)} done; running: {', '.join(list(waiting.values())[:args.jobs])}"[:120],
                      end="", flush=True)
    if terminal:
        print("\r\033[K", end="")
    for result in sorted(results, key=lambda r: r.name):
        for case, text in result.failures:
            print(f"\nFAILED {result.name}: {case}\n" + "\n".join("    " + l for l in text.splitlines()))
    reasons = {}
    for result in results:
        for reason in result.reasons:
            reasons[reason] = reasons.get(reason, 0) + 1
    if reasons:
        print("\nskipped:")
    for reason, count in sorted(reasons.items()):
        print(f"  {count} x {reason}")
    passed, failed, skipped = (sum(getattr(r, k) for r in results) for k in ("passed", "failed", "skipped"))
    print(f"\n{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
