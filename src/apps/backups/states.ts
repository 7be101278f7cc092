import { agentFolder } from '../../adapters/runtimes/process/files.ts'
import type { openForReading } from '../../db/open.ts'
import { captureFolder, describeFault } from './capture.ts'
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

/** Puts what each agent has stored below `staging`, and tells of each what became of that. */
export async function captureStates(
  agents: readonly Row[],
  agentsFolder: string,
  toStaged: (path: string) => string,
  report: (done: number) => void,
): Promise<BackupAgent[]> {
  const captured: BackupAgent[] = []
  for (const agent of agents) {
    report(captured.length)
    captured.push({ ...agent, ...(await captureState(agent, agentsFolder, toStaged(toAgentPath(agent.id)))) })
  }
  return captured
}

async function captureState(
  agent: Row,
  agentsFolder: string,
  file: string,
): Promise<Pick<BackupAgent, 'state' | 'reason'>> {
  if (agent.runtime === null) return { state: 'none', reason: null }
  if (agent.runtime !== 'process') {
    return { state: 'missing', reason: `what agents in ${agent.runtime} have stored is not part of backups yet` }
  }
  try {
    return { state: await captureFolder(agentFolder(agentsFolder, agent.id).state, file), reason: null }
  } catch (error) {
    return { state: 'missing', reason: describeFault(error) }
  }
}
