import { writeFileSync } from 'node:fs'
import { cpus, freemem, release, totalmem } from 'node:os'
import type { Command } from 'commander'
import { type Config, readConfig } from '../../core/config.ts'
import { AppError, errorMessage } from '../../core/errors.ts'
import { redact } from '../../core/log.ts'
import { showSettings } from '../../core/settings/show.ts'
import { VERSION } from '../../core/version.ts'
import { isServed } from '../../db/instance-lock.ts'
import { findServerAddress } from '../../server/server-address.ts'
import { addExample } from '../example.ts'
import { readEnvironment } from '../settings/environment.ts'

const TIMEOUT_MS = 5000

/** Adds `diagnostics`: writes a support bundle without secrets. */
export function diagnosticsCommand(program: Command): void {
  addExample(
    program.command('diagnostics'),
    'stead diagnostics --out diagnostics.json',
    `Secrets are masked, and nothing that people or agents wrote is in it: read it before you hand it on all the same.
It works while the service runs and while it does not.`,
  )
    .description('gathers versions, settings, what doctor finds and the figures of the running service in one document')
    .option('--out <file>', 'write it into a new file, readable by its owner alone')
    .option('--json', 'print it in one line', false)
    .action(async ({ out, json }: { out?: string; json: boolean }) => {
      const gathered = await gatherDiagnostics(readConfig(readEnvironment()))
      const text = `${redact(JSON.stringify(gathered, null, json ? 0 : 2))}\n`
      if (out === undefined) process.stdout.write(text)
      else writeNewFile(out, text)
    })
}

/** Writes the bundle. @throws AppError `conflict` when the file exists or cannot be written. */
function writeNewFile(file: string, text: string): void {
  try {
    writeFileSync(file, text, { mode: 0o600, flag: 'wx' })
  } catch (error) {
    throw new AppError('conflict', `--out: cannot be written (${errorMessage(error)})`)
  }
}

async function gatherDiagnostics(config: Config) {
  const { examine } = await import('../checks.ts')
  return {
    gatheredAt: new Date().toISOString(),
    version: { stead: VERSION, bun: Bun.version, isExecutable: Bun.isStandaloneExecutable },
    machine: {
      platform: process.platform,
      release: release(),
      arch: process.arch,
      cpus: cpus().length,
      memoryBytes: totalmem(),
      freeMemoryBytes: freemem(),
    },
    settings: showSettings(readEnvironment()),
    checks: (await examine(readEnvironment)).map(({ name, status, message }) => ({ name, status, message })),
    service: await askService(config),
  }
}

/** Fetches the health of the running server; null when none runs on the data folder. */
async function askService({ dataDir, metricsToken }: Config) {
  const address = isServed(dataDir) ? findServerAddress(dataDir) : null
  if (!address) return null
  const headers: Record<string, string> = metricsToken ? { authorization: `Bearer ${metricsToken}` } : {}
  const read = async (url: string) => {
    try {
      const response = await fetch(url, { headers, signal: AbortSignal.timeout(TIMEOUT_MS) })
      return { status: response.status, body: await response.text() }
    } catch (error) {
      return { error: errorMessage(error) }
    }
  }
  const [ready, health, metrics] = await Promise.all(
    ['/readyz', '/health', '/metrics'].map((path) => read(`${address.backend}${path}`)),
  )
  return { ...address, ready, health, metrics }
}
