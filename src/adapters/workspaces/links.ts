import { AppError, errorMessage } from '../../core/errors.ts'
import type { Log } from '../../core/log.ts'
import type { FilesLink } from '../runtimes/contract/runtime.ts'
import { openServedFiles, type ServedFiles } from './client.ts'
import type { WorkspaceFiles } from './workspace.ts'

/** Connections to working trees on other hosts, such as a container with an agent's volume. */
export type WorkspaceLinks = {
  /**
   * Runs `work` on an agent's files and calls `connect` when no link is open.
   * @throws AppError of both, `unavailable` when too many links are in use.
   */
  use<T>(agentId: string, connect: () => Promise<FilesLink>, work: (files: WorkspaceFiles) => Promise<T>): Promise<T>
  close(): Promise<void>
}

type Link = { served: Promise<ServedFiles>; link: Promise<FilesLink>; uses: number; usedAtMs: number; timer?: Timer }

/** Keeps a link for consecutive requests, then frees its memory. */
const IDLE_MS = 60_000
/** Each takes about 100 MB while it is open. */
const MAX_LINKS = 8

export function createWorkspaceLinks({
  log,
  idleMs = IDLE_MS,
  maxLinks = MAX_LINKS,
}: {
  log: Log
  idleMs?: number
  maxLinks?: number
}): WorkspaceLinks {
  const links = new Map<string, Link>()

  const drop = async (agentId: string, link: Link): Promise<void> => {
    clearTimeout(link.timer)
    if (links.get(agentId) === link) links.delete(agentId)
    await link.link
      .then((opened) => opened.close())
      .catch((error) => log.debug({ agent: agentId, error: errorMessage(error) }, 'a link to files did not end well'))
  }
  const connectTo = (agentId: string, connect: () => Promise<FilesLink>): Link => {
    const opening = connect()
    const served = opening.then(openServedFiles)
    const link: Link = { served, link: opening, uses: 0, usedAtMs: performance.now() }
    links.set(agentId, link)
    // Removes a closed or failed link, so the next request opens a new one.
    const forget = () => drop(agentId, link)
    served.then(({ ended }) => ended).then(forget, forget)
    return link
  }
  const endOneWhenFull = async (): Promise<void> => {
    if (links.size < maxLinks) return
    const idle = await listIdle(links)
    const [oldest] = idle.sort(([, a], [, b]) => a.usedAtMs - b.usedAtMs)
    if (oldest) return drop(...oldest)
    throw new AppError('unavailable', 'The files of too many agents are being looked at: try again in a minute')
  }
  const rest = (agentId: string, link: Link): void => {
    clearTimeout(link.timer)
    link.timer = setTimeout(() => void endWhenIdle(agentId, link), idleMs).unref()
  }
  const endWhenIdle = async (agentId: string, link: Link): Promise<void> => {
    if (await isIdle(link)) await drop(agentId, link)
    else rest(agentId, link)
  }

  return {
    async use(agentId, connect, work) {
      if (!links.has(agentId)) await endOneWhenFull()
      const link = links.get(agentId) ?? connectTo(agentId, connect)
      link.uses += 1
      try {
        return await work((await link.served).files)
      } finally {
        link.uses -= 1
        link.usedAtMs = performance.now()
        rest(agentId, link)
      }
    },
    async close() {
      await Promise.all([...links].map(([agentId, link]) => drop(agentId, link)))
    },
  }
}

async function listIdle(links: ReadonlyMap<string, Link>): Promise<[agentId: string, link: Link][]> {
  const all = await Promise.all([...links].map(async (entry) => ((await isIdle(entry[1])) ? [entry] : [])))
  return all.flat()
}

async function isIdle({ uses, served }: Link): Promise<boolean> {
  if (uses > 0) return false
  return served.then(
    ({ countDownloads }) => countDownloads() === 0,
    () => true,
  )
}
