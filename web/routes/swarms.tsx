import { page, redirection, signedIn } from './base.tsx'
import { InboxSearch } from './searches.ts'

export const swarmsRoutes = [
  redirection(signedIn, '/team', '/team/swarms'),
  page(signedIn, '/team/swarms', () => import('../swarms/swarms-page.tsx'), 'SwarmsPage'),
  page(signedIn, '/team/swarms/new', () => import('../swarms/swarms-page.tsx'), 'NewSwarmPage'),
  page(signedIn, '/team/swarms/$swarmId', () => import('../swarms/swarm-page.tsx'), 'SwarmPage'),
  page(signedIn, '/team/swarms/$swarmId/runs/$runId', () => import('../swarms/run-page.tsx'), 'RunPage'),
  page(signedIn, '/team/map', () => import('../swarms/map-page.tsx'), 'MapPage'),
  page(signedIn, '/team/inbox', () => import('../swarms/inbox-page.tsx'), 'InboxPage', InboxSearch),
] as const
