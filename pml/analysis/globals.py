"""Names that exist in the sandbox without being declared, and names that do not.

Whatever is in neither list and is declared nowhere is a parameter of the program (SA-4), so
the first list must name everything that the sandbox offers.
"""

MCP = "mcp"
CAPABILITIES = "capabilities"
ARGS = "args"
SHIM = "__pml"
RESERVED = frozenset({MCP, CAPABILITIES, ARGS, SHIM})


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_LANGUAGE = _names(
    """
    undefined NaN Infinity globalThis arguments eval isFinite isNaN parseFloat parseInt
    decodeURI decodeURIComponent encodeURI encodeURIComponent escape unescape AggregateError
    Array ArrayBuffer BigInt BigInt64Array BigUint64Array Boolean DataView Date Error
    EvalError Float16Array Float32Array Float64Array Function Int16Array Int32Array Int8Array
    Intl Iterator JSON Map Math Number Object Promise Proxy RangeError ReferenceError Reflect
    RegExp Set String Symbol SyntaxError Temporal TypeError URIError Uint16Array Uint32Array
    Uint8Array Uint8ClampedArray WeakMap WeakSet DisposableStack AsyncDisposableStack
    SuppressedError
    """
)
_WEB = _names(
    """
    AbortController AbortSignal Blob CustomEvent DOMException Event EventTarget TextDecoder
    TextEncoder URL URLPattern URLSearchParams atob btoa clearInterval clearTimeout console
    crypto fetch performance queueMicrotask self setInterval setTimeout structuredClone
    """
)
STANDARD = _LANGUAGE | _WEB | RESERVED | {"ToolError"}

_WHY_ABSENT = {
    "the sandbox has no operating system; use an MCP tool": (
        "Deno Bun process __dirname __filename"
    ),
    "the sandbox has no page; the program gets its input from args and tools": (
        "window document alert confirm prompt"
    ),
    "a program runs in one thread, so that it can be replayed; use Promise.all": """
        Worker SharedWorker BroadcastChannel SharedArrayBuffer Atomics MessageChannel
        MessageEvent MessagePort""",
    "garbage collection cannot be replayed; use Map or WeakMap": "WeakRef FinalizationRegistry",
    "modules cannot be loaded; use an MCP tool": "require module exports",
    "the sandbox keeps nothing; use an MCP tool": ("localStorage sessionStorage indexedDB caches"),
    "the sandbox has no network; use an MCP tool": (
        "XMLHttpRequest WebSocket EventSource FormData Headers Request Response"
    ),
    "the sandbox has no streams and no files; what a tool gives is a value": """
        ByteLengthQueuingStrategy CompressionStream CountQueuingStrategy DecompressionStream
        File FileReader ReadableStream TextDecoderStream TextEncoderStream TransformStream
        WritableStream""",
    "use Uint8Array, TextEncoder and TextDecoder": "Buffer",
    "use globalThis": "global",
    "use setTimeout or queueMicrotask": "setImmediate",
    "the sandbox does not offer it": """
        AsyncIterator Crypto CryptoKey ErrorEvent Performance PromiseRejectionEvent
        SubtleCrypto WebAssembly navigator reportError""",
}
ABSENT = {name: why for why, names in _WHY_ABSENT.items() for name in _names(names)}
"""Names that the sandbox lacks or removes, with what to do instead."""
