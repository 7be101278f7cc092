import { createBirpc } from 'birpc'
import { z } from 'zod'
import { AppError, type ErrorKind } from '../../core/errors.ts'

/** Protocol version; both ends must use the same one. */
export const CHANNEL_PROTOCOL = 1
/** Base64 grows data by a third, and a Git pack is sent in one line. */
const MAX_LINE_BYTES = 64 * 1024 * 1024
const MAX_CAUSE_CHARACTERS = 4000
const NEWLINE = 10

/** A bidirectional byte stream; `write` resolves when more can be written. */
export type ByteLink = { input: AsyncIterable<Uint8Array>; write(text: string): Promise<void> }

/** Functions that the peer can call. The peer is not trusted, so each function validates its arguments. */
export type ChannelFunctions = Record<string, (...args: unknown[]) => Promise<unknown>>

const KINDS = [
  'invalid',
  'forbidden',
  'not_found',
  'conflict',
  'too_large',
  'internal',
  'upstream_failed',
  'upstream_timeout',
  'storage_full',
  'unavailable',
] as const satisfies readonly ErrorKind[]

/** Errors are sent as data because an exception would lose its kind on the way. */
const Reply = z.union([
  z.object({
    failure: z.object({
      kind: z.enum(KINDS),
      message: z.string(),
      extra: z.record(z.string(), z.unknown()),
      cause: z.string().nullable().optional(),
    }),
  }),
  z.object({ result: z.unknown() }),
])
type Reply = z.infer<typeof Reply>

export type Channel = {
  /** @throws AppError as thrown by the peer, or `unavailable` after the channel has closed. */
  call<T>(schema: z.ZodType<T>, name: string, ...args: unknown[]): Promise<T>
  /** Closes the channel and rejects pending calls. */
  end(): void
  /** Resolves when either side has closed the channel. */
  ended: Promise<void>
}

/** Opens one end of a two-way RPC over newline-delimited JSON; an invalid line closes it. */
export function openChannel(link: ByteLink, functions: ChannelFunctions): Channel {
  const { promise: ended, resolve } = Promise.withResolvers<void>()
  const rpc = createBirpc<ChannelFunctions, ChannelFunctions>(answerAll(functions), {
    post: (line: string) => link.write(`${line}\n`),
    on: (listen: (line: string) => unknown) => {
      const answer = async (line: string) => {
        await listen(line)
      }
      readLines(link.input, (line) => void answer(line).catch(end)).then(end, end)
    },
    serialize: (message) => JSON.stringify(message),
    deserialize: (line: string) => JSON.parse(line),
    // Callers set their own timeouts.
    timeout: -1,
  })
  function end(): void {
    if (!rpc.$closed) rpc.$close(hasEnded())
    resolve()
  }
  return {
    ended,
    end,
    async call(schema, name, ...args) {
      if (rpc.$closed) throw hasEnded()
      const reply = Reply.parse(await rpc.$call(name, ...args))
      if ('result' in reply) return schema.parse(reply.result)
      const { kind, message, extra, cause } = reply.failure
      throw new AppError(kind, message, extra, cause ? { cause: new Error(cause) } : {})
    },
  }
}

/** Exposes only own properties, so the peer cannot call inherited functions. */
function answerAll(functions: ChannelFunctions): ChannelFunctions {
  const answers: ChannelFunctions = Object.create(null)
  for (const [name, work] of Object.entries(functions)) answers[name] = (...args) => toReply(() => work(...args))
  return answers
}

async function toReply(work: () => Promise<unknown>): Promise<Reply> {
  try {
    return { result: (await work()) ?? null }
  } catch (error) {
    const known = error instanceof AppError ? error : new AppError('internal', 'Internal error', {}, { cause: error })
    const kind = KINDS.find((one) => one === known.kind) ?? 'internal'
    return { failure: { kind, message: known.message, extra: { ...known.extra }, cause: describeCause(known.cause) } }
  }
}

/** Describes a cause for the peer's log. */
function describeCause(cause: unknown): string | null {
  if (cause === undefined) return null
  const text = cause instanceof Error ? (cause.stack ?? cause.message) : String(cause)
  return text.slice(0, MAX_CAUSE_CHARACTERS)
}

async function readLines(input: AsyncIterable<Uint8Array>, listen: (line: string) => void): Promise<void> {
  let parts: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of input) {
    let rest = chunk
    for (let end = rest.indexOf(NEWLINE); end !== -1; end = rest.indexOf(NEWLINE)) {
      listen(Buffer.concat([...parts, rest.subarray(0, end)]).toString('utf8'))
      rest = rest.subarray(end + 1)
      parts = []
      bytes = 0
    }
    parts.push(rest)
    bytes += rest.length
    if (bytes > MAX_LINE_BYTES) throw new Error('The other end says too much at once')
  }
}

function hasEnded(): AppError {
  return new AppError('unavailable', 'The connection was lost')
}
