import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { AppError } from '../../core/errors.ts'
import { type Channel, openChannel } from '../files/channel.ts'
import { createProcessTable } from '../runtimes/process/table.ts'

/** The modules that `stead agent --parser <kind>` loads. */
export type ParserKind = 'git' | 'mail' | 'pages' | 'pdf' | 'tokens'

/** One call of a parser's function. */
export type ParserJob<T> = {
  name: string
  args: readonly unknown[]
  /** Checks the result: the process has read foreign content. */
  result: z.ZodType<T>
  maxMs: number
  /** Limits everything that the process writes for this job. */
  maxOutputBytes: number
  signal?: AbortSignal
  /** Answers questions that the function asks while it runs. */
  answer?: (question: unknown) => Promise<unknown>
}

/** A job exceeded a limit and its process was killed. */
export class ParserLimitError extends Error {
  constructor(limit: 'time' | 'memory' | 'output') {
    super(`The parser was ended: it took too much ${limit}`)
    this.name = 'ParserLimitError'
  }
}

/** A child process that parses foreign content, one job at a time. */
export type ParserProcess = {
  pid: number
  /** @throws AppError as the function does, ParserLimitError, or the signal's reason; the last two kill the process. */
  run<T>(job: ParserJob<T>): Promise<T>
  isAlive(): boolean
  /** @returns 0 for a process that has ended. */
  residentBytes(): Promise<number>
  kill(): void
  exited: Promise<void>
}

/** Starts this program again: the executable, or the source in a checkout. */
const COMMAND = Bun.isStandaloneExecutable
  ? [process.execPath, 'agent', '--parser']
  : [process.execPath, join(import.meta.dir, '..', '..', 'main.ts'), 'agent', '--parser']
/** No setting and no secret; with this flag Bun asks the kernel to end the process together with its parent. */
const ENVIRONMENT = { BUN_FEATURE_FLAG_NO_ORPHANS: '1' }
/** Loading takes a fraction of a second, on a busy machine many. */
const START_MS = 30_000
const IS_LINUX = process.platform === 'linux'
/** Without `/proc`, each check starts `ps`. */
const LOOK_MS = IS_LINUX ? 50 : 500
/** The unit of `/proc/<pid>/statm`. */
const PAGE_BYTES = 4096

type Current = { ask: ParserJob<unknown>['answer']; maxOutputBytes: number; outputBytes: number }

/** Starts a parser. Its memory is watched while a job runs. */
export function startParser(kind: ParserKind, maxMemoryBytes: number): ParserProcess {
  const stdio = { stdin: 'pipe', stdout: 'pipe', stderr: 'ignore' } as const
  const child = Bun.spawn([...COMMAND, kind], { cwd: '/', env: ENVIRONMENT, ...stdio })
  child.unref()
  preferWhenMemoryIsShort(child.pid)
  let current: Current | null = null
  let reason: unknown = null
  const end = (why: unknown) => {
    reason ??= why
    child.kill('SIGKILL')
  }

  async function* readOutput(): AsyncGenerator<Uint8Array> {
    for await (const chunk of child.stdout) {
      if (current) current.outputBytes += chunk.length
      if (!current || current.outputBytes > current.maxOutputBytes) {
        end(new ParserLimitError('output'))
        return
      }
      yield chunk
    }
  }
  const write = async (text: string) => {
    child.stdin.write(text)
    await child.stdin.flush()
  }
  const channel: Channel = openChannel(
    { input: readOutput(), write },
    {
      async ask(question) {
        if (!current?.ask) throw new AppError('forbidden', 'This job asks nothing')
        return current.ask(question)
      },
    },
  )
  void channel.ended.then(() => end(new Error('The parser has ended')))

  const process: ParserProcess = {
    pid: child.pid,
    isAlive: () => reason === null && child.exitCode === null && child.signalCode === null,
    residentBytes: () => readResidentBytes(child.pid),
    kill: () => end(new Error('The parser was not needed any more')),
    exited: child.exited.then(() => channel.end()),
    async run({ name, args, result, maxMs, maxOutputBytes, signal, answer }) {
      current = { ask: answer, maxOutputBytes, outputBytes: 0 }
      const onAbort = () => end(signal?.reason)
      signal?.addEventListener('abort', onAbort, { once: true })
      let timer = setTimeout(() => end(new ParserLimitError('time')), START_MS)
      const checkMemory = (bytes: number) => {
        if (bytes > maxMemoryBytes) end(new ParserLimitError('memory'))
      }
      const look = setInterval(() => void process.residentBytes().then(checkMemory, end), LOOK_MS)
      try {
        signal?.throwIfAborted()
        await channel.call(z.null(), 'ready')
        clearTimeout(timer)
        timer = setTimeout(() => end(new ParserLimitError('time')), maxMs)
        return await channel.call(result, name, ...args)
      } catch (error) {
        if (!(error instanceof AppError)) end(error)
        throw reason ?? error
      } finally {
        clearTimeout(timer)
        clearInterval(look)
        signal?.removeEventListener('abort', onAbort)
        current = null
      }
    },
  }
  return process
}

/** Makes the kernel kill parsers before the server when memory runs out. */
function preferWhenMemoryIsShort(pid: number): void {
  if (!IS_LINUX) return
  try {
    writeFileSync(`/proc/${pid}/oom_score_adj`, '1000')
  } catch {
    // The process has exited, or the system forbids it. The memory limit still applies.
  }
}

const table = createProcessTable()

async function readResidentBytes(pid: number): Promise<number> {
  if (!IS_LINUX) return (await table.find([pid]))[0]?.residentBytes ?? 0
  try {
    // Reads synchronously, because the thread pool may be busy.
    return Number(readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ')[1]) * PAGE_BYTES
  } catch {
    return 0
  }
}
