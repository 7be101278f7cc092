import {
  decodeCount,
  decodeFrame,
  encodeCount,
  encodeFrame,
  type Frame,
  type FrameType,
  ProtocolError,
} from './frames.ts'
import { TunnelStream } from './stream.ts'

/** Streams open at the same time. */
export const MAX_STREAMS = 256
/** Unacknowledged bytes, beyond which streams wait. */
const MAX_UNACKED_BYTES = 2 * 1024 * 1024
/** Unacknowledged frames of a peer that acknowledges nothing, which ends the session. */
const MAX_UNACKED_FRAMES = 20_000
/** An acknowledgement is sent after this many bytes or milliseconds. */
const ACK_BYTES = 128 * 1024
const ACK_MS = 40
const LAST_NUMBER = 0xffff_ffff
const NOTHING = new Uint8Array(0)

/** One connection that carries a session. `close` may be called more than once. */
export type Carrier = { send(bytes: Uint8Array): void; close(): void }

type SessionOptions = {
  /** Only the platform opens streams; the machine accepts them. */
  role: 'platform' | 'machine'
  /** Serves a stream that the peer opened. @throws Error for an unknown target. */
  accept?: (target: string, stream: TunnelStream) => void
  onEnd: (error: Error) => void
}

/**
 * Carries streams over one connection after another. Frames that the peer has not acknowledged are sent again by
 * `attach`, so a stream loses and repeats nothing until the session ends.
 */
export class TunnelSession {
  readonly #options: SessionOptions
  readonly #streams = new Map<number, TunnelStream>()
  readonly #unacked: { number: number; bytes: Buffer }[] = []
  readonly #waiting = new Set<TunnelStream>()
  #carrier: Carrier | null = null
  #unackedBytes = 0
  #sent = 0
  #received = 0
  #unreportedBytes = 0
  #ackTimer: Timer | null = null
  #wake: NodeJS.Immediate | null = null
  #lastStream = 0
  #error: Error | null = null

  constructor(options: SessionOptions) {
    this.#options = options
  }

  /** The number of the last frame that arrived. */
  get received(): number {
    return this.#received
  }

  get isOver(): boolean {
    return this.#error !== null
  }

  get isAttached(): boolean {
    return this.#carrier !== null
  }

  get isFull(): boolean {
    return this.#streams.size >= MAX_STREAMS
  }

  get streamCount(): number {
    return this.#streams.size
  }

  /** Returns whether a peer that has received this many frames can continue the session. */
  canResumeAt(received: number): boolean {
    const first = this.#unacked[0]?.number ?? this.#sent + 1
    return !this.isOver && received >= first - 1 && received <= this.#sent
  }

  /** Continues over `carrier`, after the peer said which frames it has received. */
  attach(carrier: Carrier, receivedByPeer: number): void {
    this.#carrier?.close()
    this.#carrier = carrier
    this.#forgetAcked(receivedByPeer)
    for (const { bytes } of this.#unacked) carrier.send(bytes)
    this.#wakeSoon()
  }

  /** Continues without a connection, unless another one has replaced `carrier`. */
  detach(carrier: Carrier): void {
    if (this.#carrier === carrier) this.#carrier = null
  }

  /** Handles a message of `carrier`; a violation of the protocol ends the session. */
  receive(carrier: Carrier, message: Buffer): void {
    if (this.isOver || carrier !== this.#carrier) return
    try {
      this.#handle(decodeFrame(message))
    } catch (error) {
      this.end(error instanceof ProtocolError ? error : new Error('The tunnel failed', { cause: error }))
    }
  }

  /** @throws Error when the session is over or has too many streams. */
  openStream(target: string): TunnelStream {
    if (this.#error) throw this.#error
    if (this.isFull) throw new Error('Too many connections to this machine are open')
    const stream = this.#createStream(++this.#lastStream)
    this.#send('open', stream.id, Buffer.from(target))
    return stream
  }

  /** Resets the streams whose opening the peer has not acknowledged. */
  cutUnheard(): void {
    const opens = this.#unacked.filter(({ bytes }) => decodeFrame(bytes).type === 'open')
    for (const { bytes } of opens) this.#streams.get(decodeFrame(bytes).stream)?.destroy(new Error('No connection'))
  }

  /** Ends every stream and closes the connection. */
  end(error: Error): void {
    if (this.isOver) return
    this.#error = error
    if (this.#ackTimer) clearTimeout(this.#ackTimer)
    if (this.#wake) clearImmediate(this.#wake)
    for (const stream of [...this.#streams.values()]) stream.cut(error)
    this.#unacked.length = 0
    this.#carrier?.close()
    this.#carrier = null
    this.#options.onEnd(error)
  }

  #createStream(id: number): TunnelStream {
    const owner = {
      canSend: () => this.#unackedBytes < MAX_UNACKED_BYTES,
      sendLater: (stream: TunnelStream) => {
        this.#waiting.add(stream)
        if (this.#unackedBytes < MAX_UNACKED_BYTES) this.#wakeSoon()
      },
      send: (type: FrameType, stream: number, payload: Uint8Array) => this.#send(type, stream, payload),
      forget: (stream: TunnelStream) => {
        this.#streams.delete(stream.id)
        this.#waiting.delete(stream)
      },
    }
    const stream = new TunnelStream(id, owner, encodeCount)
    // Without a listener an error of a stream would end the process.
    stream.on('error', () => undefined)
    this.#streams.set(id, stream)
    return stream
  }

  #send(type: FrameType, stream: number, payload: Uint8Array): void {
    if (this.isOver) return
    if (this.#unacked.length >= MAX_UNACKED_FRAMES || this.#sent >= LAST_NUMBER) {
      this.end(new Error('The other side acknowledges nothing'))
      return
    }
    const number = ++this.#sent
    const bytes = encodeFrame({ type, number, stream, payload })
    this.#unacked.push({ number, bytes })
    this.#unackedBytes += bytes.length
    this.#carrier?.send(bytes)
  }

  #handle(frame: Frame): void {
    if (frame.type === 'ack') {
      this.#forgetAcked(frame.number)
      this.#wakeSoon()
      return
    }
    if (frame.type === 'ping' || frame.type === 'pong') throw new ProtocolError('A heartbeat reached the session')
    // Sent again after a reconnect.
    if (frame.number <= this.#received) return
    if (frame.number !== this.#received + 1) throw new ProtocolError('A frame is missing')
    this.#received = frame.number
    this.#acknowledgeSoon(frame.payload.length)
    this.#dispatch(frame)
  }

  #dispatch({ type, stream: id, payload }: Frame): void {
    const stream = this.#streams.get(id)
    if (type === 'open') this.#accept(id, payload)
    // The peer may still send to a stream that this side has just closed.
    else if (!stream) return
    else if (type === 'data') stream.receiveData(payload)
    else if (type === 'end') stream.receiveEnd()
    else if (type === 'reset') stream.receiveReset()
    else stream.receiveCredit(decodeCount(payload))
  }

  #accept(id: number, payload: Uint8Array): void {
    const { role, accept } = this.#options
    if (role !== 'machine' || !accept || id <= this.#lastStream) throw new ProtocolError('A stream was opened wrongly')
    this.#lastStream = id
    const stream = this.#createStream(id)
    if (this.#streams.size > MAX_STREAMS) stream.destroy()
    else accept(Buffer.from(payload).toString(), stream)
  }

  #acknowledgeSoon(bytes: number): void {
    this.#unreportedBytes += bytes
    if (this.#unreportedBytes >= ACK_BYTES) this.#acknowledge()
    else this.#ackTimer ??= setTimeout(() => this.#acknowledge(), ACK_MS)
  }

  #acknowledge(): void {
    if (this.#ackTimer) clearTimeout(this.#ackTimer)
    this.#ackTimer = null
    this.#unreportedBytes = 0
    this.#carrier?.send(encodeFrame({ type: 'ack', number: this.#received, stream: 0, payload: NOTHING }))
  }

  /** @throws ProtocolError for frames that were never sent. */
  #forgetAcked(number: number): void {
    if (number > this.#sent) throw new ProtocolError('Frames were acknowledged that were not sent')
    const count = this.#unacked.findIndex((frame) => frame.number > number)
    const acked = this.#unacked.splice(0, count === -1 ? this.#unacked.length : count)
    for (const { bytes } of acked) this.#unackedBytes -= bytes.length
  }

  /** Lets waiting streams send one frame each, in the order in which they began to wait. */
  #wakeSoon(): void {
    this.#wake ??= setImmediate(() => {
      this.#wake = null
      const waiting = [...this.#waiting]
      this.#waiting.clear()
      for (const stream of waiting) stream.pump()
    })
  }
}
