import type { McpServer } from '@modelcontextprotocol/server'
import { z } from 'zod'
import { AppError } from '../../../core/errors.ts'
import { requireScope, type Scope } from '../../../core/scopes.ts'
import type { SignedInUser } from '../../../http/env.ts'
import type { LogViewers } from '../../agents/logs/read.ts'
import { getLogHistory } from '../../agents/logs/read.ts'
import { listAgents } from '../../agents/registry/agents.ts'
import { listDailyUsage, type QueryDeps } from '../../ai/usage/queries.ts'
import { talk } from '../../conversations/agent-messages/agent-api.ts'
import type { ChatDeps } from '../../conversations/chat/send.ts'
import { openWorkspace, type WorkspaceDeps } from '../../web-tools/browse/workspace.ts'

const MAX_TREE_DEPTH = 6

export type McpToolDeps = QueryDeps & ChatDeps & WorkspaceDeps & { logViewers: LogViewers }

/** The caller and the scopes of its key; empty `scopes` allow everything. */
type McpCaller = { user: SignedInUser; scopes: readonly string[]; signal: AbortSignal }

const agentId = z.string().min(1).max(100).describe('Id of one of your agents')

export function registerTools(server: McpServer, deps: McpToolDeps, caller: McpCaller): void {
  registerAgentTools(server, deps, caller)
  registerFileTools(server, deps, caller)
}

/** Creates tool handlers that return JSON, or the message of the caller's error. */
function createAnswer({ scopes }: McpCaller) {
  return <Input>(scope: Scope, work: (input: Input) => unknown) =>
    async (input: Input) => {
      try {
        requireScope(scopes, scope)
        return { content: [{ type: 'text' as const, text: JSON.stringify(await work(input)) }] }
      } catch (error) {
        // Other errors are failures of the server and become internal errors.
        if (!(error instanceof AppError) || error.kind === 'internal') throw error
        return { content: [{ type: 'text' as const, text: error.message }], isError: true }
      }
    }
}

function registerAgentTools(server: McpServer, deps: McpToolDeps, caller: McpCaller): void {
  const principal = { kind: 'user', user: caller.user } as const
  const answer = createAnswer(caller)
  server.registerTool(
    'list_agents',
    { description: 'Lists your agents with their status and model.', inputSchema: z.object({}), annotations: READS },
    answer('read', () =>
      listAgents(deps.db, principal).map(({ id, name, status, model, plan }) => ({ id, name, status, model, plan })),
    ),
  )
  server.registerTool(
    'talk_to_agent',
    {
      description:
        'Says something to one of your agents and waits for its reply. Without a session the last one goes on.',
      inputSchema: z.object({
        agentId,
        message: z.string().trim().min(1).max(100_000),
        sessionId: z.string().max(100).optional(),
      }),
    },
    answer('agents', (input: { agentId: string; message: string; sessionId?: string | undefined }) =>
      talk(deps, caller.user, { action: 'chat', ...input }, caller.signal),
    ),
  )
  server.registerTool(
    'read_logs',
    {
      description: 'Shows the last lines of the log of one of your agents, or those that hold a text.',
      inputSchema: z.object({
        agentId,
        lines: z.number().int().min(1).max(1000).default(100),
        text: z.string().max(200).optional(),
      }),
      annotations: READS,
    },
    answer('read', ({ agentId: id, lines, text }: { agentId: string; lines: number; text?: string | undefined }) => {
      const { entries = [] } = getLogHistory(deps, principal, id, { limit: lines, q: text })
      return entries
    }),
  )
  server.registerTool(
    'read_usage',
    {
      description: 'Shows tokens, US dollars and calls of your agents and keys, day by day.',
      inputSchema: z.object({ days: z.number().int().min(1).max(366).default(7) }),
      annotations: READS,
    },
    answer('read', ({ days }: { days: number }) => listDailyUsage(deps, principal, days)),
  )
}

function registerFileTools(server: McpServer, deps: McpToolDeps, caller: McpCaller): void {
  const principal = { kind: 'user', user: caller.user } as const
  const answer = createAnswer(caller)
  server.registerTool(
    'list_files',
    {
      description: 'Lists the files in the workspace of one of your agents.',
      inputSchema: z.object({ agentId, depth: z.number().int().min(1).max(MAX_TREE_DEPTH).default(3) }),
      annotations: READS,
    },
    answer('read', ({ agentId: id, depth }: { agentId: string; depth: number }) =>
      openWorkspace(deps, principal, id).use((files) => files.tree(depth)),
    ),
  )
  server.registerTool(
    'read_file',
    {
      description: 'Reads a text file in the workspace of one of your agents.',
      inputSchema: z.object({ agentId, path: z.string().min(1).max(1000) }),
      annotations: READS,
    },
    answer('read', ({ agentId: id, path }: { agentId: string; path: string }) =>
      openWorkspace(deps, principal, id).use((files) => files.read(path)),
    ),
  )
}

const READS = { readOnlyHint: true }
