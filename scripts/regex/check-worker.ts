import { parentPort } from 'node:worker_threads'

// In JavaScript alone: the other backends start a native program or Java.
process.env.RECHECK_SYNC_BACKEND = 'pure'
const { checkSync } = await import('recheck')

/** `problem` is null for a pattern that takes linear time. */
export type Verdict = { pattern: string; problem: string | null }

/**
 * Without time limits and with one seed each run finds the same. A quadratic pattern reads 200 million characters on a
 * text of 20,000, a linear one less than 20 million.
 */
const OPTIONS = {
  randomSeed: 1,
  timeout: null,
  attackTimeout: null,
  incubationTimeout: null,
  maxAttackStringSize: 20_000,
  attackLimit: 20_000_000,
  maxInitialGenerationSize: 100,
  maxGenerationSize: 30,
  maxIteration: 5,
  crossoverSize: 10,
  mutationSize: 10,
} as const

parentPort?.on('message', (pattern: string) => parentPort?.postMessage(check(pattern)))

/** Checks a pattern that is written `/source/flags`. */
function check(pattern: string): Verdict {
  const end = pattern.lastIndexOf('/')
  const found = checkSync(pattern.slice(1, end), pattern.slice(end + 1), OPTIONS)
  if (found.status === 'safe') return { pattern, problem: null }
  if (found.status === 'unknown') return { pattern, problem: `cannot be checked (${found.error.kind})` }
  const attack = found.attack.pattern.slice(0, 200)
  return { pattern, problem: `takes ${found.complexity.summary} time, such as on ${attack}` }
}
