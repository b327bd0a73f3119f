"""Convert_units is a tool in plain Python: it speaks only the JSON envelope that docs/envelope.md describes."""

import json
import math
import os
import re
import time

VERSION = 1  # of the envelope

# How many of its dimension's base unit (metre, kilogram) one unit is; temperatures are added to and multiplied.
LENGTH = {"mm": 0.001, "cm": 0.01, "m": 1.0, "km": 1000.0, "in": 0.0254, "ft": 0.3048, "yd": 0.9144, "mi": 1609.344}
MASS = {"g": 0.001, "kg": 1.0, "t": 1000.0, "oz": 0.028349523125, "lb": 0.45359237}
TEMPERATURE = {"C": (273.15, 1.0), "F": (459.67, 5 / 9), "K": (0.0, 1.0)}  # kelvin = (value + first) * second


class Failure(Exception):
    """A failure that the contract declares; its text goes to the model."""

    def __init__(self, code, text):
        super().__init__(text)
        self.code = code


def handler(event, context):
    """Answers one call. An exception that is not a Failure is a defect: the client learns only that the tool failed."""
    if event.get("version") != VERSION:
        raise ValueError(f"envelope version {event.get('version')} is not known; this tool speaks version {VERSION}")
    started, line = time.monotonic(), {"level": "INFO", "msg": "tool call", "outcome": "ok"}
    try:
        return success(convert(**event["arguments"]))
    except Failure as failure:
        line.update(outcome="tool_error", code=failure.code)
        return {
            "content": [{"type": "text", "text": str(failure)}],
            "isError": True,
            "_meta": {"dev.patchbay/failure": {"code": failure.code}},
        }
    except Exception as defect:
        line.update(level="ERROR", outcome="error", error=repr(defect))
        raise
    finally:
        line["durationMs"] = (time.monotonic() - started) * 1000
        log(line, event, context)


def log(line, event, context):
    """Logs a line of JSON with what finds it again: the dispatcher's request id, the trace, Lambda's own request id."""
    trace = re.search("Root=([^;]+)", os.environ.get("_X_AMZN_TRACE_ID", ""))
    line["tool"] = event["tool"]
    line["requestId"] = event.get("meta", {}).get("requestId")
    line["traceId"] = trace and trace.group(1)
    line["lambdaRequestId"] = getattr(context, "aws_request_id", None)
    print(json.dumps(line), flush=True)


def success(structured):
    """The structured content, and the same as text for clients that read only text."""
    return {"content": [{"type": "text", "text": json.dumps(structured)}], "structuredContent": structured}


def convert(value, source, target):
    """Converts a value from the source to the target unit. The schema allows only units that are known here."""
    value = number(value)
    for units in (LENGTH, MASS):
        if source in units and target in units:
            return result(value * units[source] / units[target], target)
    if source in TEMPERATURE and target in TEMPERATURE:
        return result(temperature(value, source, target), target)
    raise Failure(
        "incompatible_units",
        f"{source} cannot be converted to {target}: {source} is a unit of {dimension(source)}, {target} of "
        f"{dimension(target)}. Allowed for {source}: {', '.join(units_like(source))}.",
    )


def number(value):
    """JSON has whole numbers of any size; those beyond a float are infinite here."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def temperature(value, source, target):
    offset, factor = TEMPERATURE[source]
    kelvin = (value + offset) * factor
    if kelvin < -1e-9:
        raise Failure("below_absolute_zero", f"{value:g} {source} is below absolute zero (-273.15 C, -459.67 F, 0 K).")
    offset, factor = TEMPERATURE[target]
    return kelvin / factor - offset


def result(value, unit):
    """Rounds to ten digits, which hides what binary fractions add."""
    if math.isinf(value):
        raise Failure("too_large", f"The value in {unit} is too large to be written down. Use a larger unit.")
    return {"value": float(f"{value:.10g}"), "unit": unit}


def dimension(unit):
    if unit in LENGTH:
        return "length"
    return "mass" if unit in MASS else "temperature"


def units_like(unit):
    return {"length": LENGTH, "mass": MASS, "temperature": TEMPERATURE}[dimension(unit)]
