/** Runs each list of commands at once, as an agent whose process is its own does, and tells of each how it ended as a line of JSON. */
import { z } from 'zod'
import { runCommand } from '../../../src/agent/commands/run.ts'
import { adoptStrays } from '../../../src/agent/commands/strays.ts'

const strays = adoptStrays()
const environment = { PATH: process.env.PATH ?? '' }
const rest = { folder: process.cwd(), environment, timeoutMs: 60_000, signal: new AbortController().signal, strays }

async function run(command: string): Promise<void> {
  console.log(JSON.stringify(await runCommand({ ...rest, cmd: ['/bin/sh', '-c', command] })))
}

for await (const line of console) await Promise.all(z.array(z.string()).parse(JSON.parse(line)).map(run))
