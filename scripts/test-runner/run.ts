import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { availableParallelism, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { type FileReport, readJUnit } from './junit.ts'

const PATTERN = '{src,tests,web,scripts}/**/*.test.{ts,tsx}'
/** Durations of earlier runs: Bun starts the slowest files first. */
const TIMINGS = 'node_modules/.cache/stead/test-timings.json'
const SLOWEST = 10
const MINUTE_MS = 60_000

/** Only end tests that hang, so they are far above what a slow machine needs. */
const LIMITS = { testMs: 5 * MINUTE_MS, fileMs: 10 * MINUTE_MS, runMs: 60 * MINUTE_MS }

export type RunOptions = {
  root: string
  /** Runs the files whose path contains one of these; every file when empty. */
  patterns?: readonly string[]
  /** Number of files at once. */
  parallel?: number
  limits?: typeof LIMITS
  print?: (text: string) => void
}

/**
 * Runs the test files below `root` in parallel, and each file that failed once more alone, when the machine is quiet. A
 * file that passes then is flaky: it is listed with its first failure, and the run passes.
 * @returns whether the run passes.
 */
export async function runTests({
  root,
  patterns = [],
  parallel = readParallel(),
  limits = LIMITS,
  print = console.log,
}: RunOptions): Promise<boolean> {
  const paths = findTestFiles(root, patterns)
  if (paths.length === 0) {
    print(`No test file matches ${patterns.join(', ')}`)
    return false
  }
  const startedAt = performance.now()
  const timings = join(root, TIMINGS)
  await mkdir(dirname(timings), { recursive: true })
  const inParallel = [`--parallel=${parallel}`, `--timings=${timings}`, '--update-timings']
  const first = await runBunTest(root, paths, inParallel, limits.testMs, limits.runMs)
  if (first.isLate) {
    print(`The tests did not end within ${limits.runMs / MINUTE_MS} minutes`)
    print(summarize(first.reports, [], first.reports.filter(hasFailed), (performance.now() - startedAt) / 1000))
    return false
  }
  const failed = first.reports.filter(hasFailed)
  const flaky: FileReport[] = []
  const broken: FileReport[] = []
  for (const report of failed) {
    print(`\nRunning ${report.path} again, alone`)
    const again = await runBunTest(root, [report.path], [], limits.testMs, limits.fileMs)
    if (again.exitCode === 0 && !again.reports.some(hasFailed)) flaky.push(report)
    else broken.push(...again.reports)
  }
  // Bun reports an error between tests in no file's results, only by its exit code.
  const hasOtherError = first.exitCode !== 0 && failed.length === 0
  if (hasOtherError) print(`bun test failed outside the tests, with exit code ${first.exitCode}: see its output above`)
  print(summarize(first.reports, flaky, broken, (performance.now() - startedAt) / 1000))
  return broken.length === 0 && !hasOtherError
}

/** Returns `TEST_PARALLEL`, or two files a core, because most tests wait more than they compute. */
function readParallel(): number {
  return Number(process.env.TEST_PARALLEL || 2 * availableParallelism())
}

/** Returns the paths of the test files relative to `root`, those in `tests`, which take longest, first. */
function findTestFiles(root: string, patterns: readonly string[]): string[] {
  const paths = [...new Bun.Glob(PATTERN).scanSync({ cwd: root })].sort()
  const chosen = paths.filter((path) => patterns.length === 0 || patterns.some((pattern) => path.includes(pattern)))
  const isSlow = (path: string) => path.startsWith('tests/')
  return [...chosen.filter(isSlow), ...chosen.filter((path) => !isSlow(path))]
}

async function runBunTest(root: string, paths: string[], flags: string[], testMs: number, limitMs: number) {
  const folder = await mkdtemp(join(tmpdir(), 'stead-junit-'))
  const report = join(folder, 'report.xml')
  const command = [process.execPath, 'test', '--no-orphans', '--only-failures', `--timeout=${testMs}`, ...flags]
  const startedAt = performance.now()
  const child = Bun.spawn(
    [...command, '--reporter=junit', `--reporter-outfile=${report}`, ...paths.map((path) => `./${path}`)],
    // On SIGTERM Bun writes its report before it ends.
    { cwd: root, stdio: ['ignore', 'inherit', 'inherit'], timeout: limitMs, killSignal: 'SIGTERM' },
  )
  const exitCode = await child.exited
  const xml = await Bun.file(report)
    .text()
    .catch(() => '')
  await rm(folder, { recursive: true })
  return { exitCode, isLate: performance.now() - startedAt >= limitMs, reports: readJUnit(xml, paths) }
}

function hasFailed({ failed }: FileReport): boolean {
  return failed > 0
}

function summarize(
  reports: readonly FileReport[],
  flaky: readonly FileReport[],
  broken: readonly FileReport[],
  seconds: number,
): string {
  const slowest = reports.toSorted((left, right) => right.seconds - left.seconds).slice(0, SLOWEST)
  const sum = (key: 'passed' | 'skipped') => reports.reduce((total, report) => total + report[key], 0)
  const failed = broken.reduce((total, report) => total + report.failed, 0)
  return [
    ...['', 'Slowest files:', ...slowest.map((report) => `${report.seconds.toFixed(1).padStart(7)} s  ${report.path}`)],
    ...(flaky.length > 0 ? ['', 'Flaky: failed, then passed alone:', ...flaky.flatMap(describeFailures)] : []),
    ...(broken.length > 0 ? ['', 'Failed:', ...broken.flatMap(describeFailures)] : []),
    ...['', `${reports.length} files in ${seconds.toFixed(0)} s`],
    `${sum('passed')} passed, ${failed} failed, ${flaky.length} flaky files, ${sum('skipped')} skipped`,
  ].join('\n')
}

function describeFailures({ path, failures }: FileReport): string[] {
  return [
    path,
    ...failures.flatMap(({ test, message }) => [`  ${test}`, ...message.split('\n').map((line) => `    ${line}`)]),
  ]
}
