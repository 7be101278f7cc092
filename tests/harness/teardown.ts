import { afterAll } from 'bun:test'

const LIMIT_MS = 120_000
const ends: (() => PromiseLike<unknown> | undefined)[] = []

/** Registers the end of a program that tests of a file share; it runs after the file's own `afterAll` hooks. */
export function endAfterFile(end: () => PromiseLike<unknown> | undefined): void {
  ends.push(end)
}

// Preloaded by bunfig.toml. `bun test --parallel` runs several files in one process, so its end is too late.
if (process.env.NODE_ENV === 'test') {
  afterAll(async () => {
    for (const end of ends.splice(0)) await end()
  }, LIMIT_MS)
}
