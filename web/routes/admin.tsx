import { createRoute, lazyRouteComponent, redirect } from '@tanstack/react-router'
import { AdminOnly, LogSearch, UserSearch } from '../admin/admin-frame.tsx'
import { signedIn } from './base.tsx'
import { AllAgentsSearch, JobsSearch, SettingsSearch } from './searches.ts'

const admin = createRoute({ getParentRoute: () => signedIn, path: '/admin', component: AdminOnly })
const adminStart = createRoute({
  getParentRoute: () => admin,
  path: '/',
  beforeLoad: () => {
    throw redirect({ to: '/admin/users' })
  },
})
const adminUsers = createRoute({
  getParentRoute: () => admin,
  path: '/users',
  validateSearch: UserSearch,
  component: lazyRouteComponent(() => import('../admin/users-page.tsx'), 'UsersPage'),
})
const adminAudit = createRoute({
  getParentRoute: () => admin,
  path: '/audit',
  component: lazyRouteComponent(() => import('../admin/audit-page.tsx'), 'AuditPage'),
})
const adminDeadLetters = createRoute({
  getParentRoute: () => admin,
  path: '/dead-letters',
  component: lazyRouteComponent(() => import('../admin/dead-letters-page.tsx'), 'DeadLettersPage'),
})

const adminBackups = createRoute({
  getParentRoute: () => admin,
  path: '/backups',
  component: lazyRouteComponent(() => import('../admin/backups-page.tsx'), 'BackupsPage'),
})

const adminAgents = createRoute({
  getParentRoute: () => admin,
  path: '/agents',
  validateSearch: AllAgentsSearch,
  component: lazyRouteComponent(() => import('../admin/all-agents-page.tsx'), 'AllAgentsPage'),
})
const adminJobs = createRoute({
  getParentRoute: () => admin,
  path: '/jobs',
  validateSearch: JobsSearch,
  component: lazyRouteComponent(() => import('../admin/jobs-page.tsx'), 'JobsPage'),
})
const adminHealth = createRoute({
  getParentRoute: () => admin,
  path: '/health',
  component: lazyRouteComponent(() => import('../admin/health-page.tsx'), 'HealthPage'),
})
const adminSettings = createRoute({
  getParentRoute: () => admin,
  path: '/settings',
  validateSearch: SettingsSearch,
  component: lazyRouteComponent(() => import('../admin/configuration-page.tsx'), 'ConfigurationPage'),
})
const adminInvites = createRoute({
  getParentRoute: () => admin,
  path: '/invites',
  component: lazyRouteComponent(() => import('../admin/invites-page.tsx'), 'InvitesPage'),
})

const adminLogs = createRoute({
  getParentRoute: () => admin,
  path: '/logs',
  validateSearch: LogSearch,
  component: lazyRouteComponent(() => import('../admin/logs-page.tsx'), 'ServerLogsPage'),
})

const adminPlans = createRoute({
  getParentRoute: () => admin,
  path: '/plans',
  component: lazyRouteComponent(() => import('../admin/plans-page.tsx'), 'PlansPage'),
})

const adminServices = createRoute({
  getParentRoute: () => admin,
  path: '/services',
  component: lazyRouteComponent(() => import('../admin/services-page.tsx'), 'ServicesPage'),
})

export const adminRoutes = admin.addChildren([
  adminStart,
  adminUsers,
  adminInvites,
  adminPlans,
  adminLogs,
  adminAgents,
  adminHealth,
  adminJobs,
  adminDeadLetters,
  adminBackups,
  adminSettings,
  adminAudit,
  adminServices,
])
