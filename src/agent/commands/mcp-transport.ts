import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client'
import { z } from 'zod'
import { endGroup, sweepMarked } from './end.ts'
import type { OrphanReaper } from './orphans.ts'
import { collectEnds, MARK } from './run.ts'

/** A longer message stops the server. */
const MAX_MESSAGE_CHARACTERS = 4 * 1024 * 1024
const MAX_LAST_WORDS_BYTES = 2000
const LAST_WORDS_MS = 500

const Message = z.looseObject({ jsonrpc: z.literal('2.0') })

type Program = {
  cmd: string[]
  folder: string
  environment: Record<string, string>
  orphanReaper: OrphanReaper | null
}

/**
 * Exchanges messages with a program over its standard input and output, one per line. The program runs in its own
 * process group, which is killed with the conversation. `lastWords` returns its error output.
 */
export function createMcpTransport({
  cmd,
  folder,
  environment,
  orphanReaper,
}: Program): Transport & { lastWords(): Promise<string> } {
  const mark = crypto.randomUUID()
  let child: Bun.Subprocess<'pipe', 'pipe', 'pipe'> | undefined
  let own: ReturnType<OrphanReaper['own']> | undefined
  let errors: ReturnType<typeof collectEnds> | undefined
  let said: Promise<string> | undefined

  const end = async () => {
    if (!child) return
    endGroup(child.pid)
    await child.exited
    await sweepMarked(MARK, mark)
    own?.release()
    await orphanReaper?.end()
  }
  const listen = async (output: ReadableStream<Uint8Array>) => {
    try {
      for await (const line of toLines(output)) {
        const message = toMessage(line)
        if (message) transport.onmessage?.(message)
        else transport.onerror?.(new Error('The program wrote a line that is not a message'))
      }
    } catch (error) {
      transport.onerror?.(error instanceof Error ? error : new Error(String(error)))
    }
    await end()
    transport.onclose?.()
  }
  const transport: Transport & { lastWords(): Promise<string> } = {
    async start() {
      const options = { stdin: 'pipe', stdout: 'pipe', stderr: 'pipe', detached: true } as const
      child = Bun.spawn({ cmd, cwd: folder, env: { ...environment, [MARK]: mark }, ...options })
      own = orphanReaper?.own(child.pid, `${MARK}=${mark}`)
      errors = collectEnds(child.stderr, MAX_LAST_WORDS_BYTES)
      void listen(child.stdout)
    },
    async send(message) {
      if (!child || child.exitCode !== null) throw new Error('The program has ended')
      child.stdin.write(`${JSON.stringify(message)}\n`)
      await child.stdin.flush()
    },
    close: end,
    lastWords() {
      said ??= errors?.read(LAST_WORDS_MS) ?? Promise.resolve('')
      return said
    },
  }
  return transport
}

/** @throws Error for a line that is too long. */
async function* toLines(output: ReadableStream<Uint8Array>): AsyncGenerator<string, void> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const piece of output) {
    const lines = (rest + decoder.decode(piece, { stream: true })).split('\n')
    rest = lines.pop() ?? ''
    yield* lines.filter((line) => line.trim() !== '')
    if (rest.length > MAX_MESSAGE_CHARACTERS) throw new Error('The program wrote a message that is too long')
  }
}

function toMessage(line: string): JSONRPCMessage | null {
  try {
    const value: unknown = JSON.parse(line)
    return isMessage(value) ? value : null
  } catch (error) {
    if (error instanceof SyntaxError) return null
    throw error
  }
}

/** The client validates the rest. */
function isMessage(value: unknown): value is JSONRPCMessage {
  return Message.safeParse(value).success
}
