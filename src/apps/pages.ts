/** Every page of the dashboard, as its router knows it (`web/routes.tsx`). Other addresses are answered with 404. */
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
  '/skills',
  '/events',
  '/settings',
  '/settings/security',
  '/settings/notices',
  '/settings/keys',
  '/settings/wallets',
  '/settings/machines',
  '/settings/account',
  '/approvals',
  '/billing',
  '/pricing',
  '/checkout/success',
  '/admin',
  '/admin/users',
  '/admin/audit',
  '/admin/dead-letters',
  '/admin/backups',
] as const

const PATTERNS = PAGES.map((page) => new RegExp(`^${page.replaceAll(/\$\w+/g, '[^/]+').replace(/\/$/, '')}/?$`))

export function isPage(path: string): boolean {
  return PATTERNS.some((pattern) => pattern.test(path))
}
