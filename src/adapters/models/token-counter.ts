import { z } from 'zod'
import { AppError, errorMessage } from '../../core/errors.ts'
import type { Log } from '../../core/log.ts'
import { createParserPool } from '../parsers/pool.ts'
import type { TokenCount, TokenSource } from './token-parser.ts'

/** Estimates token counts that the provider did not report, with one tokenizer for all models. */
export type TokenCounter = {
  /** Never throws; falls back to an estimate from the length. */
  count(source: TokenSource): Promise<TokenCount>
  close(): void
}

/** Counting takes milliseconds; this limit ends a process that hangs. */
const COUNT_MS = 30_000
/** Stops an idle process to free its memory. */
const IDLE_MS = 30_000
/** The tokenizer's tables take 100 MB. */
const MAX_MEMORY_BYTES = 768 * 1024 * 1024
const MAX_OUTPUT_BYTES = 64 * 1024
/** Texts beyond these limits are estimated from their length. */
const MAX_WAITING = 64
const MAX_WAITING_CHARACTERS = 32_000_000
/** Lower bound of bytes per token over all scripts. */
const BYTES_PER_TOKEN = 3

const Count: z.ZodType<TokenCount> = z.object({ input: z.number(), output: z.number() })

/** Starts a process on the first count; counts run one at a time. */
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
