"""What the standard library's methods and functions do with the values that they get.

Values are followed through these; any other method may keep what it gets, change it, or call it.
"""


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


PURE = _names(
    """
    at charAt charCodeAt codePointAt concat endsWith includes indexOf join keys lastIndexOf
    localeCompare match matchAll normalize padEnd padStart pop repeat search shift slice split
    startsWith substring substr toFixed toISOString toJSON toLocaleDateString toLocaleLowerCase
    toLocaleString toLocaleTimeString toLocaleUpperCase toLowerCase toPrecision toString
    toUpperCase trim trimEnd trimStart valueOf values entries has hasOwnProperty getTime
    getFullYear getMonth getDate getDay getHours getMinutes getSeconds getUTCFullYear
    getUTCMonth getUTCDate getUTCHours getUTCMinutes getUTCSeconds toUTCString toDateString
    toTimeString toReversed toSpliced with flat delete clear union intersection difference
    symmetricDifference isSubsetOf isSupersetOf isDisjointFrom getAll test exec format formatToParts
    reverse isWellFormed toWellFormed decode encode getTimezoneOffset get
    """
)
"""They give back what they are made of, and keep and change nothing but the order."""
SAME_OBJECTS = _names(
    """
    at concat get getAll pop shift slice values entries toReversed toSpliced with flat reverse
    union intersection difference symmetricDifference valueOf
    """
)
"""Those of them that give back objects which are in what they are called on."""
ADDING = _names("push unshift splice fill add set append copyWithin insertBefore setItem setHeader")
"""They add what they get to what they are called on."""
REORDERING = _names("sort reverse shift unshift splice copyWithin pop")
"""They move what is in what they are called on, or take it out."""
FOLDS = _names("reduce reduceRight")
CALLING = FOLDS | _names(
    """
    map forEach filter flatMap some every find findIndex findLast findLastIndex sort toSorted
    then catch finally replace replaceAll
    """
)
"""They call what they get, with what they are called on."""
SAME_ELEMENTS = _names("filter slice toSorted toReversed reverse sort values")
"""The elements of what they give are those of what they are called on, some or all."""
ONE_ELEMENT = _names("find at pop shift findLast")
"""They give an element of what they are called on."""
CHANGING = _names("assign defineProperty defineProperties setPrototypeOf set apply construct")
"""Functions of ``Object`` and ``Reflect`` that change their first argument, or call it."""
UNTRACEABLE = _names("globalThis self arguments eval Function Proxy Reflect")
"""Standard names through which values go unseen."""
FRESH = _names(
    """
    JSON String Number Boolean BigInt Math Date Intl URL URLSearchParams structuredClone atob btoa
    parseInt parseFloat isNaN isFinite encodeURI encodeURIComponent decodeURI decodeURIComponent
    Symbol RegExp TextEncoder TextDecoder console
    """
)
"""Standard names whose functions give nothing that is the same object as what they get."""
