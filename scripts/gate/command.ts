/**
 * How a command ended, and all that it wrote, in order. `busySeconds` is the processor time
 * of it and of what it waited for; `reason` says why it was ended when it did not end by itself.
 */
export type Finished = {
  exitCode: number
  output: string
  seconds: number
  busySeconds: number
  reason?: string
}

export type Limits = {
  cwd: string
  /** Beside what this program has. */
  environment?: Record<string, string>
  /** A guard against hanging, nothing else. */
  limitMs: number
  /** Ends the command before its limit. */
  signal?: AbortSignal
  /** Hears what the command writes, as it does. */
  onOutput?: (bytes: Uint8Array) => void
}

/** Two pipes would not tell in which order both outputs were written. */
const IN_ONE_PIPE = ['sh', '-c', 'exec "$0" "$@" 2>&1']

/** So long what a killed command had started may take to end. A container engine gives its containers 15 s. */
const GRACE_MS = 20_000
const POLL_MS = 50

const running = new Set<Bun.Subprocess>()
let ending: Promise<unknown> | undefined

/**
 * Runs `command` without a terminal and without standard input, in a process group of its own. Once the program is to end
 * nothing starts any more, and what is ended for that has no result.
 */
export async function runCommand(
  command: string[],
  { cwd, environment, limitMs, signal, onOutput }: Limits,
): Promise<Finished> {
  if (ending) return NEVER
  const startedAt = performance.now()
  const child = Bun.spawn([...IN_ONE_PIPE, ...command], {
    cwd,
    env: { ...process.env, ...environment, NO_COLOR: '1', FORCE_COLOR: '0' },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'ignore',
    detached: true,
  })
  running.add(child)
  const guard = guardCommand(child, limitMs, signal)
  const output: Uint8Array[] = []
  const reading = collect(child.stdout, (bytes) => {
    output.push(bytes)
    onOutput?.(bytes)
  })
  const exitCode = await child.exited
  const reason = await guard.end()
  // What the command left behind may hold its output open for ever.
  await Promise.race([reading, Bun.sleep(GRACE_MS)])
  running.delete(child)
  if (ending) return NEVER
  const seconds = (performance.now() - startedAt) / 1000
  const busySeconds = Number(child.resourceUsage()?.cpuTime.total ?? 0) / 1_000_000
  return { exitCode, output: toText(output), seconds, busySeconds, ...(reason && { reason }) }
}

const NEVER = new Promise<never>(() => {})

/** Whoever ends this program by a signal, once or more often, ends its commands too. */
export function endCommandsWithProgram(): void {
  for (const [signal, exitCode] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ] as const) {
    process.on(signal, () => endProgram(exitCode))
  }
}

/** Ends every command that is under way and what they started, and then this program. */
export async function endProgram(exitCode: number): Promise<never> {
  ending ??= Promise.all([...running].map(endGroup))
  await ending
  process.exit(exitCode)
}

async function collect(stream: ReadableStream<Uint8Array>, take: (bytes: Uint8Array) => void): Promise<void> {
  for await (const chunk of stream) take(chunk)
}

function toText(chunks: Uint8Array[]): string {
  return Buffer.concat(chunks).toString()
}

/** Kills `child` at its limit or at the signal; `end` tells which it was, once nothing of its group is left. */
function guardCommand(child: Bun.Subprocess, limitMs: number, signal?: AbortSignal) {
  let killing: Promise<string> | undefined
  const kill = (reason: string) => {
    killing ??= endGroup(child).then(() => reason)
  }
  const onAbort = () => kill('was ended: the time for everything is over')
  const timer = setTimeout(() => kill(`did not end within ${Math.round(limitMs / 1000)} s`), limitMs)
  signal?.addEventListener('abort', onAbort)
  if (signal?.aborted) onAbort()
  return {
    async end(): Promise<string | undefined> {
      clearTimeout(timer)
      signal?.removeEventListener('abort', onAbort)
      return killing
    },
  }
}

/** What the command had started is asked to end first: a container engine takes its containers with it then. */
async function endGroup(child: Bun.Subprocess): Promise<void> {
  child.kill('SIGKILL')
  await child.exited
  signalGroup(child.pid, 'SIGTERM')
  const deadline = performance.now() + GRACE_MS
  while (signalGroup(child.pid, 0) && performance.now() < deadline) await Bun.sleep(POLL_MS)
  signalGroup(child.pid, 'SIGKILL')
}

/** Is there anybody in the group? Signal 0 only asks. */
function signalGroup(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(-pid, signal)
  } catch {
    return false
  }
}
