import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { decodeFrame, encodeFrame, MAX_FRAME_BYTES, MAX_PAYLOAD_BYTES, ProtocolError } from './frames.ts'
import { type Carrier, MAX_STREAMS, TunnelSession } from './session.ts'
import { type TunnelStream, WINDOW_BYTES } from './stream.ts'

/** Connects two sessions; `cutAfter` messages in either direction the connection breaks and is made again. */
function connectSessions(accept: (target: string, stream: TunnelStream) => void, cuts: number[] = []) {
  const errors: Error[] = []
  const onEnd = (error: Error) => void errors.push(error)
  const platform = new TunnelSession({ role: 'platform', onEnd })
  const machine = new TunnelSession({ role: 'machine', accept, onEnd })
  const pending = [...cuts]
  const delivered = { messages: 0, connections: 0 }

  const connect = () => {
    delivered.connections += 1
    let left = pending.shift() ?? Number.POSITIVE_INFINITY
    let isOpen = true
    const cut = () => {
      if (!isOpen) return
      isOpen = false
      platform.detach(toMachine)
      machine.detach(toPlatform)
      setImmediate(connect)
    }
    const carrierTo = (receive: (bytes: Buffer) => void): Carrier => ({
      send(bytes) {
        const copy = Buffer.from(bytes)
        setImmediate(() => {
          if (!isOpen) return
          if (left-- <= 0) return cut()
          delivered.messages += 1
          receive(copy)
        })
      },
      close: cut,
    })
    const toMachine: Carrier = carrierTo((bytes) => machine.receive(toPlatform, bytes))
    const toPlatform: Carrier = carrierTo((bytes) => platform.receive(toMachine, bytes))
    if (platform.isOver || machine.isOver) return
    expect(platform.canResumeAt(machine.received)).toBeTrue()
    const [receivedByMachine, receivedByPlatform] = [machine.received, platform.received]
    platform.attach(toMachine, receivedByMachine)
    machine.attach(toPlatform, receivedByPlatform)
  }
  connect()
  return { platform, machine, errors, delivered }
}

/** Reads to the end; an async iterator would destroy the other half. */
function readAll(stream: TunnelStream): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>()
  const chunks: Buffer[] = []
  stream.on('data', (chunk: Buffer) => chunks.push(chunk))
  stream.on('end', () => resolve(Buffer.concat(chunks)))
  stream.on('error', reject)
  return promise
}

const Bytes = fc.uint8Array({ minLength: 0, maxLength: 3000 })

test('decodeFrame returns each encoded frame', () => {
  const Numbers = fc.integer({ min: 0, max: 0xffff_ffff })
  const Type = fc.constantFrom('open', 'data', 'end', 'reset', 'window', 'ack', 'ping', 'pong')
  fc.assert(
    fc.property(Type, Numbers, Numbers, Bytes, (type, number, stream, payload) => {
      const frame = { type, number, stream, payload } as const
      expect(decodeFrame(encodeFrame(frame))).toEqual(frame)
    }),
  )
})

test('decodeFrame throws only ProtocolError when given arbitrary bytes', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      try {
        decodeFrame(Buffer.from(bytes))
      } catch (error) {
        expect(error).toBeInstanceOf(ProtocolError)
      }
    }),
  )
  expect(() => decodeFrame(Buffer.alloc(MAX_FRAME_BYTES + 1, 2))).toThrow(ProtocolError)
})

test('streams deliver every byte once and in order when the connection breaks anywhere', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(Bytes, { maxLength: 6 }), { minLength: 1, maxLength: 5 }),
      fc.array(fc.integer({ min: 0, max: 40 }), { maxLength: 12 }),
      async (streams, cuts) => {
        // The machine returns what it receives, after the end of each stream.
        const { platform, errors, delivered } = connectSessions((_target, stream) => {
          void readAll(stream).then((all) => stream.end(all))
        }, cuts)
        const answers = await Promise.all(
          streams.map(async (chunks) => {
            const stream = platform.openStream('gateway')
            for (const chunk of chunks) stream.write(chunk)
            stream.end()
            return readAll(stream)
          }),
        )
        expect(answers).toEqual(streams.map((chunks) => Buffer.concat(chunks)))
        expect(errors).toEqual([])
        expect(delivered.connections).toBeGreaterThan(0)
      },
    ),
    { numRuns: 60 },
  )
}, 300_000)

test('a stream waits when its reader is slow, and other streams continue', async () => {
  const opened: TunnelStream[] = []
  const { platform } = connectSessions((_target, stream) => void opened.push(stream))
  const slow = platform.openStream('slow')
  let written = 0
  const piece = Buffer.alloc(MAX_PAYLOAD_BYTES, 7)
  while (written < 4 * WINDOW_BYTES && slow.write(piece)) written += piece.length
  for (let turn = 0; turn < 50; turn++) {
    await Bun.sleep(1)
    while (written < 4 * WINDOW_BYTES && slow.write(piece)) written += piece.length
  }
  const unread = opened[0]
  expect(unread?.readableLength).toBeLessThanOrEqual(WINDOW_BYTES)
  expect(written).toBeLessThan(2 * WINDOW_BYTES)
  const quick = platform.openStream('quick')
  quick.end('hello')
  await Bun.sleep(20)
  expect(opened[1] && (await readAll(opened[1])).toString()).toBe('hello')
  expect(unread).toBeDefined()
  let read = 0
  unread?.on('data', (chunk: Buffer) => {
    read += chunk.length
  })
  slow.end()
  const expected = written + piece.length
  for (let turn = 0; turn < 200 && read < expected - piece.length; turn++) await Bun.sleep(5)
  expect(read).toBeGreaterThanOrEqual(written)
})

test('a stream delivers a large write at the pace of its reader', async () => {
  const bytes = Buffer.from(Array.from({ length: 3_000_000 }, (_, index) => (index * 31) % 251))
  const { platform } = connectSessions((_target, stream) => void readAll(stream).then((all) => stream.end(all)), [300])
  const stream = platform.openStream('gateway')
  stream.end(bytes)
  expect((await readAll(stream)).equals(bytes)).toBeTrue()
})

test('a stream ends in one direction at a time, and ends on both sides when one is destroyed', async () => {
  const opened: TunnelStream[] = []
  const { platform, machine } = connectSessions((_target, stream) => void opened.push(stream))
  const stream = platform.openStream('gateway')
  stream.end('question')
  await Bun.sleep(10)
  expect(opened[0] && (await readAll(opened[0])).toString()).toBe('question')
  opened[0]?.end('answer')
  expect((await readAll(stream)).toString()).toBe('answer')
  await Bun.sleep(10)
  expect([platform.streamCount, machine.streamCount]).toEqual([0, 0])

  const broken = platform.openStream('gateway')
  await Bun.sleep(10)
  opened[1]?.destroy()
  await Bun.sleep(10)
  expect(broken.destroyed).toBeTrue()
  expect([platform.streamCount, machine.streamCount]).toEqual([0, 0])
})

test('openStream throws when too many streams are open', async () => {
  const { platform } = connectSessions((_target, stream) => stream.resume())
  for (let count = 0; count < MAX_STREAMS; count++) platform.openStream('gateway')
  expect(() => platform.openStream('gateway')).toThrow('Too many connections')
})

const nothing = new Uint8Array(0)
test.each([
  ['a gap in the numbers', { type: 'data', number: 2, stream: 1, payload: nothing }],
  ['an acknowledgement of unsent frames', { type: 'ack', number: 9, stream: 0, payload: nothing }],
  ['a stream opened by the machine', { type: 'open', number: 1, stream: 1, payload: nothing }],
  ['more bytes than the credit', { type: 'window', number: 1, stream: 1, payload: Buffer.alloc(4, 255) }],
] as const)('a session ends when it receives %s', (_what, frame) => {
  const errors: Error[] = []
  const session = new TunnelSession({ role: 'platform', onEnd: (error) => void errors.push(error) })
  let isClosed = false
  const carrier: Carrier = {
    send: () => undefined,
    close: () => {
      isClosed = true
    },
  }
  session.attach(carrier, 0)
  session.openStream('gateway')
  session.receive(carrier, encodeFrame(frame))
  expect(errors).toHaveLength(1)
  expect(isClosed).toBeTrue()
  expect(() => session.openStream('gateway')).toThrow(ProtocolError)
})

test('a session ends before memory fills when the peer acknowledges nothing', () => {
  const errors: Error[] = []
  const session = new TunnelSession({ role: 'platform', onEnd: (error) => void errors.push(error) })
  session.attach({ send: () => undefined, close: () => undefined }, 0)
  for (let count = 0; count < 30_000 && errors.length === 0; count++) session.openStream('gateway').destroy()
  expect(errors.map(({ message }) => message)).toEqual(['The other side acknowledges nothing'])
})
