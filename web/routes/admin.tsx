import { createRoute } from '@tanstack/react-router'
import { AdminOnly, LogSearch, UserSearch } from '../admin/admin-frame.tsx'
import { page, redirection, signedIn } from './base.tsx'
import { AllAgentsSearch, JobsSearch, SettingsSearch } from './searches.ts'

const admin = createRoute({ getParentRoute: () => signedIn, path: '/admin', component: AdminOnly })

export const adminRoutes = admin.addChildren([
  redirection(admin, '/', '/admin/users'),
  page(admin, '/users', () => import('../admin/users-page.tsx'), 'UsersPage', UserSearch),
  page(admin, '/invites', () => import('../admin/invites-page.tsx'), 'InvitesPage'),
  page(admin, '/plans', () => import('../admin/plans-page.tsx'), 'PlansPage'),
  page(admin, '/logs', () => import('../admin/logs-page.tsx'), 'ServerLogsPage', LogSearch),
  page(admin, '/agents', () => import('../admin/all-agents-page.tsx'), 'AllAgentsPage', AllAgentsSearch),
  page(admin, '/health', () => import('../admin/health-page.tsx'), 'HealthPage'),
  page(admin, '/jobs', () => import('../admin/jobs-page.tsx'), 'JobsPage', JobsSearch),
  page(admin, '/dead-letters', () => import('../admin/dead-letters-page.tsx'), 'DeadLettersPage'),
  page(admin, '/backups', () => import('../admin/backups-page.tsx'), 'BackupsPage'),
  page(admin, '/settings', () => import('../admin/configuration-page.tsx'), 'ConfigurationPage', SettingsSearch),
  page(admin, '/audit', () => import('../admin/audit-page.tsx'), 'AuditPage'),
  page(admin, '/services', () => import('../admin/services-page.tsx'), 'ServicesPage'),
  page(admin, '/cluster', () => import('../admin/cluster-page.tsx'), 'ClusterPage'),
])
