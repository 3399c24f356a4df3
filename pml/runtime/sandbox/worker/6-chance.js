// Chance.

// sfc32 (C. Doty-Humphrey, PractRand): 128 bits of state, passes BigCrush, four additions a draw.
let [s0, s1, s2, s3] = [0, 0, 0, 1];

function draw32() {
  const t = (((s0 + s1) | 0) + s3) | 0;
  s3 = (s3 + 1) | 0;
  s0 = s1 ^ (s1 >>> 9);
  s1 = (s2 + (s2 << 3)) | 0;
  s2 = ((s2 << 21) | (s2 >>> 11)) + t;
  s2 |= 0;
  return t >>> 0;
}

function seedRandom(seed) {
  s0 = seed | 0;
  s1 = floor(seed / 4294967296) | 0;
  s2 = imul(s0 ^ 0x9e3779b9, 0x85ebca6b);
  s3 = 1;
  for (let i = 0; i < 15; i++) draw32();
}

function installChance() {
  const random = () => (draw32() * 2097152 + (draw32() >>> 11)) / 9007199254740992; // 53 bits
  define(Math, { random });
  const typedArray = getPrototypeOf(NativeUint8Array.prototype);
  const bufferOf = getter(typedArray, "buffer");
  const offsetOf = getter(typedArray, "byteOffset");
  const lengthOf = getter(typedArray, "byteLength");
  const NativeDomException = DOMException;
  const replacement = {
    getRandomValues(array) {
      if (!isView(array)) throw new NativeTypeError("getRandomValues needs an integer array");
      const length = lengthOf(array);
      if (length > 65536) {
        throw new NativeDomException("more than 65536 bytes", "QuotaExceededError");
      }
      const bytes = new NativeUint8Array(bufferOf(array), offsetOf(array), length);
      for (let i = 0; i < length; i++) bytes[i] = draw32() >>> 24;
      return array;
    },
    randomUUID() {
      const hex = (value, digits) => padStart(numberToString(value, 16), digits, "0");
      const [a, b, c, d] = [draw32(), draw32(), draw32(), draw32()];
      const version = 0x4000 | (b & 0x0fff);
      const variant = 0x8000 | (c & 0x3fff);
      return `${hex(a, 8)}-${hex(b >>> 16, 4)}-${hex(version, 4)}-${hex(variant, 4)}-` +
        hex(c >>> 16, 4) + hex(d, 8);
    },
    subtle: makeSubtle(crypto.subtle),
  };
  define(globalThis, { crypto: replacement });
}

/** The operations of Web Crypto whose outcome follows from their input. */
function makeSubtle(native) {
  const names = [
    "decrypt", "deriveBits", "deriveKey", "digest", "encrypt", "exportKey", "importKey", "sign",
    "verify",
  ];
  const subtle = { __proto__: Object.prototype };
  for (const name of names) {
    const operation = native[name];
    define(subtle, {
      [name]: (...rest) => withinTurn(() => apply(operation, native, rest)),
    });
  }
  return subtle;
}
