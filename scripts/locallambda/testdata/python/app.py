"""A Lambda function in Python, served by AWS's own runtime client."""

import os


def handler(event, context):
    if event.get("fail"):
        raise ValueError("the handler failed")
    return {
        "event": event,
        "name": context.function_name,
        "requestId": context.aws_request_id,
        "arn": context.invoked_function_arn,
        "memory": context.memory_limit_in_mb,
        "remaining": context.get_remaining_time_in_millis() > 0,
        "pid": os.getpid(),
    }

