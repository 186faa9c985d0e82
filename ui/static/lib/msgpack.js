// @ts-check
/** Decodes msgpack (msgpack.org) and the columns of numbers in its buffers. Pure. */

const text = new TextDecoder();

/**
 * Decode a message: maps become objects, buffers become byte arrays.
 * @param {ArrayBuffer} buffer @returns {any}
 */
export function decode(buffer) {
  const view = new DataView(buffer);
  let offset = 0;

  /** @param {number} size */
  function bytes(size) {
    offset += size;
    return new Uint8Array(buffer, offset - size, size);
  }

  /** An unsigned number of 1, 2 or 4 bytes. @param {number} size */
  function count(size) {
    offset += size;
    if (size === 1) return view.getUint8(offset - 1);
    return size === 2 ? view.getUint16(offset - 2) : view.getUint32(offset - 4);
  }

  /** @param {number} size */
  function signed(size) {
    offset += size;
    if (size === 1) return view.getInt8(offset - 1);
    if (size === 2) return view.getInt16(offset - 2);
    return size === 4 ? view.getInt32(offset - 4) : Number(view.getBigInt64(offset - 8));
  }

  /** @param {number} size */
  const list = (size) => Array.from({ length: size }, value);
  /** @param {number} size @returns {Record<string, any>} */
  const map = (size) => Object.fromEntries(Array.from({ length: size }, () => [value(), value()]));
  /** @param {number} size */
  const string = (size) => text.decode(bytes(size));

  /** @type {Record<number, () => any>} */
  const readers = {
    0xc0: () => null,
    0xc2: () => false,
    0xc3: () => true,
    0xc4: () => bytes(count(1)),
    0xc5: () => bytes(count(2)),
    0xc6: () => bytes(count(4)),
    0xca: () => view.getFloat32((offset += 4) - 4),
    0xcb: () => view.getFloat64((offset += 8) - 8),
    0xcc: () => count(1),
    0xcd: () => count(2),
    0xce: () => count(4),
    0xcf: () => Number(view.getBigUint64((offset += 8) - 8)),
    0xd0: () => signed(1),
    0xd1: () => signed(2),
    0xd2: () => signed(4),
    0xd3: () => signed(8),
    0xd9: () => string(count(1)),
    0xda: () => string(count(2)),
    0xdb: () => string(count(4)),
    0xdc: () => list(count(2)),
    0xdd: () => list(count(4)),
    0xde: () => map(count(2)),
    0xdf: () => map(count(4)),
  };

  /** @returns {any} */
  function value() {
    const type = count(1);
    if (type < 0x80) return type;
    if (type < 0x90) return map(type & 0x0f);
    if (type < 0xa0) return list(type & 0x0f);
    if (type < 0xc0) return string(type & 0x1f);
    if (type >= 0xe0) return type - 0x100;
    const read = readers[type];
    if (!read) throw new Error(`msgpack: byte ${offset - 1} has the unsupported type ${type}`);
    return read();
  }

  return value();
}

/** A buffer of 64-bit floats, little-endian as on every platform with a browser. @param {Uint8Array} bytes */
export const floats = (bytes) => Array.from(new Float64Array(bytes.slice().buffer));

/** A buffer of 64-bit integers, as numbers. @param {Uint8Array} bytes */
export function integers(bytes) {
  const low = new Uint32Array(bytes.slice().buffer);
  const high = new Int32Array(low.buffer);
  return Array.from({ length: low.length / 2 }, (_, i) => high[2 * i + 1] * 2 ** 32 + low[2 * i]);
}
