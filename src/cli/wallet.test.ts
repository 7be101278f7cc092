import { expect, test } from 'bun:test'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { privateKeyToAccount } from 'viem/accounts'
import { signUp } from '../../tests/harness/client.ts'
import { openHouse } from '../../tests/harness/server.ts'

const PATIENCE_MS = 120_000

test(
  'stead wallet export: the key alone on standard output after a warning, with --yes, and a line in the audit log',
  async () => {
    await using house = await openHouse()
    const program = await house.start()
    const ada = await signUp(program.urls.web)
    const made = await ada.post('/api/wallet', { action: 'create' })
    const { address } = (await made.json()) as { address: string }

    const unasked = await house.run(['wallet', 'export', address])
    expect([unasked.exitCode, unasked.stdout]).toEqual([2, ''])
    expect(unasked.stderr).toContain('Whoever has this key has the money')

    const { exitCode, stdout, stderr } = await house.run([
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

    const asJson = await house.run(['wallet', 'export', address, '--yes', '--json'])
    expect(JSON.parse(asJson.stdout)).toEqual({ address, privateKey: key })
    const unknown = await house.run(['wallet', 'export', `0x${'1'.repeat(40)}`, '--yes'])
    expect([unknown.exitCode, unknown.stdout]).toEqual([1, ''])

    const database = new Database(join(house.dataDir, 'stead.db'), { readonly: true })
    const lines = database.prepare("SELECT actor, detail FROM audit_log WHERE action = 'wallet.exported'").all()
    database.close()
    expect(lines).toEqual(Array(2).fill({ actor: 'cli', detail: JSON.stringify({ address }) }))
  },
  PATIENCE_MS,
)
