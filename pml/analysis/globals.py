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
    Array ArrayBuffer Atomics BigInt BigInt64Array BigUint64Array Boolean DataView Date Error
    EvalError Float16Array Float32Array Float64Array Function Int16Array Int32Array Int8Array
    Intl Iterator AsyncIterator JSON Map Math Number Object Promise Proxy RangeError
    ReferenceError Reflect RegExp Set String Symbol SyntaxError Temporal TypeError URIError
    Uint16Array Uint32Array Uint8Array Uint8ClampedArray WeakMap WeakSet WebAssembly
    DisposableStack AsyncDisposableStack SuppressedError
    """
)
_WEB = _names(
    """
    AbortController AbortSignal Blob ByteLengthQueuingStrategy CompressionStream
    CountQueuingStrategy Crypto CryptoKey CustomEvent DOMException DecompressionStream
    ErrorEvent Event EventTarget File FileReader FormData Headers MessageChannel MessageEvent
    MessagePort Performance PromiseRejectionEvent ReadableStream Request Response SubtleCrypto
    TextDecoder TextDecoderStream TextEncoder TextEncoderStream TransformStream URL URLPattern
    URLSearchParams WritableStream atob btoa clearInterval clearTimeout console crypto fetch
    navigator performance queueMicrotask reportError self setInterval setTimeout structuredClone
    """
)
STANDARD = _LANGUAGE | _WEB | RESERVED | {"ToolError"}

_NO_OS = "the sandbox has no operating system; use an MCP tool"
_NO_PAGE = "the sandbox has no page; the program gets its input from args and tools"
_ONE_THREAD = "a program runs in one thread, so that it can be replayed; use Promise.all"
_NO_GC = "garbage collection cannot be replayed; use Map or WeakMap"
_NO_MODULES = "modules cannot be loaded; use an MCP tool"

ABSENT = {
    "Deno": _NO_OS,
    "Bun": _NO_OS,
    "process": _NO_OS,
    "Buffer": "use Uint8Array, TextEncoder and TextDecoder",
    "require": _NO_MODULES,
    "module": _NO_MODULES,
    "exports": _NO_MODULES,
    "__dirname": _NO_OS,
    "__filename": _NO_OS,
    "global": "use globalThis",
    "setImmediate": "use setTimeout or queueMicrotask",
    "window": _NO_PAGE,
    "document": _NO_PAGE,
    "localStorage": "the sandbox keeps nothing; use an MCP tool",
    "sessionStorage": "the sandbox keeps nothing; use an MCP tool",
    "indexedDB": "the sandbox keeps nothing; use an MCP tool",
    "caches": "the sandbox keeps nothing; use an MCP tool",
    "alert": _NO_PAGE,
    "confirm": _NO_PAGE,
    "prompt": _NO_PAGE,
    "XMLHttpRequest": "the sandbox has no network; use an MCP tool",
    "WebSocket": "the sandbox has no network; use an MCP tool",
    "EventSource": "the sandbox has no network; use an MCP tool",
    "Worker": _ONE_THREAD,
    "SharedWorker": _ONE_THREAD,
    "BroadcastChannel": _ONE_THREAD,
    "SharedArrayBuffer": _ONE_THREAD,
    "WeakRef": _NO_GC,
    "FinalizationRegistry": _NO_GC,
}
"""Names that the sandbox lacks or removes, with what to do instead."""
