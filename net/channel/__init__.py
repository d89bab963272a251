"""Messages by type, requests and answers, over any transport."""

from net.channel.channel import NetChannel
from net.channel.request import (
    BusyError,
    ChannelClosedError,
    ChannelError,
    HandlerError,
    InvalidPayloadError,
    NoHandlerError,
    Request,
    RequestTimeoutError,
)

__all__ = [
    "BusyError",
    "ChannelClosedError",
    "ChannelError",
    "HandlerError",
    "InvalidPayloadError",
    "NetChannel",
    "NoHandlerError",
    "Request",
    "RequestTimeoutError",
]
