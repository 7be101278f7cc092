import { join } from 'node:path'
import { runCommand } from './command.ts'

export type Counts = { passed: number; failed: number; skipped: number }

/** A file that ended: `output` says what failed and what was said around it, `busySeconds` is processor time. */
export type FileResult = Counts & { path: string; seconds: number; busySeconds: number; output: string }

export type FileRunOptions = {
  root: string
  /** Guards against hanging, for one test and for one file. */
  limits: { testMs: number; fileMs: number }
  signal: AbortSignal
}

const NONE: Counts = { passed: 0, failed: 0, skipped: 0 }

/** Runs one test file in a process of its own. A file that fails beside its tests counts as one failure more. */
export async function runTestFile(path: string, { root, limits, signal }: FileRunOptions): Promise<FileResult> {
  if (signal.aborted)
    return {
      ...NONE,
      path,
      failed: 1,
      seconds: 0,
      busySeconds: 0,
      output: 'The file was not run: the time for everything is over.',
    }
  const command = [process.execPath, 'test', `--timeout=${limits.testMs}`, join(root, path)]
  const finished = await runCommand(command, { cwd: root, limitMs: limits.fileMs, signal })
  const { exitCode, output, errors, reason, seconds, busySeconds } = finished
  const counts = readCounts(errors)
  const fault = findFault(exitCode, counts, reason)
  if (fault === null) return { ...(counts ?? NONE), path, seconds, busySeconds, output: withoutPassed(output) }
  const told = counts ?? { ...NONE, passed: countLines(errors, 'pass'), failed: countLines(errors, 'fail') }
  return { ...told, path, seconds, busySeconds, failed: told.failed + 1, output: `${output.trimEnd()}\n${fault}` }
}

/** Why a file failed beside its tests, or null. */
function findFault(exitCode: number, counts: Counts | null, reason: string | undefined): string | null {
  if (reason !== undefined) return `The file ${reason}.`
  if (counts === null) return `The file ended with exit code ${exitCode} before its tests did.`
  if (counts.passed + counts.failed + counts.skipped === 0) return 'The file has no tests.'
  if (exitCode !== 0 && counts.failed === 0) return `The file ended with exit code ${exitCode}.`
  return null
}

/** The summary that ends what `bun test` writes to its standard error; null without one. */
function readCounts(errors: string): Counts | null {
  const summary = [...errors.matchAll(/^ *\d+ pass\n(?:.*\n){0,9}?Ran \d+ tests? across \d+ files?\./gm)].at(-1)?.[0]
  if (summary === undefined) return null
  const count = (word: string) => Number(new RegExp(`^ *(\\d+) ${word}$`, 'm').exec(summary)?.[1] ?? 0)
  return { passed: count('pass'), failed: count('fail'), skipped: count('skip') }
}

function countLines(output: string, word: string): number {
  return [...output.matchAll(new RegExp(`^\\(${word}\\) `, 'gm'))].length
}

function withoutPassed(output: string): string {
  return output.replace(/^\((?:pass|skip)\) .*\n/gm, '')
}
