/** Pages of the dashboard, as in `web/routes.tsx`. Other addresses return 404. */
export const PAGES = [
  '/',
  '/dashboard',
  '/login',
  '/signup',
  '/setup',
  '/forgot-password',
  '/reset-password',
  '/verify-email',
  '/agents',
  '/agents/new',
  '/agents/$agentId',
  '/agents/$agentId/overview',
  '/agents/$agentId/logs',
  '/agents/$agentId/files',
  '/agents/$agentId/metrics',
  '/agents/$agentId/activity',
  '/agents/$agentId/schedule',
  '/agents/$agentId/settings',
  '/cost',
  '/models',
  '/team',
  '/team/swarms',
  '/team/swarms/new',
  '/team/swarms/$swarmId',
  '/team/swarms/$swarmId/runs/$runId',
  '/team/map',
  '/team/inbox',
  '/media',
  '/media/feeds',
  '/media/radio',
  '/media/video',
  '/skills',
  '/requests',
  '/events',
  '/settings',
  '/settings/security',
  '/settings/notices',
  '/settings/keys',
  '/keys/$keyId',
  '/settings/wallets',
  '/settings/machines',
  '/settings/account',
  '/approvals',
  '/billing',
  '/pricing',
  '/checkout/success',
  '/admin',
  '/admin/users',
  '/admin/invites',
  '/admin/agents',
  '/admin/health',
  '/admin/jobs',
  '/admin/dead-letters',
  '/admin/cluster',
  '/admin/backups',
  '/admin/plans',
  '/admin/logs',
  '/admin/settings',
  '/admin/audit',
  '/admin/services',
] as const

const PATHS = PAGES.map(toParts)

export function isPage(path: string): boolean {
  const parts = toParts(path)
  return PATHS.some(
    (page) =>
      page.length === parts.length &&
      page.every((part, index) => (part.startsWith('$') ? parts[index] !== '' : part === parts[index])),
  )
}

/** A slash at the end makes no other page. */
function toParts(path: string): string[] {
  return (path.endsWith('/') ? path.slice(0, -1) : path).split('/')
}
