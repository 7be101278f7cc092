import { expect, test } from 'bun:test'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { openInstallation } from '../../../tests/harness/server.ts'

const CANARY = 'canary-0123456789abcdefghijklmnopqrstuv'
const Diagnostics = z.object({
  version: z.object({ stead: z.string(), bun: z.string() }),
  settings: z.record(z.string(), z.unknown()),
  checks: z.array(z.object({ name: z.string(), status: z.string(), message: z.string() })),
  service: z.looseObject({ metrics: z.object({ status: z.number(), body: z.string() }) }).nullable(),
})

test('stead diagnostics: prints versions, settings, checks and figures in one document without secrets, running or not', async () => {
  await using installation = await openInstallation({
    environment: {
      INTERNAL_API_KEY: CANARY,
      METRICS_TOKEN: CANARY,
      OPENAI_API_KEY: CANARY,
      SMTP_URL: `smtp://user:${CANARY}@mail.example.com:587`,
      WATCHDOG_WEBHOOK_URL: `https://hooks.example.com/${CANARY}`,
    },
  })
  const stopped = await installation.run(['diagnostics', '--json'])
  expect(stopped).toMatchObject({ exitCode: 0, stderr: '' })
  expect(Diagnostics.parse(JSON.parse(stopped.stdout)).service).toBeNull()

  await installation.start()
  const running = await installation.run(['diagnostics'])
  const gathered = Diagnostics.parse(JSON.parse(running.stdout))
  expect(gathered.settings).toMatchObject({ METRICS_TOKEN: '[set]', DATA_DIR: installation.dataDir })
  expect(gathered.service?.metrics).toMatchObject({ status: 200, body: expect.stringContaining('stead_build_info') })
  expect(gathered.checks.map(({ name }) => name)).toContain('database')
  expect(stopped.stdout + running.stdout).not.toContain(CANARY)

  const file = join(installation.dataDir, 'diagnostics.json')
  expect(await installation.run(['diagnostics', '--out', file])).toEqual({ exitCode: 0, stdout: '', stderr: '' })
  expect(statSync(file).mode & 0o777).toBe(0o600)
  Diagnostics.parse(JSON.parse(readFileSync(file, 'utf8')))
  // An existing file is not overwritten.
  const again = await installation.run(['diagnostics', '--out', file])
  expect(again).toMatchObject({
    exitCode: 1,
    stderr: expect.stringMatching(/^stead: --out: cannot be written \(.*\)\n$/),
  })
}, 300_000)
