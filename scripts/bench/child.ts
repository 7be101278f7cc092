import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Workbench } from './workbench.ts'

export type Child = { pid: number; exited: Promise<number>; end(): Promise<void> }

const END_MS = 15_000
const READY_MS = 20_000
/** Linux counts CPU time in hundredths of a second. */
const TICKS_PER_SECOND = 100

/**
 * Starts a process with exactly `environment`, writing to `logFile`; the bench ends it with SIGTERM, then SIGKILL. It
 * inherits only `PATH`, because a provider key of the caller must not be used.
 */
export function startChild(
  bench: Workbench,
  command: readonly string[],
  { environment = {}, logFile }: { environment?: Record<string, string>; logFile: string },
): Child {
  const child = Bun.spawn({
    cmd: [...command],
    env: toEnvironment(environment),
    stdio: ['ignore', Bun.file(logFile), Bun.file(logFile)],
  })
  const end = async () => {
    child.kill('SIGTERM')
    const force = setTimeout(() => child.kill('SIGKILL'), END_MS)
    await child.exited
    clearTimeout(force)
  }
  bench.onEnd(end)
  return { pid: child.pid, exited: child.exited, end }
}

/** Runs a process and returns its output. @throws Error with its error output when it fails. */
export async function runChild(
  command: readonly string[],
  {
    environment = {},
    input = '',
    timeoutMs = 60_000,
  }: { environment?: Record<string, string>; input?: string; timeoutMs?: number } = {},
): Promise<string> {
  const child = Bun.spawn({
    cmd: [...command],
    env: toEnvironment(environment),
    stdio: [new Blob([input]), 'pipe', 'pipe'],
    timeout: timeoutMs,
  })
  const [output, errors, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited])
  if (code !== 0) throw new Error(`${command.join(' ')} ended with ${code}: ${errors}${output}`)
  return output
}

/**
 * Starts a baseline server, which prints its URL when it listens. @throws Error with its error output when it exits.
 */
export async function startBareServer(bench: Workbench, file: string, args: readonly string[] = []) {
  const folder = await bench.makeFolder('bare')
  const logFile = join(folder, 'output')
  const child = startChild(bench, [process.execPath, join(import.meta.dir, 'bare', file), ...args], { logFile })
  const listening = waitFor(`${file} to listen`, async () => /http:\S+/.exec(await readText(logFile))?.[0])
  const ended = child.exited.then(async () => {
    throw new Error(`${file} ended before it listened: ${await readText(logFile)}`)
  })
  const url = await Promise.race([listening, ended])
  return { url, pid: child.pid }
}

/** Polls until there is a result. @throws Error naming `what` after 20 s. */
export async function waitFor<T>(what: string, find: () => Promise<T | null | undefined>, pauseMs = 5): Promise<T> {
  const deadline = performance.now() + READY_MS
  while (performance.now() < deadline) {
    const found = await find()
    if (found !== null && found !== undefined) return found
    await Bun.sleep(pauseMs)
  }
  throw new Error(`Waited in vain for ${what}`)
}

/** Returns the resident memory of a process in megabytes, including all shared pages. */
export async function residentMegabytes(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  return (Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1]) * 1024) / 1_000_000
}

/** Returns the proportional set size in megabytes: a page that several processes share is divided among them. */
export async function proportionalMegabytes(pid: number): Promise<number> {
  const rollup = await readFile(`/proc/${pid}/smaps_rollup`, 'utf8')
  return (Number(/^Pss:\s+(\d+) kB/m.exec(rollup)?.[1]) * 1024) / 1_000_000
}

/** Returns the CPU time that a process has used, in seconds, over all its threads. */
export async function cpuSeconds(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8')
  // The program name is in brackets and may contain spaces; user and system time are fields 12 and 13 after it.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND
}

async function readText(file: string): Promise<string> {
  return readFile(file, 'utf8').catch(() => '')
}

function toEnvironment(environment: Record<string, string>): Record<string, string> {
  return { PATH: process.env.PATH ?? '', HOME: '/nonexistent', NODE_ENV: 'production', ...environment }
}
