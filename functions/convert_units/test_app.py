"""Run with: python3 -m unittest discover functions/convert_units"""

import contextlib
import io
import json
import math
import os
import pathlib
import types
import unittest
from unittest import mock

import app

TOOL = json.loads(pathlib.Path(__file__).with_name("tool.json").read_text())


def call(value, source, target, version=1):
    """Sends the arguments in an envelope."""
    arguments = {"value": value, "source": source, "target": target}
    return app.handler({"version": version, "tool": "convert_units", "arguments": arguments}, None)


class ConvertTest(unittest.TestCase):
    def test_values(self):
        cases = [
            (26.2, "mi", "km", 42.1648128),
            (1, "ft", "in", 12),
            (2, "lb", "kg", 0.90718474),
            (1, "t", "oz", 35273.96195),
            (100, "C", "F", 212),
            (-40, "F", "C", -40),
            (0, "K", "C", -273.15),
            (-459.67, "F", "K", 0),
            (5, "m", "m", 5),
            (-3, "km", "m", -3000),
        ]
        for value, source, target, want in cases:
            with self.subTest(value=value, source=source, target=target):
                got = call(value, source, target)
                self.assertEqual(got["structuredContent"], {"value": want, "unit": target})
                self.assertEqual(json.loads(got["content"][0]["text"]), got["structuredContent"])
                self.assertNotIn("isError", got)

    def test_failures(self):
        cases = [
            ((1, "kg", "m"), "incompatible_units", "Allowed for kg: g, kg, t, oz, lb."),
            ((1, "C", "lb"), "incompatible_units", "C is a unit of temperature, lb of mass"),
            ((-300, "C", "K"), "below_absolute_zero", "-300 C is below absolute zero"),
            ((1e308, "km", "mm"), "too_large", "in mm is too large"),
            ((10**400, "m", "km"), "too_large", "in km is too large"),
            ((-(10**400), "m", "km"), "too_large", "in km is too large"),
        ]
        declared = [mode["code"] for mode in TOOL["contract"]["failureModes"]]
        for arguments, code, text in cases:
            with self.subTest(arguments=arguments):
                got = call(*arguments)
                self.assertTrue(got["isError"])
                self.assertEqual(got["_meta"]["dev.patchbay/failure"], {"code": code})
                self.assertIn(code, declared)
                self.assertIn(text, got["content"][0]["text"])

    def test_version(self):
        with self.assertRaisesRegex(ValueError, "version 2 is not known; this tool speaks version 1"):
            call(1, "m", "m", version=2)


class AgreementTest(unittest.TestCase):
    """What tool.json promises is what the code does."""

    def test_units(self):
        known = [*app.LENGTH, *app.MASS, *app.TEMPERATURE]
        for name in ("source", "target"):
            self.assertEqual(TOOL["inputSchema"]["properties"][name]["enum"], known)

    def test_every_pair(self):
        units = TOOL["inputSchema"]["properties"]["source"]["enum"]
        for source in units:
            for target in units:
                got = call(1.0, source, target)
                if got.get("isError"):
                    self.assertNotEqual(app.dimension(source), app.dimension(target))
                    continue
                self.assertEqual(set(got["structuredContent"]), set(TOOL["outputSchema"]["properties"]))
                back = call(got["structuredContent"]["value"], target, source)["structuredContent"]["value"]
                self.assertTrue(math.isclose(back, 1.0, rel_tol=1e-6), (source, target, back))

    def test_every_call_leaves_a_line(self):
        cases = [
            ((1, "ft", "in"), {"level": "INFO", "outcome": "ok"}),
            ((1, "kg", "m"), {"level": "INFO", "outcome": "tool_error", "code": "incompatible_units"}),
            ((None, "kg", "t"), {"level": "ERROR", "outcome": "error"}),
        ]
        trace = "1-67891233-abcdef012345678912345678"
        for arguments, want in cases:
            event = {
                "version": 1,
                "tool": "convert_units",
                "arguments": dict(zip(("value", "source", "target"), arguments)),
                "meta": {"requestId": "r-1"},
            }
            context = types.SimpleNamespace(aws_request_id="i-1")
            variables = {"_X_AMZN_TRACE_ID": f"Root={trace};Parent=53995c3f42cd8ad8;Sampled=1"}
            with mock.patch.dict(os.environ, variables), contextlib.redirect_stdout(io.StringIO()) as output:
                try:
                    app.handler(event, context)
                except TypeError:
                    self.assertEqual(want["outcome"], "error")
            self.assertEqual(output.getvalue().count("\n"), 1)
            line = json.loads(output.getvalue())
            want |= {"tool": "convert_units", "requestId": "r-1", "traceId": trace, "lambdaRequestId": "i-1"}
            self.assertEqual({key: line[key] for key in want}, want)
            self.assertGreaterEqual(line["durationMs"], 0)


if __name__ == "__main__":
    unittest.main()
