#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Asks Python's jsonschema about texts that were accepted or generated: lines {"spec", "text"} on standard input. Prints
those that are not valid and a count; exits with 1 if there is one.

    VLLMC_SCHEMA_DUMP=dump.jsonl build/tests/text/test_schema_random && tests/text/make/schema_judge.py < dump.jsonl
"""
import json
import sys

from jsonschema import Draft202012Validator, FormatChecker

judges = {}
n = bad = 0
for line in sys.stdin:
    row = json.loads(line)
    key = json.dumps(row["spec"])
    if key not in judges:
        Draft202012Validator.check_schema(row["spec"])
        judges[key] = Draft202012Validator(row["spec"], format_checker=FormatChecker())
    n += 1
    try:
        valid = judges[key].is_valid(json.loads(row["text"]))
    except ValueError:
        valid = False
    if not valid:
        bad += 1
        print(key, row["text"])
print(f"{n} texts, {len(judges)} schemas, {bad} not valid")
sys.exit(bad > 0)
