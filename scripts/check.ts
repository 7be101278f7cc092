/** `bun run check`: the whole gate, the same as `.ci/run`. One line a step; the first failure ends it. */
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { findMissingPaths } from './readme-paths.ts'

type Outcome = { isOk: boolean; output: string }
type Step = { name: string; run(): Promise<Outcome> }

const root = join(import.meta.dir, '..')
const STEP_TIMEOUT_MS = 5 * 60_000
const TESTS_TIMEOUT_MS = 13 * 60_000
/** For a test that names no limit of its own. */
const TEST_TIMEOUT_MS = 40_000

/** Tests that wait most of the time: for machines to go, engines to end, platforms to die. They take as long as all others. */
const WAITS = /chaos|swarm\.|docker\.|watchdog\/repair/

const children = new Set<Bun.Subprocess>()

await runStep({ name: 'migrations are up to date', run: checkMigrations })
await runTwoAtATime([
  { name: 'dashboard and executable build', run: () => runScript('scripts/build.ts') },
  { name: 'types', run: () => runTool('tsc', '--noEmit', '-p', '.') },
  { name: 'types of the dashboard', run: () => runTool('tsc', '--noEmit', '-p', 'web') },
  { name: 'format and lint', run: () => runTool('biome', 'ci', '--colors=off', '--max-diagnostics=50') },
  { name: 'nothing unused', run: () => runTool('knip', '--no-progress') },
  { name: 'endpoints are as listed', run: () => runScript('scripts/endpoints.ts', '--check') },
  { name: 'paths in README.md exist', run: checkReadme },
])
const tests = await runStep({ name: 'tests', run: runTests })
console.log(tests.output)

/** Runs `step`, prints its line, and ends the program when it failed. */
async function runStep(step: Step): Promise<Outcome> {
  const startedAt = performance.now()
  const outcome = await step.run()
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1).padStart(6)
  console.log(`${outcome.isOk ? 'ok  ' : 'FAIL'} ${seconds} s  ${step.name}`)
  if (outcome.isOk) return outcome
  console.log(`\n${outcome.output}`)
  if (step.name !== 'tests') console.log('0 passed, 1 failed')
  for (const child of children) child.kill()
  return process.exit(1)
}

async function runTwoAtATime(steps: Step[]): Promise<void> {
  const waiting = [...steps]
  const lane = async () => {
    for (let step = waiting.shift(); step; step = waiting.shift()) await runStep(step)
  }
  await Promise.all([lane(), lane()])
}

/** Generating again must change nothing; whatever it did write is taken back. */
async function checkMigrations(): Promise<Outcome> {
  const folder = join(root, 'migrations')
  const before = await readFolder(folder)
  const generated = await runScript('scripts/migrations.ts')
  const after = await readFolder(folder)
  const changed = [...new Set([...before.keys(), ...after.keys()])].filter(
    (path) => before.get(path) !== after.get(path),
  )
  for (const path of changed) {
    const text = before.get(path)
    await (text === undefined ? rm(path) : Bun.write(path, text))
  }
  if (!generated.isOk || changed.length === 0) return generated
  return { isOk: false, output: `Run \`bun run migrations\`: it changes ${changed.sort().join(', ')}\n` }
}

/** Every file below `folder`, its text by its path. */
async function readFolder(folder: string): Promise<Map<string, string>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
  return new Map(await Promise.all(paths.map(async (path) => [path, await Bun.file(path).text()] as const)))
}

async function checkReadme(): Promise<Outcome> {
  const readme = Bun.file(join(root, 'README.md'))
  if (!(await readme.exists())) return { isOk: true, output: '' }
  const missing = findMissingPaths(await readme.text(), root)
  return { isOk: missing.length === 0, output: `README.md names what does not exist: ${missing.join(', ')}\n` }
}

/**
 * All tests, in two lanes at once: those that wait for something to die, and the rest. The output ends with the line that
 * counts them.
 */
async function runTests(): Promise<Outcome> {
  const files = [...new Bun.Glob('{src,tests,web,scripts}/**/*.test.{ts,tsx}').scanSync({ cwd: root })].sort()
  const [waiting, others] = [files.filter((file) => WAITS.test(file)), files.filter((file) => !WAITS.test(file))]
  const lanes = await Promise.all([waiting, others].map(runTestFiles))
  const isOk = lanes.every((lane) => lane.isOk)
  const sum = (word: string) => lanes.reduce((total, { output }) => total + (countOf(output, word) ?? 0), 0)
  const skipped = sum('skip')
  const counts = `${sum('pass')} passed, ${sum('fail')} failed${skipped ? `, ${skipped} skipped` : ''}`
  const output = lanes.filter((lane) => !lane.isOk).map((lane) => lane.output)
  return { isOk, output: [...output, counts].join('\n') }
}

async function runTestFiles(files: string[]): Promise<Outcome> {
  const options = ['--only-failures', `--timeout=${TEST_TIMEOUT_MS}`]
  const { isOk, output } = await run([process.execPath, 'test', ...options, ...files], TESTS_TIMEOUT_MS)
  if (countOf(output, 'pass') !== undefined) return { isOk, output }
  return { isOk: false, output: `${output}\nThe tests did not end.\n 0 pass\n 1 fail` }
}

/** ` 12 pass` in the summary that ends the output of `bun test`. */
function countOf(output: string, word: string): number | undefined {
  const last = [...output.matchAll(new RegExp(`^\\s*(\\d+) ${word}$`, 'gm'))].at(-1)
  return last ? Number(last[1]) : undefined
}

/** Tools run under this Bun: a machine without Node.js has all that is needed. */
function runTool(name: string, ...args: string[]): Promise<Outcome> {
  return run([process.execPath, '--bun', 'run', name, ...args], STEP_TIMEOUT_MS)
}

function runScript(path: string, ...args: string[]): Promise<Outcome> {
  return run([process.execPath, join(root, path), ...args], STEP_TIMEOUT_MS)
}

async function run(command: string[], timeoutMs: number): Promise<Outcome> {
  const child = Bun.spawn(command, {
    cwd: root,
    env: { ...process.env, NO_COLOR: '1', FORCE_COLOR: '0' },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
    timeout: timeoutMs,
    killSignal: 'SIGKILL',
  })
  children.add(child)
  const [exitCode, stdout, stderr] = await Promise.all([
    child.exited,
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ])
  children.delete(child)
  return { isOk: exitCode === 0, output: stdout + stderr }
}
