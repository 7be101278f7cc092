import { orLate } from '../../core/concurrency/race.ts'
import { endGroup, sweepMarked } from './end.ts'
import type { OrphanReaper } from './orphans.ts'

const MAX_KEPT_BYTES = 12_000
/** Output of the command itself is available at once; an escaped process may keep the pipe open. */
const LAST_WORDS_MS = 1000
/** Environment variable that marks all processes of a command, to find those that left its group. */
export const MARK = 'STEAD_COMMAND'

/** `cmd` runs directly, without a shell. */
type Command = {
  cmd: string[]
  folder: string
  environment: Record<string, string>
  timeoutMs: number
  signal: AbortSignal
  /** Null where the process runs more than this agent. */
  orphanReaper: OrphanReaper | null
}

/** `exitCode` is null for a command ended by a signal. Long output keeps its beginning and end. */
type CommandResult = {
  exitCode: number | null
  endedBy: 'itself' | 'time' | 'turn'
  stdout: string
  stderr: string
  durationMs: number
}

/**
 * Runs a command in its own process group, without input. Kills the processes it started when it exits, at the timeout,
 * or when `signal` aborts.
 * @throws the system's error for a program that cannot be started.
 */
export async function runProgram(command: Command): Promise<CommandResult> {
  const { cmd, folder, environment, timeoutMs, signal, orphanReaper } = command
  signal.throwIfAborted()
  const startedAt = performance.now()
  const mark = crypto.randomUUID()
  const child = Bun.spawn({
    cmd,
    cwd: folder,
    env: { ...environment, [MARK]: mark },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
    detached: true,
  })
  const own = orphanReaper?.own(child.pid, `${MARK}=${mark}`)
  const outputs = [collectEnds(child.stdout, MAX_KEPT_BYTES), collectEnds(child.stderr, MAX_KEPT_BYTES)] as const
  const timeout = AbortSignal.timeout(timeoutMs)
  const isOver = AbortSignal.any([timeout, signal])
  const end = () => endGroup(child.pid)
  isOver.addEventListener('abort', end, { once: true })
  await child.exited
  isOver.removeEventListener('abort', end)
  const endedBy = signal.aborted ? 'turn' : timeout.aborted ? 'time' : 'itself'
  end()
  await sweepMarked(MARK, mark)
  own?.release()
  await orphanReaper?.end()
  const [stdout, stderr] = await Promise.all(outputs.map((output) => output.read(LAST_WORDS_MS)))
  return {
    exitCode: child.exitCode,
    endedBy,
    stdout: stdout ?? '',
    stderr: stderr ?? '',
    durationMs: Math.round(performance.now() - startedAt),
  }
}

/** Reads a stream to its end and keeps at most `maxBytes`, half from the beginning and half from the end. */
export function collectEnds(stream: ReadableStream<Uint8Array>, maxBytes: number) {
  const half = Math.floor(maxBytes / 2)
  const reader = stream.getReader()
  let head = new Uint8Array()
  let tail = new Uint8Array()
  let totalBytes = 0

  const add = (piece: Uint8Array) => {
    totalBytes += piece.length
    const toHead = piece.subarray(0, half - head.length)
    if (toHead.length > 0) head = join(head, toHead)
    const toTail = piece.subarray(toHead.length)
    if (toTail.length > 0) tail = join(tail, toTail).slice(-half)
  }
  const finished = (async () => {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      add(value)
    }
  })()

  return {
    /** Returns the output up to the end of the stream or for `waitMs`. */
    async read(waitMs: number): Promise<string> {
      await orLate(finished, waitMs, undefined)
      await reader.cancel()
      const left = totalBytes - head.length - tail.length
      const between = left > 0 ? `\n[${left} bytes left out]\n` : ''
      const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes)
      return left > 0 ? decode(head) + between + decode(tail) : decode(join(head, tail))
    },
  }
}

function join(one: Uint8Array, other: Uint8Array): Uint8Array<ArrayBuffer> {
  const both = new Uint8Array(one.length + other.length)
  both.set(one)
  both.set(other, one.length)
  return both
}
