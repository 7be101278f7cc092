import { refusal } from './openclaw.ts'

/** Creates the sessions and files of an OpenClaw agent, and its answers to the calls that read and change them. */
export function createOpenClawState({ hasWorkspace = true } = {}) {
  const sessions = new Map([
    ['agent:main:main', false],
    ...numbered('agent:main:user:', 3, false),
    ...numbered('old:', 2, true),
  ])
  const files = new Map([
    ['MEMORY.md', 'tea'],
    ['SOUL.md', 'kind'],
    ['memory/a.md', 'likes tea'],
    ['memory/deep/b.md', 'hates rain'],
    ['memory/empty.md', ''],
  ])
  const listFolder = (folder: string) => {
    const inside = [...files.keys()].filter((path) => path.startsWith(folder)).map((path) => path.slice(folder.length))
    return [...new Set(inside.map((path) => path.split('/')[0] ?? ''))].map((name) => ({
      path: `${folder}${name}`,
      kind: files.has(`${folder}${name}`) ? 'file' : 'directory',
      // Modification times follow the order of the list.
      updatedAtMs: 1000 * (1 + [...files.keys()].indexOf(`${folder}${name}`)),
    }))
  }
  const answer = (method: string, params: Record<string, unknown>): unknown => {
    const { key = '', path = '', offset = 0 } = params
    if (method === 'sessions.list') {
      const kept = [...sessions].filter(([, archived]) => archived === (params.archived ?? false))
      return { sessions: kept.map(([name]) => ({ key: name, isMain: name === 'agent:main:main' })) }
    }
    if (method === 'sessions.delete') return { deleted: sessions.delete(String(key)) }
    if (method === 'sessions.reset') return { ok: true }
    if (method === 'agents.workspace.list' && !hasWorkspace) return refusal('workspace directory not found')
    if (method === 'agents.files.set') {
      files.set(String(params.name), String(params.content))
      return { ok: true }
    }
    if (method === 'agents.workspace.list') {
      const entries = listFolder(path ? `${path}/` : '')
      return { entries: entries.slice(Number(offset), Number(offset) + 2), totalEntries: entries.length }
    }
    const content = files.get(String(path))
    if (content === undefined) return refusal('session file not found')
    if (method === 'agents.workspace.get') return { file: { path, content } }
    if (method === 'sessions.files.get') return { file: { missing: false, size: content.length, hash: `#${content}` } }
    if (params.expectedHash !== `#${content}`) return refusal('file changed')
    files.set(String(path), String(params.content))
    return { file: {} }
  }
  return { sessions, files, answer }
}

function numbered(prefix: string, count: number, isArchived: boolean): [string, boolean][] {
  return Array.from({ length: count }, (_, index) => [`${prefix}${index}`, isArchived])
}
