import { agentFolder } from '../../adapters/runtimes/process/files.ts'
import { AppError } from '../../core/errors.ts'
import type { openForReading } from '../../db/open.ts'
import { captureFolder, captureStored, describeFault } from './capture.ts'
import { type BackupAgent, toAgentPath } from './manifest.ts'

type Sqlite = ReturnType<typeof openForReading>
type Row = Pick<BackupAgent, 'id' | 'name' | 'runtime'>

/** The agents of a database of any version. */
export function listAgents(sqlite: Sqlite): Row[] {
  const columns = sqlite.prepare<[], { name: string }>("SELECT name FROM pragma_table_info('agents')").all()
  const names = new Set(columns.map(({ name }) => name))
  if (!names.has('id')) return []
  const runtime = names.has('runtime') ? 'runtime' : 'NULL AS runtime'
  return sqlite.prepare<[], Row>(`SELECT id, name, ${runtime} FROM agents ORDER BY id`).all()
}

/** What reads the state of an agent in a container, whether it runs or not. */
export type ReadStored = Record<'docker' | 'swarm', (id: string, file: string) => Promise<void>>

/** Where agents store what they have. */
type Stores = { agentsFolder: string; engines: ReadStored }

/** Puts what each agent has stored below `staging`, and tells of each what became of that. */
export async function captureStates(
  agents: readonly Row[],
  stores: Stores,
  toStaged: (path: string) => string,
  report: (done: number) => void,
): Promise<BackupAgent[]> {
  const captured: BackupAgent[] = []
  for (const agent of agents) {
    report(captured.length)
    captured.push({ ...agent, ...(await captureState(agent, stores, toStaged(toAgentPath(agent.id)))) })
  }
  return captured
}

async function captureState(
  { id, runtime }: Row,
  { agentsFolder, engines }: Stores,
  file: string,
): Promise<Pick<BackupAgent, 'state' | 'reason'>> {
  if (runtime === null) return { state: 'none', reason: null }
  try {
    if (runtime === 'process')
      return { state: await captureFolder(agentFolder(agentsFolder, id).state, file), reason: null }
    return { state: await captureStored((to) => engines[runtime](id, to), file), reason: null }
  } catch (error) {
    const isGone = error instanceof AppError && error.kind === 'not_found'
    return { state: 'missing', reason: isGone ? `it is not in the engine (${runtime})` : describeFault(error) }
  }
}
