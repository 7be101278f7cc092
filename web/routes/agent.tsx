import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { readRange } from '../metrics/metrics-page.tsx'
import { signedIn } from './base.tsx'
import { LineSearch, PathSearch } from './searches.ts'

const agent = createRoute({
  getParentRoute: () => signedIn,
  path: '/agents/$agentId',
  component: lazyRouteComponent(() => import('../chat/chat-page.tsx'), 'ChatPage'),
})
const agentOverview = createRoute({
  getParentRoute: () => signedIn,
  path: '/agents/$agentId/overview',
  component: lazyRouteComponent(() => import('../agent/overview-page.tsx'), 'OverviewPage'),
})
const agentLogs = createRoute({
  getParentRoute: () => signedIn,
  path: '/agents/$agentId/logs',
  validateSearch: LineSearch,
  component: lazyRouteComponent(() => import('../logs/logs-page.tsx'), 'LogsPage'),
})
const agentFiles = createRoute({
  getParentRoute: () => signedIn,
  path: '/agents/$agentId/files',
  validateSearch: PathSearch,
  component: lazyRouteComponent(() => import('../files/files-page.tsx'), 'FilesPage'),
})
const agentMetrics = createRoute({
  getParentRoute: () => signedIn,
  path: '/agents/$agentId/metrics',
  validateSearch: readRange,
  component: lazyRouteComponent(() => import('../metrics/metrics-page.tsx'), 'MetricsPage'),
})
const agentActivity = createRoute({
  getParentRoute: () => signedIn,
  path: '/agents/$agentId/activity',
  component: lazyRouteComponent(() => import('../activity/activity-page.tsx'), 'ActivityPage'),
})
const agentSettings = createRoute({
  getParentRoute: () => signedIn,
  path: '/agents/$agentId/settings',
  component: lazyRouteComponent(() => import('../agent/agent-settings-page.tsx'), 'AgentSettingsPage'),
})
const agentSchedule = createRoute({
  getParentRoute: () => signedIn,
  path: '/agents/$agentId/schedule',
  component: lazyRouteComponent(() => import('../schedule/schedule-page.tsx'), 'SchedulePage'),
})

export const agentRoutes = [
  agent,
  agentOverview,
  agentLogs,
  agentFiles,
  agentMetrics,
  agentActivity,
  agentSettings,
  agentSchedule,
] as const
