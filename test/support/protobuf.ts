/** The fields of a protobuf message by their numbers: bytes, or numbers. */
export type Fields = ReadonlyMap<number, readonly (Buffer | bigint)[]>;

/** Reads the wire format of protobuf (protobuf.dev, "Encoding"), which has no field names. */
export function fieldsOf(message: Buffer): Fields {
  const fields = new Map<number, (Buffer | bigint)[]>();
  let at = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = message.readUInt8(at++);
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  const bytes = (length: number): Buffer => {
    if (at + length > message.length) throw new Error('the message ends within a field');
    at += length;
    return message.subarray(at - length, at);
  };
  const value = (wireType: number): Buffer | bigint => {
    switch (wireType) {
      case 0:
        return varint();
      case 1:
        return bytes(8).readBigUInt64LE();
      case 2:
        return bytes(Number(varint()));
      case 5:
        return BigInt(bytes(4).readUInt32LE());
      default:
        throw new Error(`there is no wire type ${wireType}`);
    }
  };
  while (at < message.length) {
    const tag = Number(varint());
    const found = value(tag & 7);
    fields.set(tag >> 3, [...(fields.get(tag >> 3) ?? []), found]);
  }
  return fields;
}

/** Bytes or a text; empty if they are absent, since protobuf omits empty values. */
export function bytesOf(fields: Fields, field: number): Buffer {
  return (fields.get(field)?.[0] as Buffer | undefined) ?? Buffer.alloc(0);
}

/** A number; 0 if it is absent. */
export function numberOf(fields: Fields, field: number): bigint {
  return (fields.get(field)?.[0] as bigint | undefined) ?? 0n;
}
