/**
 * `bun run bench [case …] [--build] [--strict] [--json]`: compares the program with minimal baselines on this machine.
 * Measures `dist/stead` if it exists, otherwise the checkout. `--build` builds it first; `--strict` exits with 1 when a
 * limit is missed.
 */
import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { errorMessage } from '../../src/core/errors.ts'
import { measureChannels } from './channels.ts'
import { measureChat } from './chat.ts'
import { runChild } from './child.ts'
import { measureCost } from './cost.ts'
import { measureCpu } from './cpu.ts'
import { measureContainer, measureDeploy } from './deploy.ts'
import { measureLog } from './log/log.ts'
import { measureMemory } from './memory.ts'
import { isOk, type Measurement, toJson, toTable } from './report.ts'
import { measureSession } from './session.ts'
import { measureStart } from './start.ts'
import { measureSummarize } from './summarize.ts'
import { measureTurn } from './turn.ts'
import { measureWake, measureWakeOfContainer } from './wake.ts'
import { atWorkbench, type Workbench } from './workbench.ts'
import { measureWrite } from './write.ts'

/** One line a case, in the order of the table. */
const CASES: Readonly<Record<string, (bench: Workbench) => Promise<Measurement[]>>> = {
  session: measureSession,
  chat: measureChat,
  cpu: measureCpu,
  turn: measureTurn,
  write: measureWrite,
  log: measureLog,
  cost: measureCost,
  summarize: measureSummarize,
  memory: measureMemory,
  channels: measureChannels,
  start: measureStart,
  deploy: measureDeploy,
  container: measureContainer,
  wake: measureWake,
  'wake-container': measureWakeOfContainer,
}

const root = join(import.meta.dir, '../..')
const executable = join(root, 'dist/stead')

const { values, positionals } = readArguments()
if (values.help) {
  console.log(`bun run bench [case …] [--build] [--strict] [--json]\n\nCases: ${Object.keys(CASES).join(', ')}`)
  process.exit(0)
}
const unknown = positionals.find((name) => !Object.hasOwn(CASES, name))
if (unknown !== undefined) {
  console.error(`There is no case ${unknown}; there are ${Object.keys(CASES).join(', ')}.`)
  process.exit(2)
}
if (values.build) await runChild([process.execPath, join(root, 'scripts/build.ts')], { timeoutMs: 300_000 })

const program: Workbench['program'] = existsSync(executable)
  ? [executable]
  : [process.execPath, join(root, 'src/main.ts')]
const builtAt = existsSync(executable) ? `, built ${statSync(executable).mtime.toISOString()}` : ''
console.error(`Measuring ${program.join(' ')}${builtAt}`)
const measurements = await measureAll(positionals.length > 0 ? positionals : Object.keys(CASES))
console.log(values.json ? toJson(measurements) : toTable(measurements))
process.exit(values.strict && !measurements.every(isOk) ? 1 : 0)

/** Runs the cases one after another, because they would disturb each other. */
async function measureAll(names: readonly string[]): Promise<Measurement[]> {
  const all: Measurement[] = []
  for (const name of names) {
    const startedAt = performance.now()
    all.push(...(await atWorkbench(program, (bench) => CASES[name]?.(bench) ?? Promise.resolve([]))))
    console.error(`  ${name} in ${((performance.now() - startedAt) / 1000).toFixed(1)} s`)
  }
  return all
}

function readArguments() {
  const flag = { type: 'boolean' } as const
  try {
    const options = { build: flag, strict: flag, json: flag, help: { ...flag, short: 'h' } } as const
    return parseArgs({ allowPositionals: true, options })
  } catch (error) {
    console.error(errorMessage(error))
    process.exit(2)
  }
}
