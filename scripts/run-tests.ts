/**
 * `bun run test [words …] [--all]`: the tests as `bun run check` runs them, or those whose path contains one of the words; with
 * `--all` those as well that the gate leaves out.
 */
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { z } from 'zod'
import { endCommandsWithProgram } from './gate/command.ts'
import { type Counts, type FileResult, runTestFiles } from './gate/test-file-run.ts'
import { findTestFiles, toBatches } from './gate/test-files.ts'
import { runQueue } from './gate/test-queue.ts'

const MINUTE_MS = 60_000
const SLOWEST = 10
/** Seconds of each file when it was last run here. */
const MEMORY = 'node_modules/.cache/stead/test-seconds.json'
const Memory = z.record(z.string(), z.number())

/** Guards against hanging, nothing else: a machine of a third of the speed must not come near them. */
const LIMITS = { testMs: 5 * MINUTE_MS, fileMs: 10 * MINUTE_MS, allMs: 60 * MINUTE_MS }

export type TestOptions = {
  root: string
  words?: readonly string[]
  /** Long files too. */
  isWhole?: boolean
  /** So many files at once. Files wait as well as they work: five for two cores keep them busy. */
  lanes?: number
  limits?: typeof LIMITS
  print?: (text: string) => void
}

/**
 * Runs the tests below `root`. Prints a line for each file as it ends, what failed in it, and at the end the slowest
 * files, the failures by name, and how many passed. @returns true when nothing failed.
 */
export async function runTests(options: TestOptions): Promise<boolean> {
  const {
    root,
    words = [],
    isWhole = false,
    lanes = Math.ceil(2.5 * availableParallelism()),
    limits = LIMITS,
    print = console.log,
  } = options
  const memory = Bun.file(join(root, MEMORY))
  const remembered = await readMemory(memory)
  const found = await findTestFiles(root, { words, remembered })
  // Whoever names a file means it.
  const files = isWhole || words.length > 0 ? found : found.filter(({ isLong }) => !isLong)
  if (files.length < found.length) print(`Long files, left to \`bun run check --all\`: ${found.length - files.length}`)
  const signal = AbortSignal.timeout(limits.allMs)
  const startedAt = performance.now()
  const results: FileResult[] = []
  const printResult = (result: FileResult) => {
    print(describeFile(result))
    if (result.failed > 0) print(indent(result.output))
  }
  await runQueue(toBatches(files), lanes, async ({ paths }) => {
    results.push(...(await runTestFiles(paths, { root, limits, signal }, printResult)))
  })
  await memory.write(JSON.stringify({ ...remembered, ...toSeconds(results) }, null, 1))
  print(summarize(results, (performance.now() - startedAt) / 1000))
  return results.length > 0 && results.every(({ failed }) => failed === 0)
}

async function readMemory(file: Bun.BunFile): Promise<Record<string, number>> {
  const { success, data } = Memory.safeParse(await file.json().catch(() => null))
  return success ? data : {}
}

function toSeconds(results: readonly FileResult[]): Record<string, number> {
  return Object.fromEntries(results.map(({ path, seconds }) => [path, Math.round(seconds * 10) / 10]))
}

function describeFile(result: FileResult): string {
  const word = result.failed > 0 ? 'FAIL' : 'ok  '
  return `${word} ${result.seconds.toFixed(1).padStart(6)} s  ${result.path}  ${describeCounts(result)}`
}

function describeBusy({ path, busySeconds }: FileResult): string {
  return `     ${busySeconds.toFixed(1).padStart(6)} s  ${path}`
}

function describeCounts({ passed, failed, skipped }: Counts): string {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`
}

function indent(output: string): string {
  return output.trimEnd().replace(/^(?=.)/gm, '    ')
}

/** The slowest files, what failed once more by name, and the counts of all as the last line. */
function summarize(results: readonly FileResult[], seconds: number): string {
  const slowest = results.toSorted((left, right) => right.seconds - left.seconds).slice(0, SLOWEST)
  const busiest = results.toSorted((left, right) => right.busySeconds - left.busySeconds).slice(0, SLOWEST)
  const failed = results.filter((result) => result.failed > 0)
  const sum = (key: keyof Counts) => results.reduce((total, result) => total + result[key], 0)
  const busySeconds = results.reduce((total, result) => total + result.busySeconds, 0)
  const total = { passed: sum('passed'), failed: sum('failed'), skipped: sum('skipped') }
  return [
    ...['', 'The slowest files:', ...slowest.map(describeFile)],
    ...['', 'Those that took most processor time:', ...busiest.map(describeBusy)],
    ...['', `${results.length} files in ${seconds.toFixed(0)} s, with ${busySeconds.toFixed(0)} s of processor time`],
    ...(failed.length > 0 ? ['', 'What failed:', ...failed.flatMap(nameFailures)] : []),
    ...(results.length === 0 ? ['', 'There is no such test file.'] : []),
    describeCounts(results.length === 0 ? { ...total, failed: 1 } : total),
  ].join('\n')
}

/** The file and its failed tests; when it failed beside them, why. */
function nameFailures(result: FileResult): string[] {
  const lines = result.output.trimEnd().split('\n')
  const tests = new Set(lines.filter((line) => line.startsWith('(fail) ')))
  const reason = lines.at(-1)?.startsWith('The file ') ? lines.slice(-1) : []
  return [describeFile(result), ...[...tests, ...reason].map((line) => `     ${line}`)]
}

if (import.meta.main) {
  endCommandsWithProgram()
  const { values, positionals } = parseArgs({ allowPositionals: true, options: { all: { type: 'boolean' } } })
  const isOk = await runTests({ root: join(import.meta.dir, '..'), words: positionals, isWhole: values.all ?? false })
  process.exit(isOk ? 0 : 1)
}
