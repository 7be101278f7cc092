import { mkdirSync, readdirSync, readFileSync, readlinkSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { systemClock } from '../../../src/core/clock.ts'
import { createSealer } from '../../../src/core/secrets.ts'
import { write } from '../../../src/db/write.ts'
import { noteKey } from '../../../src/features/accounts/encryption/master-key.ts'
import { insertAgent } from '../../../src/features/agents/registry/agents.ts'
import { agents } from '../../../src/features/agents/registry/tables.ts'
import { openMigrated } from '../../../src/server/database.ts'
import { openKey } from '../../../src/server/keys/encryption-key.ts'
import { addMigratedDatabase } from '../../harness/rows/migrated-file.ts'

const AGENT = { ownerId: null, model: 'm', plan: 'solo', aiProvider: 'openrouter', status: 'stopped' } as const

/**
 * Fills a data folder like that of a stopped service: database, keys, a workspace, and two process agents, of which
 * `ada-1` has stored files.
 */
export async function fillInstallation(dataDir: string) {
  await addMigratedDatabase(dataDir)
  const databaseFile = join(dataDir, 'stead.db')
  const config = {
    dataDir,
    databaseFile,
    encryptionKey: undefined,
    agents: { dockerHost: join(dataDir, 'no-engine.sock') },
  }
  const sealer = createSealer(openKey(config))
  const { connection } = openMigrated(databaseFile, dataDir)
  await write(connection.db, (tx) => {
    noteKey(tx, sealer)
    for (const [id, name] of [['ada-1', 'Ada'] as const, ['bo-1', 'Bo'] as const]) {
      insertAgent({ sealer, clock: systemClock }, tx, { ...AGENT, id, name })
    }
    tx.update(agents).set({ runtime: 'process' }).run()
  })
  connection.close()
  writeFileSync(join(dataDir, 'instance.id'), 'abcdefghijkl')
  writeFileSync(join(dataDir, 'webhook.key'), 'the key of webhooks', { mode: 0o600 })
  const state = join(dataDir, 'agents', 'ada-1', 'state')
  mkdirSync(join(state, 'sessions'), { recursive: true })
  writeFileSync(join(state, 'sessions', 'today.jsonl'), '{"said":"Good morning"}\n'.repeat(500))
  writeFileSync(join(state, 'empty'), '')
  symlinkSync(join(state, 'empty'), join(state, 'link'))
  mkdirSync(join(dataDir, 'workspace'))
  writeFileSync(join(dataDir, 'workspace', 'plan.md'), '# Plan')
  return config
}

/** Returns the content of every file below a folder, and the targets of links. */
export function readTree(folder: string, inside = ''): Record<string, string> {
  const tree: Record<string, string> = {}
  for (const entry of readdirSync(join(folder, inside), { withFileTypes: true })) {
    const name = join(inside, entry.name)
    if (entry.isDirectory()) Object.assign(tree, readTree(folder, name))
    else if (entry.isSymbolicLink()) tree[name] = `link to ${readlinkSync(join(folder, name))}`
    else if (entry.isFile()) tree[name] = readFileSync(join(folder, name), 'base64')
  }
  return tree
}
