/**
 * `bun run test [PATTERN …]`: runs all tests, or the test files whose path contains a pattern. `TEST_PARALLEL` sets the number
 * of files at once.
 */
import { join } from 'node:path'
import { runTests } from './test-runner/run.ts'

const isOk = await runTests({ root: join(import.meta.dir, '..'), patterns: process.argv.slice(2) })
process.exit(isOk ? 0 : 1)
