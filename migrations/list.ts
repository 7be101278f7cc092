// Written by `bun run migrations`.
import sql0 from './0000_initial.sql' with { type: 'text' }
import sql1 from './0001_request_log.sql' with { type: 'text' }
import sql2 from './0002_key-settings.sql' with { type: 'text' }
import sql3 from './0003_cache_tokens.sql' with { type: 'text' }
import sql4 from './0004_stored_responses.sql' with { type: 'text' }
import sql5 from './0005_stored_response_items.sql' with { type: 'text' }
import sql6 from './0006_mcp_oauth.sql' with { type: 'text' }
import sql7 from './0007_pairing_and_tunnels.sql' with { type: 'text' }
import sql8 from './0008_injection_tests.sql' with { type: 'text' }
import sql9 from './0009_configuration_history_and_repair_ladder.sql' with { type: 'text' }
import sql10 from './0010_cost_notices_and_reports.sql' with { type: 'text' }
import sql11 from './0011_usage_under_way.sql' with { type: 'text' }
import sql12 from './0012_agent_egress.sql' with { type: 'text' }
import sql13 from './0013_isolation_of_agents.sql' with { type: 'text' }
import sql14 from './0014_daily_limits.sql' with { type: 'text' }

/** Every migration in order, embedded as text. */
export const migrations = [
  { name: '0000_initial', sql: sql0 },
  { name: '0001_request_log', sql: sql1 },
  { name: '0002_key-settings', sql: sql2 },
  { name: '0003_cache_tokens', sql: sql3 },
  { name: '0004_stored_responses', sql: sql4 },
  { name: '0005_stored_response_items', sql: sql5 },
  { name: '0006_mcp_oauth', sql: sql6 },
  { name: '0007_pairing_and_tunnels', sql: sql7 },
  { name: '0008_injection_tests', sql: sql8 },
  { name: '0009_configuration_history_and_repair_ladder', sql: sql9 },
  { name: '0010_cost_notices_and_reports', sql: sql10 },
  { name: '0011_usage_under_way', sql: sql11 },
  { name: '0012_agent_egress', sql: sql12 },
  { name: '0013_isolation_of_agents', sql: sql13 },
  { name: '0014_daily_limits', sql: sql14 },
]
