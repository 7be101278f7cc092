import { endGroup, sweepMarked } from './end.ts'
import { collectEnds } from './output.ts'
import type { Strays } from './strays.ts'

const MAX_KEPT_BYTES = 12_000
/** What is written before the end is there at once; a process that got away may keep a pipe open for ever. */
const LAST_WORDS_MS = 1000
/** In the environment of everything that a command starts, so that what left its group is found. */
export const MARK = 'STEAD_COMMAND'

/** `cmd` is what is run, without a shell between. */
export type Command = {
  cmd: string[]
  folder: string
  environment: Record<string, string>
  timeoutMs: number
  signal: AbortSignal
  /** Null where the process that asks is not the agent's alone. */
  strays: Strays | null
}

/** `exitCode` is null for a command that a signal ended. Of long output the beginning and the end are kept. */
export type CommandResult = {
  exitCode: number | null
  endedBy: 'itself' | 'time' | 'turn'
  stdout: string
  stderr: string
  durationMs: number
}

/**
 * Runs a command in a process group of its own, without input, and ends everything that it has started when it ends, when
 * its time is over, or when `signal` aborts.
 * @throws whatever the system says of a program that cannot be started.
 */
export async function runCommand(command: Command): Promise<CommandResult> {
  const { cmd, folder, environment, timeoutMs, signal, strays } = command
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
  const own = strays?.own(child.pid, `${MARK}=${mark}`)
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
  await strays?.end()
  const [stdout, stderr] = await Promise.all(outputs.map((output) => output.read(LAST_WORDS_MS)))
  return {
    exitCode: child.exitCode,
    endedBy,
    stdout: stdout ?? '',
    stderr: stderr ?? '',
    durationMs: Math.round(performance.now() - startedAt),
  }
}
