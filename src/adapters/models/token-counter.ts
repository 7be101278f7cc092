import { z } from 'zod'
import { AppError, errorMessage } from '../../core/errors.ts'
import type { Log } from '../../core/log.ts'
import { createParserPool } from '../parsers/pool.ts'
import type { TokenCount, TokenSource } from './token-parser.ts'

/** Counts tokens where no provider has: about, because every model has a tokenizer of its own. */
export type TokenCounter = {
  /** Never throws: what cannot be counted is judged by its length. */
  count(source: TokenSource): Promise<TokenCount>
  close(): void
}

/** Against hanging: counting takes some milliseconds, on a busy machine many more. */
const COUNT_MS = 30_000
/** The memory of a process without work is worth more than the moment it takes to start one. */
const IDLE_MS = 30_000
/** The tables of the tokenizer take 100 MB. */
const MAX_MEMORY_BYTES = 768 * 1024 * 1024
const MAX_OUTPUT_BYTES = 64 * 1024
/** Texts beyond these limits are not queued: their length decides. */
const MAX_WAITING = 64
const MAX_WAITING_CHARACTERS = 32_000_000
/** No alphabet takes fewer bytes a token. */
const BYTES_PER_TOKEN = 3

const Count: z.ZodType<TokenCount> = z.object({ input: z.number(), output: z.number() })

/** Nothing runs before the first count; counts wait for each other. */
export function createTokenCounter(deps: { log: Log }, { countMs = COUNT_MS, idleMs = IDLE_MS } = {}): TokenCounter {
  const pool = createParserPool('tokens', {
    maxProcesses: 1,
    maxWaiting: MAX_WAITING,
    maxMemoryBytes: MAX_MEMORY_BYTES,
    idleMs,
  })
  let waitingCharacters = 0
  return {
    async count(source) {
      const characters = source.request.length + source.said.length
      if (waitingCharacters + characters > MAX_WAITING_CHARACTERS) return judgeByLength(source)
      waitingCharacters += characters
      try {
        return await pool.run({
          name: 'count',
          args: [source],
          result: Count,
          maxMs: countMs,
          maxOutputBytes: MAX_OUTPUT_BYTES,
        })
      } catch (error) {
        const isBusy = error instanceof AppError && error.kind === 'unavailable'
        if (!isBusy) deps.log.warn({ error: describe(error) }, 'tokens are judged by their length')
        return judgeByLength(source)
      } finally {
        waitingCharacters -= characters
      }
    },
    close: pool.close,
  }
}

function describe(error: unknown): string {
  return errorMessage(error instanceof AppError ? (error.cause ?? error) : error)
}

function judgeByLength({ request, said }: TokenSource): TokenCount {
  return { input: toTokens(request), output: toTokens(said) }
}

function toTokens(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / BYTES_PER_TOKEN)
}
