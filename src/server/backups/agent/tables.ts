/** Rows that come back with an agent: `isWanted` is a condition on `row`, `agentOf` says whose it is. */
export type BroughtTable = { table: string; agentOf?: string; isWanted?: string }

const ofTurn = '(SELECT agent_id FROM backup.chat_turns WHERE id = row.turn_id)'
const ofFinishedTurn = "(SELECT state FROM backup.chat_turns WHERE id = row.turn_id) <> 'running'"

/**
 * What comes back with an agent, what others refer to first. What was under way is left out: nobody would go on with it, or
 * somebody would do again what was done since.
 */
export const BROUGHT: readonly BroughtTable[] = [
  { table: 'agent_tool_settings' },
  { table: 'agent_mcp_servers' },
  { table: 'agent_caps' },
  { table: 'agent_channels' },
  { table: 'agent_labels' },
  { table: 'agent_memory' },
  { table: 'agent_verifications' },
  { table: 'channel_people' },
  { table: 'colony_members' },
  { table: 'git_credentials' },
  { table: 'heartbeats' },
  { table: 'installed_skills' },
  { table: 'pauses' },
  { table: 'chat_sessions' },
  { table: 'messages' },
  { table: 'chat_turns', isWanted: "row.state <> 'running'" },
  { table: 'chat_turn_pieces', agentOf: ofTurn, isWanted: ofFinishedTurn },
  { table: 'chat_tool_calls', agentOf: ofTurn, isWanted: ofFinishedTurn },
  { table: 'chat_attachments' },
  { table: 'inbox_messages', isWanted: "row.status <> 'queued'" },
  { table: 'scheduled_tasks' },
  { table: 'scheduled_runs', isWanted: "row.status NOT IN ('queued', 'running')" },
  { table: 'webhook_channels' },
]

/**
 * What does not come back, and why: figures are counted anew from the rows above, the rest tells what became of the agent
 * that was, or is between two parties of whom the other has gone on.
 */
export const LEFT_OUT: Readonly<Record<string, string>> = {
  agent_storage: 'counted anew',
  channel_pairings: 'waiting at the agent that was',
  webhook_deliveries: 'answered by the agent that was',
  message_days: 'counted anew',
  agent_metrics: 'measured of the agent that was',
  agent_metric_hours: 'measured of the agent that was',
  watchdogs: 'seen of the agent that was',
  watchdog_events: 'seen of the agent that was',
  watchdog_hours: 'seen of the agent that was',
  deployments: 'done to the agent that was',
  deployment_history: 'done to the agent that was',
  log_lines: 'written by the agent that was',
  log_sources: 'written by the agent that was',
  approvals: 'allowed at another time',
  verification_challenges: 'of a moment',
  bus_messages: 'between two agents',
  amplifications: 'between two agents',
  underground_events: 'sold to others',
}
