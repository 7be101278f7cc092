import { z } from 'zod'
import type { BackupRunRow } from './tables.ts'

/** What came of a run; `missing` names the agents whose state could not be had, `isWhole` that it was found so just now. */
export type Outcome = Partial<Pick<BackupRunRow, 'file' | 'sizeBytes' | 'verifiedAt' | 'error' | 'outcome'>> & {
  isWhole?: true
  missing?: string[]
}

/** What `stead backup run --json` writes. */
const Ran = z.object({
  file: z.string(),
  bytes: z.number(),
  verifiedAt: z.iso.datetime(),
  agents: z.array(z.object({ id: z.string(), state: z.string(), reason: z.string().nullable() })),
})
const Verified = z.object({
  problems: z.array(z.string()),
  manifest: z.object({ createdAt: z.string(), agents: z.array(z.unknown()) }).nullable(),
})
const Drilled = z.object({ problems: z.array(z.string()), agents: z.number(), seconds: z.number() })
const Restored = z.object({
  agent: z.object({ id: z.string(), name: z.string(), state: z.string() }),
  createdAt: z.string(),
  rows: z.array(z.object({ brought: z.number() })),
  missing: z.array(z.string()),
})

/** Reads the JSON that the command wrote; null when it wrote none, and its words say why. */
export function readOutcome(kind: BackupRunRow['kind'], stdout: string): Outcome | null {
  const json: unknown = stdout.trim() === '' ? null : JSON.parse(stdout)
  return READERS[kind](json)
}

const READERS: Record<BackupRunRow['kind'], (json: unknown) => Outcome | null> = {
  backup(json) {
    const ran = Ran.safeParse(json).data
    if (!ran) return null
    const missing = ran.agents.filter(({ state }) => state === 'missing').map(({ id, reason }) => `${id} (${reason})`)
    const outcome = `${count(ran.agents.length, 'agent')}, found whole`
    return { file: ran.file, sizeBytes: ran.bytes, verifiedAt: new Date(ran.verifiedAt), missing, outcome }
  },
  verify(json) {
    const verified = Verified.safeParse(json).data
    if (!verified) return null
    if (verified.problems.length > 0) return { error: verified.problems.join('; ') }
    return { isWhole: true, outcome: `${count(verified.manifest?.agents.length ?? 0, 'agent')}, found whole` }
  },
  drill(json) {
    const drilled = Drilled.safeParse(json).data
    if (!drilled) return null
    if (drilled.problems.length > 0) return { error: drilled.problems.join('; ') }
    return { isWhole: true, outcome: `${count(drilled.agents, 'agent')} came back in ${drilled.seconds} s` }
  },
  restore(json) {
    const restored = Restored.safeParse(json).data
    if (!restored) return null
    const { agent, rows, missing, createdAt } = restored
    const brought = rows.reduce((sum, row) => sum + row.brought, 0)
    const lacks = missing.length > 0 ? `; missing: ${missing.join('; ')}` : ''
    return {
      outcome: `${agent.id} (${agent.name}) is as it was at ${createdAt}, and stopped: ${count(brought, 'row')}${lacks}`,
    }
  },
}

function count(amount: number, what: string): string {
  return `${amount} ${what}${amount === 1 ? '' : 's'}`
}
