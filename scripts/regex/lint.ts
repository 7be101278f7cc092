/**
 * `bun run lint:regex`: finds regular expressions of `src` and `web` that take more than linear time on some text.
 * Literals are checked by recheck. Patterns that are made at run time are refused, because what they become cannot be
 * checked.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { dirname, join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { version } from 'recheck/package.json'
import { z } from 'zod'
import type { Verdict } from './check-worker.ts'
import { EXCEPTIONS } from './exceptions.ts'
import { findPatterns } from './find-patterns.ts'

const root = join(import.meta.dir, '../..')
const MAX_WORKERS = 4
/** Patterns that earlier runs found safe: all of them take half a minute of processor time. */
const SAFE_FILE = join(root, 'node_modules', '.cache', 'stead', `regex-${version}.json`)

const { literals, dynamic } = await findPatterns(root)
const known = readSafe()
const verdicts = await checkAll([...literals.keys()].filter((pattern) => !known.has(pattern)))
const unsafe = new Map(verdicts.flatMap(({ pattern, problem }) => (problem === null ? [] : [[pattern, problem]])))
writeSafe([...literals.keys()].filter((pattern) => !unsafe.has(pattern)))

const problems = [
  ...dynamic.map((site) => `${site}: is made at run time: write a literal, or compare texts`),
  ...[...unsafe].flatMap(([pattern, problem]) => toProblems(pattern, problem)),
  ...EXCEPTIONS.filter(({ pattern }) => !unsafe.has(pattern)).map(({ pattern }) => `${pattern}: needs no exception`),
]
for (const problem of problems) console.error(problem)
console.log(`${literals.size} patterns, ${problems.length} problems`)
process.exit(problems.length === 0 ? 0 : 1)

/** An exception holds only for the files that it names. */
function toProblems(pattern: string, problem: string): string[] {
  const exception = EXCEPTIONS.find((each) => each.pattern === pattern)
  const sites = (literals.get(pattern) ?? []).filter(({ file }) => !exception?.files.includes(file))
  return sites.map(({ file, line }) => `${file}:${line}: ${pattern} ${problem}`)
}

/** Each worker takes the next pattern when it has finished one. */
async function checkAll(patterns: string[]): Promise<Verdict[]> {
  const verdicts: Verdict[] = []
  const count = Math.min(MAX_WORKERS, availableParallelism(), patterns.length)
  const workers = Array.from({ length: count }, async () => {
    const worker = new Worker(new URL('check-worker.ts', import.meta.url))
    for (let pattern = patterns.pop(); pattern !== undefined; pattern = patterns.pop())
      verdicts.push(await ask(worker, pattern))
    await worker.terminate()
  })
  await Promise.all(workers)
  return verdicts
}

function ask(worker: Worker, pattern: string): Promise<Verdict> {
  return new Promise((resolve, reject) => {
    worker.removeAllListeners()
    worker.once('message', resolve)
    worker.once('error', reject)
    worker.postMessage(pattern)
  })
}

function readSafe(): Set<string> {
  try {
    const text: unknown = JSON.parse(readFileSync(SAFE_FILE, 'utf8'))
    return new Set(z.array(z.string()).parse(text))
  } catch {
    return new Set()
  }
}

function writeSafe(patterns: string[]): void {
  mkdirSync(dirname(SAFE_FILE), { recursive: true })
  writeFileSync(SAFE_FILE, JSON.stringify(patterns))
}
