import { Duplex } from 'node:stream'
import { type FrameType, MAX_PAYLOAD_BYTES, ProtocolError } from './frames.ts'

/** Bytes that the peer may send before this side has read earlier ones. */
export const WINDOW_BYTES = 256 * 1024
/** Smaller credits would cost a frame each. */
const MIN_CREDIT_BYTES = WINDOW_BYTES / 4
const READ_AHEAD_BYTES = 64 * 1024

/** The part of a session that a stream uses. */
type StreamOwner = {
  /** Returns false while the session has too many unacknowledged bytes. */
  canSend(): boolean
  /** Calls `pump` of the stream when the session can send again. */
  sendLater(stream: TunnelStream): void
  send(type: FrameType, stream: number, payload: Uint8Array): void
  forget(stream: TunnelStream): void
}

type Waiting = { rest: Uint8Array; done: (error?: Error | null) => void }
const NOTHING = new Uint8Array(0)

/** One byte stream of a tunnel, with flow control; each side ends its half on its own. */
export class TunnelStream extends Duplex {
  readonly id: number
  readonly #owner: StreamOwner
  readonly #encodeCredit: (bytes: number) => Uint8Array
  #sendCredit = WINDOW_BYTES
  #receiveCredit = WINDOW_BYTES
  #waiting: Waiting | null = null
  #hasEnded = false
  #hasPeerEnded = false
  #isReset = false

  constructor(id: number, owner: StreamOwner, encodeCredit: (bytes: number) => Uint8Array) {
    super({ allowHalfOpen: true, readableHighWaterMark: READ_AHEAD_BYTES, writableHighWaterMark: READ_AHEAD_BYTES })
    this.id = id
    this.#owner = owner
    this.#encodeCredit = encodeCredit
  }

  /** Sends as much as credit and session allow. */
  pump(): void {
    while (this.#waiting && this.#sendCredit > 0) {
      if (!this.#owner.canSend()) {
        this.#owner.sendLater(this)
        return
      }
      const { rest, done } = this.#waiting
      const size = Math.min(rest.length, this.#sendCredit, MAX_PAYLOAD_BYTES)
      this.#sendCredit -= size
      this.#owner.send('data', this.id, rest.subarray(0, size))
      if (size < rest.length) this.#waiting.rest = rest.subarray(size)
      else {
        this.#waiting = null
        done()
      }
      // One frame a turn, so that a large write does not delay other streams.
      if (this.#waiting) {
        this.#owner.sendLater(this)
        return
      }
    }
  }

  /** @throws ProtocolError for bytes beyond the credit or after the end. */
  receiveData(payload: Uint8Array): void {
    if (payload.length > this.#receiveCredit || this.#hasPeerEnded)
      throw new ProtocolError('A stream got too many bytes')
    this.#receiveCredit -= payload.length
    if (!this.destroyed) this.push(payload)
  }

  /** @throws ProtocolError for a second end. */
  receiveEnd(): void {
    if (this.#hasPeerEnded) throw new ProtocolError('A stream ended twice')
    this.#hasPeerEnded = true
    if (!this.destroyed) this.push(null)
  }

  receiveReset(): void {
    this.#isReset = true
    this.destroy(new Error('The other side reset the stream'))
  }

  /** @throws ProtocolError for a credit that is too large. */
  receiveCredit(bytes: number): void {
    this.#sendCredit += bytes
    if (this.#sendCredit > WINDOW_BYTES) throw new ProtocolError('A stream got too much credit')
    this.pump()
  }

  /** Ends the stream without a frame, because the session is over. */
  cut(error: Error): void {
    this.#isReset = true
    this.destroy(error)
  }

  override _write(chunk: Uint8Array, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    if (chunk.length === 0) done()
    else {
      this.#waiting = { rest: chunk, done }
      this.pump()
    }
  }

  override _final(done: (error?: Error | null) => void): void {
    this.#hasEnded = true
    this.#owner.send('end', this.id, NOTHING)
    done()
  }

  override _read(): void {
    if (this.#hasPeerEnded) return
    const credit = WINDOW_BYTES - this.readableLength - this.#receiveCredit
    if (credit < MIN_CREDIT_BYTES) return
    this.#receiveCredit += credit
    this.#owner.send('window', this.id, this.#encodeCredit(credit))
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    const isWhole = this.#hasEnded && this.#hasPeerEnded
    if (!isWhole && !this.#isReset) this.#owner.send('reset', this.id, NOTHING)
    this.#owner.forget(this)
    const waiting = this.#waiting
    this.#waiting = null
    waiting?.done(error ?? new Error('The stream was closed'))
    done(error)
  }
}
