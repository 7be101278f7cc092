/** Payload bytes of a frame; larger writes are split, so that streams share the connection fairly. */
export const MAX_PAYLOAD_BYTES = 16 * 1024
const HEADER_BYTES = 9
export const MAX_FRAME_BYTES = HEADER_BYTES + MAX_PAYLOAD_BYTES

const TYPES = ['open', 'data', 'end', 'reset', 'window', 'ack', 'ping', 'pong'] as const
export type FrameType = (typeof TYPES)[number]

/**
 * One message of a tunnel. `number` counts the frames of one direction from 1; of an `ack` it is the last frame that
 * arrived, of `ping` and `pong` a token. `stream` is 0 for `ack`, `ping` and `pong`, which are neither counted nor sent
 * again.
 */
export type Frame = { type: FrameType; number: number; stream: number; payload: Uint8Array }

/** A violation of the protocol. */
export class ProtocolError extends Error {}

/** Encodes type (1 byte), number and stream (4 bytes each, big-endian), and the payload. */
export function encodeFrame({ type, number, stream, payload }: Frame): Buffer<ArrayBuffer> {
  const bytes = Buffer.alloc(HEADER_BYTES + payload.length)
  bytes.writeUInt8(TYPES.indexOf(type) + 1, 0)
  bytes.writeUInt32BE(number, 1)
  bytes.writeUInt32BE(stream, 5)
  bytes.set(payload, HEADER_BYTES)
  return bytes
}

/** @throws ProtocolError for an unknown type and for a frame that is too short or too long. */
export function decodeFrame(bytes: Buffer): Frame {
  if (bytes.length < HEADER_BYTES || bytes.length > MAX_FRAME_BYTES)
    throw new ProtocolError('A frame has a wrong length')
  const type = TYPES[bytes.readUInt8(0) - 1]
  if (!type) throw new ProtocolError('A frame has an unknown type')
  // A copy, because sockets reuse their buffers.
  const payload = Uint8Array.prototype.slice.call(bytes, HEADER_BYTES)
  return { type, number: bytes.readUInt32BE(1), stream: bytes.readUInt32BE(5), payload }
}

export function encodeCount(count: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(count)
  return bytes
}

/** @throws ProtocolError for a payload of another length. */
export function decodeCount(payload: Uint8Array): number {
  if (payload.length !== 4) throw new ProtocolError('A count has a wrong length')
  return Buffer.from(payload.buffer, payload.byteOffset, payload.length).readUInt32BE(0)
}
