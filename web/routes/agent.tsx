import { readRange } from '../metrics/metrics-page.tsx'
import { page, signedIn } from './base.tsx'
import { AgentSettingsSearch, LineSearch, PathSearch } from './searches.ts'

export const agentRoutes = [
  page(signedIn, '/agents/$agentId', () => import('../chat/chat-page.tsx'), 'ChatPage'),
  page(signedIn, '/agents/$agentId/overview', () => import('../agent/overview-page.tsx'), 'OverviewPage'),
  page(signedIn, '/agents/$agentId/logs', () => import('../logs/logs-page.tsx'), 'LogsPage', LineSearch),
  page(signedIn, '/agents/$agentId/files', () => import('../files/files-page.tsx'), 'FilesPage', PathSearch),
  page(signedIn, '/agents/$agentId/metrics', () => import('../metrics/metrics-page.tsx'), 'MetricsPage', readRange),
  page(signedIn, '/agents/$agentId/activity', () => import('../activity/activity-page.tsx'), 'ActivityPage'),
  page(
    signedIn,
    '/agents/$agentId/settings',
    () => import('../agent/agent-settings-page.tsx'),
    'AgentSettingsPage',
    AgentSettingsSearch,
  ),
  page(signedIn, '/agents/$agentId/schedule', () => import('../schedule/schedule-page.tsx'), 'SchedulePage'),
] as const
