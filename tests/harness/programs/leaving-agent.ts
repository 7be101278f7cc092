/** Runs lists of commands in parallel, as an agent does, and prints each result as a line of JSON. */
import { z } from 'zod'
import { becomeSubreaper } from '../../../src/agent/commands/orphans.ts'
import { runProgram } from '../../../src/agent/commands/run.ts'

const orphanReaper = becomeSubreaper()
const environment = { PATH: process.env.PATH ?? '' }
const rest = {
  folder: process.cwd(),
  environment,
  timeoutMs: 60_000,
  signal: new AbortController().signal,
  orphanReaper,
}

async function run(command: string): Promise<void> {
  console.log(JSON.stringify(await runProgram({ ...rest, cmd: ['/bin/sh', '-c', command] })))
}

for await (const line of console) await Promise.all(z.array(z.string()).parse(JSON.parse(line)).map(run))
