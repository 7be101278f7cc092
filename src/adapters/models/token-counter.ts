import { startWorker } from '../../core/concurrency/start-worker.ts'
import { errorMessage } from '../../core/errors.ts'
import type { Log } from '../../core/log.ts'
import type { TokenCount, TokenSource } from './token-worker.ts'

/** Counts tokens where no provider has: about, because every model has a tokenizer of its own. */
export type TokenCounter = {
  /** Never throws: what cannot be counted is judged by its length. */
  count(source: TokenSource): Promise<TokenCount>
  close(): void
}

/** Against hanging: starting takes half a second, on a busy machine many, and counting some milliseconds. */
const COUNT_MS = 30_000
/** The memory of a worker without work is worth more than the moment it takes to start one. */
const IDLE_MS = 30_000
/** So much may wait to be counted; beyond it a length must do. */
const MAX_WAITING = 64
const MAX_WAITING_CHARACTERS = 32_000_000
/** No alphabet takes fewer bytes a token. */
const BYTES_PER_TOKEN = 3
/** The executable carries the worker under its path from `src`; `scripts/build.ts` names it. */
const WORKER = Bun.isStandaloneExecutable
  ? './adapters/models/token-worker.ts'
  : new URL('./token-worker.ts', import.meta.url).href

/** Nothing runs before the first count; counts wait for each other. */
export function createTokenCounter(deps: { log: Log }, { countMs = COUNT_MS, idleMs = IDLE_MS } = {}): TokenCounter {
  let worker: Worker | null = null
  let idle: Timer | undefined
  let last: Promise<unknown> = Promise.resolve()
  let waiting = 0
  let waitingCharacters = 0

  const end = () => {
    clearTimeout(idle)
    worker?.terminate()
    worker = null
  }
  const countNow = async (source: TokenSource): Promise<TokenCount> => {
    clearTimeout(idle)
    try {
      worker ??= startWorker(WORKER)
      return await ask(worker, source, AbortSignal.timeout(countMs))
    } catch (error) {
      deps.log.warn({ error: errorMessage(error) }, 'tokens are judged by their length')
      end()
      return judgeByLength(source)
    } finally {
      idle = setTimeout(end, idleMs)
      idle.unref()
    }
  }

  return {
    async count(source) {
      const characters = source.request.length + source.said.length
      if (waiting >= MAX_WAITING || waitingCharacters + characters > MAX_WAITING_CHARACTERS) {
        return judgeByLength(source)
      }
      waiting += 1
      waitingCharacters += characters
      const mine = last
        .then(() => countNow(source))
        .finally(() => {
          waiting -= 1
          waitingCharacters -= characters
        })
      last = mine
      return mine
    },
    close: end,
  }
}

function judgeByLength({ request, said }: TokenSource): TokenCount {
  return { input: toTokens(request), output: toTokens(said) }
}

function toTokens(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / BYTES_PER_TOKEN)
}

function ask(worker: Worker, source: TokenSource, signal: AbortSignal): Promise<TokenCount> {
  return new Promise((resolve, reject) => {
    worker.onmessage = ({ data }: MessageEvent<TokenCount>) => resolve(data)
    worker.onerror = ({ message }) => reject(new Error(message))
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
    worker.postMessage(source)
  })
}
