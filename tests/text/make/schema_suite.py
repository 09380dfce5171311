#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/goldens/structured/schema_suite.jsonl: schemas in the manner of the JSON-Schema-Test-Suite (our own), each
with texts that Python's jsonschema (draft 2020-12, formats on) calls valid or not.

  accept  valid, properties in the order of the schema: a grammar has to accept it
  either  valid, but in another order or spelling: a grammar may leave it out
  reject  not valid
  refuse  the keyword for which a grammar may refuse the schema (it must not accept it and then ignore the keyword)

Usage: schema_suite.py > schema_suite.jsonl   (needs jsonschema; formats that it cannot check are not used)
"""
import json
import random
import sys

from jsonschema import Draft202012Validator, FormatChecker

C = lambda v: json.dumps(v, ensure_ascii=False, separators=(",", ":"))
POOL = [None, True, False, 0, 1, -1, 2, 3, 5, 7, 10, 12, 100, -7, 0.5, 1.5, -2.25, 3.75, 99.99, "", "a", "ab", "abc", "abcd", "foo", "bar",
        "é", "日本", "A1", "a b", "12", "x-y", "2024-02-29", "1.2.3.4", [], [1], [1, 2], [1, 2, 3], ["a"], ["a", 1], [1, "a"], [None], [[]],
        [[1]], [True, False], [1, 1], ["a", "b", "c"], [1, 2, 3, 4, 5, 6], {}, {"a": 1}, {"a": "x"}, {"b": 2}, {"a": 1, "b": 2},
        {"a": 1, "b": "x"}, {"a": None}, {"c": True}, {"foo": 1}, {"foo": "x"}, {"foo": 1, "bar": 2}, {"foo": []}, {"a": {"b": 1}},
        {"a": [1]}, {"x1": 1}, {"x1": "s"}, {"": 1}]

HAND = []


def s(schema, accept=(), reject=(), refuse=None):
    HAND.append((schema, list(accept), list(reject), refuse))


def keywords():
    """One group per keyword."""
    for t in ("null", "boolean", "integer", "number", "string", "array", "object"):
        s({"type": t})
    s({"type": ["integer", "string"]}), s({"type": ["null", "array", "object"]}), s({"type": ["boolean", "null"]})
    s({}), s(True), s({"description": "anything"}, [1, "a", {"z": [1, {"y": None}]}])
    s({"const": 2}), s({"const": "a"}), s({"const": None}), s({"const": False}), s({"const": [1, 2]}), s({"const": {"a": 1}})
    s({"const": {"a": [1, {"b": None}]}}, [{"a": [1, {"b": None}]}]), s({"const": -2.25}), s({"const": ""})
    s({"enum": [1, 2, 3]}), s({"enum": ["a", None, 1.5, []]}), s({"type": "string", "enum": ["a", 1, "abc"]})
    s({"enum": [{"a": 1}, {"a": "x"}, [1]]}), s({"enum": [True]}), s({"enum": ["", "a b"], "minLength": 1})
    s({"type": "integer", "minimum": 2}), s({"type": "integer", "maximum": 2}), s({"type": "integer", "exclusiveMinimum": 2})
    s({"type": "integer", "exclusiveMaximum": 2}), s({"minimum": 1.5}), s({"type": "number", "minimum": -2.25, "maximum": 99.99})
    s({"type": "number", "exclusiveMinimum": 0.5, "exclusiveMaximum": 1.5}, [0.75, 1.0001, 1], [0.5, 1.5])
    s({"type": "integer", "minimum": -7, "maximum": 12}, [-7, -6, 0, 9, 11], [-8, 13, 20, -70])
    s({"type": "integer", "minimum": 1000, "maximum": 123456}, [1000, 9999, 10000, 99999, 123455], [999, 123457, 200000])
    s({"type": "integer", "minimum": -123, "maximum": -45}, [-123, -100, -99, -45], [-44, -124, 45, 0])
    s({"type": "number", "minimum": 0.001}, [0.001, 0.0015, 0.01, 3], [0.0009, 0.0001, 0, -1])
    s({"type": "number", "maximum": -0.001}, [-0.001, -5, -0.25], [-0.0009, 0, 1])
    s({"type": "number", "minimum": 3.14, "maximum": 3.15}, [3.14, 3.145, 3.15, 3.1499], [3.13, 3.16, 3, 4])
    s({"type": "number", "minimum": 5, "maximum": 5}), s({"type": "integer", "minimum": 2.5, "maximum": 5.5}, [3, 4, 5], [2, 6])
    s({"type": "integer", "multipleOf": 2}, [0, 2, 4, -6, 128, 1000], [1, 3, 5, -7, 129]), s({"type": "integer", "multipleOf": 3}, [123456789])
    s({"type": "integer", "multipleOf": 10}, [0, 10, -20, 12340], [15]), s({"type": "integer", "multipleOf": 7, "minimum": 7, "maximum": 100})
    s({"type": "number", "multipleOf": 0.5}, [0.5, 1, 2.5], [0.25, 1.3]), s({"type": "number", "multipleOf": 0.25}, [0.25, 3.75, 7], [0.1])
    s({"type": "integer", "multipleOf": 4, "allOf": [{"multipleOf": 6}]}, [0, 12, 24, 120], [4, 6, 8, 18])
    s({"type": "number", "multipleOf": 2}), s({"multipleOf": 5, "minimum": -10, "maximum": 10}), s({"type": "integer", "multipleOf": 0.5})
    s({"minLength": 2}), s({"type": "string", "maxLength": 2}), s({"type": "string", "minLength": 1, "maxLength": 1})
    s({"type": "string", "minLength": 3, "maxLength": 3}), s({"type": "string", "maxLength": 0})
    for p in ("^a", "b$", "^[a-z]+$", "a|b", "^a.c$", "[0-9]", "^(foo|bar)$", "^\\S*$", "o{2}", "^[^a]*$", "^$", "^\\w+-\\w+$", "^\\d{2}$"):
        s({"type": "string", "pattern": p})
    s({"type": "string", "pattern": "^[a-z]*$", "minLength": 2}), s({"type": "string", "pattern": "a", "maxLength": 3}, ["bab"], ["bbab"])
    s({"allOf": [{"pattern": "^a"}, {"pattern": "b"}], "type": "string"}, ["ab", "acb"], ["a", "b", "ba"])
    s({"pattern": "^.*\"q\\\\$", "type": "string"}, ["a\"q\\"], ["aq"])
    s({"type": "string", "format": "date"}, ["2000-02-29", "0001-01-01"], ["1900-02-29", "2023-02-30", "0000-01-01", "2024-4-1"])
    s({"type": "string", "format": "ipv4"}, ["0.0.0.0"], ["01.2.3.4", "1.2.3.256"])
    s({"type": "string", "format": "ipv6"}, ["::", "1::", "::ffff:1.2.3.4", "1:2:3:4:5:6:7:8"], ["1:2:3:4:5:6:7", ":::", "12345::"])
    s({"type": "string", "format": "uuid"}, ["123E4567-e89b-12d3-a456-426614174000"], ["123e4567-e89b-12d3-a456-42661417400g"])
    s({"type": "string", "format": "date-time"}, ["2024-01-02T03:04:05Z", "1999-12-31T23:59:59.5-08:00"], ["2024-01-02T25:04:05Z", "2024-01-02 03:04:05Z"])
    s({"format": "no-such-format"}), s({"type": "integer", "format": "int32"})
    s({"type": "array", "items": {"type": "integer"}}), s({"items": {"type": "string"}}), s({"type": "array", "items": False})
    s({"type": "array", "items": {"type": "array", "items": {"type": "integer"}}}, [[[1], []]], [[1], [["a"]]])
    s({"type": "array", "minItems": 1}), s({"type": "array", "maxItems": 2}), s({"type": "array", "minItems": 2, "maxItems": 3})
    s({"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}]}, [[1, "a", None]], [["a", 1]])
    s({"type": "array", "prefixItems": [{"type": "integer"}], "items": {"type": "string"}}, [[1, "a", "b"]], [[1, 2]])
    s({"type": "array", "prefixItems": [True, False]}, [[1], []], [[1, 2]])
    s({"type": "array", "prefixItems": [{"type": "integer"}, {"type": "integer"}, {"type": "integer"}], "items": False, "minItems": 2})
    s({"type": "array", "prefixItems": [{}, {}], "minItems": 3, "maxItems": 4}, [[1, 2, 3], [1, "a", 3, 4]], [[1, 2], [1, 2, 3, 4, 5]])
    s({"type": "array", "contains": {"const": 1}}, [[1], [2, 1, 3]], [[], [2]], "contains")
    s({"type": "array", "contains": {"type": "string"}, "minContains": 2}, [["a", "b"], [1, "a", 2, "b"]], [["a"], [1, 2]], "contains")
    s({"type": "array", "contains": {"const": 1}, "maxContains": 1}, [[1], [1, 2]], [[1, 1], []], "contains")
    s({"type": "array", "contains": {"const": 1}, "minContains": 0}, [[], [2]], [])
    s({"type": "array", "contains": {"const": 1}, "minItems": 2, "maxItems": 3, "items": {"type": "integer"}}, [[1, 2], [2, 1], [3, 2, 1]], [[1], [2, 3], [1, 2, 3, 4]], "contains")
    s({"type": "array", "items": {"enum": [1, 2, 3]}, "uniqueItems": True}, [[1, 3], [3, 2, 1]], [[1, 1], [2, 1, 2]], "uniqueItems")
    s({"type": "array", "uniqueItems": True, "maxItems": 1}, [[1]], [[1, 2]]), s({"type": "array", "uniqueItems": False}, [[1, 1]])
    s({"type": "array", "items": {"type": "boolean"}, "uniqueItems": True, "minItems": 2}, [[True, False], [False, True]], [[True], [True, True]], "uniqueItems")
    s({"type": "array", "items": {"type": "string"}, "uniqueItems": True}, [], [["a", "a"]], "uniqueItems")
    s({"properties": {"a": {"type": "integer"}}}), s({"type": "object", "required": ["a"]}), s({"type": "object", "required": ["a", "b"]})
    s({"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "string"}}, "additionalProperties": False})
    s({"type": "object", "properties": {"a": {}}, "additionalProperties": {"type": "integer"}}, [{"a": "x", "b": 1}], [{"a": 1, "b": "x"}])
    s({"type": "object", "properties": {"a": False}}, [{"b": 1}], [{"a": 1}])
    s({"type": "object", "properties": {"a": True, "b": False}, "additionalProperties": False}, [{"a": 1}], [{"b": 1}])
    s({"type": "object", "additionalProperties": False, "required": []}), s({"type": "object", "properties": {"foo": {"type": "integer"}}, "required": ["foo"]})
    s({"type": "object", "patternProperties": {"^x": {"type": "integer"}}}, [{"x1": 1, "y": "s"}], [{"x1": "s"}])
    s({"type": "object", "patternProperties": {"^x": {"type": "integer"}}, "additionalProperties": False}, [{"x": 1, "xy": 2}], [{"y": 1}])
    s({"type": "object", "properties": {"x1": {"type": "string"}}, "patternProperties": {"^x": {"maxLength": 1}}, "additionalProperties": {"type": "null"}},
      [{"x1": "s", "x2": "q", "a": None}], [{"x1": "ss"}, {"x2": "ss"}, {"a": 1}])
    s({"type": "object", "patternProperties": {"a": {"type": "integer"}, "b": {"minimum": 5}}}, [{"ab": 6, "a": 1, "b": 5}], [{"ab": 1}, {"b": 4}])
    s({"type": "object", "propertyNames": {"maxLength": 2}}, [{"ab": 1}], [{"abc": 1}]), s({"type": "object", "propertyNames": {"enum": ["a", "b"]}}, [{"a": 1}], [{"c": 1}])
    s({"type": "object", "propertyNames": {"pattern": "^[a-c]$"}, "properties": {"a": {"type": "integer"}, "zz": {}}}, [{"a": 1, "b": 2}], [{"zz": 1}, {"d": 1}])
    s({"type": "object", "propertyNames": False}, [{}], [{"a": 1}])
    s({"type": "object", "minProperties": 1}), s({"type": "object", "maxProperties": 1}), s({"type": "object", "maxProperties": 0})
    s({"type": "object", "properties": {"a": {}, "b": {}, "c": {}}, "additionalProperties": False, "minProperties": 2}, [{"a": 1, "c": 2}, {"b": 1, "c": 1}], [{"a": 1}])
    s({"type": "object", "properties": {"a": {}, "b": {}, "c": {}}, "maxProperties": 2}, [{"a": 1, "c": 2}, {"b": 1, "z": 1}], [{"a": 1, "b": 1, "c": 1}])
    s({"type": "object", "properties": {"a": {}, "b": {}, "c": {}, "d": {}}, "required": ["c"], "additionalProperties": False, "minProperties": 2, "maxProperties": 3},
      [{"a": 1, "c": 2}, {"c": 1, "d": 1}, {"a": 1, "b": 1, "c": 1}], [{"c": 1}, {"a": 1, "b": 1, "c": 1, "d": 1}, {"a": 1, "b": 2}])
    s({"type": "object", "properties": {"a": {}, "b": {}}, "dependentRequired": {"a": ["b"]}}, [{"b": 1}, {"a": 1, "b": 1}], [{"a": 1}])
    s({"type": "object", "properties": {"a": {}, "b": {}}, "dependentRequired": {"a": ["b"], "b": ["a"]}, "additionalProperties": False}, [{"a": 1, "b": 1}, {}], [{"a": 1}, {"b": 1}])
    s({"type": "object", "properties": {"a": {}, "b": {}}, "dependentSchemas": {"a": {"properties": {"b": {"type": "integer"}}, "required": ["b"]}}},
      [{"a": 1, "b": 2}, {"b": "x"}], [{"a": 1}, {"a": 1, "b": "x"}])
    s({"type": "object", "properties": {"a": {}}, "unevaluatedProperties": False}, [{"a": 1}], [{"b": 1}])
    s({"type": "array", "prefixItems": [{}], "unevaluatedItems": False}, [[1]], [[1, 2]])
    s({"allOf": [{"properties": {"a": {}}}], "type": "object", "unevaluatedProperties": False}, [{"a": 1}], [{"b": 1}], "unevaluatedProperties")


def combinations():
    i, st, b = {"type": "integer"}, {"type": "string"}, {"type": "boolean"}
    s({"allOf": [i, {"minimum": 2}, {"maximum": 7}]}), s({"allOf": [st, {"minLength": 2}, {"maxLength": 3}]}), s({"allOf": [{}, True]})
    s({"allOf": [{"enum": [1, 2, 3]}, {"enum": [2, 3, 4]}]}, [2, 3], [1, 4])
    s({"allOf": [{"properties": {"a": i}}, {"properties": {"a": {"minimum": 2}, "b": st}, "required": ["a"]}], "type": "object"},
      [{"a": 2, "b": "x"}, {"a": 3}], [{"a": 1}, {"b": "x"}])
    s({"allOf": [{"type": ["string", "integer"]}, {"type": ["integer", "null"]}]}, [1], ["a", None])
    s({"anyOf": [i, {"minimum": 2}]}), s({"anyOf": [{"type": "string", "maxLength": 2}, {"type": "array", "maxItems": 1}]})
    s({"type": "object", "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}, [{"a": 1}, {"b": 1}, {"a": 1, "b": 1}], [{}, {"c": 1}])
    s({"type": "integer", "anyOf": [{"maximum": 1}, {"minimum": 10}]}, [1, 10], [5])
    s({"anyOf": [False, i]}), s({"anyOf": [{"const": 1}, {"const": "a"}], "type": "string"}, ["a"], [1])
    s({"oneOf": [i, st]}), s({"oneOf": [i, {"type": "number", "minimum": 2}]}, [1, 2.5, -3], [2, 3]), s({"oneOf": [{"minLength": 2, "type": "string"}, {"maxLength": 4, "type": "string"}]}, ["a", "abcde"], ["ab", "abcd"])
    s({"type": "object", "oneOf": [{"required": ["a"]}, {"required": ["b"]}]}, [{"a": 1}, {"b": 1}], [{"a": 1, "b": 1}, {}])
    s({"oneOf": [{"type": "object", "properties": {"k": {"const": "x"}, "v": i}, "required": ["k", "v"]}, {"type": "object", "properties": {"k": {"const": "y"}, "v": st}, "required": ["k", "v"]}]},
      [{"k": "x", "v": 1}, {"k": "y", "v": "s"}], [{"k": "x", "v": "s"}, {"k": "z", "v": 1}])
    s({"type": "object", "properties": {"k": st}, "required": ["k"], "oneOf": [{"properties": {"k": {"const": "x"}}}, {"properties": {"k": {"const": "y"}}}]}, [{"k": "x"}, {"k": "y"}], [{"k": "z"}])
    s({"oneOf": [True, False]}), s({"oneOf": [i, i]}, [], [1]), s({"oneOf": [{"const": 1}, {"const": 2}, {"enum": [2, 3]}]}, [1, 3], [2])
    s({"not": i}), s({"not": {"type": ["array", "object", "null"]}}), s({"type": "string", "not": {"const": "a"}}, ["b", "ab", ""], ["a"])
    s({"type": "string", "not": {"enum": ["a", "ab"]}}, ["b", "abc", "\n"], ["a", "ab"]), s({"type": "string", "not": {"pattern": "^a"}}, ["b", ""], ["a", "ab"])
    s({"type": "integer", "not": {"const": 5}}, [4, 6, 55, 0, -5], [5]), s({"type": "integer", "minimum": 0, "maximum": 10, "not": {"enum": [3, 4, 7]}}, [2, 5, 10], [3, 4, 7, 11])
    s({"type": "integer", "not": {"minimum": 3}}, [2, -1], [3, 10]), s({"type": "array", "not": {"minItems": 2}}), s({"type": "array", "items": i, "not": {"contains": {"const": 1}}}, [[2], []], [[1], [2, 1]])
    s({"type": "object", "not": {"required": ["a"]}}, [{}, {"b": 1}], [{"a": 1}]), s({"type": "object", "properties": {"a": {}}, "not": {"properties": {"a": i}, "required": ["a"]}}, [{}, {"a": "x"}], [{"a": 1}])
    s({"not": {"not": i}}), s({"not": {"anyOf": [i, st]}}), s({"not": {"allOf": [i, {"minimum": 2}]}}), s({"not": {}}, [], [1])
    s({"type": "number", "not": i}, [1.5, 0.25], [1, 0, 100]), s({"type": "array", "not": {"prefixItems": [i]}}, [["a"], ["a", 1]], [[1], []])
    s({"if": i, "then": {"minimum": 2}, "else": st}, [2, "a"], [1, None]), s({"if": {"type": "string"}, "then": {"minLength": 2}}), s({"if": {"const": 1}, "else": {"type": "string"}}, [1, "a"], [2])
    s({"type": "object", "properties": {"a": {"enum": ["x", "y"]}, "b": {}}, "required": ["a", "b"], "additionalProperties": False,
       "if": {"properties": {"a": {"const": "x"}}}, "then": {"properties": {"b": i}}, "else": {"properties": {"b": st}}}, [{"a": "x", "b": 1}, {"a": "y", "b": "s"}], [{"a": "x", "b": "s"}, {"a": "y", "b": 1}])
    s({"type": "object", "properties": {"a": b, "b": i}, "if": {"properties": {"a": {"const": True}}, "required": ["a"]}, "then": {"required": ["b"]}}, [{"a": False}, {"a": True, "b": 1}, {}], [{"a": True}])
    s({"$defs": {"n": i}, "properties": {"a": {"$ref": "#/$defs/n"}}, "type": "object"}), s({"$defs": {"n": {"$anchor": "q", "type": "integer"}}, "$ref": "#q"})
    s({"definitions": {"p": {"type": "string", "minLength": 2}}, "$ref": "#/definitions/p", "maxLength": 3})
    s({"$id": "http://x.y/root.json", "$defs": {"i": {"$id": "item.json", "type": "integer"}}, "items": {"$ref": "#/$defs/i"}, "type": "array"})
    s({"type": "object", "properties": {"v": i, "next": {"$ref": "#"}}, "required": ["v"], "additionalProperties": False}, [{"v": 1}, {"v": 1, "next": {"v": 2, "next": {"v": 3}}}], [{"v": 1, "next": {}}])
    s({"$defs": {"t": {"anyOf": [i, {"type": "array", "items": {"$ref": "#/$defs/t"}}]}}, "$ref": "#/$defs/t"}, [1, [1, [2, [3]], []]], ["a", [1, ["a"]]])
    s({"properties": {"a": {"$ref": "#/properties/b"}, "b": i}, "type": "object"}, [{"a": 1, "b": 2}], [{"a": "x"}])
    s({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/c"}, "c": b}})
    s({"$defs": {"x": {"allOf": [{"$ref": "#/$defs/y"}, {"minimum": 3}]}, "y": i}, "$ref": "#/$defs/x"})
    s({"type": "object", "properties": {"a": i, "b": st, "c": b}, "required": ["c", "a"], "additionalProperties": False}, [{"a": 1, "c": True}, {"a": 1, "b": "", "c": False}], [{"a": 1}])
    s({"type": "object", "properties": {"user": {"type": "object", "properties": {"name": st, "tags": {"type": "array", "items": st, "maxItems": 2}}, "required": ["name"]}}, "required": ["user"]},
      [{"user": {"name": "n", "tags": ["a"]}}, {"user": {"name": "n"}, "z": 1}], [{"user": {}}, {"user": {"name": "n", "tags": ["a", "b", "c"]}}])


class Random:
    """Schemas within what a grammar enforces, and values for them in order."""

    def __init__(self, seed):
        self.r = random.Random(seed)

    def schema(self, depth):
        r = self.r
        kinds = ["null", "boolean", "integer", "number", "string", "enum"] + (["array", "object", "object", "anyOf", "allOf"] if depth else [])
        k = r.choice(kinds)
        if k in ("null", "boolean"):
            return {"type": k}
        if k in ("integer", "number"):
            o = {"type": k}
            if r.random() < .5:
                o["minimum"] = r.randint(-50, 20)
            if r.random() < .5:
                o["maximum"] = o.get("minimum", 0) + r.randint(0, 300)
            return o
        if k == "string":
            o = {"type": "string"}
            c = r.random()
            if c < .3:
                o["minLength"] = r.randint(0, 3)
                o["maxLength"] = o["minLength"] + r.randint(0, 4)
            elif c < .5:
                o["pattern"] = r.choice(["^[a-d]+$", "a", "^x?y{1,3}$", "^\\d", "b$"])
            return o
        if k == "enum":
            return {"enum": r.sample([1, 2, "a", "b", None, True, [1], {"q": 1}, "long text", -5], r.randint(1, 4))}
        if k == "array":
            o = {"type": "array", "items": self.schema(depth - 1)}
            if r.random() < .4:
                o["minItems"] = r.randint(0, 2)
            if r.random() < .4:
                o["maxItems"] = o.get("minItems", 0) + r.randint(0, 3)
            if r.random() < .2:
                o["prefixItems"] = [self.schema(depth - 1) for _ in range(r.randint(1, 2))]
            return o
        if k == "object":
            names = r.sample(["a", "b", "c", "d", "key", "é", "x y", "q\"r"], r.randint(0, 4))
            o = {"type": "object", "properties": {n: self.schema(depth - 1) for n in names}}
            o["required"] = [n for n in names if r.random() < .5]
            c = r.random()
            if c < .5:
                o["additionalProperties"] = False
            elif c < .7:
                o["additionalProperties"] = self.schema(0)
            return o
        if k == "anyOf":
            return {"anyOf": [self.schema(depth - 1) for _ in range(r.randint(2, 3))]}
        return {"allOf": [self.schema(depth - 1), {"description": "nothing more"}]}

    def value(self, sc, depth=0):
        r = self.r
        if "enum" in sc:
            return r.choice(sc["enum"])
        if "anyOf" in sc:
            return self.value(r.choice(sc["anyOf"]), depth)
        if "allOf" in sc:
            return self.value(sc["allOf"][0], depth)
        t = sc["type"]
        if t == "null":
            return None
        if t == "boolean":
            return r.random() < .5
        if t in ("integer", "number"):
            lo = sc.get("minimum", sc.get("maximum", 10) - 40)
            v = r.randint(lo, max(sc.get("maximum", lo + 1000), lo))
            return v + .5 if t == "number" and r.random() < .3 and v + .5 <= sc.get("maximum", 10**9) else v
        if t == "string":
            if "pattern" in sc:
                return {"^[a-d]+$": "abd", "a": "xay", "^x?y{1,3}$": "xyy", "^\\d": "7up", "b$": "ab"}[sc["pattern"]]
            n = r.randint(sc.get("minLength", 0), sc.get("maxLength", 5))
            return "".join(r.choice("abcxyz é\"\\日\n0") for _ in range(n))
        if t == "array":
            n = r.randint(sc.get("minItems", 0), min(sc.get("maxItems", 4), sc.get("minItems", 0) + 4))
            pre = sc.get("prefixItems", [])
            return [self.value(pre[i] if i < len(pre) else sc["items"], depth + 1) for i in range(n)]
        out = {}
        for n, p in sc["properties"].items():
            if n in sc["required"] or r.random() < .6:
                out[n] = self.value(p, depth + 1)
        if sc.get("additionalProperties") is not False and r.random() < .4:
            extra = sc.get("additionalProperties")
            out["extra"] = self.value(extra, depth + 1) if extra else 1
        return out

    def mutate(self, v):
        r = self.r
        if isinstance(v, dict) and v and r.random() < .8:
            v = dict(v)
            k = r.choice(list(v))
            c = r.random()
            if c < .3:
                del v[k]
            elif c < .5:
                v["zz"] = r.choice(POOL)
            else:
                v[k] = self.mutate(v[k])
            return v
        if isinstance(v, list) and v and r.random() < .8:
            v = list(v)
            i = r.randrange(len(v))
            c = r.random()
            if c < .3:
                del v[i]
            elif c < .6:
                v.append(r.choice(POOL))
            else:
                v[i] = self.mutate(v[i])
            return v
        if isinstance(v, int) and not isinstance(v, bool) and r.random() < .7:
            return v + r.choice([-1000, -1, 1, 50, 1000])
        if isinstance(v, str) and r.random() < .6:
            return v + r.choice(["x", "xxxx", "\""])
        return r.choice(POOL)


def plain(v):
    """One order and one spelling are possible: no object with several members, no number with two spellings."""
    if isinstance(v, float):
        return False
    if isinstance(v, dict):
        return len(v) < 2 and all(map(plain, v.values()))
    return all(map(plain, v)) if isinstance(v, list) else True


def row(n, schema, must, extra, refuse):
    judge = Draft202012Validator(schema, format_checker=FormatChecker())
    out = {"id": f"s{n}", "spec": schema, "accept": [], "either": [], "reject": []}
    if refuse:
        out["refuse"] = refuse
    for v in must:
        if not judge.is_valid(v):
            sys.exit(f"s{n}: {C(schema)} does not allow {C(v)}")
        out["accept"].append(C(v))
    for v in extra:
        k = "reject" if not judge.is_valid(v) else "accept" if plain(v) else "either"
        if C(v) not in out["accept"] + out["either"] + out["reject"]:
            out[k].append(C(v))
    return out


def main():
    keywords()
    combinations()
    n = 0
    r = random.Random(7)
    for schema, accept, reject, refuse in HAND:
        extra = reject + POOL
        for v in reject:
            if Draft202012Validator(schema, format_checker=FormatChecker()).is_valid(v):
                sys.exit(f"{C(schema)} allows {C(v)}")
        print(C(row(n, schema, accept, extra, refuse)))
        n += 1
    for seed in range(120):
        g = Random(seed)
        schema = g.schema(3)
        judge = Draft202012Validator(schema)
        values = [g.value(schema) for _ in range(12)]
        must = []
        for v in values:
            if judge.is_valid(v) and v not in must:
                must.append(v)
        extra = [g.mutate(r.choice(values)) for _ in range(40)]
        print(C(row(n, schema, must[:8], extra, None)))
        n += 1


main()
