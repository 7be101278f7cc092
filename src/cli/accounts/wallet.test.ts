import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { eq } from 'drizzle-orm'
import { privateKeyToAccount } from 'viem/accounts'
import { signUp } from '../../../tests/harness/client.ts'
import { openInstallation } from '../../../tests/harness/server.ts'
import { openDatabase } from '../../db/open.ts'
import { auditLog } from '../../features/accounts/audit/tables.ts'

const PATIENCE_MS = 120_000

test(
  'stead wallet export: prints only the key on standard output and a warning before it, with --yes, and adds an audit entry',
  async () => {
    await using installation = await openInstallation()
    const program = await installation.start()
    const ada = await signUp(program.urls.web)
    const made = await ada.post('/api/wallet', { action: 'create' })
    const { address } = (await made.json()) as { address: string }

    const unasked = await installation.run(['wallet', 'export', address])
    expect([unasked.exitCode, unasked.stdout]).toEqual([2, ''])
    expect(unasked.stderr).toContain('Whoever has this key has the money')

    const { exitCode, stdout, stderr } = await installation.run([
      'wallet',
      'export',
      address.toUpperCase().replace('0X', '0x'),
      '--yes',
    ])
    expect([exitCode, stdout]).toEqual([0, expect.stringMatching(/^0x[0-9a-f]{64}\n$/)])
    expect(stderr).toContain('Whoever has this key has the money')
    const key = stdout.trim()
    expect(stderr).not.toContain(key)
    expect(privateKeyToAccount(`0x${key.slice(2)}`).address.toLowerCase()).toBe(address)

    const asJson = await installation.run(['wallet', 'export', address, '--yes', '--json'])
    expect(JSON.parse(asJson.stdout)).toEqual({ address, privateKey: key })
    const unknown = await installation.run(['wallet', 'export', `0x${'1'.repeat(40)}`, '--yes'])
    expect([unknown.exitCode, unknown.stdout]).toEqual([1, ''])

    const { db, close } = openDatabase(join(installation.dataDir, 'stead.db'))
    const lines = db
      .select({ actor: auditLog.actor, detail: auditLog.detail })
      .from(auditLog)
      .where(eq(auditLog.action, 'wallet.exported'))
      .all()
    close()
    expect(lines).toEqual(Array(2).fill({ actor: 'cli', detail: { address } }))
  },
  PATIENCE_MS,
)
